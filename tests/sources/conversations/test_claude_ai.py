"""Claude.ai's exports: conversations, artifacts, documents of projects, memories."""

import json
from pathlib import Path
from typing import Any

from tests.kit.exports import EVERYTHING, Reading, read_file, read_tree, said
from tests.kit.zips import zipped

from memex.sources.conversations.records import Include

SAMPLE = Path(__file__).with_name("samples") / "claude_ai.json"


def message(
    key: str, sender: str = "human", text: str = "", *blocks: dict[str, Any], **fields: Any
) -> dict[str, Any]:
    """Return a message with a flat text and blocks."""
    return {"uuid": key, "sender": sender, "text": text, "content": list(blocks), **fields}


def block(text: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": text}


def call(command: str, **arguments: Any) -> dict[str, Any]:
    """Return a call of the tool for artifacts."""
    return {"type": "tool_use", "name": "artifacts", "input": {"command": command, "id": "doc", **arguments}}


def read(*messages: dict[str, Any], include: Include = Include(), **fields: Any) -> Reading:  # noqa: B008
    """Return what the reader makes of an export of one conversation."""
    found = {"uuid": "c", "name": "A title", "chat_messages": list(messages), **fields}
    return read_file(json.dumps([found]).encode(), include)


def test_the_sample_prefers_blocks_to_the_flat_text() -> None:
    """The answer comes from a block, the artifact has its last text; the rest comes when asked for."""
    plain, full = (read_file(SAMPLE.read_bytes(), include) for include in (Include(), EVERYTHING))
    [(about, messages)] = plain.conversations

    assert plain.kinds == ["claude_ai"]
    assert (about.title, about.account) == ("Refund policy wording", "bbbb2222-0000-4000-8000-0000000000aa")
    assert [(m.role, m.part, m.text, m.human_authored) for m in messages] == [
        ("user", "message", "Shorten the attached policy.", True),
        ("assistant", "message", "Here is the short version.", False),
        ("assistant", "artifact", "Refunds: paid within 30 days.", False),
    ]
    assert messages[2].parent == messages[1].key
    assert messages[2].key == "artifact:policy-short"
    assert [(m.role, m.part, m.text, m.author) for m in full.messages if m not in messages] == [
        ("user", "attachment", "Refunds are paid within thirty calendar days.", "policy.txt"),
        ("reasoning", "thinking", "They want one sentence.", None),
    ]


def test_old_exports_have_only_the_flat_text() -> None:
    """A sentence about a block that is not supported is not said by anyone."""
    old = {"uuid": "a", "sender": "human", "text": "an old question"}
    placeholder = message(
        "b", "assistant", "```\nThis block is not supported on your current device yet.\n```"
    )

    assert said(read(old, placeholder).messages) == [("user", "an old question")]


def test_an_empty_conversation_is_none_the_less_one() -> None:
    """It has no message, and a blank name is no title."""
    [(about, messages)] = read(name="").conversations

    assert (about.title, messages) == (None, [])


def test_artifacts_are_applied_to_their_last_text() -> None:
    """Tags and calls alike; what changes a version that is not in the export is counted."""
    tag = '<antArtifact identifier="doc" type="text/markdown" title="Plan">\none two\n</antArtifact>'
    reading = read(
        message("a", "assistant", "", block(f"Here:\n<antThinking>hm</antThinking>{tag}\nDone.")),
        message("b", "assistant", "", call("update", old_str="two", new_str="three"), block("Changed.")),
        message("c", "assistant", "", call("update", old_str="absent", new_str="four"), block("Failed.")),
    )

    assert [(m.key, m.part, m.text) for m in reading.messages] == [
        ("a", "message", "Here:\n[artifact: Plan]\nDone."),
        ("b", "message", "Changed."),
        ("artifact:doc", "artifact", "one three"),
        ("c", "message", "Failed."),
    ]
    assert reading.report.skipped["artifact_change_without_its_text"] == 1


def test_a_rewritten_artifact_has_its_new_text() -> None:
    """A tag of the same identifier, or a call with the whole content, replaces the text."""
    reading = read(
        message("a", "assistant", "", call("create", content="first"), block("A.")),
        message("b", "assistant", "", call("rewrite", content="second"), block("B.")),
    )

    assert [(m.parent, m.text) for m in reading.messages if m.part == "artifact"] == [("b", "second")]


def test_an_artifact_that_is_not_closed_goes_to_the_end() -> None:
    """So it is in an answer that was cut off."""
    reading = read(message("a", "assistant", "", block('Look: <antArtifact identifier="x" title="X">half')))

    assert said(reading.messages) == [("assistant", "Look: [artifact: X]"), ("assistant", "half")]


def test_branches_of_the_browsers_form_are_off_the_path() -> None:
    """The parent of a message may be named; the leaf says which branch is seen."""
    root = "00000000-0000-4000-8000-000000000000"
    reading = read(
        message("q", "human", "question", parent_message_uuid=root),
        message("old", "assistant", "old", parent_message_uuid="q"),
        message("new", "assistant", "new", parent_message_uuid="q"),
        message("next", "human", "thanks", parent_message_uuid="new"),
        current_leaf_message_uuid="next",
    )

    assert [(m.key, m.parent, m.on_path) for m in reading.messages] == [
        ("q", None, True),
        ("old", "q", False),
        ("new", "q", True),
        ("next", "new", True),
    ]


def test_tools_are_given_when_asked_for() -> None:
    """The words keep their keys; each further part has a number that no option changes."""
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "name": "web_search", "input": {"query": "bm25"}},
        {
            "type": "tool_result",
            "name": "web_search",
            "content": [{"type": "knowledge", "title": "T", "text": "found"}],
        },
        block("It is a ranking."),
    ]
    tools, both = (
        read(message("a", "assistant", "", *blocks), include=include)
        for include in (Include(tools=True), EVERYTHING)
    )

    assert [(m.key, m.role, m.text, m.author) for m in tools.messages] == [
        ("a", "assistant", "It is a ranking.", None),
        ("a/3", "tool", '{"query": "bm25"}', "web_search"),
        ("a/4", "tool", "T\n\nfound", "web_search"),
    ]
    assert [m.key for m in both.messages] == ["a", "a/2", "a/3", "a/4"]


