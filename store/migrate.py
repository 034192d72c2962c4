"""Brings a database to this version's schema: numbered SQL files, in order, under one advisory lock."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import psycopg
from psycopg.rows import tuple_row

from memex.errors import SchemaTooNew, StoreUnavailable

LOCK_KEY = 0x4D454D4558  # "MEMEX": held by whoever migrates; the others wait and find nothing to do
MINIMUM_SERVER = 15_00_00
ROLES = ("memex_agent", "memex_admin")


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered SQL file."""

    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> bytes:
        """The digest that is recorded, so that an edited migration is noticed."""
        return hashlib.sha256(self.sql.encode()).digest()


def migrations() -> list[Migration]:
    """Return the migrations that this version ships, in order."""
    entries = (files("memex.store") / "migrations").iterdir()
    named = [(re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name), entry) for entry in entries]
    found = [
        Migration(int(match[1]), match[2], entry.read_text(encoding="utf-8"))
        for match, entry in named
        if match
    ]
    return sorted(found, key=lambda migration: migration.version)


async def migrate(conninfo: str) -> list[Migration]:
    """Apply what is missing, all of it or nothing, and return it. Any number of processes may call at once.

    Raises:
        SchemaTooNew: a newer Memex migrated this database.
        StoreUnavailable: the server is older than Postgres 15, or a migration that ran was edited since.
    """
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        _check_server(connection)
        async with connection.transaction():
            missing = await _apply_missing(connection)
        await _ensure_roles(connection)
    return missing


async def check(connection: psycopg.AsyncConnection[object]) -> None:
    """Refuse a database whose schema is not this version's.

    Raises:
        SchemaTooNew: a newer Memex migrated it.
        StoreUnavailable: migrations are missing; the hint names the command.
    """
    async with connection.transaction():
        await connection.execute("set local memex.maintenance = 'on'")
        applied = await _applied(connection)
    if missing := _missing(migrations(), applied):
        raise StoreUnavailable(
            f"The database lacks {len(missing)} of this version's migrations.", hint="Run `memex migrate`."
        )


async def _apply_missing(connection: psycopg.AsyncConnection[object]) -> list[Migration]:
    await connection.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
    await connection.execute("set local memex.maintenance = 'on'")
    missing = _missing(migrations(), await _applied(connection))
    if missing:
        await connection.execute(
            "create table if not exists schema_migration ("
            " version integer primary key, name text not null, sha256 bytea not null,"
            " applied_at timestamptz not null default clock_timestamp())"
        )
    for migration in missing:
        await connection.execute(migration.sql.encode())
        await connection.execute(
            "insert into schema_migration (version, name, sha256) values (%s, %s, %s)",
            [migration.version, migration.name, migration.sha256],
        )
    return missing


async def _applied(connection: psycopg.AsyncConnection[object]) -> dict[int, bytes]:
    cursor = connection.cursor(row_factory=tuple_row)
    await cursor.execute("select from pg_class where oid = to_regclass('schema_migration')")
    if cursor.rowcount == 0:
        return {}
    await cursor.execute("select version, sha256 from schema_migration")
    return {version: bytes(sha256) for version, sha256 in await cursor.fetchall()}


def _missing(known: Sequence[Migration], applied: dict[int, bytes]) -> list[Migration]:
    newest = max((migration.version for migration in known), default=0)
    if applied and max(applied) > newest:
        raise SchemaTooNew(f"The schema is at version {max(applied)}, this Memex knows up to {newest}.")
    for migration in known:
        if migration.version in applied and applied[migration.version] != migration.sha256:
            raise StoreUnavailable(
                f"Migration {migration.version:04}_{migration.name} ran here with another text.",
                hint="Install the version of Memex that made this database, and upgrade from there.",
            )
    return [migration for migration in known if migration.version not in applied]


def _check_server(connection: psycopg.AsyncConnection[object]) -> None:
    if connection.info.server_version < MINIMUM_SERVER:
        raise StoreUnavailable(
            f"Postgres {connection.info.server_version // 10_000} is too old.",
            hint="Memex needs Postgres 15 or newer.",
        )


async def _ensure_roles(connection: psycopg.AsyncConnection[object]) -> None:
    """Make the two roles where the login may, and grant them what they need.

    Roles belong to the server and grants are rows of its catalogue, so two databases that migrate at once can
    collide there; the second attempt finds the other's work done.
    """
    text = (files("memex.store") / "roles.sql").read_bytes()
    for attempt in range(10):
        try:
            async with connection.transaction():
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
