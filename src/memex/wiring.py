"""Settings in, a running Service out; closes what it opened."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memex.service.service import Service
from memex.settings import Settings
from memex.store import embedded
from memex.store.database import Database
from memex.store.migrate import migrate


@asynccontextmanager
async def running_service(
    settings: Settings, *, lease: embedded.Lease | None = None
) -> AsyncIterator[Service]:
    """A service over `DATABASE_URL`, or over the embedded Postgres, with its schema brought up to date.

    Args:
        settings: of this process.
        lease: on an embedded server that is already started, which is closed with the service.

    Raises:
        StoreUnavailable, SchemaTooNew: the hint says what to do.
    """
    if settings.database_url is None and lease is None:
        lease = await asyncio.to_thread(start_embedded, settings)
    try:
        conninfo = lease.conninfo if lease is not None else settings.database_url
        assert conninfo is not None  # noqa: S101  # one of the two is there
        await migrate(conninfo)
        database = await Database.open(conninfo, max_connections=settings.max_connections)
        try:
            yield Service(database, max_files=settings.max_files)
        finally:
            await database.close()
    finally:
        if lease is not None:
            lease.close()


def start_embedded(settings: Settings) -> embedded.Lease:
    """Start or join the embedded Postgres; raises EmbeddedServerError."""
    return embedded.start(
        settings.data_dir or embedded.default_data_dir(), bin_dir=settings.pg_bin_dir, port=settings.pg_port
    )
