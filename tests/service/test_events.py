"""Events of coding agents: each once, in order; words stand in only until the transcript has them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.hook import events as hook_events

from memex.errors import ValidationFailed
from memex.service.conversations import events, hooks, putting, reading, removing
from memex.service.conversations.events import EventsArguments, PutEventsResult
from memex.service.conversations.putting import ConversationInput, SourceInput
from memex.service.service import Caller, Service
from memex.store.conversations import events as store
from memex.store.conversations.records import make_conversation_id

SESSION = make_conversation_id("claude_code", "", "s1")


def event(number: int, **more: Any) -> dict[str, Any]:
    """Return an event of a session, a minute after the one before."""
    given = {"runtime": "claude_code", "session": "s1", "event": f"e{number}", "kind": "prompt"}
    return given | {"time": f"2026-02-01T10:{number:02}:00Z"} | more


async def put(service: Service, caller: Caller, *given: dict[str, Any]) -> PutEventsResult:
    """Store events."""
    arguments = EventsArguments.model_validate_json(json.dumps({"events": given}))
    return await events.put(service, caller, arguments)


async def stored(service: Service, caller: Caller, *sessions: str) -> list[store.StoredEvent]:
    """Return the events of some conversations."""
    access = await service.identities.open_conversations(caller)
    return await store.list_events(service.database, access, sessions or [SESSION])


async def test_an_event_is_stored_once_and_in_order(service: Service, caller_of: CallerOf) -> None:
    """The same events again change nothing, in one request or in two; the order is that of arrival."""
    alice, bob = await caller_of("alice"), await caller_of("bob")
    tool = {"name": "Bash", "command": "make test TOKEN=ghp_" + "a1B2" * 9, "ok": True, "duration_ms": 1200}

    first = await put(
        service, alice, event(1), event(2, kind="tool", tools=[tool], turn="t1"), event(1), event(2)
    )
    again = await put(service, alice, event(2, kind="tool", tools=[tool], turn="t1"), event(3, kind="stop"))

    assert [one.change for one in first.events] == ["added", "added", "known", "added"]
    assert [one.change for one in again.events] == ["known", "added"]
    found = await stored(service, alice)
    assert [(one.event_no, one.event.name, one.event.turn) for one in found] == [
        (1, "e1", ""),
        (2, "e2", "t1"),
        (3, "e2", ""),
        (4, "e3", ""),
    ]
    assert found[1].event.tools[0].ok is True
    assert "ghp_" not in found[1].event.tools[0].command
    assert await stored(service, bob) == []
    heard = await events.HEARD.call(service, await caller_of("alice"), {})
    assert [(one.runtime, one.events, one.sessions) for one in heard.runtimes] == [("claude_code", 4, 1)]


async def test_the_zone_of_an_event_may_be_any(service: Service, caller_of: CallerOf) -> None:
    """Also one that Postgres does not know: the moment is kept."""
    alice = await caller_of("alice")

    await put(service, alice, event(1, time="2026-02-02T09:00:00+23:00"))

    [found] = await stored(service, alice)
    assert found.event.happened_at == datetime(2026, 2, 1, 10, tzinfo=UTC)


async def test_words_stand_in_until_the_transcript_has_them(service: Service, caller_of: CallerOf) -> None:
    """A prompt without a number is dropped when a message says the same; a message with an id has a number."""
    alice = await caller_of("alice")
    prompt = {"role": "user", "text": " Fix the clock. \n"}
    await put(service, alice, event(1, messages=[prompt]), event(5, messages=[prompt]))
    [early, late] = await stored(service, alice)
    assert early.event.messages[0].text == late.event.messages[0].text == " Fix the clock. \n"

    read = ConversationInput.model_validate(
        {
            "id": "s1",
            "messages": [
                {"id": "m1", "role": "user", "text": "Fix the clock.", "said_at": "2026-02-01T10:01:02Z"}
            ],
        }
    )
    await putting.put(service, alice, SourceInput(kind="claude_code"), [read])

    assert [len(one.event.messages) for one in await stored(service, alice)] == [0, 1]  # it was asked twice
    whole = {"role": "user", "id": "m9", "text": "Now the tests."}
    program = {"runtime": "my_agent", "session": "x", "metadata": {"title": "Clock"}}
    done = await put(service, alice, event(6, **program, messages=[whole]))
    assert done.messages_added == 1
    assert (await put(service, alice, event(6, **program, messages=[whole]))).messages_added == 0
    assert (await stored(service, alice, done.events[0].conversation))[0].event.messages == ()


async def test_events_go_with_their_conversation(service: Service, caller_of: CallerOf) -> None:
    """A person who deletes a conversation deletes its events, and later ones of the session are not taken."""
    alice = await caller_of("alice")
    said = {"role": "user", "id": "m1", "text": "Fix the clock."}
    await put(service, alice, event(1, messages=[said]))
    alice = await caller_of("alice")

    await removing.DELETE.call(service, alice, {"conversations": [SESSION]})

    assert await stored(service, alice) == []
    after = await put(service, alice, event(2, messages=[said]), event(3, session="s2"))
    assert [one.change for one in after.events] == ["removed", "added"]


async def test_hooks_over_http_use_the_text_of_the_event_alone(
    service: Service, caller_of: CallerOf, tmp_path: Path
) -> None:
    """Words stand in, no file that is named is read, and `memex: off` ends the capture of the session."""
    alice = await caller_of("alice")
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"type": "user", "sessionId": "s1", "uuid": "u", "message": {"content": "the word"}}')
    given = hook_events.claude_code("/repo", str(secret))

    for name in ("start startup", "prompt", "tool", "subagent", "stop", "end"):
        await hooks.take(service, alice, "claude-code", given[name])
    session = make_conversation_id("claude_code", "", hook_events.SESSION)
    found = await stored(service, alice, session)
    assert [one.event.kind for one in found] == ["session_start", "prompt", "tool", "stop", "session_end"]
    assert [said.text for one in found for said in one.event.messages] == [
        "Fix the flaky test.",
        "Fixed: the clock is frozen now.",
    ]
    assert (await reading.LIST.call(service, alice, {})).conversations == []

    off = given["prompt"] | {"prompt": "private\nmemex: off"}
    alice = await caller_of("alice")  # who has conversations by now
    await hooks.take(service, alice, "claude-code", off)
    assert await hooks.take(service, alice, "claude-code", given["stop"] | {"prompt_id": "p9"}) is None
    [*_, last] = await stored(service, alice, session)
    assert (last.event.kind, last.event.messages) == ("notice", ())
    for client, body in (("emacs", given["stop"]), ("codex", [1])):
        with pytest.raises(ValidationFailed):
            await hooks.take(service, alice, client, body)


def test_what_could_not_be_read_again_is_refused() -> None:
    """A time that no answer could show, or a label that nobody could name, would break each later question."""
    for odd in (
        {"time": "0001-01-02T00:00:00Z"},
        {"time": "9999-12-31T23:59:59-12:00"},
        {"messages": [{"role": "user", "id": "1", "text": "x", "said_at": "0001-01-01T00:00:00+14:00"}]},
        {"metadata": {"label": " "}},
        {"metadata": {"label": "x" * 1_001}},
    ):
        with pytest.raises(ValueError, match=r"years 2 to 9998|has a label"):
            EventsArguments.model_validate_json(json.dumps({"events": [event(1) | odd]}))


async def test_too_many_messages_are_refused(service: Service, caller_of: CallerOf) -> None:
    """A request with more messages than one write takes is refused whole, with what to do."""
    alice = await caller_of("alice")
    said = [{"role": "user", "id": str(number), "text": "x"} for number in range(100)]

    with pytest.raises(ValidationFailed, match="over 2,000 messages"):
        await put(service, alice, *(event(number, messages=said) for number in range(21)))
    assert await stored(service, alice) == []


async def test_tools_without_an_id_are_told_apart(service: Service, caller_of: CallerOf) -> None:
    """Two commands of a turn are two events, also of a client that names no use of a tool."""
    alice = await caller_of("alice")
    tool = {"session_id": "s1", "hook_event_name": "PostToolUse", "prompt_id": "p1", "tool_name": "Bash"}
    for command in ("make lint", "make test", "make test"):
        await hooks.take(service, alice, "claude-code", tool | {"tool_input": {"command": command}})

    assert [one.event.tools[0].command for one in await stored(service, alice)] == ["make lint", "make test"]
