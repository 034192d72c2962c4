"""Deliveries: what was noted arrives once and in order, transcripts are read on, and nothing else is read."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.hook import events as hook_events

from memex.api.ingest.ingest import Ingest, IngestOptions
from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.capture.delivery import Delivery, DeliveryReport
from memex.capture.transcripts import readable_transcript
from memex.hook.main import run
from memex.hook.state import CaptureState
from memex.service.conversations import reading
from memex.service.service import Caller, Service
from memex.store.conversations import events as store
from memex.store.conversations.records import make_conversation_id
from memex.store.identity.authentication import Principal

SESSIONS, EACH = 20, 500
KILLED_AFTER_S = (1.2, 2.0, 1.6, 2.4, 3.0)
WRITER = """
import sys
from memex.hook.state import CaptureState
state = CaptureState(sys.argv[1])
event = {"runtime": "my_agent", "session": sys.argv[2], "kind": "tool", "time": "2026-02-01T10:00:00Z"}
for place in range(int(sys.argv[3])):
    if not state.append(event | {"event": str(place)}):
        sys.exit(1)
"""


def line(number: int, role: str, text: str) -> str:
    """Return a line of a transcript of Claude Code."""
    return json.dumps(
        {
            "parentUuid": f"m-{number - 1}" if number else None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/repo",
            "sessionId": hook_events.SESSION,
            "version": "2.1.0",
            "type": role,
            "message": {"role": role, "content": text}
            if role == "user"
            else {"id": f"a{number}", "role": role, "content": [{"type": "text", "text": text}]},
            "uuid": f"m-{number}",
            "timestamp": datetime.now(UTC).isoformat(),
        }
    )


def note(given: dict[str, Any]) -> None:
    """Note an event as the program does."""
    run(["claude-code", json.dumps(given)])


async def deliver(service: Service, caller: Caller, state: CaptureState) -> DeliveryReport:
    """Deliver in this process."""
    api = LocalMemex(service, Principal(caller.access.tenant_id, "agent"), role="agent")
    context = CallContext(user_id=caller.access.user_id, actor="tests")
    return await Delivery(state, api, context).run()


async def test_a_growing_transcript_is_read_once(
    service: Service,
    caller_of: CallerOf,
    state: CaptureState,
    tmp_path: Path,
) -> None:
    """Each delivery adds what is new; importing the same folder afterwards adds no message."""
    alice = await caller_of("alice")
    transcript = tmp_path / "claude" / "projects" / "-repo" / f"{hook_events.SESSION}.jsonl"
    transcript.parent.mkdir()
    given = hook_events.claude_code(str(tmp_path / "repo"), str(transcript))
    note(given["prompt"])  # before there is a transcript: the words stand in
    assert (await deliver(service, alice, state)).document() | {"folders": 0} == {
        "events": 1, "added": 1, "messages_added": 0, "refused": 0, "unreadable": 0, "foreign": 0, "packs": 0,
        "error": None, "folders": 0,
    }  # fmt: skip

    lines = [line(0, "user", "Fix the flaky test."), line(1, "assistant", "Done: it is frozen.")]
    added = []
    for more in (lines, [line(2, "user", "And the other one."), line(3, "assistant", "Done too.")]):
        with transcript.open("a") as file:
            file.write("".join(f"{one}\n" for one in more))
        answer = ("Done: it is frozen.", "Done too.")[len(added)]
        note(given["stop"] | {"prompt_id": f"p{len(added)}", "last_assistant_message": answer})
        added.append((await deliver(service, alice, state)).messages_added)
    assert added == [2, 2]

    api = LocalMemex(service, Principal(alice.access.tenant_id, "agent"), role="agent")
    context = CallContext(user_id="alice", actor="tests")
    report = await Ingest(api, context, IngestOptions()).run([tmp_path / "claude" / "projects"])
    assert (report.messages_added, report.unchanged_files) == (0, 1)
    alice = await caller_of("alice")
    session = make_conversation_id("claude_code", "", hook_events.SESSION)
    thread = await reading.READ.call(service, alice, {"reference": session})
    assert [one.text for one in thread.messages] == [
        "Fix the flaky test.", "Done: it is frozen.", "And the other one.", "Done too.",
    ]  # fmt: skip
    stored = await store.list_events(service.database, alice.access, [session])
    assert [(one.event.kind, one.event.messages) for one in stored] == [
        ("prompt", ()),
        ("stop", ()),
        ("stop", ()),
    ]


async def test_the_transcript_says_who_sent_a_prompt(
    service: Service, caller_of: CallerOf, state: CaptureState, tmp_path: Path
) -> None:
    """The words of a prompt that was noted before there was a transcript are not sent once there is one."""
    alice = await caller_of("alice")
    transcript = tmp_path / "claude" / "projects" / "-repo" / f"{hook_events.SESSION}.jsonl"
    transcript.parent.mkdir()
    note(hook_events.claude_code(str(tmp_path / "repo"), str(transcript))["prompt"])
    by_program = json.loads(line(0, "user", "Fix the flaky test.")) | {"promptSource": "sdk"}
    transcript.write_text(f"{json.dumps(by_program)}\n{line(1, 'assistant', 'Done.')}\n")
    await deliver(service, alice, state)
    alice = await caller_of("alice")
    session = make_conversation_id("claude_code", "", hook_events.SESSION)
    thread = await reading.READ.call(service, alice, {"reference": session})
    stored = await store.list_events(service.database, alice.access, [session])

    assert [(one.role, one.text) for one in thread.messages] == [("assistant", "Done.")]
    assert [(one.event.kind, one.event.messages) for one in stored] == [("prompt", ())]


async def test_the_lines_that_the_documentation_shows_are_read(
    service: Service, caller_of: CallerOf, state: CaptureState, tmp_path: Path
) -> None:
    """A hook of another client that sends the documented event and writes the documented lines is captured."""
    page = (Path(__file__).parents[2] / "docs" / "capture.md").read_text("utf-8")
    part = page.partition("## A hook for another client")[2]
    event, lines = (part.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("json", "jsonl"))
    transcript = tmp_path / "claude" / "projects" / "shop" / "aaaa1111.jsonl"
    transcript.parent.mkdir()
    transcript.write_text(lines)

    note(json.loads(event) | {"transcript_path": str(transcript), "cwd": str(tmp_path / "repo")})
    report = await deliver(service, await caller_of("alice"), state)

    session = make_conversation_id("claude_code", "", "aaaa1111")
    thread = await reading.READ.call(service, await caller_of("alice"), {"reference": session})
    assert (report.added, report.messages_added) == (1, 2)
    assert [(one.role, one.text, one.human_authored) for one in thread.messages] == [
        ("user", "Fix the test.", True),
        ("assistant", "Fixed the test.", False),
    ]


async def test_a_transcript_that_is_rewritten_is_told_as_it_stands(
    service: Service, caller_of: CallerOf, state: CaptureState, tmp_path: Path
) -> None:
    """Cut, grown again, spliced, replaced: each delivery ends with what the file says, and no message twice."""
    alice = await caller_of("alice")
    transcript = tmp_path / "claude" / "projects" / "-repo" / f"{hook_events.SESSION}.jsonl"
    transcript.parent.mkdir()
    given = hook_events.claude_code(str(tmp_path / "repo"), str(transcript))
    lines = [line(number, "assistant" if number % 2 else "user", f"text {number}") for number in range(8)]
    session = make_conversation_id("claude_code", "", hook_events.SESSION)
    orders = (
        [0, 1, 2, 3], [0, 1], [0, 1, 2, 3, 4], [0, 2, 1, 3, 4, 5], [4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7], [0] * 3,
    )  # fmt: skip

    added = 0
    for number, order in enumerate(orders):
        transcript.write_text("".join(f"{lines[one]}\n" for one in order))
        note(given["stop"] | {"prompt_id": f"p{number}"})
        report = await deliver(service, alice, state)
        added += report.messages_added
        alice = await caller_of("alice")
        thread = await reading.READ.call(service, alice, {"reference": session})
        assert report.error is None
        assert [one.text for one in thread.messages] == [f"text {one}" for one in dict.fromkeys(order)]
    assert added == len(lines)


async def test_a_fork_of_a_session_that_is_off_is_off(
    service: Service, caller_of: CallerOf, state: CaptureState, tmp_path: Path
) -> None:
    """Its transcript repeats the prompt that turned the other one off; a text that quotes the line does not."""
    alice = await caller_of("alice")
    folder = tmp_path / "claude" / "projects" / "-repo"
    folder.mkdir()
    off, quoted = folder / "off.jsonl", folder / "quoted.jsonl"
    off.write_text(line(0, "user", "My salary is 5.\nmemex: off") + "\n" + line(1, "user", "Go on.") + "\n")
    quoted.write_text(
        line(2, "user", "What does `memex: off` do?") + "\n" + line(3, "assistant", "memex: off") + "\n"
    )
    for path in (off, quoted):
        given = hook_events.claude_code(str(tmp_path / "repo"), str(path))
        note(given["stop"] | {"session_id": path.stem})

    report = await deliver(service, alice, state)
    note(given["stop"] | {"session_id": "off", "transcript_path": str(off), "prompt_id": "later"})

    assert (report.added, report.messages_added, report.error) == (1, 2, None)
    assert state.sessions_off() == ["claude_code off"]
    assert not state.exists("spool.jsonl")


def test_only_transcripts_of_the_client_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path is data: outside of the client's folders, through links, or of another kind, it is not opened."""
    folder = tmp_path / "claude" / "projects"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    own, secret = folder / "s.jsonl", tmp_path / "secret.jsonl"
    own.write_text("{}")
    secret.write_text("{}")
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "pipe.jsonl").mkdir()
    (folder / "notes.txt").write_text("x")

    assert readable_transcript("claude_code", str(own)) == own
    for path in (
        secret, folder / ".." / ".." / "secret.jsonl", folder / "link.jsonl", folder / "pipe.jsonl",
        folder / "notes.txt", folder / "none.jsonl", "s.jsonl", "", "\0", "/" + "x" * 5_000,
    ):  # fmt: skip
        assert readable_transcript("claude_code", str(path)) is None
    assert readable_transcript("codex_cli", str(own)) is None
    assert readable_transcript("unknown", str(own)) is None


