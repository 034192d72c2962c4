"""The readiness of the service, as `/health/ready` says: the database answers, and takes a write."""

import asyncio
import time

from memex.errors import DiskLow, MemexError, StoreUnavailable
from memex.store.database import Database
from memex.store.sql import sql

TIMEOUT_S = 2  # a request waits longer for a connection, but a readiness probe needs a quick answer
WRITE_EVERY_S = 1.0


class Readiness:
    """Touches the database for each probe, and tries a write in a table of its own at most once a second."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = asyncio.Lock()
        self._next_write_s = 0.0
        self._problem: StoreUnavailable | None = None

    async def check(self) -> None:
        """Return if the database answers, and took the last write that was tried.

        Raises:
            StoreUnavailable: it does not; `details` holds the `reason`: `disk_full`, `read_only`, `timeout`,
                `schema_too_new`, `connection_ended`, `starting` or `unreachable`.
        """
        async with self._lock:  # a probe that comes while a write is tried gets what becomes of that one
            if (tries_write := time.monotonic() >= self._next_write_s) or self._problem is None:
                self._problem = await self._probe(tries_write=tries_write)
            if tries_write:
                self._next_write_s = time.monotonic() + WRITE_EVERY_S
            if self._problem is not None:
                raise self._problem

    async def _probe(self, *, tries_write: bool) -> StoreUnavailable | None:
        if self._database.is_outdated:
            return StoreUnavailable("A newer Memex migrated the database.", reason="schema_too_new")
        if self._database.space.level == "full":  # a write could crash Postgres
            return StoreUnavailable("The disk of the database is full.", reason="disk_full")
        try:
            async with asyncio.timeout(TIMEOUT_S):
                if tries_write:
                    async with self._database.maintenance() as connection:
                        await connection.execute(sql("upkeep/write_probe"))
                else:
                    async with self._database.connection() as connection:
                        await connection.execute("select 1")
        except TimeoutError:
            return StoreUnavailable(f"The database did not answer within {TIMEOUT_S} s.", reason="timeout")
        except MemexError as error:
            reason = "disk_full" if isinstance(error, DiskLow) else error.details.get("reason", "unreachable")
            return StoreUnavailable(error.message, hint=error.hint, reason=reason)
        return None
