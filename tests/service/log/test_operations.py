"""The log: every call leaves a row that says who asked what and how it ended, and holds no text of memory."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.memory import open_project, run_tool

from memex.call_context import CallContext
from memex.errors import (
    FileNotFound,
    MemexError,
    OperationNotFound,
    PhysicalPathForbidden,
    ProjectNotFound,
    ReadOnlyMount,
    ToolCallConflict,
    UnknownTool,
    ValidationFailed,
    VersionConflict,
)
from memex.service.log.call_list import list_calls, read_attempts
from memex.service.log.operations import OperationResult
from memex.service.service import Caller, Service
from memex.store.identity import tenants
from memex.store.log.call import Call, CallAnswer, CallRequest, InnerOperation, digest
from memex.store.log.operations import add, expand, read_call
from memex.store.records import FileChange
from memex.store.writes.draft import Draft
from memex.subagent.engine import ENGINE

CallerOf = Callable[..., Awaitable[Caller]]
Arguments = dict[str, Any]

# Of an operation inside a call.
LOGGED = (
    "kind",
    "request",
    "response",
    "state",
    "error_code",
    "started_at",
    "duration_ms",
    "model",
    "usage",
    "prompt_sha256",
)


async def logged(service: Service, caller: Caller, call_id: str) -> OperationResult:
    """Return the newest attempt at a call."""
    return (await read_attempts(service, caller, call_id))[0]


async def rows(service: Service) -> list[dict[str, Any]]:
    """Return the whole log as it is stored, the oldest row first."""
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select * from operation order by operation_id")
        return await cursor.fetchall()


@pytest.fixture
async def alice(service: Service, caller_of: CallerOf) -> Caller:
    """Alice with a key of her own, a member of the project apollo, called by an agent of some name."""
    admin = await caller_of(None, role="admin")
    await open_project(service, admin, "apollo", "alice")
    secret, _ = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    context = CallContext(actor="planner-7", project="apollo", channel="dream")
    return await service.caller(await service.identities.authenticate(secret), context, makes_user=True)


async def test_a_row_says_who_asked_what_when_and_how_it_ended(service: Service, alice: Caller) -> None:
    """Principal, arguments, the state that was seen, the engine, the clock and the time it took."""
    before = datetime.now(UTC)
    await run_tool(
        service, alice, "write", "w1", path="user/a.md", content="one", reason="because", base_version=0
    )
    await run_tool(service, alice, "find", "f1", query="one", limit=3)
    write, find = await logged(service, alice, "w1"), await logged(service, alice, "f1")

    assert (write.tool, write.status, write.attempt, write.error_code) == (
        "memory_write",
        "committed",
        1,
        None,
    )
    assert write.principal == {
        "role": "agent",
        "key_id": alice.principal.key_id,
        "user": "alice",
        "actor": "planner-7",
        "project": "apollo",
        "channel": "dream",
    }
    assert write.request == {
        "path": "user/a.md",
        "content": {"$text": "user/a.md@1:0-3"},
        "reason": "because",
        "base_version": 0,
    }
    assert write.writes == ["user/a.md@1"]
    assert write.state == {"user": 0}
    assert (find.tool, find.status, find.writes) == ("memory_find", "answered", [])
    assert find.request == {"query": "one", "limit": 3}
    assert find.state == {"user": 1, "shared": 0, "projects/apollo": 0}
    for row in (write, find):
        assert row.engine == ENGINE
        assert 0 < row.duration_ms < 60_000
        assert before <= datetime.fromisoformat(row.started_at) <= before + timedelta(minutes=1)


async def test_every_outcome_leaves_a_row(service: Service, alice: Caller) -> None:
    """Answered, committed, repeated, failed, denied: each with its code, attempts counted under one id."""
    expected: list[tuple[str, str, Arguments, type[MemexError] | None, str]] = [
        ("a", "write", {"path": "user/a.md", "content": "1"}, None, "committed"),
        ("a", "write", {"path": "user/a.md", "content": "1"}, None, "repeated"),
        ("a", "write", {"path": "user/a.md", "content": "2"}, ToolCallConflict, "failed"),
        ("b", "write", {"path": "user/a.md", "content": "2", "base_version": 7}, VersionConflict, "failed"),
        ("c", "write", {"path": "shared/a.md", "content": "2"}, ReadOnlyMount, "denied"),
        ("d", "read", {"path": "projects/zeus/a.md"}, ProjectNotFound, "denied"),
        ("e", "read", {"path": "users/bob/a.md"}, PhysicalPathForbidden, "denied"),
        ("f", "read", {"path": "user/none.md"}, FileNotFound, "failed"),
        ("g", "read", {"path": "user/a.md", "colour": "red"}, ValidationFailed, "failed"),
        ("h", "dance", {}, UnknownTool, "failed"),
        ("i", "read", {"path": "user/a.md"}, None, "answered"),
        ("i", "read", {"path": "user/a.md"}, None, "answered"),
        ("i", "list", {}, None, "answered"),
    ]
    for call_id, tool, arguments, error, _ in expected:
        if error is None:
            await run_tool(service, alice, tool, call_id, **arguments)
        else:
            with pytest.raises(error):
                await run_tool(service, alice, tool, call_id, **arguments)

    page = (await list_calls(service, alice)).operations[::-1]
    assert [(row.tool_call_id, row.tool, row.status, row.error_code) for row in page] == [
        (call_id, f"memory_{tool}", status, error.code if error else None)
        for call_id, tool, _, error, status in expected
    ]
    assert [row.attempt for row in page] == [1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3]
    assert all(row.duration_ms > 0 and row.principal["user"] == "alice" for row in page)


async def test_a_call_without_an_id_gets_one(service: Service, alice: Caller) -> None:
    """It is in the answer, and the log knows it."""
    answer = await service.execute(alice, "memory_list", {})

    assert (await logged(service, alice, answer["tool_call_id"])).tool == "memory_list"


async def test_the_log_is_read_in_pages_by_its_owner(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """The newest first, every row once; another user's calls are not there, by id neither."""
    for n in range(7):
        await run_tool(service, alice, "list", f"call-{n}")
    bob = await caller_of("bob")
    await run_tool(service, bob, "list", "call-bob")

    found, cursor = [], None
    while True:
        page = await list_calls(service, alice, limit=3, cursor=cursor)
        found += [row.tool_call_id for row in page.operations]
        cursor = page.next_cursor
        if cursor is None:
            break

    assert found == [f"call-{n}" for n in reversed(range(7))]
    with pytest.raises(OperationNotFound):
        await read_attempts(service, alice, "call-bob")
    with pytest.raises(OperationNotFound):
        await read_attempts(service, bob, "call-1")


