"""The folder of runs as a service reads it: runs alone, whatever else somebody puts there."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memex.errors import FileNotFound, ValidationFailed
from memex.service.evals import run_folder
from memex.service.evals.run_folder import RunFolder

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'


def document(run_id: str = "tea-1", **changed: Any) -> dict[str, Any]:
    """Return the document of a run with two cases, one of which failed."""
    case = {
        "id": "context/tea",
        "kind": "context",
        "state": "small",
        "sha256": "a",
        "status": "passed",
        "measures": {"passed": 1.0},
        "asked": "Which tea?",
        "traces": [{"context": "# Tea", "planner": "builtin"}],
    }
    return {
        "format": 1,
        "run_id": run_id,
        "suite": "tea",
        "started_at": "2026-11-22T09:00:00Z",
        "duration_s": 1.5,
        "service": "memex",
        "planner": "builtin",
        "options": {},
        "engine": "e1",
        "revision": None,
        "states": {},
        "counts": {"all": 2},
        "figures": {"all": {"passed": {"value": 0.5, "low": 0.0, "high": 1.0}}},
        "cases": [
            case,
            case
            | {"id": "context/cups", "status": "failed", "problems": ["No cups."], "asked": "Which cups?"},
        ],
    } | changed


def put(folder: Path, name: str, content: Any) -> Path:
    """Write a file of a folder."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_runs_are_listed_and_read(tmp_path: Path) -> None:
    """By the names of their files; a changed file is read again."""
    path = put(tmp_path, "tea-1.json", document())
    put(tmp_path, "renamed.json", document("another", suite=HOSTILE))
    folder = RunFolder(tmp_path)
    listed = {run.run_id: run for run in folder.list().runs}
    put(tmp_path, "tea-1.json", document(planner="openai:a-model"))
    os.utime(path, ns=(1, 1))

    assert set(listed) == {"tea-1", "renamed"}
    assert (listed["tea-1"].cases, listed["tea-1"].passed, listed["tea-1"].failed) == (2, 1, 1)
    assert listed["renamed"].suite == HOSTILE
    assert folder.read("renamed").run_id == "renamed"
    assert folder.read("tea-1").cases[1].problems == ("No cups.",)
    assert {run.planner for run in folder.list().runs} == {"builtin", "openai:a-model"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[" * 100_000,
        '{"format": 1}',
        json.dumps(document() | {"format": 2}),
        json.dumps(document() | {"started_at": "2026-11-22T09:00:00"}),
        json.dumps(document() | {"started_at": "9999-12-31T23:59:59-23:00"}),
        json.dumps(document() | {"cases": [{"status": "great"}]}),
        '{"suite": "\\ud800", ' + json.dumps(document())[1:],
        json.dumps(document()).replace('"tea"', '"\ufeff"', 1).encode("utf-16").decode("latin-1"),
    ],
)
def test_a_broken_file_is_passed_over(tmp_path: Path, content: str) -> None:
    """With the reason, and without a trace of the others."""
    put(tmp_path, "broken.json", content)
    put(tmp_path, "tea-1.json", document())
    listing = RunFolder(tmp_path).list()

    assert [run.run_id for run in listing.runs] == ["tea-1"]
    assert [one.name for one in listing.passed_over] == ["broken.json"]
    assert listing.passed_over[0].reason
    with pytest.raises(ValidationFailed):
        RunFolder(tmp_path).read("broken")


def test_nothing_but_plain_files_of_the_folder_is_read(tmp_path: Path) -> None:
    """No link, no pipe, no folder, and no path out of the folder."""
    outside, folder = tmp_path / "outside", tmp_path / "runs"
    for made in (outside, folder, folder / "deep.json"):
        made.mkdir()
    put(outside, "secret.json", document("secret"))
    (folder / "link.json").symlink_to(outside / "secret.json")
    (folder / "up").symlink_to(outside)
    os.mkfifo(folder / "pipe.json")
    put(folder, "-x.json", document())
    reader = RunFolder(folder)

    assert reader.list().runs == ()
    assert [one.name for one in reader.list().passed_over] == ["-x.json"]
    for name in (
        "link",
        "pipe",
        "deep",
        "../outside/secret",
        "up/secret",
        "",
        ".",
        "..",
        "a\0b",
        "/etc/passwd",
        "x" * 999,
    ):
        with pytest.raises(FileNotFound):
            reader.read(name)
    assert RunFolder(tmp_path / "none").list().runs == ()
    with pytest.raises(FileNotFound):
        RunFolder(tmp_path / "none").read("tea-1")


def test_what_is_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A huge file is passed over, and of many files only the newest are looked at."""
    put(tmp_path, "huge.json", document(engine="x" * 10_000))
    for number in range(5):
        os.utime(put(tmp_path, f"tea-{number}.json", document()), ns=(number, number))
    monkeypatch.setattr(run_folder, "MAX_RUN_BYTES", 8_000)
    monkeypatch.setattr(run_folder, "MAX_RUNS", 3)
    listing = RunFolder(tmp_path).list()

    assert [run.run_id for run in listing.runs] == ["tea-4", "tea-3"]
    assert [one.name for one in listing.passed_over] == ["huge.json"]
    assert listing.more == 3
    with pytest.raises(ValidationFailed, match="larger"):
        RunFolder(tmp_path).read("huge")
