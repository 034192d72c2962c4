"""The story of a call: from the log alone, whatever the call was and however old its row is."""

import itertools
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from memex.cli.log.trace import FIRST_STEPS, LAST_STEPS, tree
from memex.cli.output import Branch
from memex.errors import VersionConflict
from memex.service.log.call_list import read_attempts
from memex.service.log.operations import OperationResult, render_operation
from memex.service.log.trace import Trace, build_trace, load_trace
from memex.service.log.trace_steps import FindStep, LinksStep, ModelStep, ReadStep
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.log.call import digest
from memex.store.records import Operation
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.engine import ENGINE
from memex.subagent.model.chat import ChatModel, Price
from memex.subagent.model.planner import ModelPlanner

CallerOf = Callable[..., Awaitable[Caller]]
NOW = datetime(2026, 11, 22, tzinfo=UTC)
NOTES = {
    "user/profile.md": "# Profile\n\nAlice likes oolong tea. See [[teas]].\n",
    "user/teas.md": "# Teas\n\nOolong comes from Fujian.\n",
    "user/boats.md": "# Boats\n\nThe oars are red.\n",
}


async def fill(service: Service, caller: Caller) -> None:
    """Write the notes."""
    for path, content in NOTES.items():
        await service.execute(caller, "memory_write", {"path": path, "content": content})


async def attempt(service: Service, caller: Caller, call_id: str) -> OperationResult:
    """Return the newest attempt at a call."""
    return (await read_attempts(service, caller, call_id))[0]


async def story(service: Service, caller: Caller, call_id: str) -> Trace:
    """Return the story of the newest attempt at a call."""
    told = (await attempt(service, caller, call_id)).trace
    assert told is not None
    return told


def operation(kind: str, **fields: Any) -> Operation:
    """Return a row of the log with no more than a row must have."""
    row: dict[str, Any] = {
        "operation_id": 1,
        "tool_call_id": "call-1",
        "user_id": "alice",
        "attempt": 1,
        "kind": kind,
        "status": "answered",
        "principal": {},
        "request": {},
        "response": None,
        "state": None,
        "engine": ENGINE,
        "error_code": None,
        "started_at": NOW,
        "duration_ms": 10.0,
    }
    return Operation(**row | fields)


def printed(branch: Branch) -> list[str]:
    """Return the lines of a tree without their guides."""
    line = "".join(part if isinstance(part, str) else part[0] for part in branch.parts)
    return [line, *itertools.chain.from_iterable(map(printed, branch.below))]


def lines_of(attempt: OperationResult) -> list[str]:
    """Return what the command prints of an attempt."""
    return printed(tree("asked", attempt.model_dump(mode="json")))


async def test_a_context_tells_what_it_found_followed_chose_and_returned(
    service: Service, alice: Caller
) -> None:
    """Hits with their scores, link hops, what was read, the sources and the budget: as in the answer."""
    await fill(service, alice)
    answer = await service.execute(
        alice, "memory_context", {"query": "oolong", "budget": 1000}, tool_call_id="c"
    )

    told = await story(service, alice, "c")

    [find] = [step for step in told.steps if isinstance(step, FindStep)]
    assert find.query == "oolong"
    assert {(hit.path, hit.version) for hit in find.hits} == {("user/profile.md", 1), ("user/teas.md", 1)}
    assert all(hit.score > 0 and hit.end > hit.start for hit in find.hits)
    hops = [
        (hop.source, hop.target) for step in told.steps if isinstance(step, LinksStep) for hop in step.hops
    ]
    assert ("user/profile.md", "user/teas.md") in hops
    spans = [span for step in told.steps if isinstance(step, ReadStep) for span in step.spans]
    assert {span.partition("@")[0] for span in spans} == {*NOTES}
    sources = [(one["path"], one["version"], one["reason"], one["linked_from"]) for one in answer["sources"]]
    assert [(one.path, one.version, one.reason, one.linked_from) for one in told.chosen] == sources
    whys = [[span["why"] for span in one["spans"]] for one in answer["sources"]]
    assert [[span.why for span in one.spans] for one in told.chosen] == whys
    assert told.cut is not None
    assert told.cut.count == answer["omitted"]["count"] == sum(told.cut.by_reason.values())
    assert told.returned is not None
    assert (told.returned.chars, told.returned.max_chars) == (len(answer["context"]), 1000)
    assert (told.returned.hash, told.returned.not_modified) == (answer["hash"], False)
    assert (told.planner, told.degraded, told.written) == ("builtin", None, [])


