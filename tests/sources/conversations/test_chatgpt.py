"""ChatGPT's exports: trees of messages, of which a person saw one branch."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kit.exports import EVERYTHING, Reading, check, read_file, read_tree, said
from tests.kit.zips import zipped

from memex.sources.conversations.records import Include

SAMPLE = Path(__file__).with_name("samples") / "chatgpt.json"


def node(
    key: str, parent: str | None, role: str = "user", text: Any = None, **message: Any
) -> dict[str, Any]:
    """Return a node with a message; without a text it has none."""
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    said_ = {"id": key, "author": {"role": role}, "content": content, **message} if text is not None else None
    return {"id": key, "parent": parent, "children": [], "message": said_}


def conversation(*nodes: dict[str, Any], current: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a conversation of nodes."""
    return {
        "id": "c1",
        "title": "A title",
        "mapping": {n["id"]: n for n in nodes},
        "current_node": current,
        **fields,
    }


def read(*conversations: dict[str, Any], include: Include = Include()) -> Reading:  # noqa: B008
    """Return what the reader makes of an export."""
    return read_file(json.dumps(conversations).encode(), include)


def test_the_sample_gives_the_active_branch() -> None:
    """The abandoned answer has the newest time, and is off the path all the same; tools count when asked for."""
    plain, full = (read_file(SAMPLE.read_bytes(), include) for include in (Include(), EVERYTHING))
    [(about, messages)] = plain.conversations

    assert plain.kinds == ["chatgpt"]
    assert (about.key, about.title) == ("aaaa1111-0000-4000-8000-000000000001", "Choosing a queue")
    assert about.started_at is not None
    assert about.started_at.isoformat() == "2026-01-01T00:00:00.250000+00:00"
    assert [(m.key, m.parent, m.role, m.on_path, m.human_authored) for m in messages] == [
        ("n2", None, "user", True, True),
        ("n3", "n2", "assistant", False, False),
        ("n6", "n2", "assistant", True, False),
    ]
    assert messages[2].model == "gpt-x"
    assert messages[2].origin == "export#0/n6"
    assert [(m.key, m.role, m.part, m.text) for m in full.messages if m.role == "tool"] == [
        ("n4/2", "tool", "tool_call", "```python\nprint(2+2)\n```"),
        ("n5/2", "tool", "tool_result", "4"),
    ]


def test_a_conversation_gives_the_same_alone_and_in_a_list() -> None:
    """In a list, what is not read of it is dropped while it is parsed."""
    nodes = [
        node("a", None, text="first", metadata={"attachments": [{"name": "x.zip"}], "model_slug": "m"}),
        node("b", "a", "tool", {"content_type": "execution_output", "text": "4"}, name="python"),
        node(
            "c",
            "b",
            "assistant",
            {"content_type": "text", "parts": ["one", None, "two"]},
            metadata={"model_slug": "m"},
        ),
        node("d", "c", "assistant", "a fact", recipient="bio"),
        node("e", "d", text=""),
        node("f", "e", text={"content_type": "text", "parts": []}, weight=0),
    ]
    found = {**conversation(*nodes, current="f"), "id": None}
    alone, listed = (read_file(json.dumps(content).encode(), EVERYTHING) for content in (found, [found]))
    key, other = (reading.conversations[0][0].key for reading in (alone, listed))

    assert key == other
    assert [replace(m, origin="") for m in alone.messages] == [replace(m, origin="") for m in listed.messages]
    assert alone.report.candidates == listed.report.candidates == {"memory": 1}


def test_order_is_that_of_the_tree() -> None:
    """Times may be null or out of order; a system message in the middle does not break the chain."""
    reading = read(
        conversation(
            node("r", None),
            node("a", "r", text="first", create_time=9.0e8),
            node("s", "a", "system", "rules"),
            node("b", "s", "assistant", "second", create_time=None),
            node("c", "b", text="third", create_time=1.0e9),
            current="c",
        )
    )

    assert said(reading.messages) == [("user", "first"), ("assistant", "second"), ("user", "third")]
    assert [message.parent for message in reading.messages] == [None, "a", "b"]