SECRET = "xylophone"
TEXT = (
    f"# Plan\n\nThe {SECRET} plays.\r\n\n## Goals\n\n- win @ {SECRET} 🙂\n[[no {SECRET}]] [{SECRET}](x.md)\n"
)


async def _use_every_tool(service: Service, alice: Caller) -> dict[str, tuple[Arguments, Arguments]]:
    """Run every tool on texts that hold the secret; return arguments and result by tool call id."""
    done: dict[str, tuple[Arguments, Arguments]] = {}

    async def run(tool: str, **arguments: Any) -> None:
        call_id = f"{len(done)}-{tool}"
        done[call_id] = arguments, await run_tool(service, alice, tool, call_id, **arguments)

    path, odd = "user/a.md", "projects/apollo/b@2:0-3"
    await run("write", path=path, content=TEXT)
    await run("write", path=odd, content=f"---\ntitle: {SECRET}\n---\n" + TEXT)
    await run("write", path=path, content=f"{TEXT}\n{SECRET}", overwrite=True)
    await run("write", path=path, content=f"{TEXT}\n{SECRET}", overwrite=True)
    await run("patch", path=path, operation="append", text=f"more {SECRET}")
    await run("patch", path=path, operation="append", text=f"{SECRET} goal", heading="Goals")
    await run("patch", path=path, operation="insert", text=f" {SECRET}!", match=f"The {SECRET}")
    await run("patch", path=odd, operation="replace", text="", match=f"win @ {SECRET}", heading="Goals")
    await run("patch", path=odd, operation="replace", text="plays", match="plays")
    await run("read", path=path)
    await run("read", path=path, version=1)
    await run("read", path=odd, heading="Goals")
    await run("read", path=odd, span=[10, 40])
    await run("list")
    await run("links", path=path)
    await run("find", query="plays goals")
    await run("history", path=path)
    await run("diff", path=path, from_version=1, to_version=3)
    await run("diff", path=path, to_version=1)
    await run("move", path=path, to="user/c.md")
    await run("move", path="user/c.md", to="projects/apollo/c.md")
    await run("restore", path=path, version=1)
    await run("delete", path=path)
    deletion = list(done)[-1]
    reverted = await service.revert(alice, deletion, tool_call_id="revert")
    done["revert"] = {"tool_call_id": deletion, "writes": [f"{path}@7"]}, reverted
    return done


