"""`memex work rebuild --ask`: a model reads imported sessions at once, and the screens name it."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Memex
from tests.kit.model_server import ModelServer, fails, says

USER = ("--user", "work-ask")
LABEL = ("--project", "cwd:/x/apollo")
NAME = "openai:test-model"


@pytest.fixture
def reading(memex: Memex, model_server: ModelServer) -> Memex:
    """The command with a model that reads sessions."""
    return memex.elsewhere(memex.data_dir, MEMEX_WORK_MODEL=NAME, OPENAI_BASE_URL=model_server.url)


def transcript(folder: Path, words: str) -> Path:
    """Write a session of Claude Code of one message."""
    line = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s1"}
    line |= {"timestamp": "2026-01-01T00:00:00Z", "cwd": "/x/apollo"}
    path = folder / "s1.jsonl"
    path.write_text(json.dumps(line | {"message": {"role": "user", "content": words}}) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("server_up")
def test_a_model_reads_on_request(reading: Memex, model_server: ModelServer, tmp_path: Path) -> None:
    """The command says how much was read, or why not, with exit code 1; the item and its source name the model."""
    reading.json("ingest", str(transcript(tmp_path, "offline mode is what im after")), *USER)
    found = {"message": 1, "kind": "objective", "quotation": "offline mode is what im after"}
    model_server.play(fails(401), says({"found": [found]}))

    refused = reading.run("work", "rebuild", "--ask", *USER)
    done = reading.plain("work", "rebuild", "--ask", *USER)
    shown = reading.plain("work", "show", *LABEL, *USER)
    objective = reading.json("work", "show", *LABEL, *USER)["objective"]
    told = reading.plain("work", "provenance", objective["id"], *LABEL, *USER)

    assert refused.code == 1
    assert "0 messages read by the model; 1 left: its server answered 401." in refused.out
    assert "1 message read by the model." in done
    assert f"read by {NAME}" in shown
    assert f"human objective, read by {NAME}" in " ".join(told.split())
    assert (objective["method"], objective["model"]) == ("model", NAME)
    assert len(model_server.requests) == 2
