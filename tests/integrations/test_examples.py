"""The examples as a user runs them: a process each, against a Memex that runs and a scripted model."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integrations.conftest import Home
from tests.integrations.scripts import ANTHROPIC, CHAT, GEMINI, RESPONSES, Wire
from tests.kit.model_server import ModelServer

from memex import Memex

ROOT = Path(__file__).parents[2]
SAID = "I prefer oolong tea."
CALLS = [
    ("call_remember", "memory_remember", {"text": SAID}),
    ("call_context", "memory_context", {"query": "What do I drink?"}),
]
EXAMPLES: dict[str, Wire] = {
    "openai_agent": CHAT,
    "openai_responses_agent": RESPONSES,
    "anthropic_agent": ANTHROPIC,
    "pydantic_ai_agent": CHAT,
    "openai_agents_agent": RESPONSES,
    "langchain_agent": CHAT,
    "llama_index_agent": GEMINI,
    "google_adk_agent": GEMINI,
}


def ran(example: str, home: Home, key: str, model: ModelServer) -> str:
    """Run an example and return what it printed."""
    address = model.url.removesuffix("/v1")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "SSL_CERT_FILE": os.environ["SSL_CERT_FILE"],
        "MEMEX_URL": home.url,
        "MEMEX_API_KEY": key,
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": "-",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "OPENAI_DEFAULT_MODEL": "m",
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "-",
        "GOOGLE_GEMINI_BASE_URL": address,
        "GOOGLE_API_KEY": "-",
    }
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{example}.py"), SAID],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
async def test_an_agent_remembers_and_recalls(example: str, home: Home, model_server: ModelServer) -> None:
    """Both calls of one answer are run, logged, and shown to the model, which has the last word."""
    wire, key = EXAMPLES[example], home.bound_key("alice", tenant=example)
    model_server.play(wire.calls(*CALLS), wire.says("Oolong it is."))
    printed = ran(example, home, key, model_server)
    results = wire.results(model_server.requests[-1])
    async with Memex(url=home.url, api_key=key) as memex:
        calls = (await memex.for_user().operations(limit=2)).operations

    assert printed.strip().endswith("Oolong it is.")
    assert [text for text in results if "Remembered." in text and "user/preferences.md@1" in text]
    assert len(results) == 2
    assert {call.tool for call in calls} == {"memory_remember", "memory_context"}
    assert example == "llama_index_agent" or {call.tool_call_id for call in calls} == {
        "call_remember",
        "call_context",
    }


@pytest.mark.slow
async def test_claudes_memory_tool_keeps_its_files(home: Home, model_server: ModelServer) -> None:
    """In Memex, as ordinary files."""
    key = home.bound_key("alice", tenant="anthropic_memory_tool")
    created = {"command": "create", "path": "/memories/tea.md", "file_text": SAID}
    model_server.play(ANTHROPIC.calls(("toolu_1", "memory", created)), ANTHROPIC.says("Noted."))
    printed = ran("anthropic_memory_tool", home, key, model_server)
    async with Memex(url=home.url, api_key=key) as memex:
        kept = await memex.for_user().read("user/memories/tea.md")

    assert (printed, kept.content) == ("Noted.\n", SAID)


@pytest.mark.slow
async def test_a_graph_keeps_what_it_learns(home: Home, model_server: ModelServer) -> None:
    """In the store, from which a node finds it again."""
    key = home.bound_key("alice", tenant="langgraph_store")

    assert ran("langgraph_store", home, key, model_server) == f"{SAID}\n"


def test_every_example_stands_in_a_guide() -> None:
    """As the file has it, so that what a page shows is what the tests run."""
    pages = "\n".join(page.read_text() for page in (ROOT / "docs" / "guides").glob("*.md"))
    ours = [example for example in (ROOT / "examples").glob("*.py") if example.name != "mcp_client.py"]

    assert len(ours) == 11
    assert [example.name for example in ours if f"```python\n{example.read_text()}```" not in pages] == []
