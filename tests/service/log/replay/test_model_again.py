"""The log holds enough of a model's requests to make each of them again, byte for byte."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import ModelProfile

from memex.service.log.call_list import read_attempts
from memex.service.log.operations import InnerResult
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner

# One server is enough: what a model is asked is the same on each.
pytestmark = pytest.mark.embedded_only

TEA = "# Tea\n\nI like oolong tea.\n\n## Brewing\n\nAt 90 degrees, as in [[coffee]].\n"


class Logged(WrapperModel):
    """A model that answers with what the log holds of its answers."""

    def __init__(self, wrapped: Model, inner: Sequence[InnerResult]) -> None:
        super().__init__(wrapped)
        self._left = [one.response for one in inner]

    async def request(self, *_: Any) -> ModelResponse:
        """Return the next answer of the log."""
        [response] = ModelMessagesTypeAdapter.validate_python([self._left.pop(0)])
        assert isinstance(response, ModelResponse)
        return response


def function(script: Sequence[ModelResponse]) -> Model:
    """Return a model that plays a script."""
    left = list(script)
    profile = ModelProfile(supports_json_schema_output=True)

    def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return left.pop(0)

    return FunctionModel(play, profile=profile)


def calls(*named: tuple[str, Any]) -> ModelResponse:
    """Return an answer that calls tools; their ids are made up by the client."""
    return ModelResponse(parts=[ToolCallPart(name, arguments) for name, arguments in named])


def service(database: Database, make: Callable[[], Model]) -> Service:
    """Return a service whose model is this one, with all that it knew of an earlier one forgotten."""
    planner = ModelPlanner(ChatModel("function:test", lambda: (make(), None)), BuiltinPlanner(Analyzer()))
    return Service(database, max_files=100, planning=Planners(planner, planner))


async def requests(service: Service, caller: Caller, call: str) -> list[InnerResult]:
    """Return what the log holds of a call's requests to a model."""
    [attempt] = await read_attempts(service, caller, call)
    return [one for one in attempt.inner if one.tool == "model_request"]


def digests(made: Sequence[InnerResult]) -> list[str]:
    """Return the digests of requests."""
    return [one.request["sha256"] for one in made]


SPANS = {"lines": [1]}
MISSING = {"lines": [99]}


async def test_requests_of_a_context_are_made_again(database: Database, alice: Caller) -> None:
    """With the logged answers, at the logged state, whatever was written since; also after misbehaviour."""
    script = [
        ModelResponse(parts=[TextPart("I would call find.")]),
        calls(("find", {"query": "coffee"}), ("find", {"query": "coffee"}), ("nothing", {}), ("find", "{")),
        calls(("read", {"place": "user/tea.md"}), ("links", {"place": "1"}), ("find", {"query": "kettle"})),
        calls(("answer", MISSING)),
        calls(("answer", SPANS)),
    ]
    one = service(database, lambda: function(script))
    for path, text in (("user/tea.md", TEA), ("user/coffee.md", "# Coffee\n\nHot.\n")):
        await one.execute(alice, "memory_write", {"path": path, "content": text})
    asked = {"query": "Which tea do I like?"}
    answer = await one.execute(alice, "memory_context", asked, tool_call_id="first")
    made = await requests(one, alice, "first")
    other = {"path": "user/tea.md", "operation": "append", "text": "I like matcha tea too."}
    await one.execute(alice, "memory_patch", other)
    two = service(database, lambda: Logged(function([]), made))
    again = await two.execute(
        alice, "memory_context", asked | {"as_of": answer["state"]}, tool_call_id="second"
    )

    assert len(made) == 5
    assert digests(await requests(two, alice, "second")) == digests(made)
    assert (again["hash"], again["planner"]) == (answer["hash"], "function:test")


def edit(evidence: str) -> dict[str, Any]:
    """Return an edit that stores a preference."""
    return {"action": "add", "kind": "preference", "statement": "I like matcha tea.", "evidence": evidence}


async def test_requests_of_a_remembered_text_are_made_again(database: Database, alice: Caller) -> None:
    """With the logged answers over the same memory; also after misbehaviour, and without tools."""
    script = [
        calls(("find", {"query": "green tea"})),
        calls(("answer", {"edits": [edit("no piece of it")], "skipped": []})),
        ModelResponse(parts=[TextPart("Done.")]),
        ModelResponse(parts=[TextPart('{"edits": [], "skipped": []}')]),
    ]
    one = service(database, lambda: function(script))
    await one.execute(alice, "memory_write", {"path": "user/tea.md", "content": TEA})
    text = {"text": "I like matcha tea. It is green.", "dry_run": True}
    await one.execute(alice, "memory_remember", text, tool_call_id="first")
    made = await requests(one, alice, "first")
    two = service(database, lambda: Logged(function([]), made))
    await two.execute(alice, "memory_remember", text, tool_call_id="second")

    assert [request.request["mode"] for request in made] == ["tools"] * 3 + ["single"]
    assert digests(await requests(two, alice, "second")) == digests(made)