async def test_the_log_holds_no_text_of_memory(service: Service, alice: Caller) -> None:
    """Whatever was written, read, found, compared or undone: references, never the words."""
    await _use_every_tool(service, alice)

    for row in await rows(service):
        stored = json.dumps([row["request"], row["response"]], ensure_ascii=False)
        assert SECRET not in stored, (row["kind"], stored)


async def test_references_expand_to_the_very_texts(service: Service, alice: Caller) -> None:
    """What a call was asked and answered can be put together again, long after the files went on."""
    done = await _use_every_tool(service, alice)
    stored = {row["tool_call_id"]: row for row in await rows(service)}
    async with service.database.transaction(alice.access, snapshot=True) as connection:
        for call_id, (arguments, result) in done.items():
            row = stored[call_id]
            given = {name: value for name, value in arguments.items() if value is not False}
            assert await expand(connection, alice.access, row["request"]) == given, call_id
            answer = {name: value for name, value in result.items() if name != "tool_call_id"}
            assert bytes(row["result_sha256"]) == digest(answer), call_id
            told = await expand(connection, alice.access, row["response"]["result"])
            if row["status"] == "committed" or row["kind"] == "memory_diff":
                assert told == answer, call_id
            elif row["kind"] == "memory_read":
                assert told["content"] == answer["content"], call_id
                assert answer["sha256"] == hashlib.sha256(answer["content"].encode()).hexdigest()


async def test_a_refused_write_is_logged_without_its_text(service: Service, alice: Caller) -> None:
    """Nothing keeps a long text that was not stored: its length and digest tell which it was."""
    text = f"{SECRET} " * 500
    with pytest.raises(ReadOnlyMount):
        await run_tool(service, alice, "write", "denied", path="shared/a.md", content=text)
    with pytest.raises(FileNotFound):
        await run_tool(service, alice, "patch", "failed", path="user/a.md", operation="append", text=text)
    with pytest.raises(ValidationFailed):
        await run_tool(
            service, alice, "write", "invalid", path="user/a.md", content=text, colour=[text, text]
        )

    kept = {"$sha256": digest(text).hex(), "chars": len(text)}
    assert (await logged(service, alice, "denied")).request["content"] == kept
    assert (await logged(service, alice, "failed")).request["text"] == kept
    assert (await logged(service, alice, "invalid")).request["content"] == kept
    assert not any(SECRET in str(row) for row in await rows(service))


