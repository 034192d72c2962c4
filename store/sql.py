"""A statement by its name."""

from functools import cache
from importlib.resources import files


@cache
def sql(name: str) -> bytes:
    """Return the text of `queries/{name}.sql`, such as `memory/file_read`, as the bytes that psycopg takes.

    Indentation and lines of comment are left out: psycopg reads a text of more than 4,096 bytes anew each time.
    """
    text = files("memex.store").joinpath("queries", *f"{name}.sql".split("/")).read_bytes()
    lines = (line.strip() for line in text.splitlines())
    return b"\n".join(line for line in lines if not line.startswith(b"--"))
