"""Throw-away tenants: where a state of memory is put for a while, beside everybody else's, and taken away again."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from memex.store.database import Connection, Database, row, rows
from memex.store.sql import sql

PREFIX = "throwaway-"
LIFETIME = timedelta(hours=1)


@asynccontextmanager
async def throwaway_tenant(database: Database, *, lifetime: timedelta = LIFETIME) -> AsyncIterator[int]:
    """A new tenant by its id; at the end, however that comes, it is gone with all that it holds.

    Who calls in it has to be done by then. Before it begins, those are removed that a crashed process left.

    After its `lifetime` any process may take it for one that was left.

    Raises:
        StoreUnavailable: the database went away; the tenant is removed once its lifetime is over.
    """
    await sweep(database)
    name = f"{PREFIX}{secrets.token_hex(12)}"
    async with database.maintenance() as connection:
        made = await row(connection, "upkeep/throwaway_make", name=name, lifetime_s=lifetime.total_seconds())
    assert made is not None  # noqa: S101  # an insert that returns its row
    tenant_id: int = made["tenant_id"]
    try:
        yield tenant_id
    finally:
        # In a task of its own: a caller that is cancelled once more does not stop it.
        await asyncio.shield(asyncio.create_task(remove(database, tenant_id)))


async def remove(database: Database, tenant_id: int) -> bool:
    """Remove a throw-away tenant with all that it holds; tell whether there was one. Leaves other tenants alone."""
    async with database.maintenance() as connection:
        if await row(connection, "upkeep/throwaway_lock", tenant_id=tenant_id) is None:
            return False
        await _remove(database, connection, tenant_id)
        return True


async def sweep(database: Database) -> int:
    """Remove the throw-away tenants whose lifetime is over, and return how many those were.

    One that another process removes at the moment is left to it.
    """
    removed = 0
    while True:
        async with database.maintenance() as connection:
            found = await row(connection, "upkeep/throwaway_expired")
            if found is None:
                return removed
            await _remove(database, connection, found["tenant_id"])
        removed += 1


async def _remove(database: Database, connection: Connection, tenant_id: int) -> None:
    """Remove a tenant whose row is locked. Its rows are found by their scopes, the key of every large table."""
    tenant = {"tenant_id": tenant_id}
    scope_ids = [found["scope_id"] for found in await rows(connection, "upkeep/throwaway_scopes", **tenant)]
    if database.has_vectors:
        await connection.execute(sql("upkeep/throwaway_remove_vectors"), {"scope_ids": scope_ids})
    await connection.execute(sql("upkeep/throwaway_remove"), tenant | {"scope_ids": scope_ids})
    if database.has_jobs:
        # The last statement: what the library does when a job goes looks for its tables here.
        await connection.execute(b"set local search_path to procrastinate")
        await connection.execute(sql("upkeep/throwaway_remove_jobs"), {"scope_ids": scope_ids})