async def test_durations_add_up_to_shares_of_the_call(service: Service, alice: Caller) -> None:
    """Time in memory is that of the operations; nothing was spent on models, and no price is made up."""
    await fill(service, alice)
    await service.execute(alice, "memory_context", {"query": "oolong"}, tool_call_id="c")

    row = await attempt(service, alice, "c")

    assert row.trace is not None
    totals = row.trace.totals
    assert totals.operations == len(row.trace.steps) == len(row.inner)
    assert totals.memory_ms == pytest.approx(sum(step.duration_ms for step in row.trace.steps), abs=0.01)
    assert totals.memory_share == pytest.approx(totals.memory_ms / row.duration_ms, abs=0.01)
    assert (totals.model_requests, totals.model_ms, totals.usd, totals.unpriced_requests) == (0, 0.0, None, 0)
    assert [step.at_ms for step in row.trace.steps] == sorted(step.at_ms for step in row.trace.steps)


async def test_a_remember_tells_what_it_wrote_and_skipped(service: Service, alice: Caller) -> None:
    """Each revision with how many lines it added and removed; what was not written, and why."""
    await fill(service, alice)
    text = "I prefer green tea. How are you?"
    await service.execute(alice, "memory_remember", {"text": text}, tool_call_id="r")

    row = await attempt(service, alice, "r")

    assert row.trace is not None
    written, entry = row.trace.written
    assert [f"{one.path}@{one.version}" for one in (written, entry)] == row.writes
    assert entry.path.startswith("user/journal/")
    assert (written.operation, written.removed, written.reason) == ("create", 0, "1 added")
    assert written.added is not None
    assert written.added > 0
    assert [(text[skip.start : skip.end].strip(), skip.reason) for skip in row.trace.skipped] == [
        ("How are you?", "small_talk")
    ]
    assert any(line.startswith("wrote 2 files") for line in lines_of(row))
    assert "20-32  small_talk" in lines_of(row)


async def test_a_change_of_lines_is_counted_as_in_a_diff(service: Service, alice: Caller) -> None:
    """A patch, a move and a deletion: what came and what went."""
    await fill(service, alice)
    path = "user/boats.md"
    steps: list[tuple[str, dict[str, Any]]] = [
        ("patch", {"path": path, "operation": "replace", "match": "red", "text": "blue\nand long"}),
        ("move", {"path": path, "to": "user/ships.md"}),
        ("delete", {"path": "user/ships.md"}),
    ]
    for tool, arguments in steps:
        await service.execute(alice, f"memory_{tool}", arguments, tool_call_id=tool)

    found = [(await story(service, alice, tool)).written[0] for tool, _ in steps]

    assert [(one.operation, one.added, one.removed) for one in found] == [
        ("patch", 2, 1),
        ("move", 0, 0),
        ("delete", 0, 4),
    ]


async def test_a_tool_without_a_planner_is_its_own_story(service: Service, alice: Caller) -> None:
    """A search, a read, a list and links are told as the one operation that they are."""
    await fill(service, alice)
    tools: dict[str, dict[str, Any]] = {
        "find": {"query": "oolong"},
        "read": {"path": "user/teas.md"},
        "list": {},
        "links": {"path": "user/profile.md"},
        "history": {"path": "user/teas.md"},
    }
    for tool, arguments in tools.items():
        await service.execute(alice, f"memory_{tool}", arguments, tool_call_id=tool)

    told = {tool: (await story(service, alice, tool)).steps for tool in tools}

    assert {tool: [step.kind for step in steps] for tool, steps in told.items()} == {
        "find": ["find"],
        "read": ["read"],
        "list": ["files"],
        "links": ["links"],
        "history": ["files"],
    }
    assert told["read"][0].spans == [f"user/teas.md@1:0-{len(NOTES['user/teas.md'])}"]  # type: ignore[union-attr]
    assert told["list"][0].files == sorted(f"{path}@1" for path in NOTES)  # type: ignore[union-attr]
    assert told["find"][0].hits[0].score > 0  # type: ignore[union-attr]


