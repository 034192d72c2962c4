"""The pool of connections: what one use of a connection may not leave to the next, and lists as parameters."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest
from psycopg.pq import PipelineStatus

from memex.store.database import Database


async def test_an_unended_pipeline_ends_with_its_use(conninfo: str) -> None:
    """A call that is cancelled may leave one: statements of the next call would share a transaction with it."""
    database = await Database.open(conninfo, max_connections=1)
    unended = AsyncExitStack()

    async def leave_pipeline() -> None:
        async with database.connection() as connection:
            await unended.enter_async_context(connection.pipeline())
            await connection.execute("select 1")
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await leave_pipeline()
    unended.pop_all()

    async with database.connection() as connection:
        status = connection.info.pipeline_status
        await connection.execute("select 1")
        cursor = await connection.execute("begin isolation level repeatable read")
    await database.close()

    assert status == PipelineStatus.OFF
    assert cursor.statusmessage == "BEGIN"


LISTS: list[tuple[str, list[Any]]] = [
    ("text", ["plain", "", " ", "null", "NULL", "a,b", "{}", "{a", "b}", "two\nlines", "tab\t"]),
    ("text", ['"', '""', "\\", '\\"', '"\\', '","', '{"a": "b"}', "ends with \\"]),
    ("text", ["é", "日本", "🙂", "\u2003", "\x01"]),
    ("text", [None, '"', None, "null"]),
    ("text", [None]),
    ("text", []),
    ("bigint", [0, -1, 2**15, 2**31, 2**63 - 1, -(2**63)]),
    ("bigint", [3, None]),
    ("integer", [[1, 2], [3, 4]]),
    ("text", [["a", '"'], ["\\", ""]]),
    ("boolean", [True, False, None]),
    ("numeric", [1, 10**30]),
    ("bytea", [b"\x00", b'"\\']),
]


async def test_lists_arrive_as_they_are(conninfo: str) -> None:
    """Texts with the signs of an array, absent items, numbers of each size, and what psycopg's own code writes."""
    for kind, items in LISTS:
        database = await Database.open(conninfo, max_connections=1)
        async with database.connection() as connection:
            statement = f"select %s::{kind}[] as arrived".encode()
            cursor = await connection.execute(statement, [items])
            [row] = await cursor.fetchall()
        await database.close()

        assert row["arrived"] == items


@pytest.mark.parametrize(
    ("text", "error"), [("NUL \0", psycopg.DataError), ("a lone \ud800", UnicodeEncodeError)]
)
async def test_lists_refuse_what_no_text_holds(conninfo: str, text: str, error: type[Exception]) -> None:
    """As psycopg does."""
    database = await Database.open(conninfo, max_connections=1)
    async with database.connection() as connection:
        with pytest.raises(error):
            await connection.execute("select %s::text[]", [["fine", text]])
    await database.close()
