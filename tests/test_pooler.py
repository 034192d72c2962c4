"""Memex behind the real PgBouncer, which shares a few connections to the server, transaction by transaction."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.kit.pgbouncer import pooled
from tests.kit.postgres_servers import LentDatabase, Server
from tests.kit.property_budget import scaled
from tests.kit.rows import select, until
from tests.kit.zips import zipped

from memex import Memex
from memex.api.memex import UserMemory
from memex.call_context import CallContext
from memex.errors import StoreUnavailable
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.service.vaults.vault_import import import_vault
from memex.settings import Settings
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal, resolve
from memex.store.pooler import PoolerSetting
from memex.store.search import vector_indexes
from memex.wiring import running_service

USERS = ("ada", "bo", "cleo", "dov", "eli", "fay")
ROUNDS = scaled(12)  # 12 in a thorough run, else 3
POOL_SIZE = 3  # fewer than users
PATIENCE_S = 60  # seconds; a busy machine may need some of them
ALL_DONE = "select count(*) = 0 from operation where status = 'queued'"


@pytest.fixture
def empty(stock_server: Server) -> Iterator[str]:
    """The conninfo of a database without a schema, on a server that has no pgvector."""
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    yield stock_server.create_empty(name)
    stock_server.drop(name)


async def caller(service: Service, user_id: str) -> Caller:
    """Return an agent that acts for a user."""
    tenant_id = await tenants.ensure_tenant(service.database, "default")
    return await service.caller(
        Principal(tenant_id, "agent"), CallContext(user_id=user_id, actor="tests"), makes_user=True
    )


def server_sessions(server: Server, conninfo: str) -> int:
    """Return how many connections of the application the server has."""
    with psycopg.connect(server.admin) as connection:
        statement = "select count(*) from pg_stat_activity where datname = %s and usename = %s"
        name = conninfo_to_dict(conninfo)["dbname"]
        [(count,)] = connection.execute(statement, [name, server.owner])
    return int(count)


def prepared_names(conninfo: str) -> set[tuple[int, int]]:
    """Return the number of prepared statements of each of the server's connections, by its process id."""
    with ExitStack() as held:
        connections = [held.enter_context(psycopg.connect(conninfo)) for _ in range(POOL_SIZE)]
        statement = "select pg_backend_pid(), (select count(*) from pg_prepared_statements)"
        return {found for one in connections for found in one.execute(statement)}  # each in a transaction


async def test_users_at_once_share_few_connections(empty: str, stock_server: Server) -> None:
    """Migrations, calls and jobs of six users at the same time: no error, no row of another, no prepared name."""

    async def use(memory: UserMemory, user: str, turn: int) -> list[str]:
        path = f"user/notes/{turn}.md"
        await memory.remember(f"I prefer the tea Sencha {turn} of {user}.")
        written = await memory.write(path, f"# Tea {turn}\n\nThe kettle of {user} holds {turn} cups.\n")
        recalled = await memory.context("Which tea is preferred, and what does the kettle hold?")
        found = await memory.find("kettle tea")
        read = await memory.read(path)
        assert written.version == 1
        assert found.hits
        assert f"kettle of {user}" in read.content
        return [recalled.context, found.model_dump_json(), read.content]

    with pooled(empty, default_pool_size=POOL_SIZE) as conninfo:
        async with Memex(database_url=conninfo) as memex:
            calls = [(user, turn) for turn in range(ROUNDS) for user in USERS]
            answers = await asyncio.gather(*(use(memex.for_user(user), user, turn) for user, turn in calls))
            sessions = server_sessions(stock_server, empty)
        names = prepared_names(conninfo)

    assert len(answers) == len(USERS) * ROUNDS
    for (user, _), answer in zip(calls, answers, strict=True):
        assert {other for other in USERS if f"of {other}" in json.dumps(answer)} == {user}
    assert 1 < sessions <= POOL_SIZE
    assert len(names) == POOL_SIZE
    assert {count for _, count in names} == {0}


@pytest.mark.slow
async def test_the_log_the_past_imports_and_the_queue_work(empty: str) -> None:
    """With one connection to the server, which shows that no call holds one while it waits for a second."""
    with pooled(empty, default_pool_size=1, query_wait_timeout=PATIENCE_S) as conninfo:
        async with running_service(Settings(database_url=conninfo), with_worker=True) as service:
            alice = await caller(service, "alice")
            texts = {f"tea/{number}.md": f"# Tea {number}\n\nOolong.\n".encode() for number in range(30)}
            imported = await import_vault(service, alice, zipped(texts), tool_call_id="import")
            find = {"query": "oolong"}
            before = await service.execute(alice, "memory_find", find, tool_call_id="before")
            moment = datetime.now(UTC).isoformat()
            for text in ("I prefer green tea.", "I live in Lisbon."):
                queued = await service.execute(alice, "memory_remember", {"text": text, "wait": False})
                assert queued["status"] == "queued"
            await until(service.database, ALL_DONE)
            change = {"path": "user/tea/1.md", "base_version": 1, "content": "# Tea\n\nSencha.\n"}
            await service.execute(alice, "memory_write", change, tool_call_id="change")
            after = await service.execute(alice, "memory_find", find)
            past = await service.execute(alice, "memory_find", find | {"as_of": moment})
            await service.revert(alice, "change", tool_call_id="undo")
            undone = await service.execute(alice, "memory_read", {"path": "user/tea/1.md"})
            where = await service.execute(
                alice, "memory_context", {"query": "Where do I live?"}, tool_call_id="answer"
            )
            replayed = [await replay_call(service, alice, call) for call in ("before", "answer")]

    assert imported.counts.created == 30
    assert past["hits"] == before["hits"] != after["hits"]
    assert [one.is_equal for one in replayed] == [True, True]
    assert undone["content"] == texts["tea/1.md"].decode()
    assert "Lisbon" in where["context"]


