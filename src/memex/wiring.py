"""Settings in, a running Service out; closes what it opened."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, closing

from memex import postgres
from memex.service.service import Service
from memex.settings import Settings
from memex.store.database import Database


@asynccontextmanager
async def running_service(
    settings: Settings, *, started: Future[postgres.Postgres] | None = None
) -> AsyncIterator[Service]:
    """A service over `DATABASE_URL`, or over the embedded Postgres, with its schema brought up to date.

    Args:
        settings: of this process.
        started: a start that is under way, by `postgres.start_in_background`.

    Raises:
        StoreUnavailable, SchemaTooNew: the hint says what to do.
    """
    started = started or postgres.start_in_background(settings)
    with closing(await asyncio.wrap_future(started)) as ready:
        database = await Database.open(ready.conninfo, max_connections=settings.max_connections)
        try:
            yield Service(database, max_files=settings.max_files)
        finally:
            await database.close()
