"""For whom a session waits, said in the process log as long as it waits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
import structlog
from psycopg.rows import class_row, tuple_row

from memex.store.sql import sql

FIRST_LOOK_S = 1.0
LOOK_EVERY_S = 2.0

_log = structlog.get_logger("memex.store")


@dataclass(frozen=True, slots=True)
class Blocker:
    """A session that holds a lock. What the login may not know of it is empty or None."""

    pid: int
    application_name: str
    state: str
    since: datetime | None

    def __str__(self) -> str:
        name = f"{self.application_name}, " if self.application_name else ""
        since = f", since {self.since:%Y-%m-%d %H:%M:%S %Z}" if self.since else ""
        return f"process {self.pid} of Postgres ({name}{self.state or 'state unknown'}{since})"


@asynccontextmanager
async def telling_blockers(
    conninfo: str, connection: psycopg.AsyncConnection[Any], *, wait_s: float | None
) -> AsyncIterator[list[Blocker]]:
    """Log, in the block, for whom this transaction waits; yield those of the last look, as a list that changes.

    Args:
        conninfo: for a second connection, which is opened only if the block takes longer than a second.
        connection: in a transaction. Its locks are waited for as `wait_s` says, and its statements take their time.
        wait_s: the longest that Postgres lets the transaction wait for a lock; None waits without an end.
    """
    async with connection.cursor(row_factory=tuple_row) as cursor:
        timeout = f"{(wait_s or 0) * 1000:.0f}"
        await cursor.execute(sql("upkeep/patience_set"), {"lock_timeout": timeout})
        found = await cursor.fetchone()
    assert found is not None  # noqa: S101  # a select of functions returns its row
    seen: list[Blocker] = []
    watch = asyncio.create_task(_watch(conninfo, found[0], seen))
    try:
        yield seen
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


async def _watch(conninfo: str, pid: int, seen: list[Blocker]) -> None:
    await asyncio.sleep(FIRST_LOOK_S)
    try:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            while True:
                async with connection.cursor(row_factory=class_row(Blocker)) as cursor:
                    await cursor.execute(sql("upkeep/blockers"), {"pid": pid})
                    found = await cursor.fetchall()
                for blocker in found:
                    if blocker.pid not in {earlier.pid for earlier in seen}:
                        _log.warning(
                            "migration_waits",
                            pid=blocker.pid,
                            application=blocker.application_name,
                            state=blocker.state,
                            since=blocker.since.isoformat() if blocker.since else None,
                        )
                seen[:] = found or seen
                await asyncio.sleep(LOOK_EVERY_S)
    except psycopg.Error as error:  # the wait goes on, and nobody says for whom
        _log.warning("migration_waits", error=type(error).__name__)