@pytest.mark.embedded_only
async def test_vectors_work(server: Server) -> None:
    """The worker embeds what is written, search takes both ways, and an approximate index is built and used."""
    with server.lend() as lent, pooled(lent.conninfo, default_pool_size=POOL_SIZE) as conninfo:
        settings = Settings(database_url=conninfo, embedder="hash", search_mode="hybrid")
        async with running_service(settings, with_worker=True) as service:
            alice = await caller(service, "alice")
            for number in range(8):
                file = {"path": f"user/{number}.md", "content": f"# Tea {number}\n\nKettle {number}.\n"}
                await service.execute(alice, "memory_write", file)
            await until(service.database, "select count(*) = 8 from embedding")
            assert service.embedder is not None
            built = await vector_indexes.build_indexes(
                service.database, service.embedder.name, from_vectors=1
            )
            found = await service.execute(alice, "memory_find", {"query": "kettle 3", "mode": "hybrid"})

    assert built == 1
    assert found["hits"][0]["path"] == "user/3.md"


async def test_settings_that_another_client_left_show_nothing(stock_server: Server) -> None:
    """Even what opens everything to the owner of the tables, as whom requests act without the two roles."""
    name, login = (f"{kind}_{uuid.uuid4().hex[:12]}" for kind in ("memex_test", "lone"))
    stock_server._run(f"create role {login} login nocreaterole password 'lone'")
    stock_server._run(f'create database "{name}" owner {login}')
    direct = make_conninfo(stock_server.admin, dbname=name, user=login, password="lone")
    try:
        with pooled(direct, default_pool_size=1) as conninfo:
            async with Memex(database_url=conninfo) as memex:
                await memex.for_user("alice").write("user/secret.md", "# Kettle\n\nAlice's.\n")
                other = await psycopg.AsyncConnection.connect(conninfo, autocommit=True)
                await other.execute("set memex.maintenance = 'on'")
                seen = await (await other.execute("select count(*) from revision")).fetchone()
                await other.close()
            database = await Database.open(conninfo)
            tenant_id = await tenants.ensure_tenant(database, "default")
            bob = await resolve(database, Principal(tenant_id, "agent"), CallContext(user_id="bob"))
            async with database.transaction(bob) as connection:
                found = await (await connection.execute("select content from revision")).fetchall()
            await database.close()
    finally:
        stock_server.drop(name)
        stock_server._run(f"drop role {login}")

    assert seen == (1,)
    assert not database.acts_by_role
    assert found == []


async def test_a_pooler_that_cannot_be_used_is_refused(empty: str, stock_server: Server) -> None:
    """At the start, and nothing is migrated; the hint says what to change."""
    refusals = {}
    with pooled(empty) as conninfo, pooled(empty, pool_mode="statement") as by_statement:
        for case, settings in {
            "none": Settings(database_url=conninfo, pooler="none"),
            "statement": Settings(database_url=by_statement),
            "options": Settings(database_url=make_conninfo(conninfo, options="-c work_mem=8MB")),
        }.items():
            with pytest.raises(StoreUnavailable) as refused:
                async with running_service(settings):
                    pass
            refusals[case] = refused.value
    with psycopg.connect(empty) as connection:
        tables = connection.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone()

    assert "MEMEX_POOLER is none" in refusals["none"].message
    assert "unset MEMEX_POOLER" in refusals["none"].hint
    assert "pool_mode = transaction" in refusals["statement"].hint
    assert "remove it from DATABASE_URL" in refusals["options"].hint
    assert tables == (0,)


@pytest.mark.parametrize(
    ("pool_mode", "setting", "is_pooled"),
    [
        ("transaction", "auto", True),
        ("session", "auto", True),
        (None, "auto", False),
        (None, "transaction", True),
    ],
)
async def test_a_pooler_is_noticed(
    lent: LentDatabase, pool_mode: str | None, setting: PoolerSetting, is_pooled: bool
) -> None:
    """In each mode that Memex can use, and not where there is none; a pooler may also be said to be there."""
    with pooled(lent.conninfo, pool_mode=pool_mode) if pool_mode else nullcontext(lent.conninfo) as conninfo:
        database = await Database.open(conninfo, pooler_setting=setting)
        for _ in range(8):
            await select(database, "select count(*) from scope")
        [(prepared,)] = await select(database, "select count(*) > 0 from pg_prepared_statements")
        await database.close()

    assert database.is_pooled is is_pooled
    assert prepared is not is_pooled
