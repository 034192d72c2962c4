"""`python -m memex.evals.work --model`: a model reads the labelled turns, and is measured beside the rules."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Memex
from tests.kit.model_server import ModelServer, Request, Step, cut_off, says

from memex.evals.work.measure import LabelledTurn, labelled_turns

TURNS = 6


@pytest.fixture
def reading(measurement: Callable[[str], Memex], model_server: ModelServer, tmp_path: Path) -> Memex:
    """The command with the model server as the model that reads sessions."""
    return measurement("work").elsewhere(
        tmp_path / "data", MEMEX_WORK_MODEL="openai:test-model", OPENAI_BASE_URL=model_server.url
    )


def knows(request: Request) -> Step:
    """Return what a model answers that knows the labels, and adds a sentence that nobody said."""
    found = [
        {"message": 1, "kind": kind, "quotation": turn.text[start:end]}
        for turn in _first_turns()
        if turn.text.strip()[:60] in request.text
        for kind, start, end in turn.spans
    ]
    invented = {"message": 1, "kind": "done", "quotation": "The moon was painted green."}
    return says({"found": [*found, invented]})


@pytest.mark.slow
def test_a_model_is_measured_beside_the_rules(reading: Memex, model_server: ModelServer) -> None:
    """The document has both; invented quotations are left out and counted, with requests and tokens."""
    model_server.play(knows, endless=True)

    done = reading.run("--model", "--limit", str(TURNS), "--json")
    document = json.loads(done.out)
    measured = document["model"]
    everything = [one for one in measured["run"]["measures"] if one["group"] == "all"]

    assert len(document["measures"]) > len(everything)
    assert measured["model"] == "openai:test-model"
    assert measured["requests"] == len(model_server.requests) == TURNS
    assert measured["dropped"]["quotation"] == TURNS
    assert measured["failures"] == {}
    assert measured["input_tokens"] == 100 * TURNS
    assert {one["recall"] for one in everything if one["labelled"]} == {1.0}
    assert {one["precision"] for one in everything if one["found"]} == {1.0}


@pytest.mark.slow
def test_turns_that_a_model_cannot_read_are_left_to_the_rules(
    reading: Memex, model_server: ModelServer
) -> None:
    """Reasons are counted, and the exit code tells that this is not good enough; without a model it is 2."""
    model_server.play(cut_off(), endless=True)

    done = reading.run("--model", "--limit", "1")
    refused = reading.elsewhere(reading.data_dir, MEMEX_WORK_MODEL="").run("--model")

    assert done.code == 1
    assert "Left to the rules: its answer has not the wanted form 1." in " ".join(done.out.split())
    assert refused.code == 2
    assert "MEMEX_WORK_MODEL" in refused.err


def _first_turns() -> list[LabelledTurn]:
    return list(labelled_turns(None))[:TURNS]
