# ruff: noqa: S608 (raw statements over tables named by the database itself are what this file is about)
"""Tenants that are thrown away: nothing of them stays, and nothing of others goes."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from psycopg.conninfo import make_conninfo
from tests.kit.memory import open_project

from memex.call_context import CallContext
from memex.service.service import Caller, Service
from memex.store import migrate
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.search import vectors
from memex.store.upkeep.restore import StoredRevision, StoredScope, restore
from memex.store.upkeep.throwaway import PREFIX, remove, sweep, throwaway_tenant
from memex.store.writes import pending

CallerOf = Callable[..., Awaitable[Caller]]
Counts = dict[str, int]

OF_TENANTS = """
    select distinct table_name
      from information_schema.columns
      join information_schema.tables using (table_schema, table_name)
     where table_schema = 'public'
       and table_type = 'BASE TABLE'
       and column_name in ('tenant_id', 'scope_id')
     order by table_name"""
WHEN = datetime(2026, 11, 20, 9, tzinfo=UTC)
OVER = timedelta(seconds=-1)  # a lifetime that is over when it begins

both_logins = pytest.mark.parametrize("login", ["by role", "as owner"])


@pytest.fixture
def login() -> str:
    """How the application acts: by its roles, or, where its login may not take them, as the tables' owner."""
    return "by role"


@pytest.fixture
def conninfo(login: str, server: Any) -> Iterator[str]:
    """A migrated database for the application, or for a login that is bound by forced row-level security."""
    if login == "by role":
        with server.lend() as lent:
            yield lent.conninfo
        return
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    user = f"lone_{uuid.uuid4().hex[:12]}"
    server._run(f"create role {user} login nocreaterole password 'lone'")
    server._run(f'create database "{name}" owner {user}')
    conninfo = make_conninfo(server.admin, dbname=name, user=user, password="lone")
    asyncio.run(migrate.migrate(conninfo, superuser=server.admin))
    yield conninfo
    server.drop(name)
    server._run(f"drop role {user}")


@pytest.fixture
async def database(conninfo: str, login: str) -> AsyncIterator[Database]:
    """The pool over it."""
    database = await Database.open(conninfo, max_connections=5)
    assert database.acts_by_role == (login == "by role")
    yield database
    await database.close()


async def counts(database: Database) -> Counts:
    """Return how many rows there are of each table that holds what is of a tenant, and how many jobs."""
    async with database.maintenance() as connection:
        tables = [row["table_name"] for row in await (await connection.execute(OF_TENANTS)).fetchall()]
        assert {"revision", "posting", "operation", "eval_run", "spend", "api_key"} <= set(tables)
        if database.has_jobs:
            tables.append("procrastinate.procrastinate_jobs")
        counted = {}
        for table in tables:
            cursor = await connection.execute(f"select count(*) as n from {table}".encode())
            [row] = await cursor.fetchall()
            counted[table] = row["n"]
    return counted