HOSTILE: list[tuple[str, Arguments]] = [
    ("memory_write", {"path": "user/a.md", "content": "nul \0"}),
    ("memory_write", {"path": "user/a.md", "content": "half \ud800"}),
    ("memory_write", {"path": "user/\0.md", "content": "x"}),
    ("memory_write", {"path": "user/\udfff.md", "content": "x"}),
    ("memory_write", {"path": "user/a.md", "content": "x", "reason": "nul \0"}),
    ("memory_write", {"path": "user/a.md", "content": "x", "reason": "half \ud800"}),
    ("memory_write", {"path": "user/a.md", "content": "x", "reason": "x" * 501}),
    ("memory_write", {"path": 7, "content": ["x"], "overwrite": "yes"}),
    ("memory_write", {"path": "user/a.md", "content": "x", "base_version": 10**40}),
    ("memory_write", {"path": "user/a.md", "content": "x", "base_version": -1}),
    ("memory_write", {"junk": "\0\ud800" * 500_000}),
    ("memory_write", {"\0": 1, "\ud800": 2, "": 3, "x" * 100: 4, "x" * 101: 5}),
    ("memory_write", {f"name {n}" * 100: "value " * 1_000 for n in range(200)}),
    ("memory_write", {"deep": [[[{"\0": ["\ud800", {"x": [None, True, 10**300]}]}]]]}),
    ("memory_write", {"deep": [{"wide": list(range(200_000))}]}),
    (
        "memory_patch",
        {"path": "user/none.md", "operation": "insert", "text": "\0", "match": "\0", "heading": "\0"},
    ),
    ("memory_find", {"query": "\0 \ud800", "tags": ["\0"]}),
    ("memory_find", {"query": "nul \0"}),
    ("memory_find", {"query": "half \ud800"}),
    ("memory_find", {"query": "x", "tags": ["\0"]}),
    ("memory_find", {"query": "x", "tags": ["\ud800"]}),
    ("memory_find", {"query": "x", "prefix": "user/\0"}),
    ("memory_find", {"query": "x", "project": "\0"}),
    ("memory_find", {"query": "x" * 1_000_000}),
    ("memory_read", {"path": "user/a.md", "version": 10**40}),
    ("memory_read", {"path": "user/a.md", "version": 2**31}),
    ("memory_read", {"path": "user/a.md", "span": [-(10**40), 10**40]}),
    ("memory_list", {"cursor": "\0"}),
    ("memory_list", {"cursor": "WyJ1c2VyL1x1MDAwMCJd"}),
    ("memory_history", {"path": "user/a.md", "cursor": "Wzk5OTk5OTk5OTk5OTk5OTk5OTk5OSwxXQ"}),
    ("memory_links", {"path": "user/none.md", "depth": 99}),
    ("memory_\0", {}),
    ("memory_\ud800", {}),
    ("x" * 100_000, {"x": "x"}),
    ("", {}),
]


async def test_hostile_calls_are_refused_and_logged(service: Service, alice: Caller) -> None:
    """NUL bytes, lone surrogates, huge and deep junk, as values, as names, as the tool: an error, and a row."""
    await run_tool(service, alice, "write", "base", path="user/a.md", content="text")
    for n, (tool, arguments) in enumerate(HOSTILE):
        with pytest.raises(MemexError) as refused:
            await service.execute(alice, tool, arguments, tool_call_id=f"call-{n}")

        row = await logged(service, alice, f"call-{n}")
        assert row.status in ("failed", "denied"), n
        assert row.error_code == refused.value.code != "INTERNAL", n
        assert len(json.dumps(row.request)) < 100_000, n
    assert len(await rows(service)) >= len(HOSTILE)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [[[[-float("inf")]]]]])
async def test_numbers_that_json_lacks_are_refused(service: Service, alice: Caller, value: object) -> None:
    """They could not be logged."""
    with pytest.raises(ValidationFailed):
        await service.execute(alice, "memory_list", {"limit": value})


async def test_an_id_that_cannot_be_logged_is_refused(service: Service, alice: Caller) -> None:
    """A tool call id is 1 to 200 printable characters without space; nothing is done."""
    for call_id in (
        "",
        " ",
        "a b",
        "a\n",
        "\0",
        "\ud800",
        "x" * 201,
    ):
        with pytest.raises(ValidationFailed):
            await run_tool(service, alice, "write", call_id, path="user/a.md", content="x")
        with pytest.raises(ValidationFailed):
            await read_attempts(service, alice, call_id)

        assert (await service.execute(alice, "memory_list", {}))["files"] == []


async def test_no_revision_is_stored_without_its_row(service: Service, alice: Caller) -> None:
    """They are one transaction: when the call cannot be answered or logged, nothing was written."""
    draft = Draft(service.database, alice.access)
    draft.write("user/a.md", "text")

    def unanswerable(_: tuple[FileChange, ...]) -> CallAnswer:
        raise ZeroDivisionError("division")

    def unloggable(_: tuple[FileChange, ...]) -> CallAnswer:
        return CallAnswer({}, {"x": float("nan")}, {})

    for answer in (unanswerable, unloggable):
        call = Call(CallRequest("call-1", "memory_write", {}, alice.logged, datetime.now(UTC)))
        with pytest.raises(Exception, match=r"division|NaN|json"):
            await draft.commit(call, answer)

    assert (await service.execute(alice, "memory_list", {}))["files"] == []
    with pytest.raises(OperationNotFound):
        await read_attempts(service, alice, "call-1")


