# ruff: noqa: S608 (raw statements over tables named here are what this file is about)
"""Who sees what: row-level security alone, with the application's filter taken away, and through the service."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.kit.agents_logins import agents_login
from tests.kit.kept_rows import KeptRows
from tests.kit.memory import open_project, write
from tests.kit.postgres_servers import Server

from memex.call_context import CallContext
from memex.errors import (
    FileNotFound,
    Forbidden,
    ProjectNotFound,
    ReadOnlyMount,
    StoreUnavailable,
    Unauthenticated,
    ValidationFailed,
)
from memex.service.service import Caller, Service
from memex.store import migrate
from memex.store.access import Role
from memex.store.database import Connection, Database
from memex.store.embedded import server as embedded
from memex.store.identity import authentication, tenants
from memex.store.identity.authentication import Principal
from memex.store.writes import pending

CallerOf = Callable[..., Awaitable[Caller]]
# What one user never sees of another must hold on each server: in each run these tests run on both.
pytestmark = pytest.mark.both_servers

FILE_TABLES = (
    "revision",
    "link",
    "chunk",
    "chunk_removed",
    "posting",
    "scope_stat",
    "operation",
    "scope",
)


both_logins = pytest.mark.parametrize("login", ["by role", "as owner", "two logins"])


@pytest.fixture
def login() -> str:
    """How the application acts.

    By its roles; as the tables' owner, where its login may not take them; or for agents by a login of their own.
    """
    return "by role"


@dataclass(frozen=True, slots=True)
class Worlds:
    """The databases that hold the world of these tests: one a server and login, whose rows are put back."""

    made: dict[tuple[Server, str], tuple[str, KeptRows]] = field(default_factory=dict)

    @contextmanager
    def lend(self, server: Server, login: str) -> Iterator[str]:
        """A database that a test has for itself: its conninfo. Afterwards it holds what it held before."""
        conninfo, rows = self.made.get((server, login)) or self._make(server, login)
        yield conninfo
        rows.put_back()

    def _make(self, server: Server, login: str) -> tuple[str, KeptRows]:
        name = f"memex_test_{uuid.uuid4().hex[:12]}"
        if login != "as owner":
            conninfo = server.create(name)
        else:
            user = f"lone_{uuid.uuid4().hex[:12]}"
            server._run(f"create role {user} login nocreaterole password 'lone'")
            server._run(f"alter role {user} set jit = off")
            server._run(f'create database "{name}" owner {user}')
            conninfo = make_conninfo(server.admin, dbname=name, user=user, password="lone")
            asyncio.run(migrate.migrate(conninfo))
        asyncio.run(fill(conninfo))
        superuser = psycopg.connect(make_conninfo(server.admin, dbname=name), autocommit=True)
        self.made[server, login] = conninfo, KeptRows.of(superuser)
        return self.made[server, login]

    def drop(self) -> None:
        """Drop them."""
        for (server, login), (conninfo, rows) in self.made.items():
            rows.superuser.close()
            kept = conninfo_to_dict(conninfo)
            server.drop(str(kept["dbname"]))
            if login == "as owner":
                server._run(f"drop role {kept['user']}")


@pytest.fixture(scope="module")
def worlds() -> Iterator[Worlds]:
    """The databases to lend."""
    worlds = Worlds()
    yield worlds
    worlds.drop()


@pytest.fixture
def conninfo(request: pytest.FixtureRequest, login: str, server: Server, worlds: Worlds) -> Iterator[str]:
    """A migrated database for the application, or for a login that is bound by forced row-level security."""
    if "world" in request.fixturenames:
        with worlds.lend(server, login) as conninfo:
            yield conninfo
    else:
        assert login == "by role"
        with server.lend() as lent:
            yield lent.conninfo


@pytest.fixture
async def database(conninfo: str, login: str, server: Server) -> AsyncIterator[Database]:
    """The pool over it; with two logins, both pools."""
    async with AsyncExitStack() as held:
        agents = None
        if login == "two logins":
            agents = await held.enter_async_context(agents_login(server, conninfo))
        database = await Database.open(conninfo, max_connections=5, agent_conninfo=agents)
        held.push_async_callback(database.close)
        assert database.acts_by_role == (login != "as owner")
        yield database


async def texts(service: Service, caller: Caller) -> dict[str, str]:
    """Return everything that a caller can list, with its text."""
    listed = (await service.execute(caller, "memory_list", {"limit": 1000}))["files"]
    return {
        file["path"]: (await service.execute(caller, "memory_read", {"path": file["path"]}))["content"]
        for file in listed
    }


async def found(service: Service, caller: Caller, query: str, **more: Any) -> dict[str, int]:
    """Return paths and scores of a search."""
    hits = (await service.execute(caller, "memory_find", {"query": query, "limit": 100, **more}))["hits"]
    return {hit["path"]: hit["score"] for hit in hits}


async def make_project(
    service: Service, caller_of: CallerOf, slug: str, *members: str, tenant: str = "default"
) -> None:
    """Open a project with these members."""
    admin = await caller_of(None, role="admin", tenant=tenant)
    await open_project(service, admin, slug, *members)


@pytest.fixture
async def world(caller_of: CallerOf) -> Caller:
    """Alice, member of apollo; beside her bob, a project and a tenant that are not hers. Returns alice."""
    return await caller_of("alice")


async def fill(conninfo: str) -> None:
    """Write the world into a database."""
    database = await Database.open(conninfo, max_connections=5)
    service = Service(database, max_files=10_000)

    async def caller_of(user_id: str | None, *, role: Role = "agent", tenant: str = "default") -> Caller:
        tenant_id = await tenants.ensure_tenant(database, tenant)
        return await service.caller(
            Principal(tenant_id, role), CallContext(user_id=user_id, actor="tests"), makes_user=True
        )

    await make_project(service, caller_of, "apollo", "alice", "bob")
    await make_project(service, caller_of, "zeus", "bob")
    await make_project(service, caller_of, "apollo", "alice", tenant="other")
    admin, bob = await caller_of("carol", role="admin"), await caller_of("bob")
    stranger = await caller_of("alice", tenant="other")
    alice = await caller_of("alice")
    written = [
        (alice, "user/a.md"),
        (alice, "projects/apollo/a.md"),
        (admin, "shared/a.md"),
        (admin, "user/a.md"),
        (bob, "user/a.md"),
        (bob, "projects/zeus/a.md"),
        (stranger, "user/a.md"),
        (stranger, "projects/apollo/a.md"),
        (await caller_of(None, role="admin", tenant="other"), "shared/a.md"),
    ]
    for state in ("tag", "again"):
        for caller, path in written:
            is_hers = caller is alice or (caller is admin and path == "shared/a.md")
            word = "visible" if is_hers else "secret"
            await write(service, caller, path, f"# {word} {word}{state}\n[[{word}-link]]\n")
        if state == "tag":  # so that there are postings, and chunks to be taken out of them
            for caller, _ in written:
                async with service.database.transaction(caller.access) as connection:
                    await pending.merge_scopes(connection, caller.access.writable_ids)
    await tenants.create_key(service.database, "default", "agent", user_id="alice")
    async with service.database.maintenance() as connection:
        await connection.execute("insert into prompt select tenant_id, sha256('x'), 'secret' from tenant")
    await database.close()


async def rows_of(connection: Connection, table: str) -> list[dict[str, Any]]:
    """Return every row that a table shows; none when it may not be read at all."""
    try:
        async with connection.transaction():
            cursor = await connection.execute(f"select t::text as row, to_jsonb(t) as columns from {table} t")
            return [record["columns"] | {"row": record["row"]} for record in await cursor.fetchall()]
    except psycopg.errors.InsufficientPrivilege:
        return []


async def foreign_scopes(service: Service, alice: Caller) -> list[tuple[int, int]]:
    """Return scope and tenant of every scope that alice may not write."""
    async with service.database.maintenance() as connection:
        rows = await (await connection.execute("select scope_id, tenant_id from scope")).fetchall()
    return [
        (row["scope_id"], row["tenant_id"])
        for row in rows
        if row["scope_id"] not in alice.access.writable_ids
    ]


async def attempt(connection: Connection, statement: str, *parameters: Any) -> int:
    """Return how many rows a statement touched: 0 when it was refused."""
    with suppress(psycopg.errors.InsufficientPrivilege):
        async with connection.transaction():
            return (await connection.execute(statement.encode(), parameters)).rowcount
    return 0


@both_logins
async def test_reads_without_a_filter_show_the_callers_rows(service: Service, world: Caller) -> None:
    """Every table, read whole as alice, holds rows of her scopes and of nobody else's."""
    readable = set(world.access.readable_ids)
    async with service.database.transaction(world.access) as connection:
        for table in FILE_TABLES:
            rows = await rows_of(connection, table)
            assert rows, table
            assert {row["scope_id"] for row in rows} <= readable, table
            assert {row["tenant_id"] for row in rows} == {world.access.tenant_id}, table
            assert not any("secret" in row["row"] for row in rows), table
        for table in ("tenant", "project_member", "api_key", "schema_migration"):
            assert await rows_of(connection, table) == [], table
        assert {row["tenant_id"] for row in await rows_of(connection, "prompt")} == {world.access.tenant_id}
        log = await rows_of(connection, "operation")
        assert {row["scope_id"] for row in log} == {world.access.log_scope_id}