async def test_what_a_service_refuses_keeps_nothing_out(
    service: Service, caller_of: CallerOf, state: CaptureState
) -> None:
    """A malformed event is left out alone, and a torn line is counted."""
    alice = await caller_of("alice")
    good = {"runtime": "my_agent", "session": "s", "kind": "stop", "time": "2026-02-01T10:00:00Z"}
    for event in (good | {"event": "1"}, good | {"event": "2", "kind": "unheard of"}, good | {"event": "3"}):
        state.append(event)
    odd: list[dict[str, Any]] = [{"runtime": ["x"]}, {"transcript": 7}, {"cwd": 7}, {"tools": [7]}]
    for one in odd:
        state.append(good | {"event": "4"} | one)
    with (Path(state.path) / "spool.jsonl").open("ab") as spool:
        spool.write(b'{"runtime": "my_ag\n')

    report = await deliver(service, alice, state)

    assert (report.added, report.refused, report.unreadable, report.error) == (2, 1, 5, None)
    assert not state.exists("spool.taken")


async def test_a_transcript_of_codex_says_how_a_command_ended(
    service: Service,
    caller_of: CallerOf,
    state: CaptureState,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The hook of Codex does not say it; and the event is said to belong to the repository of its folder."""
    alice = await caller_of("alice")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    rollout = tmp_path / "codex" / "sessions" / "rollout-2026-02-01T10-00-00-cccc.jsonl"
    rollout.parent.mkdir(parents=True)
    item = {
        "type": "CommandExecution",
        "id": "call_1",
        "exit_code": 3,
        "duration": {"secs": 1, "nanos": 5_000_000},
    }
    lines = [
        {"type": "session_meta", "payload": {"id": hook_events.SESSION, "cwd": "/repo", "source": "exec"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Run the tests."}},
        {"type": "event_msg", "payload": {"type": "item_completed", "item": item}},
        {"type": "event_msg", "payload": {"type": "item_completed", "item": [1]}},
    ]
    now = datetime.now(UTC).isoformat()
    rollout.write_text("".join(json.dumps(one | {"timestamp": now}) + "\n" for one in lines))
    given = hook_events.codex(str(tmp_path / "repo"), str(rollout))
    for name in ("tool", "failure"):
        run(["codex", json.dumps(given[name])])

    report = await deliver(service, alice, state)

    assert (report.added, report.messages_added) == (2, 1)
    session = make_conversation_id("codex_cli", "", hook_events.SESSION)
    alice = await caller_of("alice")
    known, unknown = await store.list_events(service.database, alice.access, [session])
    assert [(one.event.tools[0].ok, one.event.tools[0].duration_ms) for one in (known, unknown)] == [
        (False, 1_005),
        (None, None),
    ]
    assert known.event.project == "repo"
    assert known.event.metadata["label"].startswith("folder:")


@pytest.mark.slow
async def test_events_arrive_once_and_in_order_though_deliveries_are_killed(
    service: Service, caller_of: CallerOf, conninfo: str, state: CaptureState
) -> None:
    """Many processes note events while deliveries start and are killed; every event arrives once, in order."""
    await caller_of("me")
    await asyncio.to_thread(_deliver_under_fire, conninfo, state.path)

    me = await caller_of("me")
    ids = [make_conversation_id("my_agent", "", f"s{number}") for number in range(SESSIONS)]
    stored = await store.list_events(service.database, me.access, ids, limit=20_000)
    by_session: dict[str, list[int]] = {}
    for one in stored:
        by_session.setdefault(one.event.session, []).append(int(one.event.name))
    assert by_session == {f"s{number}": list(range(EACH)) for number in range(SESSIONS)}
    assert not [name for name in state.files() if name.startswith("spool.") and name != "spool.lock"]


def _deliver_under_fire(conninfo: str, folder: str) -> None:
    """Note events in many processes, while deliveries start and the first two are killed."""
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, folder, f"s{number}", str(EACH)])
        for number in range(SESSIONS)
    ]
    environment = os.environ | {"DATABASE_URL": conninfo, "MEMEX_LOG_LEVEL": "error"}
    for patience_s in (*KILLED_AFTER_S, None):
        if patience_s is None:
            assert [writer.wait(60) for writer in writers] == [0] * SESSIONS
        delivery = subprocess.Popen(
            [sys.executable, "-m", "memex", "capture", "deliver", "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = delivery.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            os.killpg(delivery.pid, signal.SIGKILL)
            delivery.communicate()
        else:
            assert delivery.returncode == 0, (out, err)
