"""Approximate indexes of vectors: one for a large scope and a model, built when somebody asks for it."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress

import psycopg
from psycopg.sql import SQL, Composed, Identifier, Literal

from memex.store.access import Scope
from memex.store.database import Connection, Database, Statement, rows
from memex.store.sql import sql

# Above so many vectors in one scope an approximate index is worth its memory: measuring all of them takes 43 ms
# then, and twice as long for twice as many (384 dimensions, one core).
LARGE_SCOPE = 50_000
# That an approximate search looks at, at least. Over 100,000 vectors in 1,000 clusters it found what measuring all
# found, in a seventh of the time; the index took 50 s to build and 112 MB.
CANDIDATES = 200
MAX_CANDIDATES = 1_000  # pgvector's own limit
BUILD_MEMORY = "256MB"


async def build_indexes(database: Database, model: str, *, from_vectors: int = LARGE_SCOPE) -> int:
    """Make the approximate index of each scope that has at least so many vectors, and return how many were made.

    Others read and write meanwhile.
    """
    async with database.maintenance() as connection:
        large = await rows(connection, "vectors/embedding_large", model=model, vectors=from_vectors)
        there = {
            record["scope_id"] for record in await rows(connection, "vectors/embedding_hnsw_all", model=model)
        }
    wanted = [record for record in large if record["scope_id"] not in there]
    for record in wanted:
        scope_id, dimensions = record["scope_id"], record["dimensions"]
        async with database.connection() as connection:
            if (
                not database.is_pooled
            ):  # the session is not ours there: the index is built with the server's memory
                await connection.execute(f"set maintenance_work_mem = '{BUILD_MEMORY}'".encode())
            try:
                # One that was left unfinished is there, and of no use.
                await connection.execute(
                    index_statement("vectors/embedding_hnsw_drop", scope_id, model, dimensions)
                )
                await connection.execute(
                    index_statement("vectors/embedding_hnsw_build", scope_id, model, dimensions)
                )
            finally:
                if not database.is_pooled:
                    with suppress(psycopg.Error):
                        await connection.execute("reset maintenance_work_mem")
        async with database.maintenance() as connection:
            await connection.execute(
                sql("vectors/embedding_hnsw_set"),
                {"scope_id": scope_id, "model": model, "dimensions": dimensions},
            )
    return len(wanted)


async def drop_indexes(database: Database, model: str) -> None:
    """Take the approximate indexes of a model away."""
    async with database.maintenance() as connection:
        there = await rows(connection, "vectors/embedding_hnsw_all", model=model)
    for record in there:
        async with database.maintenance() as connection:
            await connection.execute(
                sql("vectors/embedding_hnsw_unset"), {"scope_id": record["scope_id"], "model": model}
            )
        async with database.connection() as connection:
            await connection.execute(
                index_statement(
                    "vectors/embedding_hnsw_drop", record["scope_id"], model, record["dimensions"]
                )
            )


async def settle_index(connection: Connection, limit: int) -> None:
    """Have a search of an approximate index in this transaction look at enough vectors for `limit` results."""
    candidates = min(max(CANDIDATES, 2 * limit), MAX_CANDIDATES)
    await rows(connection, "vectors/embedding_hnsw_settle", candidates=candidates)


async def indexed_scopes(
    connection: Connection, scopes: Sequence[Scope], model: str, dimensions: int
) -> set[int]:
    """Return the ids of those of the scopes that have an approximate index."""
    name, parameters = list_statement(scopes, model, dimensions)
    return {record["scope_id"] for record in await rows(connection, name, **parameters)}


def list_statement(scopes: Sequence[Scope], model: str, dimensions: int) -> Statement:
    """Return the statement that reads the ids of those of the scopes that have an approximate index."""
    scope_ids = [scope.scope_id for scope in scopes]
    return "vectors/embedding_hnsw_list", {
        "scope_ids": scope_ids,
        "model": model,
        "dimensions": dimensions,
    }


def index_statement(name: str, scope_id: int, model: str, dimensions: int) -> Composed:
    """Return a statement on the index of one scope and model: what stands in its condition cannot be passed."""
    digest = hashlib.sha256(model.encode()).hexdigest()[:12]
    return SQL(sql(name).decode()).format(
        index=Identifier(f"embedding_hnsw_{scope_id}_{digest}"),
        scope_id=Literal(scope_id),
        model=Literal(model),
        dimensions=Literal(dimensions),
    )
