"""A user who never wrote has no scope: what it reads is empty, and its calls are in a log that many share."""

import zipfile
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any

import psycopg
import pytest
from tests.kit.memory import open_project, run_tool, write

from memex.call_context import CallContext
from memex.errors import FileNotFound, OperationNotFound, ProjectNotFound
from memex.service.demo import load_sample
from memex.service.identity.users import list_users
from memex.service.log.call_list import list_calls, read_attempts
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.service.tools.prompt_block import PROMPT_BLOCK
from memex.service.vaults.vault_export import export_files
from memex.service.vaults.vault_import import import_vault
from memex.sources.vault import ZipWriter
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal

CallerOf = Callable[..., Awaitable[Caller]]
Visitor = Callable[[str], Awaitable[Caller]]


@pytest.fixture
def visitor(service: Service) -> Visitor:
    """What makes callers as a route makes them, with each call anew."""

    async def make(user_id: str) -> Caller:
        tenant_id = await tenants.ensure_tenant(service.database, "default")
        return await service.caller(
            Principal(tenant_id, "agent"), CallContext(user_id=user_id), from_cache=True
        )

    return make


async def scopes(service: Service) -> list[tuple[str, str]]:
    """Return kind and key of every scope."""
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select kind, key from scope order by kind, key")
        return [(row["kind"], row["key"]) for row in await cursor.fetchall()]


async def read_everything(service: Service, caller: Caller, call: str) -> dict[str, Any]:
    """Make a call of each tool that reads, and return the answers."""
    answers = {
        "list": await run_tool(service, caller, "list", f"{call}-list"),
        "find": await run_tool(service, caller, "find", f"{call}-find", query="tea"),
        "context": await run_tool(service, caller, "context", f"{call}-context", query="tea"),
    }
    await PROMPT_BLOCK.call(service, caller, {})
    with pytest.raises(FileNotFound):
        await run_tool(service, caller, "read", f"{call}-read", path="user/a.md")
    return answers


async def test_reading_makes_no_scope_for_a_user(
    service: Service, visitor: Visitor, caller_of: CallerOf
) -> None:
    """Many users who only read, previews and refused calls leave one scope, and no user that is listed."""
    for name in ("anna", "berta", "cleo"):
        answers = await read_everything(service, await visitor(name), name)
        assert answers["list"]["files"] == answers["find"]["hits"] == []
        caller = await visitor(name)
        await run_tool(service, caller, "remember", f"{name}-dry", text="I like tea.", dry_run=True)
        assert await service.catalogue(caller, max_chars=500) is not None
        assert [(one.mount, one.writable) for one in caller.access.scopes] == [
            ("user", True),
            ("shared", False),
        ]
        with pytest.raises(ProjectNotFound):
            await run_tool(service, caller, "find", f"{name}-project", query="tea", project="none")
        with pytest.raises(OperationNotFound):
            await service.revert(caller, "none")
        await import_vault(service, caller, _zipped({"a.md": "# A\n"}), dry_run=True)
        exported = await export_files(service, caller, ZipWriter(BytesIO()))
        assert exported.files == 0

    assert await scopes(service) == [("shared", ""), ("visitor", "")]
    admin = await caller_of(None, role="admin")
    assert (await list_users(service, admin)).users == []


def _zipped(files: dict[str, str]) -> bytes:
    stored = BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stored.getvalue()


@pytest.mark.parametrize(
    "way",
    ["write", "write_many", "remember", "queue", "import", "demo", "admin"],
)
async def test_each_way_to_write_makes_the_scope_first(service: Service, visitor: Visitor, way: str) -> None:
    """After a call that may write, the user has a scope, and what was written is there."""
    caller = await visitor("anna")
    edit = {"kind": "write", "path": "user/a.md", "content": "tea"}
    match way:
        case "write":
            await write(service, caller, "user/a.md", "tea")
        case "write_many":
            await run_tool(service, caller, "write_many", "m", edits=[edit])
        case "remember":
            await run_tool(service, caller, "remember", "r", text="My favourite drink is tea.")
        case "queue" if service.database.has_jobs:
            await run_tool(service, caller, "remember", "q", text="I like tea.", wait=False)
        case "import":
            await import_vault(service, caller, _zipped({"a.md": "tea"}))
        case "demo":
            await load_sample(service, caller)
        case "admin":
            principal = Principal(caller.access.tenant_id, "admin")
            admin = await service.caller(principal, CallContext(user_id="anna"))
            assert admin.access.is_visitor
            await write(service, admin, "user/a.md", "tea")

    later = await visitor("anna")
    assert ("user", "anna") in await scopes(service)
    assert not later.access.is_visitor
    listed = await service.execute(later, "memory_list", {})
    assert bool(listed["files"]) == (way != "queue")


