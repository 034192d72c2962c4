"""The figures of a running service: of one tenant, and of the database that its tenants share."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.store.database import Connection, Database, Rows, row, rows
from memex.store.log.degraded import DegradedCount, count_degraded
from memex.store.upkeep import checkup, reindex
from memex.store.upkeep.checkup import DatabaseReport


@dataclass(frozen=True, slots=True)
class TenantFigures:
    """Figures of a tenant's queue, jobs, index and log, and of the room that the database takes on disk.

    Attributes:
        queue: `waiting`, `oldest_at`, `given_up`.
        jobs: `kind`, `status`, `jobs`; none where there is no queue of jobs.
        scopes: memories with files. `stale_scopes` of them, or of users' conversations, have an index that another
            version made.
        unmerged: passages that wait to be merged into the index; search finds them all the same.
        vectors: `scopes`, `embedded`, `failed`, `error`; None without an embedder or without pgvector.
        passages: `kind`, `passages`, `embedded`; none where there are no vectors.
        oldest_call_at: of the log; None if it is empty.
        unfinished_erasures: the users.
        database: what the server says of itself, for all tenants.
        table_sizes: `name`, `size_bytes`, for all tenants.
        degraded: answers of each tool, and how many lacked the part of a model.
    """

    queue: dict[str, Any]
    jobs: Rows
    scopes: int
    stale_scopes: int
    unmerged: int
    vectors: dict[str, Any] | None
    passages: Rows
    oldest_call_at: datetime | None
    unfinished_erasures: list[str]
    database: DatabaseReport
    table_sizes: Rows
    degraded: Sequence[DegradedCount]


async def read_coverage(connection: Connection, model: str, tenant_id: int | None = None) -> Rows:
    """Return by kind how many passages there are, and how many a model has embedded; None for all tenants."""
    return await rows(connection, "health/vector_passages", model=model, tenant_id=tenant_id)


async def read_figures(database: Database, tenant_id: int, model: str | None) -> TenantFigures:
    """Return the figures of a tenant; `model` is the name of the embedder."""
    tenant = {"tenant_id": tenant_id}
    async with database.maintenance() as connection:
        report = await checkup.describe(connection, is_pooled=database.is_pooled)
        made = await rows(connection, "health/index_progress", **tenant)
        has_vectors = database.has_vectors and model is not None
        oldest = await row(connection, "health/oldest_call", **tenant)
        return TenantFigures(
            queue=await row(connection, "health/queue_state", **tenant) or {},
            jobs=await rows(connection, "health/job_counts", **tenant) if database.has_jobs else [],
            scopes=sum(record["memories"] for record in made),
            stale_scopes=sum(
                record["scopes"]
                for record in made
                if reindex.is_stale(record["language"], record["analyzer"])
            ),
            unmerged=sum(record["unmerged"] for record in made),
            vectors=await row(connection, "health/vector_progress", **tenant, model=model)
            if has_vectors
            else None,
            passages=await read_coverage(connection, model, tenant_id) if has_vectors and model else [],
            oldest_call_at=oldest["oldest_at"] if oldest else None,
            unfinished_erasures=[
                record["user_id"] for record in await rows(connection, "health/erasure_unfinished", **tenant)
            ],
            database=report,
            table_sizes=await rows(connection, "health/table_sizes"),
            degraded=await count_degraded(connection, tenant_id),
        )
