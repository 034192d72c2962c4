"""Hooks that a client sends by itself: what is no event has a code, and no path that an event names is opened."""

import json
from pathlib import Path

import httpx2
from httpx2 import Client
from tests.http.conftest import KeyOf
from tests.kit.http_service import Served
from tests.mcp.test_work import LABEL, report

STOP = {"session_id": "s", "hook_event_name": "Stop", "prompt_id": "p"}


def test_a_body_that_is_no_event_is_refused(alice: Client) -> None:
    """With a code, and never as a failure of the service."""
    for body in (
        b"",
        b"null",
        b"[1]",
        b"\xff\xfe",
        b"{}\0",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"session_id": "a", "session_id": "b"}',
        b'{"x": ' + b"1" * 6_000 + b"}",
    ):
        refused = alice.post("/v1/hooks/claude-code", content=body)

        assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")


def test_a_path_of_an_event_is_not_opened(alice: Client, tmp_path: Path) -> None:
    """A transcript that the service could read adds no message; an event that names one for itself is refused."""
    line = {
        "type": "user",
        "uuid": "m",
        "sessionId": "s",
        "message": {"role": "user", "content": "A secret plan."},
    }
    transcript = tmp_path / "s.jsonl"
    transcript.write_text(json.dumps(line))
    event = {
        "runtime": "claude_code",
        "session": "s",
        "event": "1",
        "kind": "stop",
        "time": "2026-02-01T10:00:00Z",
    }

    taken = alice.post("/v1/hooks/claude-code", json=STOP | {"transcript_path": str(transcript)})
    refused = alice.post("/v1/events", json={"events": [event | {"transcript": str(transcript)}]})
    found = alice.get("/v1/conversations")

    assert (taken.status_code, taken.json()) == (200, {})
    assert refused.status_code == 422
    assert found.is_success
    assert found.json()["conversations"] == []


def test_the_first_prompt_of_a_session_is_given_the_pack(served: Served, key_of: KeyOf) -> None:
    """Once, and by the folder: a later prompt, another event and another folder get nothing."""
    report(served, key_of, "alice", LABEL)
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice', tenant='home')}"}
    prompt = STOP | {"hook_event_name": "UserPromptSubmit", "prompt": "Go on.", "cwd": "/code/0/src"}

    def answered(**fields: str) -> dict[str, dict[str, str]]:
        answer = httpx2.post(f"{served.url}/v1/hooks/claude-code", json=prompt | fields, headers=headers)
        return dict(answer.raise_for_status().json())

    first = answered()["hookSpecificOutput"]

    assert set(first) == {"hookEventName", "additionalContext"}
    assert first["hookEventName"] == "UserPromptSubmit"
    assert first["additionalContext"].startswith("From Memex")
    assert "build part 0." in first["additionalContext"]
    for nothing in (
        {"prompt_id": "p2"},
        {"session_id": "s2", "hook_event_name": "Stop"},
        {"session_id": "s3", "cwd": "/elsewhere"},
        {"session_id": "s4", "cwd": ""},
        {"session_id": "s5", "prompt": "memex: off"},
    ):
        assert answered(**nothing) == {}


def test_the_pack_of_a_session_holds_marks(served: Served, key_of: KeyOf) -> None:
    """In the place of what somebody asked to forget, though a session said it too."""
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice', tenant='home')}"}
    tea = "I prefer quetzalcoatl tea in the morning."
    message = {"id": "1", "role": "user", "text": f"Goal: {tea}", "said_at": "2026-11-20T09:00:00Z"}
    event = {
        "runtime": "my_agent", "session": "tea", "event": "1", "kind": "stop", "time": "2026-11-20T10:00:00Z",
        "project": "apollo", "cwd": "/code/0", "messages": [message],
        "metadata": {"label": LABEL, "root": "/code/0"},
    }  # fmt: skip
    prompt = STOP | {"hook_event_name": "UserPromptSubmit", "prompt": "Go on.", "cwd": "/code/0/src"}

    def post(path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        answer = httpx2.post(f"{served.url}{path}", json=body, headers=headers)
        return dict(answer.raise_for_status().json())

    post("/v1/events", {"events": [event]})
    post("/v1/tools/memory_remember/execute", {"arguments": {"text": tea}})
    before = post("/v1/hooks/claude-code", prompt)["hookSpecificOutput"]["additionalContext"]
    post("/v1/tools/memory_remember/execute", {"arguments": {"text": f"Please forget that {tea}"}})
    after = post("/v1/hooks/claude-code", prompt | {"session_id": "s2"})["hookSpecificOutput"]

    assert tea in before
    assert "quetzalcoatl" not in after["additionalContext"]
    assert "[forgotten]" in after["additionalContext"]
