"""A statement by its name."""

from functools import cache
from importlib.resources import files


@cache
def sql(name: str) -> bytes:
    """Return the text of `queries/{name}.sql`, as the bytes that psycopg takes."""
    return (files("memex.store") / "queries" / f"{name}.sql").read_bytes()