@both_logins
async def test_writes_without_a_filter_touch_the_callers_rows(service: Service, world: Caller) -> None:
    """Rows of other scopes, of shared/ too, are neither changed nor removed nor added nor taken over."""
    mine = world.access.log_scope_id
    changes = {
        "revision": "rev_end = rev + 1",
        "scope": "rev = rev",
        "scope_stat": "n = n",
        "chunk": "start_char = start_char",
        "posting": "n = n",
    }
    foreign = await foreign_scopes(service, world)
    assert len(foreign) >= 8
    async with service.database.transaction(world.access) as connection:
        for table, change in changes.items():
            async with connection.transaction(force_rollback=True):
                touched = await attempt(connection, f"update {table} set {change}")
            async with connection.transaction(force_rollback=True):
                own = await attempt(
                    connection,
                    f"update {table} set {change} where scope_id = any (%s)",
                    world.access.writable_ids,
                )
            assert touched == own > 0, table
        for rewritten in ("null", "rev_end + 1"):  # a closed revision stays as it is
            closed = f"update revision set rev_end = {rewritten} where rev_end is not null"
            assert await attempt(connection, closed) == 0
        for table in ("link", "chunk", "chunk_removed", "posting"):
            async with connection.transaction(force_rollback=True):
                everything = await attempt(connection, f"delete from {table}")
            async with connection.transaction(force_rollback=True):
                own = await attempt(
                    connection, f"delete from {table} where scope_id = any (%s)", world.access.writable_ids
                )
            assert everything == own > 0, table
        for scope_id, tenant_id in foreign:
            for table in FILE_TABLES[:-1]:
                columns = await _columns(connection, table)
                values = columns.replace("scope_id", "%s").replace("tenant_id", "%s")
                assert values.count("%s") == 2
                added = f"insert into {table} ({columns}) select {values} from {table} where scope_id = %s"
                for tenant in {tenant_id, world.access.tenant_id}:
                    assert await attempt(connection, added, scope_id, tenant, mine) == 0, table
            for table in ("chunk", "posting", "scope_stat"):
                taken = f"update {table} set scope_id = %s where scope_id = %s"
                assert await attempt(connection, taken, scope_id, mine) == 0, table
                assert await attempt(connection, taken, mine, scope_id) == 0, table


