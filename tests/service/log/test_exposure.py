"""Which calls saw a revision, and which revisions a call saw: the blast radius of a bad memory, in one query."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.kit.memory import open_project, run_tool

from memex.errors import OperationNotFound, ProjectNotFound, ValidationFailed, VersionNotFound
from memex.service.log.exposure import CallsThatSaw, calls_that_saw, exposures, revisions_seen
from memex.service.service import Caller, Service
from memex.store.log import operations as log
from memex.store.log.call import Call, CallAnswer, CallRequest, InnerOperation
from memex.store.log.operations import MODEL_REQUEST
from memex.subagent.engine import ENGINE

CallerOf = Callable[..., Awaitable[Caller]]


def told(found: CallsThatSaw) -> dict[str, list[str]]:
    """Return how each call saw it, by tool call id, the newest first."""
    return {call.tool_call_id: list(call.how) for call in found.calls}


@pytest.fixture
async def admin(service: Service, caller_of: CallerOf) -> Caller:
    """An admin who names no user, in a tenant with the project apollo of alice and bob."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice", "bob")
    return await caller_of(None, role="admin")


async def test_each_call_says_how_it_saw_a_version(service: Service, alice: Caller) -> None:
    """Returned, read, found or listed; a call that saw another version, or wrote this one, is not among them."""
    path = "user/tea.md"
    await run_tool(service, alice, "write", "w1", path=path, content="# Tea\n\nOolong is from Fujian.\n")
    await run_tool(service, alice, "context", "c1", query="oolong")
    await run_tool(service, alice, "find", "f1", query="oolong")
    await run_tool(service, alice, "list", "l1")
    await run_tool(service, alice, "read", "r1", path=path)
    await run_tool(service, alice, "write", "w2", path=path, content="# Tea\n\nGreen.\n", base_version=1)
    await run_tool(service, alice, "diff", "d2", path=path)
    await run_tool(service, alice, "read", "r2", path=path)

    first = await calls_that_saw(service, alice, path, 1)
    second = await calls_that_saw(service, alice, path, 2)

    assert told(first) == {
        "d2": ["returned"],
        "r1": ["returned"],
        "l1": ["listed"],
        "f1": ["found"],
        "c1": ["returned", "read", "found", "listed"],
    }
    assert list(told(first)) == ["d2", "r1", "l1", "f1", "c1"]
    assert told(second) == {"r2": ["returned"], "d2": ["returned"]}
    newest = first.calls[0]
    assert (newest.tool, newest.status, newest.user, newest.actor) == (
        "memory_diff",
        "answered",
        "alice",
        "tests",
    )
    with pytest.raises(VersionNotFound):
        await calls_that_saw(service, alice, path, 3)


async def test_what_those_calls_wrote_is_beside_them(service: Service, alice: Caller) -> None:
    """A remember that read the bad memory and wrote on: both ends of the blast in one answer."""
    await run_tool(service, alice, "remember", "bad", text="I prefer oolong tea.")
    await run_tool(service, alice, "remember", "next", text="I prefer green tea in the morning.")
    bad, entry = (await revisions_seen(service, alice, "bad")).writes
    path, _, version = bad.rpartition("@")

    found = await calls_that_saw(service, alice, path, int(version))

    [call] = found.calls
    assert entry.startswith("user/journal/")
    assert call.tool_call_id == "next"
    assert call.writes[0] == f"{path}@2"
    assert (await revisions_seen(service, alice, "next")).writes == call.writes


async def test_what_a_call_saw_is_told_for_all_its_attempts(service: Service, alice: Caller) -> None:
    """Each revision once, by path and version, with every way; an unknown call is not found."""
    await run_tool(service, alice, "write", "w", path="user/b.md", content="oolong")
    await run_tool(service, alice, "write", "w-a", path="user/a.md", content="oolong [[b]]")
    await run_tool(service, alice, "find", "x", query="oolong", prefix="user/b")
    await run_tool(service, alice, "read", "x", path="user/a.md")

    seen = await revisions_seen(service, alice, "x")

    assert [(one.path, one.version, list(one.how)) for one in seen.revisions] == [
        ("user/a.md", 1, ["returned"]),
        ("user/b.md", 1, ["found"]),
    ]
    assert seen.writes == []
    with pytest.raises(OperationNotFound):
        await revisions_seen(service, alice, "unknown")


async def test_users_see_their_own_calls_and_admins_those_of_the_tenant(
    service: Service, alice: Caller, admin: Caller, caller_of: CallerOf
) -> None:
    """A bad shared note hits everyone: an admin finds all, by user; who names a user finds that user's alone."""
    bob, theirs = await caller_of("bob"), await caller_of("carol", tenant="theirs")
    note = {"path": "shared/a.md", "content": "oolong"}
    await service.execute(admin, "memory_write", note)
    their_admin = await caller_of(None, role="admin", tenant="theirs")
    await service.execute(their_admin, "memory_write", note)
    for name, caller in (("by-alice", alice), ("by-bob", bob), ("by-carol", theirs), ("by-admin", admin)):
        await run_tool(service, caller, "read", name, path="shared/a.md")

    def names(found: CallsThatSaw) -> list[tuple[str, str | None]]:
        return [(call.tool_call_id, call.user) for call in found.calls]

    assert names(await calls_that_saw(service, alice, "shared/a.md", 1)) == [("by-alice", "alice")]
    assert names(await calls_that_saw(service, admin, "shared/a.md", 1)) == [
        ("by-admin", None),
        ("by-bob", "bob"),
        ("by-alice", "alice"),
    ]
    for_bob = await caller_of("bob", role="admin")
    assert names(await calls_that_saw(service, for_bob, "shared/a.md", 1)) == [("by-bob", "bob")]
    assert names(await calls_that_saw(service, their_admin, "shared/a.md", 1)) == [("by-carol", "carol")]


