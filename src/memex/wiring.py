"""Settings in, a running Service out; closes what it opened."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, closing

import structlog

from memex import postgres
from memex.errors import ValidationFailed
from memex.service.service import Service
from memex.settings import Settings
from memex.store.analyzer import LANGUAGES
from memex.store.database import Database
from memex.subagent.embedders.choose import choose
from memex.subagent.embedders.embedder import Embedder

_log = structlog.get_logger("memex")


@asynccontextmanager
async def running_service(
    settings: Settings,
    *,
    started: Future[postgres.Postgres] | None = None,
    with_worker: bool = False,
) -> AsyncIterator[Service]:
    """A service over `DATABASE_URL`, or over the embedded Postgres, with its schema brought up to date.

    Args:
        settings: of this process.
        started: a start that is under way, by `postgres.start_in_background`.
        with_worker: embed in the background too, if there is an embedder and the database has vectors.

    Raises:
        StoreUnavailable, SchemaTooNew: the hint says what to do.
        ValidationFailed: MEMEX_LANGUAGE names no language, or MEMEX_EMBEDDER no embedder that is installed.
    """
    if settings.language not in LANGUAGES:
        raise ValidationFailed(
            f"MEMEX_LANGUAGE: there is no {settings.language!r}.", hint=f"There are: {', '.join(LANGUAGES)}."
        )
    embedder = embedder_of(settings)
    started = started or postgres.start_in_background(settings)
    with closing(await asyncio.wrap_future(started)) as ready:
        async with AsyncExitStack() as held:
            database = await Database.open(ready.conninfo, max_connections=settings.max_connections)
            held.push_async_callback(database.close)
            if embedder is not None:
                held.push_async_callback(embedder.close)
                if not database.has_vectors:
                    _log.warning("database_without_vectors", embedder=embedder.name)
                elif with_worker:
                    from memex.jobs import working  # noqa: PLC0415  # of the extra `vectors`

                    at_once = settings.embedding_workers
                    await held.enter_async_context(
                        working(ready.conninfo, database, embedder, at_once=at_once)
                    )
            yield Service(
                database,
                max_files=settings.max_files,
                language=settings.language,
                embedder=embedder,
                search_mode=settings.search_mode,
            )


def embedder_of(settings: Settings, name: str | None = None) -> Embedder | None:
    """Return the embedder of this name, by default that of MEMEX_EMBEDDER; None where there is none.

    Raises:
        ValidationFailed: no embedder has this name, or what it needs is not installed.
    """
    name = name or settings.embedder
    if name is None:
        return None
    key = settings.openai_api_key
    return choose(name, api_key=key.get_secret_value() if key else None, base_url=settings.openai_base_url)