async def _columns(connection: Connection, table: str) -> str:
    """Return the columns that an insert may name, the scope and the tenant first."""
    cursor = await connection.execute(
        "select string_agg(attname, ', ' order by attname not in ('scope_id'), attname <> 'tenant_id', attnum)"
        " as columns from pg_attribute"
        " where attrelid = %s::regclass and attnum > 0 and not attisdropped and attidentity = ''",
        [table],
    )
    [row] = await cursor.fetchall()
    return str(row["columns"])


@both_logins
async def test_what_was_written_stays(service: Service, world: Caller) -> None:
    """Revisions are not removed or reopened, nor the log changed or removed, in the caller's own scope either."""
    async with service.database.transaction(world.access) as connection:
        for table in ("revision", "operation", "scope", "scope_stat"):
            assert await attempt(connection, f"delete from {table}") == 0, table
        assert await attempt(connection, "update operation set status = status") == 0
        if service.database.acts_by_role:
            for column in ("content", "path", "version", "rev", "created_at", "tool_call_id"):
                assert await attempt(connection, f"update revision set {column} = {column}") == 0, column
            for changed in ("null", "rev_end + 1"):  # what was closed stays closed
                statement = f"update revision set rev_end = {changed} where rev_end is not null"
                assert await attempt(connection, statement) == 0, changed
            for column in ("tenant_id", "kind", "key", "created_at"):
                assert await attempt(connection, f"update scope set {column} = {column}") == 0, column


