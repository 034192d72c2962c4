"""Settings in, a running Service out; closes what it opened."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, closing

from memex import postgres
from memex.errors import ValidationFailed
from memex.service.service import Service
from memex.settings import Settings
from memex.store.analyzer import LANGUAGES
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
        ValidationFailed: MEMEX_LANGUAGE names no language.
    """
    if settings.language not in LANGUAGES:
        raise ValidationFailed(
            f"MEMEX_LANGUAGE: there is no {settings.language!r}.", hint=f"There are: {', '.join(LANGUAGES)}."
        )
    started = started or postgres.start_in_background(settings)
    with closing(await asyncio.wrap_future(started)) as ready:
        database = await Database.open(ready.conninfo, max_connections=settings.max_connections)
        try:
            yield Service(database, max_files=settings.max_files, language=settings.language)
        finally:
            await database.close()
