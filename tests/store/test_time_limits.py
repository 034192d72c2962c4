"""What Postgres gives up after which time, and what the caller is told instead of its message."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from memex.call_context import CallContext
from memex.errors import MemexError, ScopeBusy, StoreUnavailable
from memex.service.service import Caller, Service
from memex.store.database import Database, Waiting
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.migrate import LOCK_KEY, migrate
from memex.store.waiting import blockers
from memex.store.waiting.time_limits import CALL, UPKEEP, TimeLimits

LOCK_ALL = b"select from scope_stat for update"


@asynccontextmanager
async def impatient(conninfo: str, counted: Counter[str], **limits: float) -> AsyncIterator[Service]:
    """A service whose transactions give up soon."""
    waiting = Waiting(limits=replace(CALL, **limits), count=lambda reason: counted.update([reason]))
    database = await Database.open(conninfo, max_connections=3, waiting=waiting)
    yield Service(database, max_files=100)
    await database.close()


async def caller_of(service: Service, user: str) -> Caller:
    """Return a user of the service who has a file."""
    tenant_id = await tenants.ensure_tenant(service.database, "home")
    caller = await service.caller(Principal(tenant_id, "agent"), CallContext(user), makes_user=True)
    await service.execute(caller, "memory_write", {"path": "user/a.md", "content": "tea"})
    return caller


@asynccontextmanager
async def owner(conninfo: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """A session beside the service, which sees all rows."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        await connection.execute("set memex.maintenance = 'on'")
        yield connection


async def until(connection: psycopg.AsyncConnection[Any], condition: str) -> None:
    """Ask the database until a condition holds."""
    while (await (await connection.execute(f"select {condition}".encode())).fetchone()) != (True,):
        await connection.execute("select pg_sleep(0.01)")


async def test_a_write_behind_a_lock_that_nobody_gives_back_is_told(conninfo: str) -> None:
    """By SCOPE_BUSY; the writer's reads and everything of other users go on."""
    counted: Counter[str] = Counter()
    async with impatient(conninfo, counted, lock_s=0.2) as service, owner(conninfo) as holder:
        alice, bob = [await caller_of(service, user) for user in ("alice", "bob")]
        async with holder.transaction():
            scope_id = alice.access.by_mount["user"].scope_id
            await holder.execute("select from scope_stat where scope_id = %s for update", [scope_id])
            with pytest.raises(ScopeBusy) as refused:
                await service.execute(alice, "memory_write", {"path": "user/b.md", "content": "milk"})
            read = await service.execute(alice, "memory_read", {"path": "user/a.md"})
            written = await service.execute(bob, "memory_write", {"path": "user/b.md", "content": "milk"})
        again = await service.execute(alice, "memory_write", {"path": "user/b.md", "content": "milk"})

    assert refused.value.details["retry_after_s"] > 0
    assert (read["content"], written["version"], again["version"]) == ("tea", 1, 1)
    assert counted == {"lock_timeout": 1}


async def test_a_statement_that_takes_too_long_is_ended(conninfo: str) -> None:
    """The process log has what Postgres said, and the caller has not."""
    counted: Counter[str] = Counter()
    async with impatient(conninfo, counted, statement_s=0.1) as service:
        caller = await caller_of(service, "alice")
        with capture_logs() as lines, pytest.raises(StoreUnavailable) as refused:
            async with service.database.transaction(caller.access) as connection:
                await connection.execute("select pg_sleep(60)")

    assert "MEMEX_STATEMENT_SECONDS" in refused.value.hint
    assert "cancel" not in refused.value.message.replace("was cancelled", "")
    [line] = lines
    assert (line["event"], line["sqlstate"]) == ("database_failed", "57014")
    assert "statement timeout" in line["error"]
    assert counted == {"statement_timeout": 1}


async def test_a_commit_that_is_stopped_midway_gives_its_locks_back(conninfo: str) -> None:
    """Postgres ends a transaction that holds the lock of a scope and sends nothing more."""
    counted: Counter[str] = Counter()
    async with impatient(conninfo, counted, idle_s=0.1) as service, owner(conninfo) as beside:
        caller = await caller_of(service, "alice")

        async def rest() -> None:
            scope_ids = [caller.access.by_mount["user"].scope_id]
            locked = "writes/scope_lock", {"scope_ids": scope_ids}
            async with service.database.writing(caller.access, locked, scope_ids=scope_ids) as (held, _):
                pid = held.info.backend_pid
                await until(beside, f"not exists (select from pg_stat_activity where pid = {pid})")

        with pytest.raises(StoreUnavailable):
            await rest()
        read = await service.execute(caller, "memory_read", {"path": "user/a.md"})

    assert read["content"] == "tea"
    assert counted.keys() <= {"idle_timeout", "unavailable"}
    assert counted.total() == 1


