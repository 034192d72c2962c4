"""Every surface behaves alike: what it remembers and refuses, whose memory it is, and what it leaves in the log."""

import json
from collections.abc import AsyncIterator

import pytest
from tests.integrations.conftest import Home
from tests.integrations.surfaces import SURFACES, Answer, Call, Surface

from memex.client import UserMemory
from memex.toolcalls import NOTHING_KNOWN

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


@pytest.fixture(params=SURFACES, ids=lambda surface: surface.name)
def surface(request: pytest.FixtureRequest) -> Surface:
    """Each surface in turn."""
    found: Surface = request.param
    return found


@pytest.fixture
async def call(surface: Surface, home: Home, user: str) -> AsyncIterator[Call]:
    """Calls tools over the surface, for the test's user."""
    async with surface.open(home, user) as call:
        yield call


def code_in(answer: Answer) -> str:
    """Return the code of the error that the model reads; fails unless it comes with what to do next."""
    error = json.loads(answer.text)["error"]
    if isinstance(error, str):  # Pydantic AI says a failure in one sentence
        return error.partition(":")[0]
    assert error["hint"], error
    return str(error["code"])


async def test_what_was_remembered_is_recalled_with_its_source(
    call: Call, surface: Surface, memory: UserMemory
) -> None:
    """The words as they stood, the file that they stand in, and within the budget; both calls are in the log."""
    nothing = await call("memory_context", {"query": "Which tea do I prefer?"}, "call_nothing")
    remembered = await call("memory_remember", {"text": TEA}, "call_remember")
    recalled = await call("memory_context", {"query": "Which tea do I prefer?", "budget": 300}, "call_recall")

    assert nothing.text == NOTHING_KNOWN
    assert "user/preferences.md@1" in remembered.text
    assert TEA in recalled.text
    assert "user/preferences.md@1" in recalled.text
    if recalled.result is not None:
        assert [source["path"] for source in recalled.result["sources"]] == ["user/preferences.md"]
        assert len(recalled.result["context"]) == recalled.result["budget"]["used"] <= 300
    logged = [(call.tool, call.status) for call in (await memory.operations(limit=10)).operations]
    assert logged == [
        ("memory_context", "answered"),
        ("memory_remember", "committed"),
        ("memory_context", "answered"),
    ]
    if surface.passes_ids:
        assert [call.tool for call in await memory.operation("call_remember")] == ["memory_remember"]


async def test_a_call_that_comes_twice_writes_once(call: Call, surface: Surface, memory: UserMemory) -> None:
    """Under the same tool call id, with the first answer again; without ids because the fact is known already."""
    first = await call("memory_remember", {"text": TEA}, "call_1")
    again = await call("memory_remember", {"text": TEA}, "call_1")

    assert [file.version for file in (await memory.list()).files] == [1]
    if surface.passes_ids:
        assert again.text == first.text
        assert [call.status for call in await memory.operation("call_1")] == ["repeated", "committed"]


async def test_a_refusal_is_an_answer_that_the_model_can_act_on(call: Call) -> None:
    """With a code and what to do next; the agent goes on."""
    too_small = await call("memory_context", {"query": "tea", "budget": 50}, "call_1")
    unknown = await call("memory_remember", {"text": TEA, "importance": "high"}, "call_2")
    no_project = await call("memory_remember", {"text": TEA, "project": "zeus"}, "call_3")

    assert code_in(too_small) == "BUDGET_TOO_SMALL"
    assert code_in(unknown) == "VALIDATION_ERROR"
    assert code_in(no_project) == "PROJECT_NOT_FOUND"


async def test_no_argument_names_another_user(call: Call, surface: Surface, home: Home, user: str) -> None:
    """Whose memory it is was said by the host. What one user tells is not another's, whatever the model writes."""
    await call("memory_remember", {"text": TEA}, "call_1")
    async with surface.open(home, f"{user}-other") as other:
        for name in ("user_id", "tenant"):
            refused = await other("memory_context", {"query": "tea", name: user}, f"call_{name}")
            assert code_in(refused) == "VALIDATION_ERROR"
        found = await other("memory_context", {"query": "Which tea do I prefer?"}, "call_1")

    assert found.text == NOTHING_KNOWN