def test_branches_follow_the_message_that_they_leave() -> None:
    """An edited question with its own answer stands between the message before and the question that is seen."""
    reading = read(
        conversation(
            node("q", None, text="question"),
            node("a", "q", "assistant", "answer"),
            node("old", "a", text="old follow-up"),
            node("old-a", "old", "assistant", "old answer"),
            node("new", "a", text="new follow-up"),
            node("new-a", "new", "assistant", "new answer"),
            current="new-a",
        )
    )

    assert [(m.key, m.parent, m.on_path) for m in reading.messages] == [
        ("q", None, True),
        ("a", "q", True),
        ("old", "a", False),
        ("old-a", "old", False),
        ("new", "a", True),
        ("new-a", "new", True),
    ]


@pytest.mark.parametrize(
    ("times", "leaf"), [((3.0e9, 2.0e9), "x"), ((2.0e9, 3.0e9), "y"), ((None, None), "deep")]
)
def test_without_a_current_node_the_newest_leaf_counts(
    times: tuple[float | None, float | None], leaf: str
) -> None:
    """Without times, the deepest leaf does."""
    nodes = [
        node("q", None, text="question"),
        node("x", "q", "assistant", "x", create_time=times[0]),
        node("y", "q", "assistant", "y", create_time=times[1]),
        *([node("d", "q", "assistant", "d"), node("deep", "d", text="deep")] if times[0] is None else []),
    ]
    reading = read(conversation(*nodes, current="gone"))

    assert [message.key for message in reading.messages if message.on_path][-1] == leaf


def test_cycles_and_missing_parents_end() -> None:
    """Each node is given once, whatever the tree looks like."""
    reading = read(
        conversation(node("a", "b", text="A"), node("b", "a", "assistant", "B"), current="a"),
        conversation(
            node("x", "gone", text="X"),
            node("y", "y", text="Y"),
            node("l", "m", text="L"),
            node("m", "l", text="M"),
        ),
    )

    assert [sorted(m.text for m in messages) for _, messages in reading.conversations] == [
        ["A", "B"],
        ["L", "M", "X", "Y"],
    ]


def test_parts_may_be_of_any_kind() -> None:
    """Strings and transcriptions are text, pictures are their pointers, blanks and nulls are nothing."""
    parts = [
        "Look",
        "",
        None,
        {"content_type": "audio_transcription", "text": "spoken"},
        {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_2"},
    ]
    picture = {"content_type": "multimodal_text", "parts": parts[4:5]}
    reading = read(
        conversation(
            node("a", None, text={"content_type": "multimodal_text", "parts": parts}),
            node("b", "a", text=picture),
        )
    )

    assert [(m.text, m.human_authored) for m in reading.messages] == [
        ("Look\n\nspoken\n\n[image: sediment://file_1]", True),
        ("[image: sediment://file_1]", False),
    ]


def test_citation_marks_are_taken_out() -> None:
    """The spans of private use and the brackets that name a source in the program."""
    text = "Use Postgres\ue200cite\ue202turn0search1\ue201 now\ue203.【12†source】"

    assert read(conversation(node("a", None, "assistant", text))).messages[0].text == "Use Postgres now."


def test_what_is_hidden_is_left_out() -> None:
    """Messages of weight 0, hidden ones, custom instructions, reasoning, recaps and memories."""
    reading = read(
        conversation(
            node("a", None, text="said"),
            node("b", "a", text="weightless", weight=0.0),
            node("c", "b", text="hidden", metadata={"is_visually_hidden_from_conversation": True}),
            node("d", "c", text={"content_type": "user_editable_context", "user_profile": "p"}),
            node(
                "e",
                "d",
                "assistant",
                {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "t"}]},
            ),
            node("f", "e", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 12s"}),
            node("g", "f", "assistant", {"content_type": "hologram", "light": 1}),
            current="g",
        )
    )

    assert said(reading.messages) == [("user", "said")]
    assert reading.report.skipped["hidden"] == 2
    assert dict(reading.report.unknown) == {"content_type hologram": 1}


def test_reasoning_is_given_when_asked_for() -> None:
    """Under a role of its own."""
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "Count."}]}
    reading = read(conversation(node("e", None, "assistant", thoughts)), include=Include(reasoning=True))

    assert [(m.role, m.part, m.text) for m in reading.messages] == [
        ("reasoning", "thinking", "Plan\n\nCount.")
    ]


