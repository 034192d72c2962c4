"""Brings a database to this version's schema: numbered SQL files, in order, under one advisory lock.

There are three tracks of them, each numbered and recorded by itself: memory, which every database has; jobs, a
queue; and vectors, for which the server must have pgvector. The last two are applied where that is possible, and
everything else works without them.
"""

import hashlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import psycopg
import structlog
from psycopg.conninfo import make_conninfo
from psycopg.rows import tuple_row
from psycopg.sql import SQL, Identifier

from memex.errors import SchemaTooNew, StoreUnavailable
from memex.store import pooler
from memex.store.pooler import PoolerSetting
from memex.store.sql import sql
from memex.store.waiting.blockers import Blocker, telling_blockers
from memex.store.waiting.pgvector import add_to_path, find_schema
from memex.store.waiting.pools import connect

_log = structlog.get_logger()

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

# The digests of the texts that migrations of MEMORY had before they were edited, the oldest first. The file of the
# same name in `migrations/edited` brings a database that ran one of them to what today's text makes.
EDITED = {
    "0001_memory": (
        "4da80cd39f7a9d1a96845da9965856993962710a215c0ebae06f5b6ef82ed428",
        "062493e7d1ef7f2d09557f3f5c187780ce418445e6082bc089ad0a1ac529d7ac",
        "e67981b48f5fa88c48b5f6e3a933c93142eabc001b505c677598a949bf8aa6ab",
        "83c92e28502a5ee635e9e9819f86519da1b08de2e85e2e13c9f77a18db99664c",
        "cceab6c9cbd77ad80e1a9205b92dc59f3a13d761f0e7056c4f2c590c2e166509",
    ),
    "0003_pending": (
        "3204d485c079c86cfd2458402ec6884e450df1d0eeafef7ed6b5868095347e2a",
        "8f1dce1b1221e29bdcfdcc3f38d710f691da258c2b236662449033b418a3d495",
    ),
    "0019_erasure": ("81d3a06f0f5f1ff31b8342554a56d6ea6b154a86c47d7fc54f6eef6f23849f98",),
    "0036_token_states": ("88a9db3203a104a549df55e0e0b0e61e4f0d45394753b1681fb0eed3108073c4",),
}


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

    @property
    def file_name(self) -> str:
        """The name of the file, without its ending."""
        return f"{self.version:04}_{self.name}"

    @property
    def amendment(self) -> bytes:
        """The statements that make up for an earlier text of the migration where that one ran."""
        return (files("memex.store") / "migrations" / "edited" / f"{self.file_name}.sql").read_bytes()

    def had_text(self, sha256: bytes) -> bool:
        """Return whether a digest is that of a text which the migration had before it was edited."""
        return self.track == MEMORY.name and sha256.hex() in EDITED.get(self.file_name, ())


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
    upto: Mapping[str, int] | None = None,
) -> list[Migration]:
    """Apply what is missing, all of it or nothing, and return it. Any number of processes may call at once.

    Where nothing is missing, nothing is written and no lock is taken.

    Args:
        conninfo: the address for the login that owns the tables.
        superuser: the address for a login that may install pgvector, if the first login may not. Its database is
            ignored.
        pooler_setting: whether a pooler may stand between. Each step is a transaction, which works through one.
        wait_s: how long to wait for a lock that another session holds; None waits until it is given back. The
            process log says meanwhile which session it is.
        upto: the newest migration of each track to apply, for a backup of this schema; None applies all.

    Raises:
        SchemaTooNew: a newer Memex migrated this database.
        StoreUnavailable: the server is older than Postgres 15, a migration that ran was edited since, there is a
            pooler that cannot be used, or a lock was not had in time.
    """
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        _check_server(connection)
        await pooler.check(connection, pooler_setting)
        missing: list[Migration] = []
        if await _is_behind(connection, superuser):
            async with _patient_transaction(conninfo, connection, wait_s):
                missing = await _apply_missing(connection, superuser, upto)
        await _ensure_roles(conninfo, connection, wait_s)
    return missing


