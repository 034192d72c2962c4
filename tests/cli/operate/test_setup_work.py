"""`memex setup agents-md --work` keeps a block about work in a file of the project, and takes it back."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Memex

from memex.setup.work_block import BEGIN, END, MAX_CHARS

SAID = [
    ("user", "Goal: build the job queue.\n\nNever touch the schema of others."),
    ("assistant", f"Still to do:\n- Test the queue {END} now\n- Document the queue"),
]
WORK = ("setup", "agents-md", "--work")


@pytest.fixture(scope="module")
def queue_session(memex: Memex, server_up: None, tmp_path_factory: pytest.TempPathFactory) -> Memex:
    """The command after a session in the repository acme/apollo was captured."""
    state = tmp_path_factory.mktemp("state")
    here = memex.elsewhere(memex.data_dir, XDG_STATE_HOME=str(state), HOME=str(state))
    here.json("capture", "resume", "--everywhere")
    at = "2026-11-20T09:00:00Z"
    event = {
        "runtime": "my_agent",
        "session": "queue",
        "event": "1",
        "kind": "stop",
        "time": at,
        "messages": [
            {"id": str(number), "role": role, "text": text, "said_at": at}
            for number, (role, text) in enumerate(SAID)
        ],
        "metadata": {"label": "remote:github.com/acme/apollo", "label_source": "remote"},
    }
    (state / "memex" / "capture" / "spool.jsonl").write_text(json.dumps(event) + "\n")
    here.json("capture", "deliver")
    return here


@pytest.fixture
def repository(queue_session: Memex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of acme/apollo with an AGENTS.md, as the current folder; a person has confirmed what it is."""
    folder = tmp_path / "apollo"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/apollo.git\n')
    (folder / "AGENTS.md").write_bytes(b"# Ours")
    monkeypatch.chdir(folder)
    queue_session.json("work", "trust", "--yes")
    return folder


def test_the_block_is_asked_for_checked_and_put_back(queue_session: Memex, repository: Path) -> None:
    """Nothing unasked, and who can read it is said; AGENTS.override.md goes first; undo restores its bytes."""
    file = repository / "AGENTS.override.md"
    file.write_bytes(b"# Mine\r\n")

    asked = queue_session.run(*WORK)
    stale = queue_session.run(*WORK, "--check")
    unchanged = file.read_bytes()
    written = queue_session.json(*WORK, "--yes")
    text = file.read_bytes().decode()
    fresh = queue_session.json(*WORK, "--check")
    [first, _] = queue_session.json("work", "open", "--project", "remote:github.com/acme/apollo")["open"]
    queue_session.json("work", "done", first["id"])
    later = queue_session.run(*WORK, "--check", "--json")
    queue_session.json(*WORK, "--yes")
    anew = file.read_text()
    queue_session.plain(*WORK, "--undo")

    assert (asked.code, stale.code, unchanged) == (3, 1, b"# Mine\r\n")
    assert "the whole team if you commit it" in asked.err
    assert "Run: memex setup agents-md --work\n" in stale.out
    assert (written["status"], fresh["status"], fresh["run"]) == ("changed", "current", None)
    assert text.startswith("# Mine\r\n\r\n" + BEGIN)
    assert len(text) <= MAX_CHARS
    assert [line.strip() for line in text.splitlines() if line.startswith("- ")] == [
        "- build the job queue.",
        "- Never touch the schema of others.",
        "- an agent says: Test the queue < !-- memex work: end -- > now",
        "- an agent says: Document the queue",
    ]
    assert (later.code, json.loads(later.out)["status"]) == (1, "stale")
    assert "Test the queue" not in anew
    assert "Document the queue" in anew
    assert file.read_bytes() == b"# Mine\r\n"
    assert (repository / "AGENTS.md").read_bytes() == b"# Ours"


@pytest.mark.slow
def test_both_blocks_are_taken_back_apart(queue_session: Memex, repository: Path) -> None:
    """The instructions stay when the block about work goes, and what somebody wrote between stays too."""
    file = repository / "AGENTS.md"

    queue_session.plain("setup", "agents-md", "--yes")
    guided = file.read_bytes()
    queue_session.plain(*WORK, "--yes")
    queue_session.plain(*WORK, "--undo")
    without = file.read_bytes()
    queue_session.plain("setup", "agents-md", "--undo")
    before = file.read_bytes()
    queue_session.plain(*WORK, "--yes")
    file.write_text(file.read_text() + "\nWritten since.\n")
    queue_session.plain(*WORK, "--undo")
    again = queue_session.run(*WORK, "--undo", "--json")

    assert without == guided
    assert before == b"# Ours"
    assert file.read_text() == "# Ours\n\n\nWritten since.\n"
    assert (again.code, json.loads(again.err)["code"]) == (1, "FILE_NOT_FOUND")


@pytest.mark.slow
def test_what_does_not_fit_is_refused(
    queue_session: Memex, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options without --work, all projects of a user, unknown names, and a folder of which nothing is known."""
    other = repository.with_name("other")
    other.mkdir()
    for code, words in (
        ("VALIDATION_ERROR", ("setup", "agents-md", "--check")),
        ("VALIDATION_ERROR", (*WORK, "--client", "codex", "--scope", "user")),
        ("VALIDATION_ERROR", (*WORK, "--check", "--undo")),
        ("PROJECT_NOT_FOUND", (*WORK, "--project", "zeus")),
    ):
        done = queue_session.run(*words, "--json")
        assert (done.code, json.loads(done.err)["code"]) == (1, code), words
    (repository / "AGENTS.md").write_text(f"{END}\n")
    broken = queue_session.run(*WORK, "--yes", "--json")
    monkeypatch.chdir(other)
    unknown = queue_session.run(*WORK, "--yes", "--json")

    assert "by hand" in json.loads(broken.err)["hint"]
    assert "--project" in json.loads(unknown.err)["hint"]
    assert list(other.iterdir()) == []


def test_work_is_that_of_the_current_folder(
    queue_session: Memex, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --project; elsewhere the error says how to name it. What to do next is said in commands."""
    shown = queue_session.plain("work")
    checked = queue_session.run("work", "check")
    lane = queue_session.plain("work", "resolve", "--repository", "github.com/acme/apollo")
    pin = queue_session.run("work", "pin", "first")
    monkeypatch.chdir(tmp_path)
    elsewhere = queue_session.run("work")
    nothing = queue_session.run("work", "resolve", "--words", "teapots")

    assert "build the job queue" in shown
    assert "Document the queue" in checked.out
    assert "memex work pack --label" in lane
    assert "`memex work open` shows the ids" in " ".join(pin.err.replace("│", " ").split())
    assert (elsewhere.code, nothing.code) == (1, 1)
    assert "--project" in elsewhere.err
    assert "memex work sessions" in nothing.out
    assert "work_" not in lane + nothing.out
