"""Real exports give the messages that were counted by hand."""

import json
import os
from pathlib import Path

import pytest
import zstandard
from tests.kit.exports import EVERYTHING, Reading, json_lines, read_file, read_path, read_tree, said

from memex.sources.conversations.records import ReadMessage

DATA = os.environ.get("MEMEX_EVAL_DATA")
EXPORTS = Path(DATA or "/nowhere") / "exports"

pytestmark = pytest.mark.skipif(DATA is None, reason="MEMEX_EVAL_DATA is unset: no real exports")


def read(name: str) -> Reading:
    """Return what a survey of one of the files finds, read."""
    return read_path(EXPORTS / name)


def test_messages_are_those_that_people_and_assistants_said() -> None:
    """Messages of the person and of the assistant on the active branch of each conversation."""
    for name, counts in (
        ("chatgpt/real-code-interpreter.json", [(8, 12)]),
        ("chatgpt/two-conversations.json", [(2, 1), (2, 1)]),
        # Two of the four answers that the data's description counts are output of tools.
        ("chatgpt/three-conversations.json", [(2, 2), (0, 0), (1, 0)]),
        ("claude_ai/conversations.json", [(1, 1), (2, 2)]),
        ("claude_ai/single-conversation.json", [(2, 2)]),
        ("claude_ai/two-conversations.json", [(2, 1), (2, 1)]),
        ("claude_ai/minimal.json", [(8, 2)]),
        ("claude_code/representative.jsonl", [(4, 3)]),
        ("claude_code/session-init.jsonl", [(0, 3)]),
        ("claude_code/session-orchestrator-ja.jsonl", [(1, 3)]),
        ("claude_code/edge-cases.jsonl", [(4, 2)]),
        ("codex/rollout-0.128.jsonl", [(5, 10)]),
        ("codex/rollout-small.jsonl", [(2, 2)]),
    ):
        assert read(name).counts == counts


def test_everything_is_found_in_a_folder() -> None:
    """The files go to the reader of their format; the two files with one name, too."""
    reading = read_path(EXPORTS)

    assert sorted(reading.kinds) == [
        *["chatgpt"] * 4, *["claude_ai"] * 4, *["claude_code"] * 4, *["codex_cli"] * 2,
    ]  # fmt: skip
    assert not reading.survey.skips


def test_conversations_without_a_title_have_none() -> None:
    """A title is not made up from a text."""
    titles = [
        conversation.title for conversation, _ in read("chatgpt/three-conversations.json").conversations
    ]

    assert titles == ["Test Conversation One", "Empty Conversation", None]


def test_edge_cases_of_chatgpt() -> None:
    """Each case gives the visible messages of its branch, from the file of all and from a file of its own."""
    for case, expected in (
        ("linear", [("user", "Hello"), ("assistant", "Hi there")]),
        ("regenerate", [("user", "Give me an answer"), ("assistant", "NEW ACTIVE ANSWER")]),
        ("attachment", [("user", "Inspect this repository."), ("assistant", "Done.")]),
        ("missingParent", [("assistant", "Partial")]),
        ("cycle", [("assistant", "B"), ("user", "A")]),
        ("unicode", [("user", "Привет, мир! 👋"), ("assistant", "Здравствуйте — всё работает.")]),
        ("unknownPart", [("user", "Show a widget"), ("assistant", "Visible text")]),
        ("structuralHidden", [("user", "Visible user"), ("assistant", "Visible assistant")]),
    ):
        path = EXPORTS / "chatgpt" / "edge-cases-keyed.json"
        alone = read_file(json.dumps(json.loads(path.read_bytes())[case]).encode())
        [together] = [messages for about, messages in read_path(path).conversations if about.key == case]

        assert said(visible(together)) == expected
        assert said(visible(alone.messages)) == expected


def visible(messages: list[ReadMessage]) -> list[ReadMessage]:
    """Return the messages of the active branch."""
    return [message for message in messages if message.on_path]


def test_an_abandoned_answer_is_off_the_path() -> None:
    """The first answer stays, but it is not on the path."""
    reading = read("chatgpt/edge-cases-keyed.json")
    off = [message.text for message in reading.messages if not message.on_path]

    assert off == ["OLD BRANCH ANSWER"]


def test_artifacts_of_a_real_conversation_are_parts_of_their_own() -> None:
    """A document in a tag is not repeated in the answer that it stands in, and thoughts are dropped."""
    reading = read("claude_ai/single-conversation.json")
    artifacts = [message for message in reading.messages if message.part == "artifact"]
    answers = [
        message.text
        for message in reading.messages
        if message.role == "assistant" and message not in artifacts
    ]

    assert [message.key for message in artifacts] == [
        "artifact:bakery-comparison",
        "artifact:enhanced-bakery-comparison",
    ]
    assert all(message.text.startswith("import React") for message in artifacts)
    assert not [text for text in answers if "import React" in text or "antThinking" in text]


