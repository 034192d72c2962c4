# ruff: noqa: S608 (raw statements over tables named here are what this file is about)
"""Who sees and changes what of documents, by row-level security alone: statements without any condition."""

from contextlib import suppress
from typing import Any

import psycopg
import pytest
from tests.conftest import CallerOf
from tests.kit.documents import current, push, scope_of
from tests.kit.memory import open_project

from memex.service.service import Caller, Service
from memex.store.database import Connection
from memex.store.writes import pending

# What one user never sees of another must hold on each server: in each run these tests run on both.
pytestmark = pytest.mark.both_servers

OWN_TABLES = ("document", "document_root", "document_stat")
TABLES = (*OWN_TABLES, "chunk", "posting", "scope_stat")
OWNED = {"document": "title = title", "document_root": "client = client"}


@pytest.fixture
async def world(service: Service, caller_of: CallerOf) -> Caller:
    """Alice and bob are members of apollo, and each pushed a root there; others have secrets."""
    admin = await caller_of("carol", role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    await open_project(service, admin, "gemini", "dave")
    alice, bob, dave = [await caller_of(name) for name in ("alice", "bob", "dave")]
    theirs = await caller_of("alice", tenant="other")
    await push(service, alice, {"mine.md": "visible of alice"})
    await push(service, alice, {"ours.md": "visible of apollo"}, root="hers", project="apollo")
    await push(service, bob, {"his.md": "visible of bob"}, root="his", project="apollo")
    await push(service, bob, {"his.md": "secret of bob"})
    await push(service, dave, {"far.md": "secret of gemini"}, project="gemini")
    await push(service, theirs, {"far.md": "secret of another tenant"})
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select scope_id from document_stat")
        await pending.merge_scopes(connection, [row["scope_id"] for row in await cursor.fetchall()])
    return await current(service, alice)


async def rows_of(connection: Connection, table: str) -> list[dict[str, Any]]:
    """Return every row that a table shows; none when it may not be read at all."""
    try:
        async with connection.transaction():
            cursor = await connection.execute(f"select to_jsonb(t) as columns from {table} t".encode())
            return [record["columns"] for record in await cursor.fetchall()]
    except psycopg.errors.InsufficientPrivilege:
        return []


async def attempt(connection: Connection, statement: str, *parameters: Any) -> int:
    """Return how many rows a statement touches, and take it back: 0 when it was refused."""
    with suppress(psycopg.errors.InsufficientPrivilege):
        async with connection.transaction(force_rollback=True):
            return (await connection.execute(statement.encode(), parameters)).rowcount
    return 0


async def test_reads_without_a_filter_show_what_the_caller_may_read(service: Service, world: Caller) -> None:
    """The documents of alice and of her project, whoever pushed them, and of nobody else."""
    scopes = world.access.documents
    async with service.database.transaction(world.access.limited_to(scopes)) as connection:
        for table in TABLES:
            read = await rows_of(connection, table)

            assert {row["scope_id"] for row in read} >= {scope.scope_id for scope in scopes}, table
            assert "secret" not in str(read), table
        assert {row["path"] for row in await rows_of(connection, "document")} == {
            "mine.md",
            "ours.md",
            "his.md",
        }


async def test_calls_about_memory_show_no_document(service: Service, world: Caller) -> None:
    """The transaction of a tool of memory may not read documents, nor that of one scope those of another."""
    _, mine = await scope_of(service, world)
    async with service.database.transaction(world.access) as connection:
        for table in OWN_TABLES:
            assert await rows_of(connection, table) == [], table
    async with service.database.transaction(world.access.limited_to((mine,))) as connection:
        assert [row["path"] for row in await rows_of(connection, "document")] == ["mine.md"]


async def test_nobody_sees_nothing(service: Service, world: Caller) -> None:
    """A connection that no transaction has settled shows no row, as the login or as either role."""
    roles = ["none", *(["memex_agent", "memex_admin"] if service.database.acts_by_role else [])]
    async with service.database.connection() as connection:
        for role in roles:
            async with connection.transaction():
                await connection.execute("select set_config('role', %s, true)", [role])
                for table in TABLES:
                    assert await rows_of(connection, table) == [], (role, table)


async def test_a_member_changes_only_its_own_roots(service: Service, world: Caller) -> None:
    """In a project that alice may write, the rows of bob's root are neither changed, nor taken, nor removed."""
    access, apollo = await scope_of(service, world, "projects/apollo")
    async with service.database.transaction(access) as connection:
        for table, change in OWNED.items():
            assert len(await rows_of(connection, table)) == 2, table
            assert await attempt(connection, f"update {table} set {change}") == 1, table
            assert await attempt(connection, f"delete from {table}") == 1, table
            assert await attempt(connection, f"update {table} set owner = 'bob'") == 0, table
        for scope_id in (apollo.scope_id, 1):
            columns = "scope_id, tenant_id, root_no, name, owner"
            added = f"insert into document_root ({columns}) values (%s, %s, 9, 'x', 'bob')"
            assert await attempt(connection, added, scope_id, access.tenant_id) == 0
