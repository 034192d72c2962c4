"""What single frameworks have besides the tools: marks of errors, all tools on files, ADK's memory service."""

import subprocess
import sys

import pytest
from langchain_core.messages import ToolMessage

from memex import Memex
from memex.api.memex import UserMemory
from memex.service.tools.definitions import define

MODULES = {
    "anthropic": "anthropic",
    "anthropic_memory": "anthropic",
    "openai_agents": "openai-agents",
    "langchain": "langchain",
    "langgraph": "langgraph",
    "llama_index": "llama-index",
    "google_adk": "google-adk",
}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:google.*")

# Each library as if it were not there.
MISSING = """
import sys
for name in ("anthropic", "agents", "langchain_core", "langgraph", "llama_index", "google.adk"):
    sys.modules[name] = None
import importlib
for module in sys.argv[1:]:
    try:
        importlib.import_module(f"memex.integrations.{module}")
    except ImportError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_missing_library_is_named_with_its_extra() -> None:
    """By every adapter, when it is imported."""
    command = [sys.executable, "-W", "error", "-c", MISSING, *MODULES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    said = done.stdout.splitlines()

    assert len(said) == len(MODULES)
    for line, extra in zip(said, MODULES.values(), strict=True):
        assert line.endswith(f'pip install "memex-memory[{extra}]"')


@pytest.mark.slow
async def test_langchain_marks_an_error(memory: UserMemory) -> None:
    """The message has the status `error`; the tools are asynchronous and say so."""
    from memex.integrations.langchain import memory_tools

    _, context = memory_tools(memory)
    call = {"name": context.name, "args": {"query": "tea", "budget": 1}, "id": "call_1", "type": "tool_call"}
    message = await context.ainvoke(call)

    assert isinstance(message, ToolMessage)
    assert (message.status, message.tool_call_id) == ("error", "call_1")
    assert "BUDGET_TOO_SMALL" in str(message.content)
    with pytest.raises(NotImplementedError, match="ainvoke"):
        context.invoke(call)


@pytest.mark.slow
async def test_llama_index_marks_an_error(memory: UserMemory) -> None:
    """And hands the whole of a result to the host."""
    from memex.integrations.llama_index import memory_tools

    remember, context = memory_tools(memory)
    refused = await context.acall(query="tea", budget=1)
    done = await remember.acall(text="I prefer oolong tea.")

    assert refused.is_error
    assert not done.is_error
    assert done.raw_output["status"] == "committed"
    with pytest.raises(NotImplementedError, match="acall"):
        context.call(query="tea")


@pytest.mark.slow
async def test_every_framework_has_all_tools_on_files(memory: UserMemory) -> None:
    """In the profile `files`, under our names, with our schemas."""
    from memex.integrations import google_adk, langchain, llama_index, openai_agents

    expected = {tool.name: set(tool.parameters["properties"]) for tool in define("files")}
    told = [
        {
            tool.name: set(tool.args_schema["properties"])  # type: ignore[index]
            for tool in langchain.memory_tools(memory, profile="files")
        },
        {
            tool.metadata.name: set(tool.metadata.get_parameters_dict()["properties"])
            for tool in llama_index.memory_tools(memory, profile="files")
        },
        {
            tool.name: set(tool._get_declaration().parameters_json_schema["properties"])  # type: ignore[union-attr]
            for tool in google_adk.memory_tools(memory, profile="files")
        },
        {
            tool.name: set(tool.params_json_schema["properties"])  # type: ignore[union-attr]
            for tool in openai_agents.memory_tools(memory, profile="files")
        },
    ]

    assert told == [expected] * 4


@pytest.mark.slow
async def test_adks_memory_service_keeps_what_the_user_said(memex: Memex, user: str) -> None:
    """Each event once, for the user of the session alone; a search gives it back with its source."""
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session
    from google.genai.types import Content, Part

    from memex.integrations.google_adk import MemoryService

    def said(author: str, text: str) -> Event:
        return Event(author=author, content=Content(role="user", parts=[Part(text=text)]))

    session = Session(
        id="s1",
        app_name="app",
        user_id=user,
        events=[said("user", "I prefer oolong tea."), said("assistant", "I prefer coffee.")],
    )
    service = MemoryService(memex)
    await service.add_session_to_memory(session)
    await service.add_session_to_memory(session)
    found = await service.search_memory(app_name="app", user_id=user, query="what do I prefer?")
    others = await service.search_memory(app_name="app", user_id=f"{user}-other", query="tea")

    [entry] = found.memories
    assert "] preferences\n" in str(entry.content)
    assert "oolong" in str(entry.content)
    assert "coffee" not in str(entry.content)
    assert others.memories == []
