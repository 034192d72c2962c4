"""`memex.integrations.openai` beside a host's own tools: what it answers, what it leaves alone."""

from typing import Any

import pytest
from tests.integrations.conftest import Home, texts_of
from tests.integrations.scripts import CHAT, RESPONSES, Wire
from tests.kit.model_server import ModelServer

from memex import Memex
from memex.api.memex import UserMemory
from memex.errors import ValidationFailed
from memex.service.tools.definitions import define

CALLS = [
    ("call_a", "memory_remember", {"text": "I prefer oolong tea."}),
    ("call_b", "get_weather", {"city": "Oslo"}),
    ("call_c", "memory_remember", "{not json"),
    ("call_d", "memory_write", {"path": "user/a.md", "content": "x"}),
    ("call_e", "memory_remember", {"text": "I live in Oslo.", "project": None}),
    ("call_f", "memory_recall_all", {}),
]


async def answered_by(wire: Wire, model: ModelServer, memory: UserMemory, *calls: Any) -> Any:
    """Return what becomes of the calls of a scripted model."""
    from openai import AsyncOpenAI

    from memex.integrations.openai import run_tool_calls, tools

    model.play(wire.calls(*calls))
    async with AsyncOpenAI(base_url=model.url, api_key="-", max_retries=0) as client:
        if wire is CHAT:
            chat = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Hi."}], tools=tools()
            )
            return await run_tool_calls(chat, memory)
        response = await client.responses.create(model="m", input="Hi.", tools=tools("responses"))
        return await run_tool_calls(response, memory)


@pytest.mark.parametrize("wire", [CHAT, RESPONSES], ids=["chat", "responses"])
async def test_parallel_calls_are_answered_in_their_order(
    wire: Wire, model_server: ModelServer, memory: UserMemory
) -> None:
    """Ours with results or errors under their ids; the host's own are handed back, and none is lost."""
    answered = await answered_by(wire, model_server, memory, *CALLS)
    ids = [message.get("tool_call_id") or message["call_id"] for message in answered.messages]
    texts = dict(zip(ids, texts_of(answered.messages), strict=True))

    assert ids == ["call_a", "call_c", "call_d", "call_e", "call_f"]
    assert [getattr(other, "name", None) or other.function.name for other in answered.others] == [
        "get_weather"
    ]
    assert texts["call_a"].startswith("Remembered.")
    assert "VALIDATION_ERROR" in texts["call_c"]
    for unknown in ("call_d", "call_f"):
        assert "UNKNOWN_TOOL" in texts[unknown]
        assert "The tools are: memory_remember, memory_context." in texts[unknown]
    assert answered.outcomes["call_e"].result is not None
    assert len(await memory.operation("call_e")) == 1
    assert "Oslo" in (await memory.context("Where do I live?")).context


async def test_what_is_no_response_of_the_library_is_refused(memory: UserMemory) -> None:
    """Such as a dict; the error says what to pass."""
    from memex.integrations.openai import run_tool_calls

    with pytest.raises(
        ValidationFailed, match="must be a ChatCompletion or Response of the library"
    ) as refused:
        await run_tool_calls({"choices": []}, memory)  # type: ignore[call-overload, arg-type]

    assert "ChatCompletion.model_validate()" in refused.value.hint


async def test_a_profile_says_which_tools_there_are(model_server: ModelServer, memory: UserMemory) -> None:
    """With `files` the model works on the files themselves; the same profile is named when its calls are run."""
    from openai import AsyncOpenAI

    from memex.integrations.openai import run_tool_calls, tools

    model_server.play(CHAT.calls(("call_w", "memory_write", {"path": "user/a.md", "content": "tea"})))
    async with AsyncOpenAI(base_url=model_server.url, api_key="-", max_retries=0) as client:
        offered = tools(profile="files")
        response = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi."}], tools=offered
        )
    answered = await run_tool_calls(response, memory, profile="files")

    assert [tool["function"]["name"] for tool in offered] == [tool.name for tool in define("files")]
    assert answered.outcomes["call_w"].error is None
    assert (await memory.read("user/a.md")).content == "tea"


async def test_a_response_without_calls_is_answered_with_nothing(
    model_server: ModelServer, memory: UserMemory
) -> None:
    """So that a loop can end on it."""
    from openai import AsyncOpenAI

    from memex.integrations.openai import ToolCallResults, run_tool_calls, tools

    model_server.play(CHAT.says("Hello."))
    async with AsyncOpenAI(base_url=model_server.url, api_key="-", max_retries=0) as client:
        response = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi."}], tools=tools()
        )

    assert await run_tool_calls(response, memory) == ToolCallResults([], [], {})


async def test_a_host_includes_conversations_for_a_user(
    home: Home, memex: Memex, model_server: ModelServer
) -> None:
    """What the host says of a user holds for the calls of its model too, over HTTP and in this process."""
    said = [{"id": "1", "role": "user", "text": "We varnish the oars with linseed oil."}]
    async with Memex(database_url=home.database_url) as here:
        for user, where in (("remote-rita", memex), ("local-lena", here)):
            memory = where.for_user(user, include=["conversations"])
            await memory.conversations.put({"kind": "chat"}, [{"id": "c", "title": "", "messages": said}])
            answered = await answered_by(
                CHAT, model_server, memory, ("call", "memory_context", {"query": "Which oil for the oars?"})
            )
            plain = await where.for_user(user).context("Which oil for the oars?")
            named = await where.for_user(user).context("Which oil for the oars?", include=["conversations"])

            assert "linseed" in texts_of(answered.messages)[0]
            assert plain.sources == []
            assert plain.included is None
            assert [source.reason for source in named.sources] == ["conversation"]