async def live_in(service: Service, tenant_id: int) -> None:
    """Fill every table: files, projects, logs, keys, prompts, spending, runs, vectors, jobs."""
    database = service.database
    admin = await service.caller(Principal(tenant_id, "admin"), CallContext(user_id="alice"), makes_user=True)
    await open_project(service, admin, "apollo", "alice")
    alice = await service.caller(Principal(tenant_id, "agent"), CallContext(user_id="alice"), makes_user=True)
    for text in ("# Tea\n[[a]] green", "# Tea\n[[b]] black"):
        for path in ("user/a.md", "projects/apollo/a.md"):
            arguments = {"path": path, "content": text, "overwrite": True}
            await service.execute(alice, "memory_write", arguments)
    await service.execute(admin, "memory_write", {"path": "shared/a.md", "content": "# Rules"})
    await service.execute(alice, "memory_context", {"query": "tea"})
    await service.execute(alice, "memory_remember", {"text": "I like oolong.", "wait": not database.has_jobs})
    scope_ids = alice.access.writable_ids
    async with database.maintenance() as connection:
        await pending.merge_scopes(connection, scope_ids)
        for statement in (
            "insert into prompt values (%(tenant)s, sha256('x'), 'text')",
            "insert into spend (tenant_id, day, model) values (%(tenant)s, '2026-11-20', 'm')",
            "insert into eval_run values (%(tenant)s, 'r', 's', '2026-11-20', '{}')",
            "insert into api_key (tenant_id, key_sha256, role) values (%(tenant)s, sha256(%(key)s), 'agent')",
            "insert into quota (tenant_id, kind, key, files) values (%(tenant)s, 'user', 'alice', 100)",
            "insert into write_rate values (%(tenant)s, 'writes-user', 'alice', now())",
            (
                "insert into ui_session (tenant_id, token_sha256, role, expires_at) "
                "values (%(tenant)s, sha256(%(key)s), 'admin', now())"
            ),
            "insert into ui_link (tenant_id, token_sha256, expires_at) values (%(tenant)s, sha256(%(key)s), now())",
            "insert into erasure (tenant_id, user_id, scope_ids) values (%(tenant)s, 'bob', '{}')",
            (
                "insert into word_erasure (erasure_id, tenant_id, is_wide, token, entry) values "
                "(left(md5(%(tenant)s::text), 24), %(tenant)s, false, md5(%(tenant)s::text), '{}')"
            ),
            "insert into log_hour values (%(tenant)s, now(), 'memory_find', 'answered', 1, '{}', '{}')",
            (
                "insert into rival values (%(scope)s, %(tenant)s, %(scope)s, 'a.md', "
                "decode(repeat('00', 16), 'hex'), 0, 0, %(scope)s, 'b.md', "
                "decode(repeat('00', 16), 'hex'), 0, 0, false, 1, null, 'call')"
            ),
            (
                "insert into tombstone values (%(scope)s, %(tenant)s, decode(repeat('00', 16), 'hex'), "
                "'forgotten', decode(repeat('00', 16), 'hex'), '{}', '{}', '{}', now(), 1, null, 'call', null)"
            ),
            "insert into conversation_stat (scope_id, tenant_id) values (%(scope)s, %(tenant)s)",
            "insert into dream (scope_id, tenant_id) values (%(scope)s, %(tenant)s)",
            "insert into proposal values (%(scope)s, %(tenant)s, 'd', now(), 1, 'b', false, '{}', '[]', null)",
            (
                "insert into proposal_edit (scope_id, tenant_id, proposal_id, number, part, kind, path, change, "
                "why) values (%(scope)s, %(tenant)s, 'd', 1, 1, 'duplicate', 'user/a.md', '[]', 'because')"
            ),
            "insert into source values (%(scope)s, %(tenant)s, 1, 'chatgpt', 'chatgpt', '', 1, now())",
            (
                "insert into conversation (scope_id, tenant_id, conversation_no, conversation_id, source_id, "
                "provider_id, title, is_complete, sha256, reader_version, imported_at) values "
                "(%(scope)s, %(tenant)s, 1, '9k2m4q7wtx3d', 1, 'c1', 'Tea', true, sha256('x'), 1, now())"
            ),
            (
                "insert into message (scope_id, tenant_id, message_id, conversation_no, number, position, role, "
                "part, text, sha256, human_authored, on_path, origin, provider_id) values "
                "(%(scope)s, %(tenant)s, 1, 1, 1, 1, 'user', 'message', 'Tea?', sha256('x'), true, true, '', 'm1')"
            ),
            "insert into conversation_removed values (%(scope)s, %(tenant)s, sha256('x'), now())",
            "insert into conversation_file values (%(scope)s, %(tenant)s, sha256('x'), now())",
            (
                "insert into event (scope_id, tenant_id, event_no, runtime, session, name, conversation_id, kind, "
                "happened_at, received_at) values "
                "(%(scope)s, %(tenant)s, 1, 'claude_code', 's1', 'e1', '9k2m4q7wtx3d', 'stop', now(), now())"
            ),
            (
                "insert into conversation_import (scope_id, tenant_id, import_id, name, is_dry_run) "
                "values (%(scope)s, %(tenant)s, 'imp_1', 'export.zip', false)"
            ),
            "insert into observation values (%(scope)s, %(tenant)s, 1, 1, 0, 'done', 0, 1, true, true, 1)",
            "insert into work_derived values (%(scope)s, %(tenant)s, 1, 1, 1, sha256('x'))",
            (
                "insert into work_answer values "
                "(%(scope)s, %(tenant)s, 1, 1, '1 m', sha256('x'), '[]', 0, now(), true)"
            ),
            "insert into work_mark values (%(scope)s, %(tenant)s, '0123456789', now(), 'done', 't')",
            "insert into token_state values (%(scope)s, %(tenant)s, 'local', sha256('x'), 8, 'x')",
            "insert into statement_state values (%(scope)s, %(tenant)s, 'local', sha256('x'), sha256('y'), 8, 'x')",
            "insert into token_progress values (%(scope)s, %(tenant)s, 'local', 1, null, now())",
            "insert into project_reading values (%(scope)s, %(tenant)s, %(scope)s + 1, now())",
            "insert into work_link values (%(scope)s, %(tenant)s, 'remote:github.com/a/b', 'apollo', now())",
            (
                "insert into citation values (%(scope)s, %(tenant)s, 'alice', '9k2m4q7wtx3d', 1, sha256('x'), "
                "sha256('y'), 0, 1, now(), 'notes.md@1', 't', now())"
            ),
            "insert into told_again values (%(scope)s, %(tenant)s, 'journal/a.md', now(), 't')",
            (
                "insert into statement (scope_id, tenant_id, file_id, line_key, state, rev, tool_call_id) values "
                "(%(scope)s, %(tenant)s, 1, substr(sha256('x'), 1, 16), 'in_force', 1, 't')"
            ),
            "insert into distilled values (%(scope)s, %(tenant)s, '9k2m4q7wtx3d', 1, 'builtin', 't', now())",
            "insert into document_stat values (%(scope)s, %(tenant)s)",
            "insert into document_root values (%(scope)s, %(tenant)s, 1, 'repo', 'alice')",
            (
                "insert into document values (%(scope)s, %(tenant)s, 1, 1, 'alice', 'a.md', 1, sha256('x'), "
                "'markdown', '', '{}', '{}', '{}', 'x', 1, 0, null, now(), null)"
            ),
            "insert into chunk_removed values (%(scope)s, %(tenant)s, 1, '{}', '{}', 0) on conflict do nothing",
        ):
            parameters = {"tenant": tenant_id, "scope": scope_ids[0], "key": str(tenant_id).encode()}
            await connection.execute(statement.encode(), parameters)
        if database.has_vectors:
            vector = np.ones(8, dtype=np.float32) / np.sqrt(8)
            for scope_id in scope_ids:
                await connection.execute(
                    "insert into embedding values (%s, %s, 'm', sha256('x'), %s::halfvec)",
                    [scope_id, tenant_id, str(vector.tolist())],
                )
                await connection.execute(
                    "insert into embedding_progress values (%s, %s, 'm', 1, null, now())",
                    [scope_id, tenant_id],
                )
                await connection.execute(
                    "insert into embedding_hnsw values (%s, %s, 'm', 8)", [scope_id, tenant_id]
                )
            await vectors.defer(connection, scope_ids)