def test_each_unreadable_line_is_named() -> None:
    """Lines that are no objects, without a type or without a message that can be read."""
    report = read("claude_code/edge-cases.jsonl").report

    assert [(skip.place, skip.reason) for skip in report.unreadable] == [
        ("edge-cases.jsonl#10", "no_message"),
        ("edge-cases.jsonl#11", "no_message"),
        ("edge-cases.jsonl#13", "no_object"),
        ("edge-cases.jsonl#14", "no_type"),
        ("edge-cases.jsonl#15", "no_object"),
        ("edge-cases.jsonl#16", "no_object"),
    ]


def test_side_chains_are_left_out_and_counted() -> None:
    """A transcript in Japanese, of which 22 lines belong to subagents."""
    reading = read("claude_code/session-orchestrator-ja.jsonl")

    assert reading.report.skipped["sidechain"] == 22
    assert reading.messages[0].text == "/orchestrator @CLAUDE.md を最新の状態にアップデートしてください"
    assert reading.messages[0].human_authored


ROLLOUTS = [("codex/rollout-0.128.jsonl", 15), ("codex/rollout-small.jsonl", 4)]


def paginated(name: str) -> list[dict[str, object]]:
    """Return a rollout as newer versions write it: with ordinals, and with words in completed items alone."""
    lines: list[dict[str, object]] = []
    for line in map(json.loads, (EXPORTS / name).read_text().splitlines()):
        payload = line["payload"]
        if line["type"] == "session_meta":
            payload["history_mode"] = "paginated"
        lines.append({**line, "ordinal": len(lines)})
    for number, message in enumerate(read(name).messages):
        kind, part = ("UserMessage", "text") if message.role == "user" else ("AgentMessage", "Text")
        item = {"type": kind, "id": f"item-{number}", "content": [{"type": part, "text": message.text}]}
        payload = {"type": "item_completed", "turn_id": "t", "item": item}
        lines.append(
            {
                "timestamp": "2026-05-04T00:20:00Z",
                "type": "event_msg",
                "payload": payload,
                "ordinal": len(lines),
            }
        )
    return lines


@pytest.mark.parametrize(("name", "count"), ROLLOUTS)
def test_a_paginated_rollout_gives_the_same_messages(name: str, count: int) -> None:
    """What else stands in the file repeats them, and is not counted twice."""
    rewritten = read_file(json_lines(*paginated(name)))

    assert said(rewritten.messages) == said(read(name).messages)
    assert len(rewritten.messages) == count


@pytest.mark.parametrize(("name", "count"), ROLLOUTS)
@pytest.mark.parametrize("is_fork", [False, True])
def test_chained_rollouts_give_the_same_messages(
    name: str, count: int, is_fork: bool, tmp_path: Path
) -> None:
    """The newer file continues the older one before its last lines, in the same thread or in a new one."""
    lines = paginated(name)
    cut = len(lines) - 3
    first, second = "11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"
    meta = dict(lines[0]["payload"], id=first)  # type: ignore[call-overload]
    base = {"thread_id": first, "end_ordinal_exclusive": cut}
    head = dict(meta, id=second if is_fork else first, history_base=base)
    taken_back = {
        "type": "event_msg", "ordinal": cut,
        "payload": {"type": "item_completed", "item": {"type": "UserMessage", "id": "x", "content": [
            {"type": "text", "text": "taken back"}]}},
    }  # fmt: skip
    older = json_lines({**lines[0], "payload": meta}, *lines[1:cut], taken_back)
    newer = json_lines({"type": "session_meta", "payload": head, "ordinal": cut}, *lines[cut:])
    files = {
        f"2026/rollout-2026-05-04T00-00-00-{first}.jsonl": older,
        f"2026/rollout-2026-05-05T00-00-00-{second}.jsonl": newer,
    }
    reading = read_tree(tmp_path, files)
    [messages] = [found for about, found in reading.conversations if about.key == head["id"]]

    assert said(messages) == said(read(name).messages)
    assert len(reading.conversations) == 1 + is_fork


@pytest.mark.parametrize(("name", "count"), ROLLOUTS)
def test_a_packed_rollout_gives_the_same_messages(name: str, count: int, tmp_path: Path) -> None:
    """Zstandard, told by its first bytes; beside its plain twin only the plain one is read."""
    plain = (EXPORTS / name).read_bytes()
    packed = zstandard.ZstdCompressor().compress(plain)
    alone = read_tree(tmp_path / "alone", {"rollout.jsonl.zst": packed})
    both = read_tree(tmp_path / "both", {"rollout.jsonl.zst": packed, "rollout.jsonl": plain})

    assert said(alone.messages) == said(both.messages) == said(read(name).messages)
    assert len(alone.messages) == count
    assert both.reasons - {"tool_call", "tool_result", "reasoning"} == {"packed_twin"}


def test_with_everything_included_the_words_stay_the_same() -> None:
    """What is added has roles and keys of its own: keys and texts of what was said do not change."""
    for path in sorted(EXPORTS.glob("*/*.json*")):
        plain, full = read_path(path), read_path(path, EVERYTHING)
        own = {message.key for message in plain.messages}

        assert [(m.key, m.text) for m in full.messages if m.key in own] == [
            (m.key, m.text) for m in plain.messages
        ]
        assert {m.role for m in full.messages if m.key not in own and m.on_path} <= {
            "tool",
            "reasoning",
            "user",
        }