@both_logins
async def test_nobody_sees_nothing(service: Service, world: Caller) -> None:
    """A connection that no transaction has settled shows no row, as the login or as either role."""
    roles = ["none", *(["memex_agent", "memex_admin"] if service.database.acts_by_role else [])]
    async with service.database.connection() as connection:
        for role in roles:
            async with connection.transaction():
                await connection.execute("select set_config('role', %s, true)", [role])
                for table in (*FILE_TABLES, "tenant", "api_key", "project_member", "prompt"):
                    assert await rows_of(connection, table) == [], (role, table)


@both_logins
async def test_the_settings_of_a_transaction_end_with_it(service: Service, world: Caller) -> None:
    """The next one on the same connection starts as nobody."""
    async with service.database.connection() as connection:
        pid = connection.info.backend_pid
    for _ in range(10):
        async with service.database.transaction(world.access) as connection:
            assert await rows_of(connection, "revision")
        async with service.database.connection() as connection:
            assert await rows_of(connection, "revision") == []
            if connection.info.backend_pid == pid:
                return
    pytest.fail("the pool never gave the connection back")


async def test_agents_and_admins_open_nothing_by_maintenance(service: Service, world: Caller) -> None:
    """The setting opens everything to the owner alone, and the owner's functions are not theirs to call."""
    async with service.database.transaction(world.access) as connection:
        before = {table: len(await rows_of(connection, table)) for table in FILE_TABLES}
        await connection.execute("select set_config('memex.maintenance', 'on', true)")
        await connection.execute("select set_config('memex.acting', 'admin', true)")
        assert {table: len(await rows_of(connection, table)) for table in FILE_TABLES} == before
        for call in (
            "authenticate(sha256('x'))",
            "resolve_scopes(1, 'admin', 'bob')",
            "resolve_access(1, 'admin', 'bob', null, null)",
            "ensure_scope(1, 'user', 'eve', 'english')",
        ):
            assert await attempt(connection, f"select {call}") == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                async with connection.transaction():
                    await connection.execute(f"select {call}".encode())


@both_logins
async def test_an_admin_sees_its_tenant_and_no_other(
    service: Service, world: Caller, caller_of: CallerOf
) -> None:
    """All of its scopes, no key, no row of the other tenant."""
    admin = await caller_of(None, role="admin")
    async with service.database.transaction(admin.access) as connection:
        for table in (*FILE_TABLES, "tenant", "project_member", "prompt"):
            rows = await rows_of(connection, table)
            assert {row["tenant_id"] for row in rows} == {admin.access.tenant_id}, table
        assert await rows_of(connection, "api_key") == []
        scopes = {row["scope_id"] for row in await rows_of(connection, "revision")}
        assert len(scopes) == 6
        assert await attempt(connection, "update chunk set tenant_id = tenant_id + 1") == 0


