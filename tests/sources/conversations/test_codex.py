"""Codex's rollouts: three forms, of which one is read; what was taken back; what the program put in."""

from pathlib import Path
from typing import Any

from tests.kit.exports import EVERYTHING, Reading, json_lines, read_file, read_tree, said

from memex.sources.conversations.records import Include

SAMPLE = Path(__file__).with_name("samples") / "codex.jsonl"
THREAD = "dddd4444-0000-4000-8000-000000000001"
META = {"type": "session_meta", "payload": {"id": THREAD, "cwd": "/repo/shop", "source": "cli"}}


def event(name: str, **payload: Any) -> dict[str, Any]:
    """Return an event."""
    return {"type": "event_msg", "payload": {"type": name, **payload}}


def item(role: str, *texts: str, time: str | None = None) -> dict[str, Any]:
    """Return a message as the model has it."""
    content = [{"type": "input_text" if role == "user" else "output_text", "text": text} for text in texts]
    line = {"type": "response_item", "payload": {"type": "message", "role": role, "content": content}}
    return line if time is None else {**line, "timestamp": time}


def completed(kind: str, key: str, text: str) -> dict[str, Any]:
    """Return a completed item."""
    return event(
        "item_completed",
        turn_id="t",
        item={"type": kind, "id": key, "content": [{"type": "Text", "text": text}]},
    )


def read(*lines: dict[str, Any], include: Include = Include()) -> Reading:  # noqa: B008
    """Return what the reader makes of a rollout."""
    return read_file(json_lines(*lines), include, "rollout.jsonl")


def test_the_sample_gives_each_message_once() -> None:
    """Events repeat what the model's items say, and the environment is no message."""
    plain, full = (read_file(SAMPLE.read_bytes(), include) for include in (Include(), EVERYTHING))
    [(about, messages)] = plain.conversations

    assert plain.kinds == ["codex_cli"]
    assert (about.key, about.project) == (THREAD, "acme-shop")
    assert [(m.key, m.parent, m.role, m.text, m.human_authored, m.model) for m in messages] == [
        ("user:1", None, "user", "Add a health endpoint. Constraint: no new dependencies.", True, None),
        ("assistant:1", "user:1", "assistant", "Done: GET /health returns 200.", False, "gpt-demo-codex"),
    ]
    assert [(m.role, m.part, m.text) for m in full.messages if m not in messages] == [
        ("reasoning", "thinking", "**Planning route**"),
        ("tool", "tool_call", '{"command":["ls"]}'),
        ("tool", "tool_result", "app.py\ntests"),
    ]


def test_only_what_a_person_typed_is_human() -> None:
    """In all three forms, what the program put in is dropped; in prompts of editors, words follow a heading."""
    for text, typed in (
        ("plain words", "plain words"),
        ("# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>…</INSTRUCTIONS>", None),
        ("<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>", None),
        ("<user_instructions>\nBe brief.\n</user_instructions>", None),
        ("<turn_aborted>\nThe user interrupted.\n</turn_aborted>", None),
        ("<permissions instructions>\n…", None),
        (
            "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nFix the test.\n",
            "Fix the test.",
        ),
    ):
        expected = [] if typed is None else [("user", typed)]
        paginated = {**META, "payload": {**META["payload"], "history_mode": "paginated"}}  # type: ignore[dict-item]

        assert said(read(META, item("user", text)).messages) == expected
        assert said(read(META, event("user_message", message=text)).messages) == expected
        assert said(read(paginated, completed("UserMessage", "i", text)).messages) == expected


def test_injected_blocks_beside_words_are_dropped() -> None:
    """A message may hold both."""
    reading = read(
        META, item("user", "# AGENTS.md instructions for /repo", "Fix it."), item("developer", "rules")
    )

    assert said(reading.messages) == [("user", "Fix it.")]


def test_the_form_is_decided_once_for_a_whole_file() -> None:
    """Where an event has words of the person, no other message of a user counts; answers may stand alone."""
    reading = read(
        META,
        item("user", "injected by a plugin"),
        item("user", "hello"),
        event("user_message", message="hello", kind="plain"),
        event("user_message", message="<environment_context>x", kind="environment_context"),
        item("assistant", "hi"),
    )

    assert said(reading.messages) == [("user", "hello"), ("assistant", "hi")]


def test_paginated_files_are_read_from_completed_items_alone() -> None:
    """The keys are those of the items."""
    paginated = {**META, "ordinal": 0, "payload": {**META["payload"], "history_mode": "paginated"}}  # type: ignore[dict-item]
    reading = read(
        paginated,
        item("user", "hello"),
        event("user_message", message="hello"),
        completed("UserMessage", "u-1", "hello"),
        event("agent_message", message="hi"),
        completed("AgentMessage", "a-1", "hi"),
        completed("FileChange", "f-1", "patch"),
    )

    assert [(m.key, m.role, m.text) for m in reading.messages] == [
        ("u-1", "user", "hello"),
        ("a-1", "assistant", "hi"),
    ]


def test_turns_that_were_rolled_back_are_off_the_path() -> None:
    """With their answers; what comes after answers what was there before."""
    reading = read(
        META,
        event("user_message", message="one"),
        item("assistant", "answer one"),
        event("user_message", message="two"),
        item("assistant", "answer two"),
        event("user_message", message="three"),
        event("thread_rolled_back", num_turns=2),
        event("user_message", message="four"),
        item("assistant", "answer four"),
    )

    assert [(m.text, m.on_path, m.parent) for m in reading.messages] == [
        ("one", True, None),
        ("answer one", True, "user:1"),
        ("two", False, "assistant:1"),
        ("answer two", False, "user:2"),
        ("three", False, "assistant:2"),
        ("four", True, "assistant:1"),
        ("answer four", True, "user:4"),
    ]