async def test_what_admins_do_is_logged(service: Service, alice: Caller, caller_of: CallerOf) -> None:
    """In the tenant's own log, which no agent reads; the user that they act for sees his files, not the call."""
    admin = await caller_of("alice", role="admin")
    await run_tool(service, admin, "write", "by-admin", path="user/a.md", content="text")
    with pytest.raises(ProjectNotFound):
        await service.administer(
            admin, "member.add", {"slug": "none"}, lambda c, a: tenants.close_project(c, a, "none")
        )

    row = await logged(service, admin, "by-admin")
    assert (row.status, row.principal["role"], row.principal["user"]) == ("committed", "admin", "alice")
    newest = (await list_calls(service, admin)).operations[0]
    assert (newest.tool, newest.status, newest.error_code) == ("member.add", "denied", "PROJECT_NOT_FOUND")
    with pytest.raises(OperationNotFound):
        await read_attempts(service, alice, "by-admin")
    history = await service.execute(alice, "memory_history", {"path": "user/a.md"})
    assert [(r["tool_call_id"], r["channel"]) for r in history["revisions"]] == [("by-admin", "admin")]


async def test_a_refusal_before_a_caller_is_known_is_logged(service: Service, alice: Caller) -> None:
    """A bound key that names another user: denied, in the log of the user whose key it is."""
    with pytest.raises(MemexError):
        await service.caller(
            alice.principal,
            CallContext(user_id="bob"),
            action="memory_read",
            tool_call_id="call-1",
            makes_user=True,
        )

    row = await logged(service, alice, "call-1")
    assert (row.tool, row.status, row.error_code) == ("memory_read", "denied", "FORBIDDEN")


async def test_a_context_is_logged_with_the_operations_inside_it(service: Service, alice: Caller) -> None:
    """One row, and those below it: what was asked of memory in which order, what came back, what state it saw."""
    await run_tool(service, alice, "write", "w1", path="user/a.md", content="Oolong: [[b]].")
    await run_tool(service, alice, "write", "w2", path="user/b.md", content="# Kettle\n\nRed.")
    await run_tool(
        service, alice, "write", "w3", path="user/p.md", content="---\npinned: true\n---\nBe brief."
    )
    answer = await run_tool(service, alice, "context", "c1", query="oolong", budget=900)
    row = await logged(service, alice, "c1")
    state = {"user": 3, "shared": 0, "projects/apollo": 0}
    inner = {one.ordinal: one for one in row.inner}

    assert (row.tool, row.status, row.engine) == ("memory_context", "answered", ENGINE)
    assert (row.request, row.state) == ({"query": "oolong", "budget": 900}, state)
    assert row.config == {"planner": "builtin", "prompt": "context-4", "min_confidence": "weak"}
    assert row.response == {k: v for k, v in answer.items() if k not in ("context", "tool_call_id")}
    assert [(inner[n].tool, inner[n].request) for n in sorted(inner)] == [
        ("memory_find", {"query": "oolong", "limit": 100, "chars": 20_000}),
        ("memory_passages", {"paths": 1}),
        ("memory_links", {"paths": ["user/a.md"]}),
        ("memory_links", {"paths": ["user/a.md"], "direction": "in"}),
        ("memory_passages", {"paths": 1}),
        ("memory_pinned", {}),
        ("memory_passages", {"paths": 1}),
        ("memory_read", {"spans": ["user/p.md@1:21-30", "user/a.md@1:0-14", "user/b.md@1:0-14"]}),
        ("memory_list", {"prefix": "", "limit": 100}),
        ("memory_list", {"prefix": "user/journal/", "limit": 100}),
        ("memory_statements", {"files": 2}),
    ]
    assert inner[1].response["hits"][0].keys() == {"path", "version", "span", "score"}
    assert inner[3].response == {"links": [["user/a.md", "user/b.md"]]}
    assert inner[6].response == {"files": ["user/p.md"]}
    assert inner[8].response == {"texts": 3}
    for one in row.inner:
        assert (one.status, one.error_code, one.state) == ("answered", None, state)
        assert datetime.fromisoformat(one.started_at) >= datetime.fromisoformat(row.started_at)
        assert 0 < one.duration_ms <= row.duration_ms