async def test_agents_do_not_write_shared_files(service: Service, world: Caller) -> None:
    """They read them; writing, moving there or away, deleting, restoring are refused."""
    attempts: list[tuple[str, dict[str, Any]]] = [
        ("memory_write", {"path": "shared/b.md", "content": "x"}),
        ("memory_write", {"path": "shared/a.md", "content": "x", "overwrite": True}),
        ("memory_patch", {"path": "shared/a.md", "operation": "append", "text": "x"}),
        ("memory_move", {"path": "shared/a.md", "to": "user/b.md"}),
        ("memory_move", {"path": "user/a.md", "to": "shared/b.md"}),
        ("memory_delete", {"path": "shared/a.md"}),
        ("memory_restore", {"path": "shared/a.md", "version": 1}),
    ]
    before = await texts(service, world)
    for tool, arguments in attempts:
        with pytest.raises(ReadOnlyMount):
            await service.execute(world, tool, arguments)

    assert await texts(service, world) == before
    assert "visible" in before["shared/a.md"]


IDS = [
    *(
        "a/b",
        "a/../b",
        "..",
        "../alice",
        "%",
        "a%",
        "_",
        "a_c",
        "abc",
        "*",
        "o'hara",
        'say "hi"',
        "a\\b",
        "$1",
        "%s",
    ),
    *(
        "alice",
        "Alice",
        "ALICE",
        "al ice",
        "alice.",
        "null",
        "NULL",
        "{}",
        "{a,b}",
        "user",
        "shared",
    ),
    *("é", "É", "ß", "ss", "🙂", "ａlice", "аlice", "İ", "i", "x" * 200),
]


async def test_user_ids_never_meet(service: Service, caller_of: CallerOf) -> None:
    """Ids that differ in a byte are different users: each writes the same path, and reads and finds its own."""
    callers = {user: await caller_of(user) for user in IDS}
    own_words = ["q" * number + "z" for number in range(1, len(IDS) + 1)]
    assert len({caller.access.log_scope_id for caller in callers.values()}) == len(IDS)
    for word, caller in zip(own_words, callers.values(), strict=True):
        await write(service, caller, "user/me.md", f"common {word}")

    for word, caller in zip(own_words, callers.values(), strict=True):
        assert await texts(service, caller) == {"user/me.md": f"common {word}"}
        assert list(await found(service, caller, "common")) == ["user/me.md"]
        assert list(await found(service, caller, word)) == ["user/me.md"]
        assert await found(service, caller, f"q{word}") == {}


async def test_first_calls_at_once_make_one_scope(service: Service, caller_of: CallerOf) -> None:
    """Twenty first calls of a user of a new tenant find, or make, the same place."""
    callers = await asyncio.gather(*(caller_of("new", tenant="new") for _ in range(20)))

    assert len({caller.access for caller in callers}) == 1


@pytest.mark.parametrize("user", ["", "x" * 201, "a\nb", "a\0b", "\ud800", "a\u2028b"])
async def test_an_id_that_cannot_be_one_is_refused(caller_of: CallerOf, user: str) -> None:
    """Ids are 1 to 200 printable characters."""
    with pytest.raises(ValidationFailed):
        await caller_of(user)


@both_logins
async def test_nobody_moves_another_users_scores(
    service: Service, world: Caller, caller_of: CallerOf
) -> None:
    """Not bob, not another tenant, not a project that alice is no member of; a shared file does."""
    before = await found(service, world, "visible again link")
    bob, stranger = await caller_of("bob"), await caller_of("alice", tenant="other")
    for n in range(5):
        for caller, path in ((bob, "user"), (bob, "projects/zeus"), (stranger, "user")):
            await write(service, caller, f"{path}/{n}.md", "visible again link " * 10)

    assert before
    assert await found(service, world, "visible again link") == before
    await write(service, await caller_of(None, role="admin"), "shared/new.md", "again and again")
    after = await found(service, world, "visible again link")
    assert all(after[path] != score for path, score in before.items())


