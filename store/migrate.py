"""Brings a database to this version's schema: numbered SQL files, in order, under one advisory lock.

There are three tracks of them, each numbered and recorded by itself: memory, which every database has; jobs, a
queue; and vectors, for which the server must have pgvector. The last two are applied where that is possible, and
everything else works without them.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import tuple_row
from psycopg.sql import SQL, Identifier

from memex.errors import SchemaTooNew, StoreUnavailable
from memex.store import pooler
from memex.store.pooler import PoolerSetting
from memex.store.sql import sql
from memex.store.waiting.blockers import Blocker, telling_blockers

LOCK_KEY = 0x4D454D4558  # "MEMEX": held by whoever migrates; the others wait and find nothing to do
MINIMUM_SERVER = 15_00_00
ROLES = ("memex_agent", "memex_admin")


@dataclass(frozen=True, slots=True)
class Track:
    """A series of migrations: the folder that holds them, and the table that records which ran.

    `possible` names the query that tells whether a database can have it; None for what every database must have.
    """

    name: str
    folder: str
    table: str
    possible: str | None = None


MEMORY = Track("memory", "migrations", "schema_migration")
JOBS = Track("jobs", "migrations/jobs", "jobs_migration", "upkeep/jobs_possible")
VECTORS = Track("vectors", "migrations/vectors", "vectors_migration", "upkeep/vectors_possible")
TRACKS = (MEMORY, JOBS, VECTORS)  # each may need those before it


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered SQL file of a track."""

    version: int
    name: str
    sql: str
    track: str = MEMORY.name

    @property
    def sha256(self) -> bytes:
        """The digest that is recorded, so that an edited migration is noticed."""
        return hashlib.sha256(self.sql.encode()).digest()


def migrations(track: Track = MEMORY) -> list[Migration]:
    """Return the migrations of a track that this version ships, in order."""
    entries = files("memex.store").joinpath(*track.folder.split("/")).iterdir()
    named = [(re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name), entry) for entry in entries]
    found = [
        Migration(int(match[1]), match[2], entry.read_text(encoding="utf-8"), track.name)
        for match, entry in named
        if match
    ]
    return sorted(found, key=lambda migration: migration.version)


async def migrate(
    conninfo: str,
    *,
    superuser: str | None = None,
    pooler_setting: PoolerSetting = "auto",
    wait_s: float | None = None,
) -> list[Migration]:
    """Apply what is missing, all of it or nothing, and return it. Any number of processes may call at once.

    Args:
        conninfo: the address for the login that owns the tables.
        superuser: the address for a login that may install pgvector, if the first login may not. Its database is
            ignored.
        pooler_setting: whether a pooler may stand between. Each step is a transaction, which works through one.
        wait_s: how long to wait for a lock that another session holds; None waits until it is given back. The
            process log says meanwhile which session it is.

    Raises:
        SchemaTooNew: a newer Memex migrated this database.
        StoreUnavailable: the server is older than Postgres 15, a migration that ran was edited since, there is a
            pooler that cannot be used, or a lock was not had in time.
    """
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        _check_server(connection)
        await pooler.check(connection, pooler_setting)
        async with _patient_transaction(conninfo, connection, wait_s):
            missing = await _apply_missing(connection, superuser)
        await _ensure_roles(conninfo, connection, wait_s)
    return missing


async def check(connection: psycopg.AsyncConnection[object]) -> frozenset[str]:
    """Return the names of the tracks that a database has, having refused one whose schema is not this version's.

    Raises:
        SchemaTooNew: a newer Memex migrated it.
        StoreUnavailable: migrations are missing; the hint names the command.
    """
    tracks: set[str] = set()
    async with connection.transaction():
        await connection.execute("set local memex.maintenance = 'on'")
        for track in TRACKS:
            applied = await _applied(connection, track)
            if track.possible is not None and not applied:
                continue
            if missing := _missing(migrations(track), applied):
                raise StoreUnavailable(
                    f"The database lacks {len(missing)} of this version's migrations.",
                    hint="Run `memex migrate`.",
                )
            tracks.add(track.name)
    return frozenset(tracks)