async def test_a_list_of_calls_holds_calls_alone(service: Service, alice: Caller) -> None:
    """What ran inside of them neither counts nor fills the pages, nor is it an attempt."""
    for _ in range(3):
        await run_tool(service, alice, "context", "c1", query="tea")
    page = await list_calls(service, alice, limit=2)
    last = await list_calls(service, alice, limit=2, cursor=page.next_cursor)
    attempts = await read_attempts(service, alice, "c1")

    assert [(row.tool, row.attempt, row.inner) for row in page.operations] == [
        ("memory_context", 3, []),
        ("memory_context", 2, []),
    ]
    assert ([row.attempt for row in last.operations], last.next_cursor) == ([1], None)
    assert [(row.attempt, len(row.inner)) for row in attempts] == [(3, 4), (2, 4), (1, 4)]


async def test_a_failed_call_shows_what_ran_before_it_failed(service: Service, alice: Caller) -> None:
    """The operation that failed too, with its code; one that was refused before any ran shows none."""
    with pytest.raises(ValidationFailed):
        await run_tool(service, alice, "context", "c1", query=" ")
    with pytest.raises(ValidationFailed):
        await run_tool(service, alice, "context", "c2", query="tea", budget=1)
    failed, refused = await logged(service, alice, "c1"), await logged(service, alice, "c2")

    assert (failed.status, failed.error_code) == ("failed", "VALIDATION_ERROR")
    assert [(one.tool, one.status, one.error_code, one.response) for one in failed.inner] == [
        ("memory_find", "failed", "VALIDATION_ERROR", None)
    ]
    assert (refused.status, refused.error_code, refused.inner) == ("failed", "BUDGET_TOO_SMALL", [])


async def test_operations_inside_calls_hold_no_text_of_memory(service: Service, alice: Caller) -> None:
    """What is recalled, pinned and linked to stands in revisions, and nowhere in the log."""
    links = f"[[b#{SECRET} at noon]] [{SECRET}](b.md) [[no {SECRET}]]"
    body = f"# The {SECRET} plays\n\nOolong at noon, by the {SECRET}. {links}\n"
    await run_tool(service, alice, "write", "w1", path="user/a.md", content=f"---\npinned: true\n---\n{body}")
    await run_tool(
        service, alice, "write", "w2", path="user/b.md", content=f"## {SECRET} at noon\n\n{SECRET}"
    )
    await run_tool(service, alice, "write", "w3", path="projects/apollo/c.md", content=body * 40)
    for budget in (400, 4_000):
        answer = await run_tool(
            service, alice, "context", f"c{budget}", query="oolong", budget=budget, max_hops=3
        )
        assert SECRET in answer["context"]
    stored = await rows(service)

    assert sum(len(row["inside"] or ()) for row in stored) >= 12
    assert not any(SECRET in str(row) for row in stored)


async def test_what_is_inside_a_call_stands_in_its_row(service: Service, alice: Caller) -> None:
    """Reads of memory in the row of the call, requests to models in rows of their own; together in their order."""
    began = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
    state = {"user": 2, "shared": 0}
    inner = [
        InnerOperation("memory_list", {"limit": 1}, {"files": []}, state, None, began, 1.5),
        InnerOperation("model_request", {"mode": "tools"}, {}, None, None, began, 2.0, "m", {}, b"p" * 32),
        InnerOperation("memory_find", {"query": "tee ☕"}, {"score": 0.5}, state, None, began, 2.5),
        InnerOperation("memory_read", {"path": "user/a.md"}, None, None, "FILE_NOT_FOUND", began, 3.5),
    ]
    call = Call(CallRequest("c1", "memory_context", {}, alice.logged, began + timedelta(seconds=3)))
    call.record.inner.extend(inner)
    call.record.prompts[b"p" * 32] = "prompt"
    async with service.database.transaction(alice.access) as connection:
        await add(connection, alice.access, call, status="answered", answer=CallAnswer({}, {}, {}))
        [logged] = await read_call(connection, alice.access, "c1")
        cursor = await connection.execute("select kind from operation order by operation_id")
        kinds = [row["kind"] for row in await cursor.fetchall()]

    assert kinds == ["memory_context", "model_request"]
    assert [one.ordinal for one in logged.inner] == [1, 2, 3, 4]
    for one, read in zip(inner, logged.inner, strict=True):
        assert [getattr(read, name) for name in LOGGED] == [getattr(one, name) for name in LOGGED]
    assert [one.status for one in logged.inner] == ["answered", "answered", "answered", "failed"]
    assert all(one.tool_call_id == "c1" for one in logged.inner)