async def test_the_same_path_of_another_user_is_another_file(
    service: Service, alice: Caller, admin: Caller, caller_of: CallerOf
) -> None:
    """user/a.md is logged alike for all; it matches the calls of its own user, and nobody asks for all of them."""
    bob = await caller_of("bob")
    for name, caller in (("alice", alice), ("bob", bob)):
        await run_tool(service, caller, "write", f"w-{name}", path="user/a.md", content=name)
        await run_tool(service, caller, "read", f"r-{name}", path="user/a.md")

    assert list(told(await calls_that_saw(service, alice, "user/a.md", 1))) == ["r-alice"]
    assert list(told(await calls_that_saw(service, bob, "user/a.md", 1))) == ["r-bob"]
    with pytest.raises(ValidationFailed):
        await calls_that_saw(service, admin, "user/a.md", 1)


async def test_files_of_a_project_are_asked_for_by_its_members(
    service: Service, admin: Caller, caller_of: CallerOf
) -> None:
    """Each sees the own calls; who is no member has no such project."""
    alice, bob, eve = await caller_of("alice"), await caller_of("bob"), await caller_of("eve")
    path = "projects/apollo/plan.md"
    await run_tool(service, alice, "write", "w", path=path, content="plan")
    await run_tool(service, bob, "read", "r", path=path)

    assert told(await calls_that_saw(service, alice, path, 1)) == {}
    assert list(told(await calls_that_saw(service, bob, path, 1))) == ["r"]
    assert list(told(await calls_that_saw(service, admin, path, 1))) == ["r"]
    with pytest.raises(ProjectNotFound):
        await calls_that_saw(service, eve, path, 1)


async def test_calls_come_in_pages(service: Service, alice: Caller) -> None:
    """The newest first, every call once."""
    await run_tool(service, alice, "write", "w", path="user/a.md", content="x")
    for number in range(7):
        await run_tool(service, alice, "read", f"r{number}", path="user/a.md")

    found: list[str] = []
    cursor = None
    while True:
        page = await calls_that_saw(service, alice, "user/a.md", 1, limit=3, cursor=cursor)
        found += [call.tool_call_id for call in page.calls]
        if (cursor := page.next_cursor) is None:
            break

    assert found == [f"r{number}" for number in reversed(range(7))]


async def test_what_a_model_and_an_embedder_saw_is_told_apart(service: Service, alice: Caller) -> None:
    """Shown to a model; sent to an embedder: who asks what left the machine finds both."""
    await run_tool(service, alice, "write", "w", path="user/a.md", content="oolong")
    now = datetime.now(UTC)
    call = Call(CallRequest("m", "memory_context", {}, alice.logged, now, engine=ENGINE))
    call.record.inner.append(
        InnerOperation(MODEL_REQUEST, {"shown": ["user/a.md@1:0-6"]}, {}, None, None, now, 1.0)
    )
    async with service.database.transaction(alice.access) as connection:
        await log.add(connection, alice.access, call, status="answered", answer=CallAnswer({}, {}, {}))
    async with service.database.maintenance() as connection:
        await log.add_embedding(
            connection,
            alice.access.log_scope_id,
            "alice",
            "hash@64",
            ["user/a.md@1"],
            texts=1,
            started_at=now,
            duration_ms=1.0,
        )

    embedded, shown = (await calls_that_saw(service, alice, "user/a.md", 1)).calls

    assert (embedded.tool, embedded.how) == ("embed", ["embedded"])
    assert (shown.tool_call_id, shown.how) == ("m", ["shown"])


async def test_what_was_left_out_of_a_context_was_found_and_not_returned(
    service: Service, alice: Caller
) -> None:
    """Only what stands in the answer is returned."""
    for number in range(5):
        content = f"# Oolong {number}\n\n" + "Oolong is a tea from Fujian. " * 20
        await run_tool(service, alice, "write", f"w{number}", path=f"user/{number}.md", content=content)
    answer = await run_tool(service, alice, "context", "c", query="oolong", budget=900)
    returned = {source["path"] for source in answer["sources"]}

    seen = await revisions_seen(service, alice, "c")

    assert 0 < len(returned) < 5
    assert {one.path for one in seen.revisions if "returned" in one.how} == returned
    assert len(seen.revisions) == 5
    [attempt] = await _read(service, alice, "c")
    assert {name for name, _ in exposures(attempt)} == set(attempt.saw)


async def _read(service: Service, caller: Caller, call_id: str) -> list[Any]:
    async with service.database.transaction(caller.access) as connection:
        return await log.read_call(connection, caller.access, call_id)