async def tenants_of(database: Database) -> list[int]:
    """Return the ids of the throw-away tenants that there are."""
    async with database.maintenance() as connection:
        cursor = await connection.execute("select tenant_id from tenant where name like %s", [f"{PREFIX}%"])
        return [row["tenant_id"] for row in await cursor.fetchall()]


@both_logins
async def test_nothing_of_it_stays(service: Service) -> None:
    """Rows of every table go, jobs and vectors too; those of other tenants stay as they were."""
    await live_in(service, await tenants.ensure_tenant(service.database, "default"))
    before = await counts(service.database)
    assert all(before.values()), [name for name, rows in before.items() if not rows]

    async with throwaway_tenant(service.database) as tenant_id:
        await live_in(service, tenant_id)
        within = await counts(service.database)

    assert all(within[table] > number for table, number in before.items() if table != "schema_migration")
    assert await counts(service.database) == before


async def test_an_error_inside_removes_it_too(database: Database) -> None:
    """What is raised is raised, and nothing stays."""
    with pytest.raises(ZeroDivisionError):
        async with throwaway_tenant(database):
            raise ZeroDivisionError

    assert await tenants_of(database) == []


async def test_a_cancelled_caller_leaves_nothing(database: Database) -> None:
    """Cancelled once, and once more while it is removed."""
    begun = asyncio.Event()

    async def work() -> None:
        async with throwaway_tenant(database):
            begun.set()
            await asyncio.Event().wait()

    others = asyncio.all_tasks()
    task = asyncio.create_task(work())
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.gather(*(asyncio.all_tasks() - others))

    assert await tenants_of(database) == []


@both_logins
async def test_what_a_crash_left_goes_when_its_lifetime_is_over(service: Service) -> None:
    """The next one that begins removes it; one that still lives is left alone."""
    database = service.database
    before = await counts(database)
    async with throwaway_tenant(database) as living:
        left = throwaway_tenant(database, lifetime=OVER)
        await live_in(service, await left.__aenter__())

        async with throwaway_tenant(database) as tenant_id:
            assert sorted(await tenants_of(database)) == sorted([living, tenant_id])
        assert await sweep(database) == 0

        await left.__aexit__(None, None, None)  # a slow one that was taken for dead
    assert await counts(database) == before


async def test_two_that_begin_at_once_do_not_wait_for_each_other(database: Database) -> None:
    """Each takes what the other does not, and all of it goes once."""
    left = [throwaway_tenant(database, lifetime=timedelta(hours=1)) for _ in range(4)]
    for one in left:
        await one.__aenter__()
    async with database.maintenance() as connection:
        await connection.execute("update tenant set expires_at = now() where expires_at is not null")

    removed = await asyncio.gather(*(sweep(database) for _ in range(3)))

    assert sum(removed) == len(left)
    assert await tenants_of(database) == []


async def test_no_other_tenant_can_be_removed(service: Service, caller_of: CallerOf) -> None:
    """One that nobody throws away stays, whoever asks."""
    alice = await caller_of("alice")
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "tea"})
    before = await counts(service.database)

    assert not await remove(service.database, alice.access.tenant_id)
    assert not await remove(service.database, 2**40)
    assert await counts(service.database) == before


async def test_nobody_embeds_it_unasked(service: Service, caller_of: CallerOf) -> None:
    """Neither a sweep nor a backfill sends its texts to a provider."""
    database = service.database
    if not database.has_vectors:
        pytest.skip("this server has no pgvector")
    alice = await caller_of("alice")
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "tea"})
    revision = StoredRevision(
        1, 1, 1, None, "a.md", "tea", "create", False, None, None, None, "import", "put", WHEN
    )

    async with throwaway_tenant(database) as tenant_id:
        await restore(database, tenant_id, [StoredScope("user", "alice", "english", 1, (revision,))])
        async with database.maintenance() as connection:
            wanted = await vectors.scopes_behind(connection, "m", failed_before_s=0)
            assert wanted == await vectors.scopes(connection) == [alice.access.by_mount["user"].scope_id]