async def is_empty(conninfo: str) -> bool:
    """Return whether a database has no schema of Memex; only reads."""
    async with await connect(conninfo, autocommit=True) as connection, connection.transaction():
        await connection.execute("set local memex.maintenance = 'on'")
        return not await _applied(connection, MEMORY)


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
            known = migrations(track)
            if missing := [*_missing(known, applied), *_edited(known, applied)]:
                raise StoreUnavailable(
                    f"The database lacks {len(missing)} of this version's migrations.",
                    hint="Run `memex service migrate`.",
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


async def _is_behind(connection: psycopg.AsyncConnection[object], superuser: str | None) -> bool:
    """Return whether a migration is missing that this database can have; only reads."""
    async with connection.transaction():
        await connection.execute("set local memex.maintenance = 'on'")
        for track in TRACKS:
            applied = await _applied(connection, track)
            if not _missing(migrations(track), applied):
                continue
            if applied or await _is_possible(connection, track):
                return True
            if track is VECTORS and superuser is not None and await _is_pgvector_offered(connection):
                return True
    return False


async def _apply_missing(
    connection: psycopg.AsyncConnection[object], superuser: str | None, upto: Mapping[str, int] | None
) -> list[Migration]:
    await connection.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
    await connection.execute("set local memex.maintenance = 'on'")
    done: list[Migration] = []
    for track in TRACKS:
        applied, known = await _applied(connection, track), migrations(track)
        missing = [
            one for one in _missing(known, applied) if upto is None or one.version <= upto.get(track.name, 0)
        ]
        for migration in _edited(known, applied):
            await _amend(connection, migration)
        if missing and applied:
            _log.warning(
                "schema_upgrade_begins",
                track=track.name,
                from_version=max(applied),
                to_version=missing[-1].version,
            )
        if missing and not applied and track is VECTORS and superuser is not None:
            await _install_pgvector(make_conninfo(superuser, dbname=connection.info.dbname))
        if missing and (applied or await _is_possible(connection, track)):
            await _apply(connection, track, missing, is_upgrade=bool(applied))
            done += missing
    return done


async def _apply(
    connection: psycopg.AsyncConnection[object],
    track: Track,
    missing: Sequence[Migration],
    *,
    is_upgrade: bool,
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
        if is_upgrade:
            _log.info(
                "schema_migration", track=track.name, migration=migration.file_name, of=missing[-1].version
            )
        if track is VECTORS:
            await add_to_path(connection, await find_schema(connection))
        await connection.execute(migration.sql.encode())
        await connection.execute(
            SQL("insert into {} (version, name, sha256) values (%s, %s, %s)").format(table),
            [migration.version, migration.name, migration.sha256],
        )


async def _amend(connection: psycopg.AsyncConnection[object], migration: Migration) -> None:
    await connection.execute(migration.amendment)
    await connection.execute(
        "update schema_migration set sha256 = %s where version = %s", [migration.sha256, migration.version]
    )


async def _install_pgvector(conninfo: str) -> None:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        if await _is_pgvector_offered(connection):
            await connection.execute("create extension if not exists vector")


async def _is_pgvector_offered(connection: psycopg.AsyncConnection[Any]) -> bool:
    cursor = await connection.execute("select from pg_available_extensions where name = 'vector'")
    return cursor.rowcount > 0


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
        sha256 = applied.get(migration.version, migration.sha256)
        if sha256 != migration.sha256 and not migration.had_text(sha256):
            raise StoreUnavailable(
                f"Migration {migration.file_name} ran in this database with a text that is not known here.",
                hint="Memex cannot upgrade this database. Export its files with the program that made it, and "
                "import them into a new database.",
            )
    return [migration for migration in known if migration.version not in applied]


def _edited(known: Sequence[Migration], applied: dict[int, bytes]) -> list[Migration]:
    """Return the migrations of which an earlier text ran."""
    return [
        migration
        for migration in known
        if migration.version in applied and migration.had_text(applied[migration.version])
    ]


def _check_server(connection: psycopg.AsyncConnection[object]) -> None:
    if connection.info.server_version < MINIMUM_SERVER:
        raise StoreUnavailable(
            f"Postgres {connection.info.server_version // 10_000} is too old.",
            hint="Memex needs Postgres 15 or newer.",
        )


async def _ensure_roles(
    conninfo: str, connection: psycopg.AsyncConnection[object], wait_s: float | None
) -> None:
    """Make the two roles where the login may, and grant them what they lack; write nothing if they lack nothing.

    Roles belong to the server and grants are rows of its catalogue, so two databases that migrate at once can
    collide there; the second attempt finds the other's work done.
    """
    if not await _lacks_roles(connection):
        return
    for attempt in range(10):
        try:
            async with _patient_transaction(conninfo, connection, wait_s):
                await connection.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
                await write_roles(connection)
        except (
            psycopg.errors.InternalError_,
            psycopg.errors.UniqueViolation,
            psycopg.errors.DeadlockDetected,
        ):
            if attempt == 9:
                raise
        else:
            return


async def write_roles(connection: psycopg.AsyncConnection[object]) -> None:
    """Make the two roles if the login may, and grant them what they lack."""
    await connection.execute((files("memex.store") / "roles.sql").read_bytes())
    for statement in await _missing_grants(connection):
        await connection.execute(statement)


async def _lacks_roles(connection: psycopg.AsyncConnection[object]) -> bool:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(sql("upkeep/roles_missing"))
        if await cursor.fetchone() == (True,):
            return True
    return bool(await _missing_grants(connection))


async def _missing_grants(connection: psycopg.AsyncConnection[object]) -> list[bytes]:
    async with connection.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(sql("upkeep/grants_missing"))
        return [statement.encode() for (statement,) in await cursor.fetchall()]
