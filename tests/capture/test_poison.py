"""What a spool may hold: an event that cannot be delivered as it stands keeps no other waiting."""

from pathlib import Path
from typing import Any

from tests.capture.test_delivery import deliver, line
from tests.conftest import CallerOf

from memex.hook.state import CaptureState
from memex.service.service import Service

GOOD = {"runtime": "my_agent", "session": "s", "kind": "stop", "time": "2026-02-01T10:00:00Z"}


ODD: tuple[dict[str, Any], ...] = (
    {"transcript": "~nobody-of-this-name/x.jsonl", "runtime": "claude_code"},
    {"transcript": "/" + "x" * 3_000, "runtime": "claude_code"},
    {"transcript": "/x\0y", "runtime": "claude_code"},
    {"cwd": "/" + "x" * 3_000},
    {"cwd": "/x\0y"},
    {"cwd": "~nobody-of-this-name/x"},
    {"tools": [{"name": "Edit", "paths": ["/" + "x" * 900, "~nobody-of-this-name/x"]}]},
    {"tools": [{"name": "Edit", "paths": [7]}]},
    {"metadata": {"label": " "}},
    {"metadata": {"title": 7}},
    {"session": "\ud800"},
    {"time": "yesterday"},
    {"time": "9999-99-99T00:00:00Z"},
    {"project": "x" * 5_000},
)


async def test_no_event_keeps_others_waiting(
    service: Service, caller_of: CallerOf, state: CaptureState
) -> None:
    """Whatever an event names, the events around it arrive, and the spool is empty afterwards."""
    alice = await caller_of("alice")
    for number, odd in enumerate(ODD):
        first, last = GOOD | {"event": f"{number} first"}, GOOD | {"event": f"{number} last"}
        for event in (first, GOOD | {"event": f"{number} odd", "cwd": "/"} | odd, last):
            state.append(event)

        report = await deliver(service, alice, state)

        assert report.error is None, odd
        assert report.added >= 2, odd
        assert report.added + report.refused + report.unreadable == 3, odd
        assert not state.exists("spool.taken"), odd


TRANSCRIPTS: tuple[tuple[str, bytes], ...] = (
    ("empty.jsonl", b""),
    ("zeros.jsonl", b"\0" * 5_000),
    ("binary.jsonl", bytes(range(256)) * 50),
    ("list.jsonl", b"[1, 2]\n" * 5),
    ("deep.jsonl", b"[" * 100_000 + b"\n"),
    ("half.jsonl", b'{"type": "user", "mess'),
    ("packed.jsonl.zst", b"no archive"),
)


async def test_no_transcript_keeps_others_waiting(
    service: Service, caller_of: CallerOf, state: CaptureState, tmp_path: Path
) -> None:
    """A transcript that cannot be read says nothing; one beside it is read, and the events arrive."""
    alice = await caller_of("alice")
    folder = tmp_path / "claude" / "projects" / "-repo"
    folder.mkdir()
    for number, (name, data) in enumerate(TRANSCRIPTS):
        (folder / name).write_bytes(data)
        own = folder / f"z{number}.jsonl"
        own.write_text(line(0, "user", "Fix the test.").replace('"m-0"', f'"m-{number}"') + "\n")
        for path in (folder / name, own):
            event = {"event": str(path), "runtime": "claude_code", "transcript": str(path)}
            state.append(GOOD | event)

        report = await deliver(service, alice, state)

        assert (report.error, report.added, report.messages_added) == (None, 2, 1), name
        assert not state.exists("spool.taken"), name


async def test_a_repository_cannot_stop_deliveries(
    service: Service, caller_of: CallerOf, state: CaptureState, tmp_path: Path
) -> None:
    """A broken `.git` names no place, and events of its folder arrive all the same."""
    alice = await caller_of("alice")
    for number, text in enumerate(("gitdir: a\0b", "gitdir: " + "x" * 3_900, "gitdir: .git")):
        folder = tmp_path / f"repo{number}"
        folder.mkdir()
        (folder / ".git").write_text(text)
        state.append(GOOD | {"event": str(number), "cwd": str(folder)})
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    state.append(GOOD | {"event": "loop", "cwd": str(loop)})
    odd = tmp_path / "odd" / ".git"
    odd.mkdir(parents=True)
    (odd / "HEAD").write_text("ref: refs/heads/main")
    (odd / "commondir").write_text("a\0b")
    state.append(GOOD | {"event": "odd", "cwd": str(odd.parent)})

    report = await deliver(service, alice, state)

    assert (report.error, report.added) == (None, 5)
