"""A small real model on this machine: run by `make test-llm`, which fetches it. It takes minutes."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ToolCallPart, ToolOutput

from memex.call_context import CallContext
from memex.service.log.call_list import read_attempts
from memex.service.service import Caller, Service
from memex.settings import ModelMode, Settings
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.subagent.model.chat import ModelAccess, chat_model
from memex.wiring import running_service

# Memex's own Postgres is enough.
pytestmark = pytest.mark.embedded_only

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".venv-llm"
MODEL = "openai:local"
LOAD_S = 120
BUDGET = 800  # characters: for two of the files, not for all
BAR = 6  # of the 8 cases

FILES = {
    "user/people/mira.md": "# Mira Kessler\n\nMira is my sister. She is allergic to peanuts.\n\n"
    "She moved to Tromsø in spring 2026 and works as a nurse at the harbour clinic.\n",
    "user/people/tomas.md": "# Tomas\n\nTomas lives next door. He keeps the spare key to my flat.\n\n"
    "He is allergic to cats and plays the cello on Sundays.\n",
    "user/people/priya.md": "# Priya\n\nPriya leads the payments team since March. Before her it was Jonas.\n",
    "user/home/flat.md": "# Flat\n\nThe fuse box is behind the coat rack in the hall.\n\n"
    "The heating is serviced every October by Lind & Sons.\n",
    "user/home/bicycle.md": "# Bicycle\n\nThe winter tyres of the bicycle are in the cellar, in box 14.\n",
    "user/work/release.md": "# Releases\n\nWe release on Tuesdays, never on Fridays.\n\n"
    "Release 3.2 was rolled back because its migration locked the orders table.\n",
    "user/work/database.md": "# Database\n\nWe chose Postgres over MongoDB because the reports need joins.\n\n"
    "Backups run at 02:00 and are kept for 35 days.\n",
    "user/travel/lisbon.md": "# Lisbon\n\nThe flight to Lisbon leaves on 14 May at 06:40 from terminal 2.\n\n"
    "The hotel is the Casa Azul, booked until 18 May.\n",
    "user/health.md": "# Health\n\nMy dentist is Dr. Aalto. The next appointment is on 3 December at 09:15.\n",
    "user/garden.md": "# Garden\n\nThe tomatoes go out after the last frost, around 20 May.\n",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and the sentence that answers it; None where no file does."""

    query: str
    sentence: str | None


CASES = (
    Case("What must I not cook with when my sister comes for dinner?", "She is allergic to peanuts."),
    Case("Where is the fuse box?", "The fuse box is behind the coat rack in the hall."),
    Case("Why was release 3.2 rolled back?", "because its migration locked the orders table."),
    Case(
        "Why did we decide against MongoDB?", "We chose Postgres over MongoDB because the reports need joins."
    ),
    Case("When does my flight to Lisbon leave?", "leaves on 14 May at 06:40 from terminal 2."),
    Case("Who is in charge of payments?", "Priya leads the payments team since March."),
    Case("Who has a key to my flat, in case I am locked out?", "He keeps the spare key to my flat."),
    Case("What is the name of Mira's dog?", None),
)


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    """A server of the model, in a process of its own that leaves the processor to others."""
    command = ["nice", HOME / "bin/python", ROOT / "tests/llm/server.py", "serve", HOME / "model.gguf"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert url, "the server ended; run `make test-llm`, which installs it"
            _await_loaded(url)
            yield f"{url}/v1"
        finally:
            process.terminate()


ServiceOf = Callable[[ModelMode], Any]


@pytest.fixture
def service_of(conninfo: str, model_url: str) -> ServiceOf:
    """What runs services whose planner is the model."""

    def make(mode: ModelMode) -> Any:
        settings = Settings(
            database_url=conninfo,
            model=MODEL,
            model_mode=mode,
            model_seconds=600,
            model_output_tokens=800,
            openai_base_url=model_url,
            openai_api_key=None,
            embedder=None,
        )
        return running_service(settings)

    return make


class Found(BaseModel):
    """Where the answer stands."""

    path: str
    sentence: str


async def test_a_required_tool_is_called(model_url: str) -> None:
    """The server enforces tool_choice, and its answer is a tool call with the wanted form."""
    chat = chat_model(MODEL, ModelAccess(base_url=model_url))
    agent = Agent(await chat.model(), output_type=ToolOutput(Found, name="answer"))
    note = "user/tea.md: Anna drinks oolong tea in the morning."

    result = await agent.run(
        f"Notes:\n{note}\n\nWhat does Anna drink? Name the file and the sentence.",
        model_settings={"temperature": 0.0},
    )
    await chat.close()

    [call] = [part for message in result.all_messages() for part in message.parts if _is_call(part)]
    assert call.tool_name == "answer"
    assert "oolong" in result.output.sentence


async def test_six_of_eight_questions_are_answered_in_one_request(
    service_of: ServiceOf,
) -> None:
    """The context holds the sentence that answers, verbatim; it is empty where none does."""
    async with service_of("single") as service:
        caller = await _with_files(service)
        passed = [await _passes(service, caller, case) for case in CASES]

    _say(f"{sum(passed)} of {len(passed)}")
    assert sum(passed) >= BAR


async def test_a_model_that_cannot_use_tools_still_gives_an_answer(
    service_of: ServiceOf,
) -> None:
    """In the mode `auto` it may call tools; how well it does is reported. No call fails."""
    async with service_of("auto") as service:
        caller = await _with_files(service)
        passed = [await _passes(service, caller, case) for case in CASES[:3]]

    _say(f"{sum(passed)} of {len(passed)} with tools")


def _say(line: str) -> None:
    """Print a line at once; `make test-llm` lets it through."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _await_loaded(url: str) -> None:
    ends_s = time.monotonic() + LOAD_S
    while time.monotonic() < ends_s:
        if httpx2.get(f"{url}/health", timeout=10).status_code == 200:
            return
        time.sleep(0.5)
    pytest.fail(f"the model was not loaded within {LOAD_S} s")


def _is_call(part: Any) -> bool:
    return isinstance(part, ToolCallPart)


async def _with_files(service: Service) -> Caller:
    """Write the files as alice, and return her."""
    tenant_id = await tenants.ensure_tenant(service.database, "default")
    caller = await service.caller(
        Principal(tenant_id, "agent"), CallContext(user_id="alice"), makes_user=True
    )
    for path, content in FILES.items():
        await service.execute(caller, "memory_write", {"path": path, "content": content})
    return caller


async def _passes(service: Service, caller: Caller, case: Case) -> bool:
    """Ask a question, tell what it took, and return whether the model gave the context that answers."""
    started_s = time.monotonic()
    answer = await service.execute(caller, "memory_context", {"query": case.query, "budget": BUDGET})
    seconds = time.monotonic() - started_s
    [operation] = await read_attempts(service, caller, answer["tool_call_id"])
    requests = [inner for inner in operation.inner if inner.tool == "model_request"]
    tokens = [
        sum((one.usage or {}).get(name, 0) for one in requests) for name in ("input_tokens", "output_tokens")
    ]
    is_right = answer["context"] == "" if case.sentence is None else case.sentence in answer["context"]
    is_passed = is_right and answer["planner"] == MODEL and answer["degraded"] is None
    _say(
        f"{'passed' if is_passed else 'FAILED'}  {len(requests)} requests  {tokens[0]:,} tokens read"
        f"  {tokens[1]:,} written  {seconds:.1f} s  {answer['planner']}  {answer['degraded'] or ''}  {case.query}"
    )
    if not is_passed:
        _say(f"        {[source['path'] for source in answer['sources']]}")
    return is_passed