def test_conversations_not_to_be_remembered_are_skipped_and_counted() -> None:
    """ChatGPT marks them."""
    kept, secret = conversation(node("a", None, text="kept")), conversation(node("b", None, text="secret"))
    reading = read(kept, {**secret, "is_do_not_remember": True})

    assert said(reading.messages) == [("user", "kept")]
    assert dict(reading.report.skipped) == {"not_to_be_remembered": 1}
    assert reading.report.skips[0].place == "export#1"


def test_saved_memories_are_counted() -> None:
    """What ChatGPT remembered is a candidate for memory, and never a message."""
    reading = read(
        conversation(
            node(
                "m",
                None,
                "system",
                {"content_type": "model_editable_context", "model_set_context": "Likes tea."},
            ),
            node("b", "m", "assistant", "Uses Postgres.", recipient="bio"),
        )
    )

    assert not reading.messages
    assert reading.report.candidates == {"memory": 2}


def test_attachments_are_names() -> None:
    """The export does not have their text."""
    attached = node("a", None, text="See", metadata={"attachments": [{"name": "x.zip"}]})
    reading = read(conversation(attached), include=Include(attachments=True))

    assert [(m.key, m.part, m.text, m.human_authored) for m in reading.messages] == [
        ("a", "message", "See", True),
        ("a/2", "attachment", "[attachment: x.zip]", False),
    ]


def test_a_project_is_a_label() -> None:
    """Its name is not in the export; a custom GPT is no project."""
    projects = [
        about.project
        for about, _ in read(
            conversation(node("a", None, text="x"), gizmo_id="g-p-123"), conversation(gizmo_id="g-abc")
        ).conversations
    ]

    assert projects == ["g-p-123", None]


def test_shards_of_a_zip_are_read_together(tmp_path: Path) -> None:
    """In order; the manifest tells which one is missing, and other files are passed over."""
    first, second = (conversation(node(key, None, text=key), id=f"conversation-{key}") for key in "ab")
    archive = zipped(
        {
            "top/conversations-001.json": json.dumps([second]).encode(),
            "top/conversations-000.json": json.dumps([first]).encode(),
            "top/export_manifest.json": json.dumps(
                {"files": [{"name": f"conversations-00{number}.json"} for number in range(3)]}
            ).encode(),
            "top/user.json": b'{"id": "user-1", "email": "someone@example.test"}',
            "top/shared_conversations.json": b'[{"id": "s", "conversation_id": "c", "title": "t"}]',
            "top/chat.html": b"<html><body>chat</body></html>",
            "top/file-1.png": b"\x89PNG\r\n\x1a\n",
        }
    )
    reading = read_tree(tmp_path, {"export.zip": archive})

    assert [message.text for message in reading.messages] == ["a", "b"]
    assert reading.messages[0].origin == "export.zip/top/conversations-000.json#0/a"
    assert {(skip.reason, skip.place.rpartition("/")[2]) for skip in reading.survey.skips} == {
        ("missing_part", "export_manifest.json"),
        ("beside", "export_manifest.json"),
        ("account", "user.json"),
        ("beside", "shared_conversations.json"),
        ("html", "chat.html"),
        ("unknown_format", "file-1.png"),
    }
    assert "conversations-002.json" in next(
        s.detail for s in reading.survey.skips if s.reason == "missing_part"
    )


def test_a_conversation_without_an_id_keeps_its_key_when_it_grows() -> None:
    """The key comes from its time and its first message."""
    short = {**conversation(node("a", None, text="first"), create_time=1.7e9), "id": None}
    grown = {**short, "mapping": {**short["mapping"], "b": node("b", "a", "assistant", "second")}}
    keys = [about.key for about, _ in read(short, grown).conversations]

    assert keys[0] == keys[1]
    assert keys[0].startswith("sha256:")


def test_a_deep_conversation_takes_linear_time() -> None:
    """A chain of 5,000 messages, and as many leaves without times."""
    chain = [
        node(f"n{number}", f"n{number - 1}" if number else None, text=str(number)) for number in range(5_000)
    ]
    leaves = [node(f"l{number}", f"n{number}", "assistant", "leaf") for number in range(5_000)]
    [(_, messages)] = read(conversation(*chain, *leaves)).conversations

    assert len(messages) == 10_000
    check(messages)
