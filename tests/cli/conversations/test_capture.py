"""`memex conversations capture`: switched on a machine, and what became of it."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

pytestmark = pytest.mark.usefixtures("server_up")


def test_capture_is_switched_and_told(memex: Memex, tmp_path: Path) -> None:
    """Off until it is turned on; paused and resumed; a folder left out; what waits is delivered and told."""
    state = tmp_path / "state"
    here = memex.elsewhere(memex.data_dir, XDG_STATE_HOME=str(state))
    shop = tmp_path / "shop"
    shop.mkdir()

    assert here.json("capture", "pause")["on"] is False
    told = here.json("capture", "resume", "--everywhere")
    assert (told["on"], told["paused"], told["everywhere"]) == (True, False, True)
    folder = state / "memex" / "capture"
    for name, cwd in (("pack-1.json", shop / "src"), ("pack-2.json", tmp_path / "shop-2")):
        (folder / name).write_text(json.dumps({"cwd": str(cwd), "text": "Goal: build it."}))
    assert here.json("capture", "pause", "--not-here", str(shop))["not_here"] == [str(shop)]
    assert [path.name for path in folder.glob("pack-*")] == ["pack-2.json"]
    (folder / "pack-2.json").unlink()
    refused = here.run("capture", "resume", "--not-here", str(tmp_path), "--json")
    assert json.loads(refused.err.splitlines()[-1])["code"] == "VALIDATION_ERROR"
    assert here.json("capture", "resume", "--not-here", str(shop), "--only-projects")["not_here"] == []
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}

    event = {
        "runtime": "my_agent",
        "session": "s",
        "event": "1",
        "kind": "stop",
        "time": "2026-02-01T10:00:00Z",
    }
    (folder / "spool.jsonl").write_text(json.dumps(event) + "\n")
    assert here.json("capture", "status")["waiting"]["events"] == 1
    assert here.json("capture", "deliver")["added"] == 1
    told = here.json("capture", "status")
    assert told["waiting"]["events"] == 0
    assert [(one["runtime"], one["events"]) for one in told["heard"]] == [("my_agent", 1)]
    shown = here.plain("capture", "status")
    assert "Capture is on" in shown
    assert "my_agent" in shown


def test_a_state_that_cannot_be_written_is_told(memex: Memex, tmp_path: Path) -> None:
    """Where the system refuses a change of the state, the command says so in a line, and how to mend it."""
    here = memex.elsewhere(memex.data_dir, XDG_STATE_HOME=str(tmp_path / "state"))
    here.json("capture", "resume")
    (tmp_path / "state" / "memex" / "capture" / "paused").mkdir()

    refused = here.run("capture", "pause", "--json")

    told = json.loads(refused.err.splitlines()[-1])
    assert (refused.code, told["code"]) == (1, "VALIDATION_ERROR")
    assert "XDG_STATE_HOME" in told["hint"]


@pytest.mark.slow
def test_names_of_places_stay_in_their_lines(memex: Memex, tmp_path: Path) -> None:
    """Names, branches and titles with line breaks, control characters and no end: a line each, and short."""
    odd = "x\r\n\x1b[2Jname:apollo  project apollo\n" + "y" * 1_500
    event = {
        "runtime": "my_agent",
        "session": "odd",
        "event": "1",
        "kind": "stop",
        "time": "2026-02-01T10:00:00Z",
        "project": odd[:200],
        "metadata": {"label": odd[:1_000], "branch": odd, "title": odd, "root": odd},
        "messages": [{"role": "user", "id": "m1", "text": "Goal: build it."}],
    }
    here = memex.elsewhere(memex.data_dir, XDG_STATE_HOME=str(tmp_path / "state"))
    here.json("capture", "resume")
    (tmp_path / "state" / "memex" / "capture" / "spool.jsonl").write_text(json.dumps(event) + "\n")
    assert here.json("capture", "deliver")["added"] == 1

    [label, _] = here.plain("work", "labels").splitlines()
    sessions = here.plain("work", "sessions").splitlines()
    [_, lane] = here.run("work", "resolve", "--title", odd[:200]).out.splitlines()
    [told] = here.json("work", "sessions")["sessions"]

    assert label.count("name:apollo") == 2
    assert len(sessions) == 2
    assert max(map(len, (*sessions, lane))) < 1_500
    assert "\x1b" not in label + lane + "".join(sessions)
    assert (len(told["branch"]), told["branch"].splitlines()) == (200, [told["branch"]])
