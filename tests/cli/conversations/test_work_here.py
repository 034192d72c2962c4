"""`memex work` shows the work of the current folder, also where only an imported transcript names the folder."""

import json
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

USER = ("--user", "work-here")


def transcript(to: Path, cwd: Path, words: str) -> Path:
    """Write a session of Claude Code of one message, which began in a folder."""
    line = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": to.name, "cwd": str(cwd)}
    line |= {"timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": words}}
    path = to / "session.jsonl"
    path.write_text(json.dumps(line) + "\n")
    return path


@pytest.mark.usefixtures("server_up")
def test_the_work_of_an_imported_folder_is_shown_there(
    memex: Memex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All commands take the place of the pack; a folder without sessions is told how to get some."""
    repository, other = tmp_path / "shop", tmp_path / "other"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    other.mkdir()
    memex.json("ingest", str(transcript(other, repository, "TODO: rotate the keys of staging.")), *USER)

    monkeypatch.chdir(repository)
    shown = memex.plain("work", *USER)
    open_here = memex.json("work", "open", *USER)
    checked = memex.run("work", "check", *USER)
    monkeypatch.chdir(other)
    nothing = memex.run("work", *USER)

    assert "rotate the keys of staging" in shown
    assert open_here["project"] == f"cwd:{repository}"
    assert checked.code == 1
    assert "pending_open" in checked.out
    assert nothing.code == 1
    assert "No session of work is known in this folder." in nothing.err
    assert "memex conversations ingest" in nothing.err


@pytest.mark.usefixtures("server_up")
def test_the_command_that_repairs_runs_as_it_is_printed(
    memex: Memex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the work that was looked at, of a project or of a session, wherever it is run."""
    words = "TODO: document the flags of the importer\nTODO: document the flags of the importer well"
    memex.json("ingest", str(transcript(tmp_path, tmp_path / "shop", words)), "--user", "work-repair")
    monkeypatch.chdir(tmp_path)
    label = f"cwd:{tmp_path / 'shop'}"
    found = memex.json("work", "health", "--project", label, "--user", "work-repair")
    shown = memex.plain("work", "health", "--project", label, "--user", "work-repair")

    [line] = [line for line in shown.replace("\n  ", " ").splitlines() if line.startswith("To repair: ")]
    command = shlex.split(line.removeprefix("To repair: "))
    assert command[1:3] == ["work", "repair"]
    assert command[command.index("--project") + 1] == label
    assert memex.json(*command[1:])["repaired"] == [repair["id"] for repair in found["repairs"]]
