"""A statement by its name, and lists among its parameters."""

from functools import cache
from importlib.resources import files
from typing import Any

from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, RecursiveDumper
from psycopg.types.array import ListDumper


class ArrayDumper(RecursiveDumper):
    """Writes a list as the text of an array whose type the statement names, as in `%(ids)s::bigint[]`.

    psycopg's own dumper looks at all items for the type of the array, several times for each statement, and writes
    item by item.
    """

    def dump(self, obj: list[Any]) -> Buffer | None:
        """Return the text of an array in Postgres' format; one of texts, or of whole numbers, is made at once."""
        kinds = set(map(type, obj))
        if kinds <= {int}:
            return f"{{{str(obj)[1:-1]}}}".encode()
        if kinds != {str}:
            return self._dump_items(obj)
        joined = '","'.join(obj)
        if "\0" in joined:
            return self._dump_items(obj)  # which refuses it
        if "\\" in joined or joined.count('"') > 2 * (len(obj) - 1):
            joined = '","'.join([text.replace("\\", "\\\\").replace('"', '\\"') for text in obj])
        return f'{{"{joined}"}}'.encode(self._tx.encoding)

    def _dump_items(self, obj: list[Any]) -> Buffer | None:
        return ListDumper(self.cls, self._tx).upgrade(obj, PyFormat.TEXT).dump(obj)


@cache
def sql(name: str) -> bytes:
    """Return the text of `queries/{name}.sql`, such as `memory/file_read`, as the bytes that psycopg takes.

    Indentation and lines of comment are left out: psycopg reads a text of more than 4,096 bytes anew each time.
    """
    text = files("memex.store").joinpath("queries", *f"{name}.sql".split("/")).read_bytes()
    lines = (line.strip() for line in text.splitlines())
    return b"\n".join(line for line in lines if not line.startswith(b"--"))