async def test_a_foreign_project_is_like_none(service: Service, world: Caller, caller_of: CallerOf) -> None:
    """Every tool answers alike for a project that is not the user's and for one that does not exist."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_read", {"path": "projects/{}/a.md"}),
        ("memory_read", {"path": "projects/{}/a.md", "version": 1}),
        ("memory_find", {"query": "secret", "project": "{}"}),
        ("memory_find", {"query": "secret", "prefix": "projects/{}/"}),
        ("memory_list", {"prefix": "projects/{}/"}),
        ("memory_write", {"path": "projects/{}/a.md", "content": "x"}),
        ("memory_write", {"path": "projects/{}/a.md", "content": "x", "overwrite": True}),
        ("memory_patch", {"path": "projects/{}/a.md", "operation": "append", "text": "x"}),
        ("memory_move", {"path": "projects/{}/a.md", "to": "user/x.md"}),
        ("memory_move", {"path": "user/a.md", "to": "projects/{}/x.md"}),
        ("memory_delete", {"path": "projects/{}/a.md"}),
        ("memory_links", {"path": "projects/{}/a.md"}),
        ("memory_history", {"path": "projects/{}/a.md"}),
        ("memory_diff", {"path": "projects/{}/a.md"}),
        ("memory_restore", {"path": "projects/{}/a.md", "version": 1}),
    ]
    for tool, arguments in calls:
        answers = []
        for slug in ("zeus", "nono"):
            named = {
                name: value.format(slug) if isinstance(value, str) else value
                for name, value in arguments.items()
            }
            with pytest.raises(ProjectNotFound) as refused:
                await service.execute(world, tool, named)
            error = refused.value
            answers.append((error.message.replace(slug, "{}"), error.hint, error.details))
        assert answers[0] == answers[1], tool
    for slug in ("zeus", "nono"):
        with pytest.raises(ProjectNotFound):
            await caller_of("alice", project=slug)


async def test_a_closed_project_is_gone_and_keeps_its_files(
    service: Service, world: Caller, caller_of: CallerOf
) -> None:
    """Nobody can name it; opened again it has its files and no members."""
    admin = await caller_of(None, role="admin")
    await service.administer(admin, "close", {}, lambda c, a: tenants.close_project(c, a, "apollo"))

    for user in ("alice", "bob"):
        with pytest.raises(ProjectNotFound):
            await service.execute(await caller_of(user), "memory_read", {"path": "projects/apollo/a.md"})
    for action in (
        lambda c, a: tenants.close_project(c, a, "apollo"),
        lambda c, a: tenants.add_member(c, a, "apollo", "alice"),
        lambda c, a: tenants.remove_member(c, a, "apollo", "alice"),
    ):
        with pytest.raises(ProjectNotFound):
            await service.administer(admin, "late", {}, action)

    assert not await service.administer(admin, "open", {}, lambda c, a: tenants.open_project(c, a, "apollo"))
    with pytest.raises(ProjectNotFound):
        await service.execute(await caller_of("alice"), "memory_read", {"path": "projects/apollo/a.md"})
    await service.administer(admin, "add", {}, lambda c, a: tenants.add_member(c, a, "apollo", "alice"))
    assert "visible" in (await texts(service, await caller_of("alice")))["projects/apollo/a.md"]


async def test_a_removed_member_is_out_at_once(service: Service, world: Caller, caller_of: CallerOf) -> None:
    """With the next call; what was written stays for the others."""
    admin = await caller_of(None, role="admin")
    assert await service.administer(
        admin, "remove", {}, lambda c, a: tenants.remove_member(c, a, "apollo", "alice")
    )

    assert "projects/apollo/a.md" not in await texts(service, await caller_of("alice"))
    assert "visible" in (await texts(service, await caller_of("bob")))["projects/apollo/a.md"]


async def test_a_user_may_be_in_more_projects_than_a_search_adds_up(
    service: Service, caller_of: CallerOf
) -> None:
    """All 25 are read and written; a search takes the first 20 by slug, or the one that it names."""
    for n in range(25):
        await make_project(service, caller_of, f"p{n:02}", "alice")
    alice = await caller_of("alice")
    paths = [f"projects/p{n:02}/a.md" for n in range(25)]
    for path in paths:
        await write(service, alice, path, "some words")

    assert list(await texts(service, alice)) == paths
    assert list(await found(service, alice, "words")) == paths[:20]
    assert list(await found(service, alice, "words", project="p24")) == paths[24:]
    named = await caller_of("alice", project="p23")
    assert list(await found(service, named, "words")) == paths[23:24]


@both_logins
async def test_only_admins_administer(service: Service, world: Caller) -> None:
    """An agent is refused, and the database would refuse it too."""
    with pytest.raises(Forbidden):
        await service.administer(world, "open", {}, lambda c, a: tenants.open_project(c, a, "mine"))

    async with service.database.transaction(world.access) as connection:
        for statement in (
            "insert into scope (tenant_id, kind, key) values (1, 'project', 'mine')",
            "insert into project_member (tenant_id, scope_id, user_id) select tenant_id, scope_id, 'a' from scope",
            "update scope set closed_at = null",
        ):
            if service.database.acts_by_role or "insert" in statement:
                assert await attempt(connection, statement) == 0, statement


@both_logins
async def test_keys_open_what_they_were_made_for(service: Service, world: Caller) -> None:
    """A bound key its user, an unbound one the user it names, a revoked or unknown one nothing."""
    database = service.database
    bound, _ = await tenants.create_key(database, "default", "agent", user_id="alice")
    free, key = await tenants.create_key(database, "default", "agent")
    principal = await service.identities.authenticate(bound)
    for user in (None, "alice"):
        caller = await service.caller(principal, CallContext(user_id=user), makes_user=True)
        assert caller.access.log_scope_id == world.access.log_scope_id
    for user in ("bob", "Alice", "alice."):
        with pytest.raises(Forbidden):
            await service.caller(principal, CallContext(user_id=user), makes_user=True)
    with pytest.raises(ValidationFailed):
        await service.caller(await service.identities.authenticate(free), CallContext(), makes_user=True)
    with pytest.raises(ValidationFailed):
        await tenants.revoke_key(database, "other", key.key_id)

    await tenants.revoke_key(database, "default", key.key_id)

    for secret in (free, "", "mx_", bound[:-1], bound.upper(), "\ud800", "a\0b"):
        with pytest.raises(Unauthenticated):
            await service.identities.authenticate(secret)
    async with database.maintenance() as connection:
        kept = " ".join(row["row"] for row in await rows_of(connection, "api_key"))
    assert bound not in kept
    assert authentication.key_digest(bound).hex() in kept


async def test_another_tenant_is_another_world(service: Service, world: Caller, caller_of: CallerOf) -> None:
    """The same user id and project slug there are other files."""
    stranger = await caller_of("alice", tenant="other")

    assert set(await texts(service, stranger)) == set(await texts(service, world))
    assert all("visible" in text for text in (await texts(service, world)).values())
    assert all("secret" in text for text in (await texts(service, stranger)).values())
    with pytest.raises(FileNotFound):
        await service.execute(world, "memory_read", {"path": "user/b.md"})


async def test_a_superuser_without_the_roles_is_refused(server_folder: Path) -> None:
    """Row-level security would not bind it; migrating makes the roles, and then it acts by them."""
    with embedded.start(server_folder / "roleless") as lease:
        await migrate.migrate(lease.admin_conninfo)
        with psycopg.connect(lease.admin_conninfo, autocommit=True) as connection:
            for role in migrate.ROLES:
                connection.execute(f"drop owned by {role}".encode())
                connection.execute(f"drop role {role}".encode())

        with pytest.raises(StoreUnavailable) as refused:
            await Database.open(lease.admin_conninfo)

        assert "memex service migrate" in refused.value.hint
        await migrate.migrate(lease.admin_conninfo)
        database = await Database.open(lease.admin_conninfo)
        assert database.acts_by_role
        await database.close()