async def test_a_failed_call_tells_how_far_it_came(service: Service, alice: Caller) -> None:
    """A refused write has no step and no revision; repeated and dry calls neither."""
    await fill(service, alice)
    stale = {"path": "user/teas.md", "content": "x", "base_version": 7}
    with pytest.raises(VersionConflict):
        await service.execute(alice, "memory_write", stale, tool_call_id="w")
    await service.execute(
        alice, "memory_remember", {"text": "I like milk.", "dry_run": True}, tool_call_id="d"
    )

    refused, dry = await story(service, alice, "w"), await story(service, alice, "d")

    assert (refused.steps, refused.written, refused.totals.memory_share) == ([], [], 0.0)
    assert (dry.written, dry.planner) == ([], "builtin")
    assert dry.steps


async def test_what_its_reader_may_not_see_is_named_and_not_compared(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """An admin who names no user has no user/…: a revision there has no operation and no lines in the story."""
    admin = await caller_of(None, role="admin")
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "one\n"})
    write = operation("memory_write", response={"result": {}, "writes": ["user/a.md@1", "user/gone.md@7"]})

    stories = []
    for caller in (admin, alice):
        async with service.database.transaction(caller.access) as connection:
            stories.append((await load_trace(connection, caller.access, write)).written)

    assert [[(one.path, one.operation, one.added) for one in story] for story in stories] == [
        [("user/a.md", None, None), ("user/gone.md", None, None)],
        [("user/a.md", "create", 1), ("user/gone.md", None, None)],
    ]


def with_model(database: Database, *replies: ModelResponse | Exception) -> Service:
    """Return a service whose planner is a model of a known price that answers so, one reply after the other."""
    left = list(replies)

    def play(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    price = Price(Decimal(100), Decimal(1000))
    chat = ChatModel("function:test", lambda: (FunctionModel(play), None), price=price)
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()))
    return Service(database, max_files=100, planning=Planners(planner, planner))


async def test_requests_to_a_model_are_told_with_what_they_showed_called_and_cost(
    database: Database, alice: Caller
) -> None:
    """Between the operations, in their order; tokens and dollars add up."""
    chosen = {"lines": [1]}
    service = with_model(
        database,
        ModelResponse(
            parts=[ToolCallPart("find", {"query": "oars"})],
            usage=RequestUsage(input_tokens=100, output_tokens=10),
        ),
        ModelResponse(
            parts=[ToolCallPart("answer", chosen)], usage=RequestUsage(input_tokens=200, output_tokens=20)
        ),
    )
    await fill(service, alice)
    await service.execute(alice, "memory_context", {"query": "oolong"}, tool_call_id="m")

    row = await attempt(service, alice, "m")

    assert row.trace is not None
    first, second = [step for step in row.trace.steps if isinstance(step, ModelStep)]
    assert (first.mode, first.input_tokens, first.output_tokens) == ("tools", 100, 10)
    assert any(span.startswith("user/teas.md@1:") for span in first.shown)
    assert [(call.tool, call.arguments) for call in first.called] == [("find", {"query": "oars"})]
    assert [call.tool for call in second.called] == ["answer"]
    kinds = [step.kind for step in row.trace.steps]
    asked = kinds.index("model")
    assert "find" in kinds[asked + 1 : kinds.index("model", asked + 1)]
    totals = row.trace.totals
    assert (totals.model_requests, totals.input_tokens, totals.output_tokens) == (2, 300, 30)
    assert totals.usd == pytest.approx(0.06)
    assert (totals.is_estimated, totals.unpriced_requests) == (False, 0)
    assert 0 < totals.model_share + totals.memory_share <= 1
    assert row.trace.planner == "function:test"
    assert 'called find {"query": "oars"}' in lines_of(row)
    assert any("tools, 200 + 20 tokens, 0.0400 USD" in line for line in lines_of(row))


