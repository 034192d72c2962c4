"""Whatever is not as it was when a call was made: replay names the first such thing, and where it is."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memex.service.log.replay.requests import replay_call
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.search import lexical
from memex.store.search.analyzer import Analyzer
from memex.subagent import builtin
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context import selection
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner

# One server is enough: what is damaged is the same on each.
pytestmark = pytest.mark.embedded_only

FILES = {
    "user/tea.md": "# Tea\n\nI like oolong tea.\n\n## Brewing\n\nAt 90 degrees, as in [[coffee]].\n",
    "user/coffee.md": "# Coffee\n\nHot, and never with milk.\n",
    "user/garden.md": "# Garden\n\nThe roses want water.\n",
}


def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Search with other words, then choose."""
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("find", {"query": "hot drinks"})])
    return ModelResponse(parts=[TextPart("It says so."), ToolCallPart("answer", {"lines": [1]})])


@pytest.fixture
async def asked(database: Database, alice: Caller) -> Service:
    """A service after a model's context `by-model`, and the rules' `by-rules` and `text`."""
    plain = Service(database, max_files=100)
    for path, text in FILES.items():
        await plain.execute(alice, "memory_write", {"path": path, "content": text})
    chat = ChatModel("function:test", lambda: (FunctionModel(play), None))
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()))
    modelled = Service(database, max_files=100, planning=Planners(planner, planner))
    question = {"query": "Which tea do I like?"}
    await modelled.execute(alice, "memory_context", question, tool_call_id="by-model")
    await plain.execute(alice, "memory_context", question, tool_call_id="by-rules")
    await plain.execute(alice, "memory_remember", {"text": "I prefer green tea."}, tool_call_id="text")
    for call in ("by-model", "by-rules", "text"):
        assert (await replay_call(plain, alice, call)).is_equal
    return plain


async def change(database: Database, statement: str, **parameters: Any) -> None:
    """Change what is stored behind the service's back; at least one row."""
    async with database.maintenance() as connection:
        cursor = await connection.execute(statement.encode(), parameters)
        assert cursor.rowcount > 0


async def revision(database: Database) -> None:
    """One byte of a note that was recalled."""
    await change(database, "update revision set content = replace(content, 'oolong', 'oolonk')")


async def unseen_revision(database: Database) -> None:
    """One byte of a note that was not."""
    await change(database, "update revision set content = replace(content, 'roses', 'rozes')")


async def prompt(database: Database) -> None:
    """What the model is told."""
    await change(database, "update prompt set text = replace(text, 'a', 'b')")


async def answer(database: Database) -> None:
    """One byte of what the model answered."""
    await change(
        database,
        "update operation set response = replace(response::text, 'It says so.', 'It says so!')::jsonb "
        "where kind = 'model_request'",
    )


async def hits(database: Database) -> None:
    """What was found."""
    await change(
        database,
        "update operation set inside = jsonb_set(inside, '{0,3,hits,0,score}', '1') "
        "where inside #>> '{0,1}' = 'memory_find' and jsonb_array_length(inside #> '{0,3,hits}') > 0",
    )


async def request(database: Database) -> None:
    """What was asked."""
    await change(
        database,
        "update operation set request = replace(replace(request::text, 'tea', 'tee'), 'green', 'gren')::jsonb "
        "where parent_id is null",
    )


async def entry(database: Database) -> None:
    """One byte of the words that were told."""
    await change(
        database,
        "update revision set content = replace(content, 'green', 'gren') where path like 'journal/%%'",
    )


Damage = Callable[[Database], Awaitable[None]]


@pytest.mark.parametrize(
    ("damage", "call", "what", "where"),
    [
        (revision, "by-rules", "revision", "user/tea.md@1"),
        (revision, "by-model", "revision", "user/tea.md@1"),
        (revision, "text", "revision", "user/tea.md@1"),
        (unseen_revision, "by-rules", "revision", "user/garden.md@1"),
        (prompt, "by-model", "prompt", "prompt "),
        (answer, "by-model", "recorded", "model request (tools): response"),
        (hits, "by-rules", "recorded", "operation 1, memory_find"),
        (request, "by-rules", "request", "request"),
        (entry, "text", "request", "request"),
    ],
)
async def test_what_was_changed_in_the_store_is_named(
    asked: Service, alice: Caller, damage: Damage, call: str, what: str, where: str
) -> None:
    """One byte of a revision, a prompt, an answer, a request or a logged hit."""
    await damage(asked.database)
    result = await replay_call(asked, alice, call)

    assert not result.is_equal
    assert result.difference is not None
    assert result.difference.what == what
    assert where in result.difference.where


async def test_another_ranker_is_named(
    asked: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the first hit that it scores in another way."""
    monkeypatch.setattr(lexical, "weigh", partial(lexical.weigh, k1=1.3))
    results = [await replay_call(asked, alice, call) for call in ("by-rules", "by-model")]

    for result in results:
        assert result.difference is not None
        assert result.difference.where.startswith("operation 1, memory_find: response.hits[0].score")
        assert result.difference.logged != result.difference.now


async def test_another_selection_is_named(
    asked: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what differs in the answer, where nothing inside does."""
    monkeypatch.setattr(builtin, "select_lines", lambda *_, **__: selection.ContextPlan())
    result = await replay_call(asked, alice, "by-rules")

    assert not result.is_same_answer
    assert result.removed
    assert result.added == []
    assert result.difference is not None
    assert result.difference.what == "operation" or "result." in result.difference.where


async def test_another_engine_is_named(asked: Service, alice: Caller) -> None:
    """By its parts, also where the answer is the same."""
    await change(
        asked.database,
        "update operation set engine = replace(engine, 'planner-', 'planner-0') where parent_id is null",
    )
    result = await replay_call(asked, alice, "by-rules")

    assert [one.part for one in result.changed] == ["planner"]
    assert result.is_same_answer
