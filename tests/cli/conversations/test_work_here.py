"""`memex work` shows the work of the current folder, also where only an imported transcript names the folder."""

import json
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