async def test_limits_are_those_of_the_transaction(service: Service) -> None:
    """Behind a pooler, nothing else lasts; maintenance has its own."""
    names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    caller = await caller_of(service, "alice")

    async def limits(connection: psycopg.AsyncConnection[Any]) -> TimeLimits:
        shown = "select extract(epoch from current_setting(%s)::interval)::float as seconds"
        found = [await (await connection.execute(shown, [name])).fetchone() for name in names]
        return TimeLimits(*(row["seconds"] for row in found if row))

    async with service.database.connection() as connection:
        before = await limits(connection)
    for is_snapshot in (False, True):
        async with service.database.transaction(caller.access, snapshot=is_snapshot) as connection:
            assert await limits(connection) == CALL
    async with service.database.maintenance() as connection:
        assert await limits(connection) == UPKEEP
    async with service.database.connection() as connection:
        assert await limits(connection) == before


@pytest.mark.parametrize("is_write", [False, True])
async def test_a_statement_of_who_goes_away_is_cancelled(conninfo: str, is_write: bool) -> None:
    """Also one that waits for a lock; its connection serves the next call."""
    async with (
        impatient(conninfo, Counter()) as service,
        owner(conninfo) as holder,
        owner(conninfo) as beside,
    ):
        caller = await caller_of(service, "alice")
        async with holder.transaction():
            await holder.execute(LOCK_ALL)

            async def wait() -> None:
                if is_write:
                    await service.execute(caller, "memory_write", {"path": "user/b.md", "content": "milk"})
                else:
                    async with service.database.transaction(caller.access, snapshot=True) as connection:
                        await connection.execute("select pg_sleep(60)")
                        await connection.execute("select 1")

            task = asyncio.create_task(wait())
            waits = "wait_event_type = 'Lock'" if is_write else "wait_event = 'PgSleep'"
            running = f"exists (select from pg_stat_activity where datname = current_database() and {waits})"
            await until(beside, running)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(beside, f"not {running}")
        listed = await service.execute(caller, "memory_list", {})

    assert [file["path"] for file in listed["files"]] == ["user/a.md"]


@pytest.mark.parametrize(
    ("sqlstate", "kind"),
    [("55P03", ScopeBusy), ("40P01", ScopeBusy), ("57014", StoreUnavailable), ("57P01", StoreUnavailable)],
)
async def test_no_error_quotes_postgres(service: Service, sqlstate: str, kind: type[MemexError]) -> None:
    """Whatever it says."""
    with pytest.raises(kind) as refused:
        async with service.database.connection() as connection:
            await connection.execute(
                f"do $$ begin raise exception 'a secret' using errcode = '{sqlstate}'; end $$".encode()
            )

    assert "a secret" not in f"{refused.value.message} {refused.value.hint} {refused.value.details}"


async def test_a_migration_says_for_whom_it_waits(conninfo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which process, which program and since when; and it gives up if it shall."""
    monkeypatch.setattr(blockers, "FIRST_LOOK_S", 0.0)
    named = psycopg.conninfo.make_conninfo(conninfo, application_name="a stopped one")
    async with owner(named) as holder:
        pid = holder.info.backend_pid
        await holder.execute("revoke select on scope from memex_agent")  # something to be done
        async with holder.transaction():
            await holder.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
            with capture_logs() as lines, pytest.raises(StoreUnavailable) as refused:
                await migrate(conninfo, wait_s=0.5)
        applied = await migrate(conninfo, wait_s=30)

    assert (lines[0]["event"], lines[0]["pid"]) == ("migration_waits", pid)
    assert (lines[0]["application"], lines[0]["state"]) == ("a stopped one", "idle in transaction")
    assert f"process {pid} of Postgres (a stopped one, idle in transaction" in refused.value.message
    assert "MEMEX_MIGRATE_SECONDS" in refused.value.hint
    assert applied == []


async def test_a_refusal_says_when_the_database_is_back(conninfo: str) -> None:
    """As the supervisor of the embedded server says, rounded up; at least a second."""
    told: list[Any] = []
    for after_s in (None, 0.2, 6.4):
        waiting = Waiting(restart_after_s=partial(float, after_s) if after_s else lambda: None)
        database = await Database.open(conninfo, max_connections=1, waiting=waiting)
        with pytest.raises(StoreUnavailable) as refused:
            async with database.connection() as connection:
                await connection.execute("select pg_terminate_backend(pg_backend_pid())")
        told.append(refused.value.details.get("retry_after_s"))
        await database.close()

    assert told == [None, 1, 7]