def test_projects_and_memories_are_counted_and_not_read(tmp_path: Path) -> None:
    """Documents, instructions and memories are candidates."""
    project = {
        "uuid": "p", "name": "Shop", "prompt_template": "Be brief.", "creator": {"uuid": "u1"},
        "docs": [{"uuid": "d", "filename": "policy.md", "content": "Refunds take 30 days."}],
    }  # fmt: skip
    memories = [
        {
            "account_uuid": "u1",
            "conversations_memory": "Likes tea.",
            "project_memories": {"p": "Uses Postgres."},
        },
        {
            "account_uuid": "u2",
            "conversations_memory": "Likes coffee.",
            "project_memories": [{"uuid": "q", "memory": "Go."}],
        },
    ]
    found = read_tree(
        tmp_path,
        {
            "projects.json": json.dumps([project]).encode(),
            "memories.json": json.dumps(memories).encode(),
            "users.json": b'[{"uuid": "u1", "full_name": "Someone", "email_address": "someone@example.test"}]',
        },
    )
    one = read_file(json.dumps(memories[0]).encode())

    assert not found.messages
    assert found.report.candidates == {"document": 1, "instructions": 1, "memory": 4}
    assert one.report.candidates == {"memory": 2}
    assert found.reasons == {"account"}


def test_projects_in_files_of_their_own_are_recognised() -> None:
    """`projects/<uuid>.json` holds one."""
    project = {
        "uuid": "p",
        "name": "Shop",
        "prompt_template": "",
        "docs": [{"uuid": "d", "content": "Text."}],
    }

    assert read_file(json.dumps(project).encode()).report.candidates == {"document": 1}


def test_a_manifest_says_which_files_to_download(tmp_path: Path) -> None:
    """Nothing is fetched, and the addresses, which hold keys, are not repeated."""
    names = [f"data-2026-01-01-batch-000{number}.zip" for number in range(2)]
    manifest = {"files": [{"url": f"https://storage.example.test/{name}?signature=secret"} for name in names]}
    reading = read_tree(tmp_path, {"manifest-2026.json": json.dumps(manifest).encode()})
    [skip] = reading.survey.skips

    assert skip.reason == "manifest"
    assert all(name in skip.detail for name in names)
    assert "secret" not in skip.detail


def test_the_same_name_goes_to_the_reader_of_its_content(tmp_path: Path) -> None:
    """ChatGPT's and Claude's files are both called `conversations.json`."""
    samples = SAMPLE.parent
    files = {
        "one.zip": zipped({"conversations.json": (samples / "chatgpt.json").read_bytes()}),
        "two/conversations.json": SAMPLE.read_bytes(),
        "three.zip": zipped({"x/conversations-000.json": SAMPLE.read_bytes()}),
    }
    reading = read_tree(tmp_path, files)

    assert reading.kinds == ["chatgpt", "claude_ai", "claude_ai"]
    assert reading.counts == [(1, 1), (1, 1), (1, 1)]
