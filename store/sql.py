"""A statement by its name."""

from functools import cache
from importlib.resources import files


@cache
def sql(name: str) -> bytes:
    """Return the text of `queries/{name}.sql`, such as `memory/file_read`, as the bytes that psycopg takes."""
    return files("memex.store").joinpath("queries", *f"{name}.sql".split("/")).read_bytes()