@asynccontextmanager
async def _patient_transaction(
    conninfo: str, connection: psycopg.AsyncConnection[object], wait_s: float | None
) -> AsyncIterator[None]:
    """A transaction that says for whom it waits; raises StoreUnavailable if it has waited for `wait_s`."""
    seen: Sequence[Blocker] = ()
    try:
        async with (
            connection.transaction(),
            telling_blockers(conninfo, connection, wait_s=wait_s) as seen,
        ):
            yield
    except psycopg.errors.LockNotAvailable as error:
        holders = " and ".join(map(str, seen)) or "another session"
        raise StoreUnavailable(
            f"The schema was not updated, because {holders} held a lock for longer than {wait_s:g} s.",
            hint="End that session, or wait longer: MEMEX_MIGRATE_SECONDS.",
        ) from error


async def _apply_missing(
    connection: psycopg.AsyncConnection[object], superuser: str | None
) -> list[Migration]:
    await connection.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
    await connection.execute("set local memex.maintenance = 'on'")
    done: list[Migration] = []
    for track in TRACKS:
        applied = await _applied(connection, track)
        missing = _missing(migrations(track), applied)
        if missing and not applied and track is VECTORS and superuser is not None:
            await _install_pgvector(make_conninfo(superuser, dbname=connection.info.dbname))
        if missing and (applied or await _is_possible(connection, track)):
            await _apply(connection, track, missing)
            done += missing
    return done


async def _apply(
    connection: psycopg.AsyncConnection[object], track: Track, missing: Sequence[Migration]
) -> None:
    table = Identifier(track.table)
    await connection.execute(
        SQL(
            "create table if not exists {} ("
            " version integer primary key, name text not null, sha256 bytea not null,"
            " applied_at timestamptz not null default clock_timestamp())"
        ).format(table)
    )
    for migration in missing:
        await connection.execute(migration.sql.encode())
        await connection.execute(
            SQL("insert into {} (version, name, sha256) values (%s, %s, %s)").format(table),
            [migration.version, migration.name, migration.sha256],
        )


async def _install_pgvector(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        cursor = await connection.execute("select from pg_available_extensions where name = 'vector'")
        if cursor.rowcount:
            await connection.execute("create extension if not exists vector")


async def _is_possible(connection: psycopg.AsyncConnection[object], track: Track) -> bool:
    if track.possible is None:
        return True
    cursor = connection.cursor(row_factory=tuple_row)
    await cursor.execute(sql(track.possible))
    return await cursor.fetchone() == (True,)


async def _applied(connection: psycopg.AsyncConnection[object], track: Track) -> dict[int, bytes]:
    cursor = connection.cursor(row_factory=tuple_row)
    await cursor.execute("select from pg_class where oid = to_regclass(%s)", [track.table])
    if cursor.rowcount == 0:
        return {}
    await cursor.execute(SQL("select version, sha256 from {}").format(Identifier(track.table)))
    return {version: bytes(sha256) for version, sha256 in await cursor.fetchall()}


def _missing(known: Sequence[Migration], applied: dict[int, bytes]) -> list[Migration]:
    newest = max((migration.version for migration in known), default=0)
    if applied and max(applied) > newest:
        raise SchemaTooNew(f"The schema is at version {max(applied)}, this Memex knows up to {newest}.")
    for migration in known:
        if migration.version in applied and applied[migration.version] != migration.sha256:
            raise StoreUnavailable(
                f"Migration {migration.version:04}_{migration.name} in this database differs from the one in this "
                "version of Memex.",
                hint="Install the version of Memex that made this database, and upgrade from there.",
            )
    return [migration for migration in known if migration.version not in applied]


def _check_server(connection: psycopg.AsyncConnection[object]) -> None:
    if connection.info.server_version < MINIMUM_SERVER:
        raise StoreUnavailable(
            f"Postgres {connection.info.server_version // 10_000} is too old.",
            hint="Memex needs Postgres 15 or newer.",
        )


async def _ensure_roles(
    conninfo: str, connection: psycopg.AsyncConnection[object], wait_s: float | None
) -> None:
    """Make the two roles where the login may, and grant them what they need.

    Roles belong to the server and grants are rows of its catalogue, so two databases that migrate at once can
    collide there; the second attempt finds the other's work done.
    """
    text = (files("memex.store") / "roles.sql").read_bytes()
    for attempt in range(10):
        try:
            async with _patient_transaction(conninfo, connection, wait_s):
                await connection.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
                await connection.execute(text)
        except (
            psycopg.errors.InternalError_,
            psycopg.errors.UniqueViolation,
            psycopg.errors.DeadlockDetected,
        ):
            if attempt == 9:
                raise
        else:
            return