async def test_a_model_that_fails_says_why(database: Database, alice: Caller) -> None:
    """The request has its failure, guessed tokens are marked, and the rules that planned are named."""
    service = with_model(
        database,
        ModelResponse(parts=[TextPart("no answer")]),
        ModelHTTPError(400, "test"),
        ModelHTTPError(400, "test"),
    )
    await fill(service, alice)
    await service.execute(alice, "memory_context", {"query": "oolong"}, tool_call_id="m")

    row = await attempt(service, alice, "m")

    assert row.trace is not None
    assert (row.trace.planner, row.trace.degraded) == ("builtin", "MODEL_UNAVAILABLE")
    assert row.trace.failure
    steps = [step for step in row.trace.steps if isinstance(step, ModelStep)]
    assert steps[0].said == "no answer"
    assert steps[-1].failure
    assert row.trace.totals.model_requests == len(steps)
    assert f"not the model: {row.trace.failure}" in lines_of(row)


def test_a_row_of_an_older_version_is_told_as_far_as_it_goes() -> None:
    """Without prices, digests or spans, with fields of another form, nothing fails and nothing is made up."""
    inner = (
        operation("memory_find", request={"query": {"$sha256": "x", "chars": 900}}, ordinal=1),
        operation("memory_find", response={"hits": [{"path": "user/a.md"}, "?"]}, ordinal=2),
        operation("memory_links", request={"path": "user/a.md"}, response={"links": ["?"]}, ordinal=3),
        operation("memory_read", request={"path": "user/a.md"}, error_code="FILE_NOT_FOUND", ordinal=4),
        operation("memory_dream", request={"deep": True}, ordinal=5),
        operation("model_request", model="m", ordinal=6),
    )
    old = operation("memory_context", response={"result": {"sources": [{}], "omitted": 3}}, inner=inner)

    told = build_trace(old)
    lines = lines_of(render_operation(old, told))

    assert [step.kind for step in told.steps] == ["find", "find", "links", "read", "other", "model"]
    assert (told.cut, told.returned, told.totals.usd, told.totals.unpriced_requests) == (None, None, None, 1)
    assert any(line.startswith("find ") and "a long query → 0 hits" in line for line in lines)
    assert any(line.endswith("user/a.md FILE_NOT_FOUND") for line in lines)
    assert any("memory_dream" in line for line in lines)


def test_a_comparison_tells_how_many_statements_had_states() -> None:
    """And how near the best is; values that cannot be read do not count."""
    told = []
    for similar in ([2713, None, 1323], [None], "none", ["x", 2.5]):
        asked = {"query": "tea", "statements": 3}
        inner = operation("memory_compare", request=asked, response={"similar": similar}, ordinal=1)
        call = operation("memory_context", inner=(inner,))
        lines = lines_of(render_operation(call, build_trace(call)))
        told += [line.partition(" ms ")[2] for line in lines if line.startswith("compare ")]

    assert told == [
        "3 statements in meaning → best similarity 0.27, 1 not embedded",
        *["3 statements in meaning → none was embedded yet"] * 3,
    ]


def test_a_long_query_is_told_where_it_is_the_callers() -> None:
    """The log has it once, in the call; the search inside names its digest."""
    query = "tea " * 100
    inner = operation("memory_find", request={"query": {"$sha256": digest(query).hex(), "chars": 400}})
    other = operation("memory_find", request={"query": {"$sha256": "00", "chars": 400}})

    told = build_trace(operation("memory_context", request={"query": query}, inner=(inner, other)))

    assert [step.query for step in told.steps if isinstance(step, FindStep)] == [query, None]


def test_a_call_of_four_hundred_operations_stays_readable() -> None:
    """The first and the last are shown, those between counted; the JSON has all."""
    inner = tuple(
        operation(
            "memory_find",
            request={"query": f"q{number}"},
            response={"hits": [{"path": f"user/{n}.md", "version": 1} for n in range(30)]},
            started_at=NOW + timedelta(milliseconds=number),
            ordinal=number,
        )
        for number in range(400)
    )
    row = operation("memory_context", inner=inner)
    result = render_operation(row, build_trace(row))

    lines = lines_of(result)

    assert result.trace is not None
    assert len(result.trace.steps) == 400
    assert f"… {400 - FIRST_STEPS - LAST_STEPS} more operations; --json has all" in lines
    assert sum(line.startswith("find ") for line in lines) == FIRST_STEPS + LAST_STEPS
    assert lines.count("… 20 more hits; --json has all") == FIRST_STEPS + LAST_STEPS
    assert any('"q399"' in line for line in lines)
