"""Facts about a Postgres that can be read whatever state its schema is in, for `memex doctor`."""

from dataclasses import dataclass

import psycopg
from psycopg.rows import DictRow, dict_row

from memex.errors import StoreUnavailable
from memex.store import pooler
from memex.store.database import can_act_by_role
from memex.store.migrate import ROLES, migrations
from memex.store.pooler import PoolerSetting
from memex.store.sql import sql
from memex.store.upkeep import reindex
from memex.store.waiting import pgvector


@dataclass(frozen=True, slots=True)
class DatabaseReport:
    """`upkeep/schema_version` is 0 before the first migration, `newest_version` what this Memex needs.

    `pgvector` is the version that is installed in this database, else the one that could be. `stale_scopes`
    counts those that another version indexed; None in another schema than this Memex's. `vectors_error` says
    why vectors cannot be used that are there. `powers` are those of the login that row-level security does not
    bind: `superuser`, `bypassrls`; `unforced_tables` are those that do not bind their owner by it.
    `stale_collation` is the version of the collation that the database was made with, if the server has another,
    and `collated_indexes` are the indexes that are sorted by it. `is_pooled` says whether the connection leads
    through a pooler.
    """

    server_version: str
    database_bytes: int
    is_pooled: bool
    max_connections: int
    pgvector: str | None
    pgvector_is_installed: bool
    powers: list[str]
    unforced_tables: list[str]
    stale_collation: str | None
    collation_version: str | None
    collated_indexes: list[str]
    has_jobs: bool
    has_vectors: bool
    vectors_error: str | None
    schema_version: int
    newest_version: int
    stale_scopes: int | None


async def examine(conninfo: str, pooler_setting: PoolerSetting = "auto") -> DatabaseReport:
    """Return what a server says of itself; changes nothing.

    Raises:
        StoreUnavailable: it does not answer, or there is a pooler that cannot be used.
    """
    try:
        async with await psycopg.AsyncConnection.connect(
            conninfo, autocommit=True, row_factory=dict_row
        ) as connection:
            is_pooled = await pooler.check(connection, pooler_setting)
            return await describe(connection, is_pooled=is_pooled)
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"The database does not answer: {next(iter(str(error).strip().splitlines()), '')}",
            hint=pooler.hint_of(error) or "Is it running, and are the host, port, login and password right?",
        ) from error


async def describe(connection: psycopg.AsyncConnection[DictRow], *, is_pooled: bool) -> DatabaseReport:
    """Return what the server of a connection says of itself."""
    found = await (await connection.execute(sql("upkeep/server_describe"))).fetchone()
    assert found is not None  # noqa: S101  # a select without a table
    version, stale_scopes, vectors_error = 0, None, None
    known = migrations()[-1].version
    if found.pop("has_schema"):
        async with connection.transaction():
            await connection.execute("set local memex.maintenance = 'on'")
            newest = await (await connection.execute(sql("upkeep/schema_version"))).fetchone()
            version = newest["version"] if newest else 0
            if version == known:
                stale_scopes = await reindex.count_stale(connection)
        if found["has_vectors"]:
            schema = await pgvector.find_schema(connection)
            roles = ROLES if await can_act_by_role(connection) else ()
            vectors_error = await pgvector.why_unusable(connection, schema, roles)
    return DatabaseReport(
        **found,
        is_pooled=is_pooled,
        vectors_error=vectors_error,
        schema_version=version,
        newest_version=known,
        stale_scopes=stale_scopes,
    )
