"""What a model answered in cases, kept and played again."""

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from tests.evals.fixtures.test_states import write

from memex.errors import ValidationFailed
from memex.evals.cases import Case, load_suite
from memex.evals.evaluation import EvaluationOptions, run_cases
from memex.evals.memex_adapter import MemexAdapter
from memex.evals.recordings import (
    CasePlayback,
    CaseRecorder,
    PlaybackPlanner,
    find_recorded_model,
    recording_path,
)
from memex.service.evals.runs import Run
from memex.service.evals.states import seal
from memex.service.planners import Planners
from memex.service.service import Service
from memex.store.database import Database
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner

MODEL = "function:test"
CONTEXT = """\
cases:
- name: first-of-all
  inputs: {state: small, query: "What am I allergic to?"}
  expected_output: {facts: ["I am allergic to peanuts."]}
"""
SEQUENCE = """\
cases:
- name: told-then-asked
  inputs:
    state: small
    steps:
    - {remember: "Pixel is my greyhound."}
    - {ask: "Who is Pixel?", expect: {facts: ["Pixel is my greyhound."]}}
"""


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    """A question, and a sequence of both calls."""
    seal(write(tmp_path / "small"))
    (tmp_path / "context.yaml").write_text(CONTEXT, encoding="utf-8")
    (tmp_path / "sequences.yaml").write_text(SEQUENCE, encoding="utf-8")
    return load_suite(str(tmp_path))


class Model:
    """A model that chooses the first span, files a text as it stands, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

        async def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.asked += 1
            [tool] = info.output_tools
            text = "Pixel is my greyhound."
            edit = {"action": "add", "kind": "note", "statement": text, "evidence": text}
            is_remember = "edits" in tool.parameters_json_schema["properties"]
            given: dict[str, Any] = {"edits": [edit], "skipped": []} if is_remember else {"lines": [1]}
            return ModelResponse(parts=[ToolCallPart(tool.name, given)])

        profile = ModelProfile(supports_json_schema_output=False)
        self.chat = ChatModel(MODEL, lambda: (FunctionModel(answer, profile=profile), None))

    def service(self, database: Database) -> Service:
        """Return a service that it plans for."""
        planner = ModelPlanner(self.chat, BuiltinPlanner(Analyzer()))
        return Service(database, max_files=1_000, planning=Planners(planner, planner))


async def record(model: Model, database: Database, cases: list[Case], folder: Path) -> Run:
    """Run cases with a model, and keep its answers."""
    options = EvaluationOptions(planner=MODEL, surround=CaseRecorder(folder, MODEL))
    return await run_cases("all", cases, MemexAdapter(model.service(database)), options)


async def replay(database: Database, cases: list[Case], folder: Path) -> Run:
    """Run cases from the answers that were kept."""
    player = PlaybackPlanner(MODEL)
    service = Service(database, max_files=1_000, planning=Planners(player, player))
    return await run_cases(
        "all",
        cases,
        MemexAdapter(service),
        EvaluationOptions(planner=MODEL, surround=CasePlayback(folder, MODEL)),
    )


def figures(run: Run) -> list[dict[str, float]]:
    """Return what was measured of each case, but for the time."""
    return [
        {name: value for name, value in case.measures.items() if name != "latency-ms"} for case in run.cases
    ]


@pytest.mark.slow
async def test_a_recorded_run_is_the_run_without_the_model(
    database: Database, cases: list[Case], tmp_path: Path
) -> None:
    """The same answers, figures and costs; each case has a file of its own."""
    model = Model()
    recorded = await record(model, database, cases, tmp_path / "kept")
    asked = model.asked

    played = await replay(database, cases, tmp_path / "kept")

    assert asked == model.asked == 3
    assert [case.status for case in recorded.cases] == ["passed", "passed"]
    assert figures(played) == figures(recorded)
    assert [case.measures["requests"] for case in played.cases] == [1, 2]
    assert played.stale == []
    assert recording_path(tmp_path / "kept", cases[0], MODEL) == (
        tmp_path / "kept" / "context" / "function-test" / "first-of-all.json"
    )
    assert find_recorded_model(tmp_path / "kept", cases, None) == MODEL


async def test_a_recording_of_another_request_is_told(
    database: Database, cases: list[Case], tmp_path: Path
) -> None:
    """The answer is played all the same, and where there is none the rules answer."""
    await record(Model(), database, cases, tmp_path / "kept")
    (tmp_path / "context.yaml").write_text(CONTEXT.replace("What am I", "To what am I"))
    changed = load_suite(str(tmp_path))

    played = await replay(database, changed, tmp_path / "kept")

    assert played.stale == ["context/first-of-all"]
    assert [case.status for case in played.cases] == ["passed", "passed"]


async def test_where_a_recording_ends_the_rules_answer(
    database: Database, cases: list[Case], tmp_path: Path
) -> None:
    """The answer says that it is degraded, and the run that the recording is stale."""
    await record(Model(), database, cases, tmp_path / "kept")
    (tmp_path / "sequences.yaml").write_text(
        SEQUENCE + '    - {ask: "And who is he?", expect: {not_facts: [cat]}}\n'
    )
    longer = load_suite(str(tmp_path / "sequences.yaml"))

    played = await replay(database, longer, tmp_path / "kept")

    [case] = played.cases
    assert case.status == "passed"
    assert [trace.get("degraded") for trace in case.traces] == [None, None, "MODEL_UNAVAILABLE"]


def test_a_case_without_a_recording_is_told(cases: list[Case], tmp_path: Path) -> None:
    """Before anything runs, with how to make one."""
    with pytest.raises(ValidationFailed, match="or of none"):
        find_recorded_model(tmp_path / "kept", cases, None)
    with pytest.raises(ValidationFailed, match="Cannot read the recording") as refused:
        find_recorded_model(tmp_path / "kept", cases, MODEL)

    assert "--record" in refused.value.hint
