"""CrewAI in an environment of its own: a scripted agent through its real LLM class, against a Memex that runs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integrations.conftest import Home
from tests.integrations.scripts import CHAT
from tests.kit.model_server import ModelServer, Request

from memex.api.memex import UserMemory
from memex.toolcalls import NOTHING_KNOWN

ROOT = Path(__file__).parents[2]
LOCK = Path(__file__).parent / "crewai" / "requirements.txt"
TEA = "I prefer oolong tea."


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of an environment with CrewAI, made from the lock when it is missing or of another lock."""
    folder = ROOT / ".venv-crewai"
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if not installed.exists() or installed.read_bytes() != LOCK.read_bytes():
        uv = Path(sys.executable).with_name("uv")
        for command in (
            [uv, "venv", "--clear", "--python", sys.executable, folder],
            [uv, "pip", "install", "--python", python, "--require-hashes", "--requirement", LOCK],
        ):
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
            if done.returncode != 0:
                pytest.skip(f"CrewAI cannot be installed here: {done.stderr[-300:]}")
        installed.write_bytes(LOCK.read_bytes())
    return python


@pytest.fixture(scope="module")
def environment(home: Home, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Memex as `pip install --no-deps` puts it there, and a CrewAI that tells nobody and keeps nothing."""
    folder = str(tmp_path_factory.mktemp("crewai"))
    return {
        "PATH": os.environ["PATH"],
        "HOME": folder,
        "CREWAI_STORAGE_DIR": folder,
        "CREWAI_DISABLE_TELEMETRY": "true",
        "CREWAI_TRACING_ENABLED": "false",
        "OTEL_SDK_DISABLED": "true",
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONSAFEPATH": "1",
        "SSL_CERT_FILE": os.environ["SSL_CERT_FILE"],
        "MEMEX_URL": home.url,
        "MEMEX_API_KEY": home.key,
    }


@pytest.fixture(scope="module")
def driver(python: Path, environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """A process that runs agents: loading CrewAI takes seconds."""
    command = [python, Path(__file__).parent / "crewai" / "drive.py"]
    with (
        Path(environment["HOME"], "stderr").open("w") as errors,
        subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as process,
    ):
        yield process
        assert process.stdin is not None
        process.stdin.close()


def asked(driver: "subprocess.Popen[str]", **line: Any) -> str:
    """Return the driver's answer to a line."""
    assert driver.stdin is not None
    assert driver.stdout is not None
    driver.stdin.write(json.dumps(line) + "\n")
    driver.stdin.flush()
    return str(json.loads(driver.stdout.readline()))


def called(
    driver: "subprocess.Popen[str]", model: ModelServer, user: str, tool: str, **arguments: Any
) -> tuple[str, Request]:
    """Return what an agent's call of a tool is answered with, and the last request of the model."""
    model.play(CHAT.calls(("call_1", tool, arguments)), CHAT.says("Done."))
    assert asked(driver, user=user, model=model.url) == "Done."
    request = model.requests[-1]
    return CHAT.results(request)[0], request


@pytest.mark.slow
async def test_an_agent_of_crewai_remembers_and_recalls(
    driver: "subprocess.Popen[str]", model_server: ModelServer, user: str, memory: UserMemory
) -> None:
    """With its source; told of the tools as the service describes them; and nothing of it comes from a cache."""
    nothing, request = called(driver, model_server, user, "memory_context", query="tea")
    remembered, _ = called(driver, model_server, user, "memory_remember", text=TEA, project=None)
    recalled, _ = called(driver, model_server, user, "memory_context", query="tea")
    others, _ = called(driver, model_server, f"{user}-other", "memory_context", query="tea")
    calls = (await memory.operations(limit=9)).operations

    assert (nothing, others) == (NOTHING_KNOWN, NOTHING_KNOWN)
    assert "user/preferences.md@1" in remembered
    assert TEA in recalled
    assert [call.tool for call in calls] == ["memory_context", "memory_remember", "memory_context"]
    assert set(request.tools) == {"memory_remember", "memory_context"}
    assert set(request.tools["memory_context"]["properties"]) == {"query", "budget", "project"}


@pytest.mark.slow
async def test_a_refusal_reaches_crewais_agent(
    driver: "subprocess.Popen[str]", model_server: ModelServer, user: str
) -> None:
    """With its code, and the agent goes on; an argument that names a user is none."""
    too_small, _ = called(driver, model_server, user, "memory_context", query="tea", budget=50)
    named, _ = called(driver, model_server, user, "memory_context", query="tea", user_id="bob")

    assert "BUDGET_TOO_SMALL" in too_small
    assert "VALIDATION_ERROR" in named


@pytest.mark.slow
def test_the_example_runs(driver: "subprocess.Popen[str]", home: Home, model_server: ModelServer) -> None:
    """As the guide shows it."""
    environment = {
        "MEMEX_API_KEY": home.bound_key("alice", tenant="crewai_agent"),
        "OPENAI_BASE_URL": model_server.url,
        "OPENAI_API_KEY": "-",
    }
    model_server.play(CHAT.calls(("call_1", "memory_remember", {"text": TEA})), CHAT.says("Noted."))
    printed = asked(driver, example=str(ROOT / "examples" / "crewai_agent.py"), environment=environment)

    assert "Noted." in printed
    assert "Remembered." in CHAT.results(model_server.requests[-1])[0]