def test_a_resumed_file_that_repeats_its_history_gives_it_once() -> None:
    """Told by role, text and time; the same words at another time are another message."""
    history = [
        item("user", "yes", time="2026-01-01T00:00:00Z"),
        item("assistant", "done", time="2026-01-01T00:00:05Z"),
    ]
    reading = read(META, *history, META, *history, item("user", "yes", time="2026-01-01T00:01:00Z"))

    assert said(reading.messages) == [("user", "yes"), ("assistant", "done"), ("user", "yes")]


def test_files_of_2025_have_bare_items() -> None:
    """The first line has no type, states stand between, and arguments are JSON in a string."""
    lines = [
        {"id": THREAD, "timestamp": "2025-06-01T10:00:00Z", "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
    ]
    plain, full = (read(*lines, include=include) for include in (Include(), EVERYTHING))

    assert plain.conversations[0][0].key == THREAD
    assert said(plain.messages) == [("user", "hello"), ("assistant", "hi")]
    assert [m.text for m in full.messages if m.role == "tool"] == ['{"command":["ls"]}']


def test_the_stream_of_exec_has_answers_alone() -> None:
    """`codex exec --json` does not print what was asked."""
    reading = read(
        {"type": "thread.started", "thread_id": THREAD},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "hm"}},
        {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "hi"}},
        {"type": "turn.completed", "usage": {}},
    )

    assert reading.conversations[0][0].key == THREAD
    assert said(reading.messages) == [("assistant", "hi")]


def test_subagents_are_side_chains() -> None:
    """The whole file is one, and no person wrote in it."""
    meta = {"type": "session_meta", "payload": {"id": "s", "source": {"subagent": {"thread_spawn": {}}}}}
    plain, full = (read(meta, item("user", "do"), include=include) for include in (Include(), EVERYTHING))

    assert not plain.messages
    assert plain.reasons == {"sidechain"}
    assert [(m.text, m.human_authored) for m in full.messages] == [("do", False)]


def test_compacted_lines_are_not_parsed() -> None:
    """They are told by their first bytes: this one is longer than any line may be, and is no JSON at all."""
    head = b'{"timestamp":"2026-01-01T00:00:00Z","ordinal":7,"type":"compacted","payload":{"image":"'
    lines = (
        json_lines(META, item("user", "hello"))
        + head
        + b"A" * (34 << 20)
        + b"\n"
        + json_lines(item("assistant", "hi"))
    )
    reading = read_file(lines)

    assert said(reading.messages) == [("user", "hello"), ("assistant", "hi")]
    assert not reading.report.unreadable


def test_a_name_of_the_thread_is_its_title() -> None:
    """The newest; otherwise the first words are."""
    named = [event("thread_name_updated", thread_name=name) for name in ("old name", "new name")]

    assert read(META, item("user", "hello"), *named).conversations[0][0].title == "new name"
    assert read(META, item("user", "hello")).conversations[0][0].title == "hello"


def segment(name: str, own: str, base: str | None, start: int, *texts: str) -> tuple[str, bytes]:
    """Return a file of a thread: its name and its lines, counted from `start`."""
    payload: dict[str, Any] = {"id": own, "history_mode": "paginated"}
    if base is not None:
        payload["history_base"] = {"thread_id": base, "end_ordinal_exclusive": start}
    lines: list[dict[str, Any]] = [{"type": "session_meta", "payload": payload}]
    lines += [completed("UserMessage", text, text) for text in texts]
    numbered = [{**line, "ordinal": start + number} for number, line in enumerate(lines)]
    return f"rollout-2026-01-0{name}.jsonl", json_lines(*numbered)


A, B, C = (f"{letter * 8}-0000-4000-8000-000000000001" for letter in "abc")


def test_forks_of_forks_begin_with_what_they_continue(tmp_path: Path) -> None:
    """Each file counts up to the line at which the next one left it."""
    files = dict(
        [
            segment(f"1-{A}", A, None, 0, "one", "two", "not in the forks"),
            segment(f"2-{B}", B, A, 3, "three", "not in the second fork"),
            segment(f"3-{C}", C, B, 5, "four"),
        ]
    )
    reading = read_tree(tmp_path, files)

    assert {about.key: [m.text for m in messages] for about, messages in reading.conversations} == {
        A: ["one", "two", "not in the forks"],
        B: ["one", "two", "three", "not in the second fork"],
        C: ["one", "two", "three", "four"],
    }


def test_a_thread_that_was_taken_back_twice_is_one_conversation(tmp_path: Path) -> None:
    """Its files have one id; each continues the one in which its first line would stand."""
    files = dict(
        [
            segment("1-x", A, None, 0, "one", "gone"),
            segment("2-y", A, A, 2, "two", "gone too"),
            segment("3-z", A, A, 4, "three"),
        ]
    )
    reading = read_tree(tmp_path, files)

    assert [(about.key, [m.text for m in messages]) for about, messages in reading.conversations] == [
        (A, ["one", "two", "three"])
    ]
    assert reading.reasons == {"continued_in_another_file"}


def test_cycles_and_missing_files_are_named(tmp_path: Path) -> None:
    """What is there is read."""
    cycle = dict([segment(f"1-{A}", A, B, 9, "one"), segment(f"2-{B}", B, A, 11, "two")])
    missing = dict([segment(f"1-{C}", C, A, 2, "alone")])
    around, alone = read_tree(tmp_path / "cycle", cycle), read_tree(tmp_path / "missing", missing)

    assert {"one", "two"} == {message.text for message in around.messages}
    assert around.reasons == {"history_cycle"}
    assert said(alone.messages) == [("user", "alone")]
    assert alone.reasons == {"history_missing"}
