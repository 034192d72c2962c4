"""Open the migrated Postgres that the settings name.

This module imports little, so that it can run while the heavy libraries are still loading.
"""

import asyncio
import os
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memex.errors import StoreUnavailable, ValidationFailed
from memex.settings import Settings
from memex.store import pooler
from memex.store.embedded import server as embedded
from memex.store.embedded.home import BACKUPS, LEDGER
from memex.store.migrate import MEMORY, Migration, is_empty, migrate
from memex.store.waiting.database_url import read_url
from memex.store.waiting.primary import HINT as NO_PRIMARY_HINT
from memex.store.waiting.primary import await_server

CONNECT_TIMEOUT_S = 10
STOP_TIMEOUT_S = 10.0  # Docker waits this long before it kills
STOP_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Postgres:
    """A database with this version's schema.

    `lease` is a lease on the embedded server; None with DATABASE_URL. `agent_conninfo` is the same database with
    the login for agents; None for one login.
    """

    conninfo: str = field(repr=False)
    lease: embedded.ServerLease | None
    applied: tuple[Migration, ...]
    agent_conninfo: str | None = field(default=None, repr=False)

    @property
    def begins_journal(self) -> bool:
        """Return whether this start brought an older database to the schema that has the journal."""
        names = {(migration.track, migration.version): migration.name for migration in self.applied}
        return (MEMORY.name, 1) not in names and "journal" in names.values()

    def restart_after_s(self) -> float | None:
        """Return when the embedded server is started again; None if it runs, or is not ours to start."""
        return None if self.lease is None else self.lease.restart_after_s()

    def close(self) -> None:
        """Close the lease on the embedded server, if there is one."""
        if self.lease is not None:
            _give_back(self.lease)


def start(settings: Settings, *, migrates: bool = True, upto: Mapping[str, int] | None = None) -> Postgres:
    """Start or join the embedded server, or use DATABASE_URL, and apply the missing migrations.

    A database that does not take writes yet is waited for, for a minute.

    Args:
        settings: the settings with the place of the database.
        migrates: false for a command, which leaves an older schema at DATABASE_URL as it is, and takes no lock: it
            is refused when the database is opened. A standby will do for it.
        upto: the newest migration of each track to apply, such as that of a backup; empty applies none at all.

    Raises:
        ValidationFailed: DATABASE_URL cannot be read, or MEMEX_AGENT_DATABASE_URL stands without it.
        StoreUnavailable, SchemaTooNew: the database cannot be used; the hint says what to do.
    """
    lease = None
    agent_conninfo = agent_conninfo_of(settings)
    if settings.database_url is None:
        lease = embedded.start(data_dir_of(settings), bin_dir=settings.pg_bin_dir, port=settings.pg_port)
    try:
        conninfo = lease.conninfo if lease else conninfo_of(settings.database_url or "")
        superuser = lease.admin_conninfo if lease else None
        only_if_empty = not (migrates or lease)
        migrated = _migrated(conninfo, superuser, settings, only_if_empty=only_if_empty, upto=upto)
        applied = tuple(asyncio.run(migrated))
        return Postgres(conninfo, lease, applied, agent_conninfo)
    except BaseException:
        if lease is not None:
            _give_back(lease)
        raise


def data_dir_of(settings: Settings) -> Path:
    """Return the data folder of the embedded Postgres."""
    return (settings.data_dir or embedded.default_data_dir()).expanduser().resolve()


def ledger_of(settings: Settings) -> Path:
    """Return the file that says which words were erased, which need not be there."""
    return settings.erasure_ledger or data_dir_of(settings) / LEDGER


def backups_of(settings: Settings) -> Path:
    """Return the folder of backups, which need not be there."""
    return settings.backup_dir or data_dir_of(settings) / BACKUPS


def start_in_background(settings: Settings, *, migrates: bool = True) -> Future[Postgres]:
    """Run `start` in a thread that ends with the process, and return its future."""
    future: Future[Postgres] = Future()
    future.set_running_or_notify_cancel()  # a waiting caller may give up; the thread continues

    def work() -> None:
        try:
            future.set_result(start(settings, migrates=migrates))
        except BaseException as error:  # noqa: BLE001  # raised where the result is awaited
            future.set_exception(error)

    Thread(target=work, name="postgres-start", daemon=True).start()
    return future


def agent_conninfo_of(settings: Settings) -> str | None:
    """Return the connection string for MEMEX_AGENT_DATABASE_URL, None if it is not set; raises as `conninfo_of`."""
    url = settings.agent_database_url
    if url is not None and settings.database_url is None:
        raise ValidationFailed(
            "MEMEX_AGENT_DATABASE_URL is set, and DATABASE_URL is not.",
            hint="Set both, or neither: the embedded Postgres has one login.",
        )
    return None if url is None else conninfo_of(url, "MEMEX_AGENT_DATABASE_URL")


def conninfo_of(database_url: str, name: str = "DATABASE_URL") -> str:
    """Return the connection string for DATABASE_URL, with a limit on the time that connecting may take.

    Raises:
        ValidationFailed: a part of the URL cannot be read. The message never quotes it, as it holds a password.
    """
    conninfo, _ = read_url(database_url, name)
    given = conninfo_to_dict(conninfo)
    return make_conninfo(conninfo, connect_timeout=given.get("connect_timeout", CONNECT_TIMEOUT_S))


def await_stop(data_dir: Path) -> None:
    """Wait until the embedded server is down, if this process is the first one of a container.

    The container ends with this process, and would kill the server.
    """
    if os.getpid() != 1:
        return
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while embedded.inspect(data_dir).running and time.monotonic() < deadline:
        time.sleep(STOP_POLL_S)


def _give_back(lease: embedded.ServerLease) -> None:
    lease.close()
    await_stop(lease.data_dir)


async def _migrated(
    conninfo: str,
    superuser: str | None,
    settings: Settings,
    *,
    only_if_empty: bool,
    upto: Mapping[str, int] | None,
) -> list[Migration]:
    try:
        if superuser is None:  # a server of one's own runs by now
            await await_server(conninfo, takes_writes=not only_if_empty)
        if upto == {} or (only_if_empty and not await is_empty(conninfo)):
            return []
        return await migrate(
            conninfo,
            superuser=superuser,
            pooler_setting=settings.pooler,
            wait_s=settings.migrate_seconds,
            upto=upto,
        )
    except psycopg.OperationalError as error:
        raise StoreUnavailable(
            f"The database cannot be reached: {_first_line(error)}", hint=pooler.hint_of(error)
        ) from error
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise StoreUnavailable(
            "This server is a read-only standby, so the schema cannot be made here.", hint=NO_PRIMARY_HINT
        ) from error
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"The database cannot be migrated: {_first_line(error)}",
            hint="Usually the login owns neither its database nor the schema public in it. Make it the owner: "
            "`alter database NAME owner to LOGIN`.",
        ) from error


def _first_line(error: psycopg.Error) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