async def test_a_user_finds_what_it_asked_as_a_visitor(
    service: Service, visitor: Visitor, caller_of: CallerOf
) -> None:
    """Before and after the first write, for the user and for an admin; replays give the same bytes."""
    before = await visitor("anna")
    await read_everything(service, before, "v")
    first = [one.tool_call_id for one in (await list_calls(service, before)).operations]
    [context] = await read_attempts(service, before, "v-context")
    await run_tool(service, await visitor("anna"), "write", "w", path="user/a.md", content="tea tea")
    after = await visitor("anna")
    admin = await caller_of("anna", role="admin")

    assert context.state == {"user": 0, "shared": 0}
    for caller in (after, admin):
        found = [one.tool_call_id for one in (await list_calls(service, caller)).operations]
        assert found == ["w", *first]
        [same] = await read_attempts(service, caller, "v-context")
        assert same == context
    for call in ("v-context", "v-list", "v-find"):
        replayed = await replay_call(service, after, call)
        assert replayed.is_equal, call


async def test_a_visitor_sees_no_row_of_another_one(service: Service, visitor: Visitor) -> None:
    """Without any filter of the application: neither calls nor what is inside them, and none can be added."""
    for name in ("anna", "berta"):
        await read_everything(service, await visitor(name), name)
    await write(service, await visitor("cleo"), "user/a.md", "tea")

    for name in ("anna", "cleo"):
        caller = await visitor(name)
        async with service.database.transaction(caller.access) as connection:
            rows = await (await connection.execute("select user_id, inside from operation")).fetchall()
            assert {row["user_id"] for row in rows} == {name}
            assert any(row["inside"] for row in rows) == (name == "anna")
            for user in ("berta", ""):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    async with connection.transaction():
                        await connection.execute(_copied_to(service, user), [caller.access.visitors_id, user])
    with pytest.raises(OperationNotFound):
        await read_attempts(service, await visitor("anna"), "berta-list")


def _copied_to(service: Service, user: str) -> str:
    """A statement that adds a row of a user to the log of visitors."""
    assert service.database.acts_by_role
    assert user != "anna"
    return (
        "insert into operation (scope_id, tenant_id, tool_call_id, user_id, kind, status, principal, request,"
        " request_sha256, engine, now, started_at, duration_ms)"
        " select %s, tenant_id, tool_call_id, %s, kind, status, principal, request, request_sha256, engine, now,"
        " started_at, duration_ms from operation limit 1"
    )


async def test_the_scope_of_visitors_holds_no_file(service: Service, visitor: Visitor) -> None:
    """Row-level security refuses what a visitor would write there."""
    caller = await visitor("anna")
    async with service.database.transaction(caller.access) as connection:
        for statement in ("update scope set rev = rev + 1", "update scope_stat set files = files + 1"):
            assert (await connection.execute(statement.encode())).rowcount == 0

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with service.database.transaction(caller.access) as connection:
            await connection.execute(
                "insert into link (scope_id, tenant_id, source_file_id, ordinal, side, target_key, raw)"
                " values (%s, %s, 1, 0, 0, 'a', 'a')",
                [caller.access.visitors_id, caller.access.tenant_id],
            )


async def test_another_process_reads_the_first_write_at_once(service: Service, visitor: Visitor) -> None:
    """The access of a visitor is kept by no process, so none goes on reading the empty scope."""
    other = Service(service.database, max_files=100)
    caller = await visitor("anna")
    await run_tool(other, await _at(other, caller), "list", "l1")

    await write(service, caller, "user/a.md", "tea")

    found = await run_tool(other, await _at(other, caller), "read", "r1", path="user/a.md")
    assert found["content"] == "tea"


async def _at(service: Service, caller: Caller) -> Caller:
    """The same caller as another process makes it."""
    context = CallContext(user_id=caller.access.user_id)
    return await service.caller(caller.principal, context, from_cache=True)


async def test_a_visitor_reads_and_writes_its_projects(
    service: Service, visitor: Visitor, caller_of: CallerOf
) -> None:
    """A member of a project reads it before it has a scope of its own; writing there makes one."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "anna")
    admin = await caller_of(None, role="admin")
    await write(service, admin, "projects/apollo/a.md", "tea")

    found = await run_tool(service, await visitor("anna"), "find", "f", query="tea")
    assert [hit["path"] for hit in found["hits"]] == ["projects/apollo/a.md"]
    assert ("user", "anna") not in await scopes(service)

    await write(service, await visitor("anna"), "projects/apollo/b.md", "more tea")
    assert ("user", "anna") in await scopes(service)
