# ruff: noqa: S608 (raw statements over tables named here are what this file is about)
"""The calls of agents run by a login that owns nothing, so no SQL in one of their transactions opens anything."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.kit.agents_logins import agents_login
from tests.kit.memory import open_project, run_tool, write
from tests.kit.postgres_servers import Server

from memex.call_context import CallContext
from memex.errors import StoreUnavailable, Unauthenticated
from memex.jobs.remember_queue import remember_queue
from memex.jobs.worker import running_workers
from memex.service.identity.keys import create_key, revoke_key
from memex.service.log.call_list import read_attempts
from memex.service.service import Caller, Service
from memex.store.database import Connection, Database
from memex.store.identity import tenants

CallerOf = Callable[..., Awaitable[Caller]]


@dataclass(frozen=True, slots=True)
class Logins:
    """A database with an owner and a login for agents, and how to connect as each."""

    server: Server
    owner: str
    agents: str
    name: str


@pytest.fixture
async def logins(server: Server, conninfo: str) -> AsyncIterator[Logins]:
    """A login that may do nothing but become memex_agent."""
    async with agents_login(server, conninfo) as agents:
        yield Logins(server, conninfo, agents, str(conninfo_to_dict(agents)["user"]))


@pytest.fixture
async def database(logins: Logins) -> AsyncIterator[Database]:
    """The pools over it."""
    database = await Database.open(logins.owner, max_connections=5, agent_conninfo=logins.agents)
    yield database
    await database.close()


ATTEMPTS = (
    "reset role",
    "set role none",
    "set role memex_admin",
    "set memex.maintenance = 'on'",
    "set memex.acting = 'admin'",
    "reset role; set memex.maintenance = 'on'",
    "reset role; set memex.maintenance = 'on'; set row_security = off",
    "set role memex_admin; set memex.maintenance = 'on'",
    "set session authorization default; set memex.maintenance = 'on'",
    "set session authorization {owner}",
    "set role {owner}; set memex.maintenance = 'on'",
    "reset role; set role memex_admin",
    "set memex.readable = '{all}'",
    "set memex.readable = '{all}'; set memex.writable = '{all}'; set memex.visitors = '1'",
    "set memex.readable = '{all}'; set memex.seal = ''",
    "set memex.\"user\" = 'bob'; set memex.tenant = '1'; set memex.readable = '{all}'",
    "reset memex.seal; set memex.readable = '{all}'",
)
STATEMENTS = (
    "update revision set content = 'x' returning 1",
    "delete from operation returning 1",
    "select * from authenticate('x')",
    "select ensure_scope(1, 'user', 'eve', 'english')",
    "select * from resolve_scopes(1, 'admin', null)",
    "grant memex_admin to current_user",
    "alter table revision disable row level security",
    "select * from seal",
    "update seal set inner_key = sha256('x') || sha256('x') returning 1",
    "create or replace function is_sealed() returns boolean language sql return true",
)


async def test_no_sql_in_an_agents_transaction_opens_anything(
    service: Service, caller_of: CallerOf, logins: Logins
) -> None:
    """After each way out of the role, rows of others are neither shown nor changed, and no function helps."""
    alice, bob = await caller_of("alice"), await caller_of("bob")
    admin = await caller_of(None, role="admin")
    await write(service, alice, "user/a.md", "visible")
    await write(service, bob, "user/b.md", "secret")
    await write(service, admin, "shared/s.md", "visible")
    await tenants.create_key(service.database, "default", "agent", user_id="alice")
    owner = conninfo_to_dict(logins.owner)["user"]
    mine = set(alice.access.readable_ids)
    everything = await _all_scopes(service.database)

    async with service.database.transaction(alice.access) as connection:
        [who] = await (
            await connection.execute("select session_user as login, current_user as role")
        ).fetchall()
    assert who == {"login": logins.name, "role": "memex_agent"}
    for attempt in ATTEMPTS:
        async with (
            service.database.transaction(alice.access) as connection,
            connection.transaction(force_rollback=True),
        ):
            await _try_each(connection, attempt.format(owner=owner, all=everything).split("; "))
            for table in ("revision", "operation", "scope", "chunk"):
                shown = await _rows(connection, f"select scope_id from {table}")
                assert {row["scope_id"] for row in shown} <= mine, (attempt, table)
            for table in ("api_key", "tenant", "project_member"):
                assert await _rows(connection, f"select * from {table}") == [], (attempt, table)
            for statement in STATEMENTS:
                assert await _rows(connection, statement) == [], (attempt, statement)
    assert (await run_tool(service, bob, "read", "r", path="user/b.md"))["content"] == "secret"


async def test_every_policy_asks_for_the_tenant(service: Service) -> None:
    """A seal that does not fit leaves a transaction without a tenant; other policies are for the owner alone."""
    async with service.database.maintenance() as connection:
        found = await _rows(
            connection,
            "select tablename as name, coalesce(qual, '') || coalesce(with_check, '') as asked from pg_policies",
        )
    unasked = {
        str(one["name"]): str(one["asked"]) for one in found if "acting_tenant" not in str(one["asked"])
    }

    assert {"api_key", "seal", "write_rate"} <= set(unasked)
    assert all("acting_as() AS acting_as) = 'owner'" in asked for asked in unasked.values()), unasked
    assert [name for name, asked in unasked.items() if " OR " in asked] == ["seal"]


async def _all_scopes(database: Database) -> str:
    """Return the ids of all scopes, as Postgres writes an array."""
    async with database.maintenance() as connection:
        [found] = await _rows(connection, "select array_agg(scope_id)::text as ids from scope")
    return str(found["ids"])


async def test_a_seal_that_fits_opens_what_it_says(
    service: Service, caller_of: CallerOf, logins: Logins
) -> None:
    """The control: the same settings show the rows of others once the service has sealed them."""
    alice, bob = await caller_of("alice"), await caller_of("bob")
    await write(service, bob, "user/b.md", "secret")
    scopes = await _all_scopes(service.database)
    shown = "select content from revision"
    async with service.database.transaction(alice.access) as connection:
        await _try_each(connection, [f"set memex.readable = '{scopes}'"])
        assert await _rows(connection, shown) == []
        seal = service.database._sealer.seal(bob.access)
        said = {"readable": bob.access.readable_ids, "writable": bob.access.writable_ids}
        await _try_each(
            connection,
            [
                *(f"set memex.{name} = '{{{','.join(map(str, ids))}}}'" for name, ids in said.items()),
                f"set memex.visitors = '{bob.access.visitors_id or ''}'",
                "set memex.\"user\" = 'bob'",
                f"set memex.seal = '{seal}'",
            ],
        )
        assert await _rows(connection, shown) == [{"content": "secret"}]


async def _try_each(connection: Connection, statements: list[str]) -> None:
    for statement in statements:
        with suppress(psycopg.DatabaseError):
            async with connection.transaction():
                await connection.execute(statement.encode())


async def _rows(connection: Connection, statement: str) -> list[dict[str, object]]:
    """Return what a statement gives; nothing if it is refused."""
    try:
        async with connection.transaction():
            cursor = await connection.execute(statement.encode())
            return await cursor.fetchall() if cursor.description else [{}]
    except psycopg.DatabaseError:
        return []


async def test_with_one_login_such_sql_opens_everything(caller_of: CallerOf, logins: Logins) -> None:
    """The control: the statements above do open the database where one login does both."""
    alice = await caller_of("alice")
    single = await Database.open(logins.owner, max_connections=2)
    async with (
        single.transaction(alice.access) as connection,
        connection.transaction(force_rollback=True),
    ):
        bob = await caller_of("bob")
        await _try_each(connection, [f"set memex.readable = '{{{bob.access.log_scope_id}}}'"])
        assert await _rows(connection, "select scope_id from scope")
        await _try_each(connection, ["reset role", "set memex.maintenance = 'on'"])
        assert await _rows(connection, "select * from tenant")
    await single.close()


async def test_everything_works_with_two_logins(
    service: Service, caller_of: CallerOf, logins: Logins
) -> None:
    """Tools, projects, keys, the queue, and the first call of a tenant."""
    alice = await caller_of("alice", tenant="new")
    admin = await caller_of(None, role="admin", tenant="new")
    await run_tool(service, alice, "remember", "r1", text="My favourite drink is oolong tea.")
    found = await run_tool(service, alice, "context", "c1", query="favourite drink")
    await open_project(service, admin, "apollo", "alice")
    member = await caller_of("alice", tenant="new", project="apollo")
    await write(service, member, "projects/apollo/a.md", "plan")
    made = await create_key(service, admin, "agent", user="alice", label=None)
    holder = await service.identities.authenticate(made.key)
    by_key = await service.caller(holder, CallContext(), from_cache=True)
    listed = await service.execute(by_key, "memory_list", {})
    if service.database.has_jobs:
        await run_tool(service, alice, "remember", "q1", text="I play the cello.", wait=False)
        async with running_workers(logins.owner, remember_queue(service, at_once=1)):
            await _settled(service, alice, "q1")
    await revoke_key(service, admin, made.id)

    assert "oolong" in str(found)
    assert "projects/apollo/a.md" in [file["path"] for file in listed["files"]]
    with pytest.raises(Unauthenticated):
        await service.execute(by_key, "memory_list", {})


async def _settled(service: Service, caller: Caller, call: str) -> None:
    """Wait until a call of the queue is done."""
    while "queued" in {one.status for one in await read_attempts(service, caller, call)}:
        async with service.database.connection() as connection:
            await connection.execute("select pg_sleep(0.05)")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            "alter role {login} inherit; revoke memex_agent from {login}; grant memex_agent to {login}",
            "inherits",
        ),
        ("alter role {login} superuser", "does not bind"),
        ("alter role {login} bypassrls", "does not bind"),
        ("grant memex_admin to {login}", "may also become memex_admin"),
        ("revoke memex_agent from {login}", "no member of memex_agent"),
    ],
)
async def test_a_login_for_agents_that_may_do_more_is_refused(logins: Logins, change: str, why: str) -> None:
    """The service does not start with it, and says what is wrong."""
    for statement in change.format(login=logins.name).split("; "):
        logins.server._run(statement)

    with pytest.raises(StoreUnavailable, match=why) as refused:
        await Database.open(logins.owner, max_connections=2, agent_conninfo=logins.agents)
    assert refused.value.hint


async def test_both_urls_must_lead_to_one_database(logins: Logins) -> None:
    """And by two logins."""
    other = make_conninfo(logins.agents, dbname="postgres")
    with pytest.raises(StoreUnavailable, match="another database"):
        await Database.open(logins.owner, max_connections=2, agent_conninfo=other)
    with pytest.raises(StoreUnavailable, match="names the login of DATABASE_URL"):
        await Database.open(logins.owner, max_connections=2, agent_conninfo=logins.owner)
