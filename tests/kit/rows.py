"""Reads and waits on a test's database, as its owner."""

import asyncio
from typing import Any

from memex.store.database import Database

PATIENCE_S = 60
POLL_S = 0.02


async def select(database: Database, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a statement, also of the queue's tables; none if it is no query."""
    async with database.maintenance() as connection:
        await connection.execute("set local search_path = public, procrastinate")
        cursor = await connection.execute(statement.encode(), parameters or None)
        return [tuple(row.values()) for row in await cursor.fetchall()] if cursor.description else []


async def until(database: Database, condition: str, *parameters: Any) -> None:
    """Wait until a query's one value is true."""
    async with asyncio.timeout(PATIENCE_S):
        while await select(database, condition, *parameters) != [(True,)]:  # noqa: ASYNC110  # the database tells nobody
            await asyncio.sleep(POLL_S)
