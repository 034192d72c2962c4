"""Calls at the edges of what can be asked are run again like any other."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.service.log.call_list import read_attempts
from memex.service.log.replay.bundle import export_call
from memex.service.log.replay.requests import replay_bundle, replay_call
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.log.operations import MAX_ATTEMPTS
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner

# One server is enough.
pytestmark = pytest.mark.embedded_only

CallerOf = Callable[..., Awaitable[Caller]]


async def join(service: Service, admin: Caller, *projects: str) -> None:
    """Open projects with alice as a member."""
    async with service.database.transaction(admin.access) as connection:
        for slug in projects:
            await tenants.open_project(connection, admin.access, slug)
            await tenants.add_member(connection, admin.access, slug, "alice")


async def test_an_argument_may_name_another_project_than_the_context(
    service: Service, caller_of: CallerOf
) -> None:
    """Such a call saw nothing of its context's project, in place and from a bundle."""
    await join(service, await caller_of(None, role="admin"), "apollo", "hermes")
    alice = await caller_of("alice", project="apollo")
    text = "# Engine\n\nThe engine burns methane.\n"
    await service.execute(alice, "memory_write", {"path": "projects/hermes/engine.md", "content": text})
    asked = {"query": "What does the engine burn?", "project": "hermes"}
    said = {"text": "The engine burns hydrogen.", "project": "hermes"}
    await service.execute(alice, "memory_context", asked, tool_call_id="asked")
    await service.execute(alice, "memory_remember", said, tool_call_id="said")
    results = [await replay_call(service, alice, call) for call in ("asked", "said")]
    bundle = await export_call(service, alice, "asked")
    results.append(await replay_bundle(service, bundle))

    assert [result.difference for result in results] == [None, None, None]
    assert "methane" in results[0].result["context"]


async def test_an_empty_mount_has_its_language(database: Database, caller_of: CallerOf) -> None:
    """The query was read in it too; so it is afterwards, and when something was written there since."""
    admin = await caller_of(None, role="admin")
    service = Service(database, max_files=100, language="german")
    alice = await service.caller(
        (await caller_of("bob")).principal, CallContext(user_id="alice"), makes_user=True
    )
    text = "# Tee\n\nI prefer trains of any kind, and the tea of Assam.\n"
    await service.execute(alice, "memory_write", {"path": "user/tee.md", "content": text})
    asked = {"query": "Which kind of tea do I prefer?"}
    for tool in ("memory_context", "memory_find"):
        await service.execute(alice, tool, asked, tool_call_id=tool)
    await service.execute(
        alice, "memory_write", {"path": "user/tee.md", "content": text * 2, "overwrite": True}
    )
    await service.execute(admin, "memory_write", {"path": "shared/tea.md", "content": text})
    results = [await replay_call(service, alice, tool) for tool in ("memory_context", "memory_find")]

    assert {scope.mount: scope.language for scope in alice.access.scopes} == {
        "user": "german",
        "shared": "english",
    }
    assert [result.difference for result in results] == [None, None]


@pytest.mark.slow
async def test_a_long_text_is_read_in_the_parts_of_then(database: Database, alice: Caller) -> None:
    """Parts are read without tools; that says nothing of what the model manages, and so of their number."""

    def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("answer", {"edits": [], "skipped": []})])

    chat = ChatModel("function:test", lambda: (FunctionModel(play), None))
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()))
    service = Service(database, max_files=100, planning=Planners(planner, planner))
    text = " ".join(f"The buoy {number} is painted red." for number in range(1_000))
    await service.execute(alice, "memory_remember", {"text": text}, tool_call_id="long")
    result = await replay_call(service, alice, "long")

    assert result.difference is None
    assert result.model_requests > 1


async def test_a_call_that_was_sent_again_many_times_is_replayed(service: Service, alice: Caller) -> None:
    """Copies of its answer do not hide the attempt that gave it."""
    said = {"text": "I prefer oolong tea."}
    for _ in range(MAX_ATTEMPTS + 2):
        await service.execute(alice, "memory_remember", said, tool_call_id="sent")
    result = await replay_call(service, alice, "sent")

    assert (result.attempt, result.difference) == (1, None)
    assert len(await read_attempts(service, alice, "sent")) == MAX_ATTEMPTS


@pytest.mark.parametrize("near", ['[["user/tea.md"]]', "5"])
async def test_what_is_logged_in_no_known_form_is_named(service: Service, alice: Caller, near: str) -> None:
    """The damage is told, whatever running the call again comes to."""
    await service.execute(alice, "memory_write", {"path": "user/tea.md", "content": "I like oolong tea."})
    await service.execute(alice, "memory_context", {"query": "Which tea?"}, tool_call_id="asked")
    async with service.database.maintenance() as connection:
        await connection.execute(
            "update operation set inside = jsonb_set(inside, '{0,3,near}', %s::jsonb)"
            " where inside #>> '{0,1}' = 'memory_find'",
            [near],
        )
    result = await replay_call(service, alice, "asked")

    assert result.difference is not None
    assert (result.is_equal, result.difference.what) == (False, "recorded")


async def test_a_bundle_of_no_known_form_is_refused(service: Service, alice: Caller) -> None:
    """What no digest covers may be anything: it is no crash."""
    await service.execute(alice, "memory_context", {"query": "Which tea?"}, tool_call_id="asked")
    bundle = await export_call(service, alice, "asked")
    operation = replace(bundle.operation, config={"model": "x", "limits": {"usd": "much"}})
    forged = replace(bundle, logged=replace(bundle.logged, operation=operation))

    with pytest.raises(ValidationFailed, match="no known form"):
        await replay_bundle(service, forged)


async def test_a_state_may_leave_mounts_out(service: Service, caller_of: CallerOf) -> None:
    """They were there when the call looked, and empty."""
    await join(service, await caller_of(None, role="admin"), "apollo", "hermes")
    alice = await caller_of("alice", project="apollo")
    for path in ("user/tea.md", "projects/hermes/tea.md"):
        await service.execute(alice, "memory_write", {"path": path, "content": "I like oolong tea."})
    asked = {"query": "Which tea?", "as_of": {"projects/hermes": 1}}
    found = await service.execute(alice, "memory_find", asked, tool_call_id="found")
    asked = {"query": "Which tea?", "as_of": {"user": 1}, "project": "hermes"}
    await service.execute(alice, "memory_find", asked, tool_call_id="named")
    results = [await replay_call(service, alice, call) for call in ("found", "named")]

    assert found["hits"] == []
    assert [result.difference for result in results] == [None, None]
