"""A chat model that means harm: what it can use up, and what it can say, harms neither the call nor others."""

import gzip
import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.kit.model_server import ModelServer, Step

from memex.service.log.call_list import read_attempts
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import EmbeddedText, Embedder, InputType
from memex.subagent.limits import Limits
from memex.subagent.model import chat as chat_models
from memex.subagent.model.chat import ChatModel, ModelAccess, chat_model
from memex.subagent.model.planner import ModelPlanner
from memex.subagent.retrying import retry_after_s

# One server is enough: what a planner does is the same on each.
pytestmark = pytest.mark.embedded_only


OPERATIONS = 400  # on memory, of one call
DEGRADED = "MODEL_UNAVAILABLE"


def played(
    database: Database, *script: ModelResponse, embedder: Embedder | None = None, **limits: Any
) -> Service:
    """Return a service whose model gives these answers, the last one again and again."""
    left = list(script)

    async def play(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return left.pop(0) if len(left) > 1 else left[0]

    chat = ChatModel("function:test", lambda: (FunctionModel(play), None))
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()), limits=Limits(**limits))
    return Service(database, max_files=100, embedder=embedder, planning=Planners(planner, planner))


def calling(*calls: tuple[str, dict[str, Any]]) -> ModelResponse:
    """Return an answer that calls tools."""
    return ModelResponse(parts=[ToolCallPart(name, arguments) for name, arguments in calls])


async def filled(service: Service, caller: Caller) -> None:
    """Write the files of these tests."""
    for name, content in {"tea": "I like oolong tea.", "kettle": "It is blue."}.items():
        arguments = {"path": f"user/{name}.md", "content": f"# {name.title()}\n\n{content}\n"}
        await service.execute(caller, "memory_write", arguments)


@pytest.mark.parametrize("picked", [2, pytest.param(99, marks=pytest.mark.slow)])
async def test_a_model_cannot_use_up_what_the_answer_needs(
    database: Database, alice: Caller, picked: int
) -> None:
    """After as many operations on memory as a call has, what it chose is read, or what the rules chose."""
    lookups = [("links", {"place": f"user/{number}.md"}) for number in range(OPERATIONS)]
    answer = calling(("answer", {"lines": [picked]}))
    service = played(
        database, calling(("find", {"query": "kettle"}), *lookups), answer, tool_calls=OPERATIONS
    )
    await filled(service, alice)
    found = await service.execute(alice, "memory_context", {"query": "Which tea do I like?"})

    paths = [source["path"] for source in found["sources"]]
    by_model, by_rules = ("function:test", None), ("builtin", DEGRADED)
    assert set(paths) == {"user/tea.md", "user/kettle.md"}
    assert (found["planner"], found["degraded"]) == (by_model if picked == 2 else by_rules)


async def test_edits_that_cannot_be_settled_are_left_to_the_rules(database: Database, alice: Caller) -> None:
    """When the model has used up the call's operations, its text is remembered all the same, once."""
    text = "I like oolong tea."
    edit = {"action": "add", "kind": "preference", "statement": text, "evidence": text}
    searches = [("find", {"query": f"tea {number}"}) for number in range(OPERATIONS)]
    script = calling(*searches), calling(("answer", {"edits": [edit], "skipped": []}))
    service = played(database, *script, tool_calls=OPERATIONS)
    stored = await service.execute(alice, "memory_remember", {"text": text})

    assert [write["path"] for write in stored["writes"]] == ["user/preferences.md"]
    assert (stored["planner"], stored["degraded"]) == ("builtin", DEGRADED)


@pytest.mark.parametrize("text", ["\ud800", "I choose \ud800\0 S1."])
async def test_an_answer_that_is_no_text_is_logged_and_answered(
    database: Database, alice: Caller, text: str
) -> None:
    """Lone surrogates in what a model says break neither the log nor the call; the tokens are counted."""
    service = played(database, ModelResponse(parts=[TextPart(text)]))
    await filled(service, alice)
    found = await service.execute(alice, "memory_context", {"query": "Which tea do I like?"})

    [operation] = await read_attempts(service, alice, found["tool_call_id"])
    requests = [one for one in operation.inner if one.tool == "model_request"]
    assert found["degraded"] == DEGRADED
    assert "oolong" in found["context"]
    assert all("?" in request.response["parts"][0]["content"] for request in requests)
    assert all(request.usage["input_tokens"] > 0 for request in requests)


class Listening(HashEmbedder):
    """An embedder that keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return vectors, and keep the texts."""
        self.texts += texts
        return await super().embed(texts, kind)


async def test_a_search_that_is_refused_is_not_embedded(database: Database, alice: Caller) -> None:
    """A query without a word, or longer than a query may be, goes to no embedder."""
    searches = [("find", {"query": query}) for query in (" ", "tea " * 2_501, "kettle")]
    answer = calling(("answer", {"lines": [1]}))
    embedder = Listening()
    service = played(database, calling(*searches), answer, embedder=embedder)
    await filled(service, alice)
    found = await service.execute(alice, "memory_context", {"query": "Which tea do I like?"})

    assert found["degraded"] is None
    assert embedder.texts == ["Which tea do I like?", "kettle"]


@pytest.mark.parametrize("is_packed", [False, True])
async def test_an_answer_without_an_end_is_not_read(model_server: ModelServer, is_packed: bool) -> None:
    """Of more than 8 MB, also when it comes packed, nothing is kept; it is not asked for again."""
    body = b" " * (chat_models.MAX_ANSWER_BYTES + 1)
    headers = {"Content-Encoding": "gzip"} if is_packed else {}
    model_server.play(Step(body=gzip.compress(body) if is_packed else body, headers=headers))
    chat = chat_model("openai:small", ModelAccess(base_url=model_server.url))
    with pytest.raises(ModelConnectionError):
        await Agent(await chat.model()).run("Tea?")
    await chat.close()

    assert len(model_server.requests) == 1


async def test_a_packed_answer_is_read(model_server: ModelServer) -> None:
    """As servers behind a gateway send it."""
    turn = {"role": "assistant", "content": "Oolong."}
    document: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    document["choices"] = [{"index": 0, "finish_reason": "stop", "message": turn}]
    body = gzip.compress(json.dumps(document).encode())
    model_server.play(Step(body=body, headers={"Content-Encoding": "gzip"}))
    chat = chat_model("openai:small", ModelAccess(base_url=model_server.url))
    answer = await Agent(await chat.model()).run("Tea?")
    await chat.close()

    assert answer.output == "Oolong."


@pytest.mark.parametrize("date", ["Wed, 21 Oct 99999 07:28:00 GMT", "21 Oct", "soon"])
def test_a_date_that_there_is_not_asks_for_no_wait(date: str) -> None:
    """A Retry-After that cannot be read is as good as none."""
    assert retry_after_s({"retry-after": date}) == 0
