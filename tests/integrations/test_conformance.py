"""Every surface behaves alike: what it remembers and refuses, whose memory it is, and what it leaves in the log."""

import json
from typing import Any

import pytest
from tests.integrations.conftest import Home
from tests.integrations.surfaces import AGENTS, SURFACES, Answer, Surface
from tests.kit.model_server import serving

from memex import Memex
from memex.api.memex import UserMemory
from memex.subagent.context.assembly import NOTHING_SENTENCE

TEA = "I prefer oolong tea."

# Those of LlamaIndex's workflows and of google-genai, which are not ours to mend.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:The `__fields\w*` attribute is deprecated"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_\\w+' attribute on the instance is deprecated"),
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries that want a key get one, and send no traces."""
    monkeypatch.setenv("GOOGLE_API_KEY", "-")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


# Loading one of these, or starting it for each test, takes seconds. The tests of its own adapter run always.
HEAVY = {"langchain", "llama-index", "google-adk", "openai-agents", "mcp-stdio"}


def _param(surface: Surface) -> Any:
    marks = pytest.mark.slow if surface.name in HEAVY else ()
    return pytest.param(surface, id=surface.name, marks=marks)


# These stand for the ways in which all call: what depends on memory alone is tried on each of them, and in
# `make nightly` on every surface.
FEW = {"http", "mcp-http", "openai-chat"}
on_few_surfaces = pytest.mark.parametrize(
    "surface",
    [pytest.param(one, id=one.name, marks=() if one.name in FEW else pytest.mark.slow) for one in SURFACES],
    indirect=True,
)


@pytest.fixture(params=map(_param, SURFACES))
def surface(request: pytest.FixtureRequest) -> Surface:
    """Each surface in turn."""
    found: Surface = request.param
    return found


def code_in(answer: Answer) -> str:
    """Return the code of the error that the model reads; fails unless it comes with what to do next."""
    error = json.loads(answer.text)["error"]
    if isinstance(error, str):  # Pydantic AI says a failure in one sentence
        return error.partition(":")[0]
    assert error["hint"], error
    return str(error["code"])


async def test_what_was_remembered_is_recalled_with_its_source(
    surface: Surface, home: Home, user: str, memory: UserMemory
) -> None:
    """The words as they stood, the file that they stand in, and within the budget; the calls are in the log."""
    async with surface.open(home, user) as call:
        nothing = await call("memory_context", {"query": "Which tea do I prefer?"}, "call_nothing")
        remembered = await call("memory_remember", {"text": TEA}, "call_remember")
        recalled = await call(
            "memory_context", {"query": "Which tea do I prefer?", "budget": 300}, "call_recall"
        )
    logged = (await memory.operations(limit=10)).operations

    assert NOTHING_SENTENCE in nothing.text
    assert "user/preferences.md@1" in remembered.text
    assert TEA in recalled.text
    assert len(recalled.text) <= 300
    if recalled.result is not None:
        [source] = recalled.result["sources"]
        [write] = remembered.result["writes"]
        assert (source["path"], source["version"]) == (write["path"], write["version"])
        assert len(recalled.result["context"]) == recalled.result["budget"]["used"] <= 300
    assert [(call.tool, call.status) for call in logged] == [
        ("memory_context", "answered"),
        ("memory_remember", "committed"),
        ("memory_context", "answered"),
    ]
    if surface.passes_ids:
        assert [call.tool_call_id for call in logged] == ["call_recall", "call_remember", "call_nothing"]


@on_few_surfaces
async def test_a_full_context_is_within_its_budget(surface: Surface, home: Home, user: str) -> None:
    """What the model reads, with all that is around it, though much was left out."""
    told = " ".join(f"I drank oolong tea number {number} on Monday." for number in range(40))
    async with surface.open(home, user) as call:
        await call("memory_remember", {"text": told}, "call_remember")
        recalled = await call("memory_context", {"query": "oolong tea", "budget": 500}, "call_recall")

    assert 400 < len(recalled.text) <= 500


@on_few_surfaces
async def test_a_call_that_comes_twice_writes_once(
    surface: Surface, home: Home, user: str, memory: UserMemory
) -> None:
    """Under the same tool call id, with the first answer again; without ids because the fact is known already."""
    async with surface.open(home, user) as call:
        first = await call("memory_remember", {"text": TEA}, "call_1")
        again = await call("memory_remember", {"text": TEA}, "call_1")

    assert [file.version for file in (await memory.list()).files] == [1]
    if surface.passes_ids:
        assert again.text == first.text
        assert [call.status for call in await memory.operation("call_1")] == ["repeated", "committed"]


@on_few_surfaces
async def test_a_refusal_is_an_answer_that_the_model_can_act_on(
    surface: Surface, home: Home, user: str
) -> None:
    """With a code and what to do next; the agent goes on. Nobody else can be named, whatever the model writes."""
    async with surface.open(home, user) as call:
        await call("memory_remember", {"text": TEA}, "call_0")
        too_small = await call("memory_context", {"query": "tea", "budget": 50}, "call_1")
        no_project = await call("memory_remember", {"text": TEA, "project": "zeus"}, "call_2")
    async with surface.open(home, f"{user}-other") as other:
        named = await other("memory_context", {"query": "tea", "user_id": user}, "call_3")
        found = await other("memory_context", {"query": "Which tea do I prefer?"}, "call_4")

    assert code_in(too_small) == "BUDGET_TOO_SMALL"
    assert code_in(no_project) == "PROJECT_NOT_FOUND"
    assert code_in(named) == "VALIDATION_ERROR"
    assert NOTHING_SENTENCE in found.text
    assert TEA not in found.text


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in HEAVY else ()) for name in AGENTS]
)
async def test_what_one_answer_tells_and_asks_is_told_first(home: Home, user: str, name: str) -> None:
    """Whichever call the model wrote first, the context holds what the same answer remembers."""
    wire, run = AGENTS[name]
    asks = ("ask", "memory_context", {"query": "Which tea do I prefer?", "budget": 2_000, "project": None})
    tells = ("tell", "memory_remember", {"text": TEA, "project": None})
    async with Memex(url=home.url, api_key=home.key) as memex:
        memory = memex.for_user(user, actor=name)
        with serving() as model:
            model.play(wire.calls(asks, tells), wire.says("done"))
            await run(model, memory)
            results = wire.results(model.requests[-1])

    assert len(results) == 2
    assert any("oolong" in result for result in results)
