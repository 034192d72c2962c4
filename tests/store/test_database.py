"""The pool of connections: what one use of a connection may not leave to the next."""

import asyncio
from contextlib import AsyncExitStack

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
