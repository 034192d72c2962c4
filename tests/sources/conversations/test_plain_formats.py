"""Plain messages, Markdown transcripts, Aider, Gemini: small formats."""

import json
from pathlib import Path

import pytest
from tests.kit.exports import EVERYTHING, json_lines, read_file, said

from memex.sources.conversations.records import Include

SAMPLES = Path(__file__).with_name("samples")
TURNS = [("user", "What is BM25?"), ("assistant", "A ranking function.")]


def messages(turns: list[tuple[str, str]]) -> list[dict[str, object]]:
    """Return turns as objects with a role."""
    return [{"role": role, "content": text} for role, text in turns]


def test_messages_of_any_program_are_read() -> None:
    """Arrays, objects, lines, one conversation or several; roles and texts under their usual names."""
    for content in (
        json.dumps(messages(TURNS)),
        json.dumps({"messages": messages(TURNS)}, indent=2),
        json.dumps([{"id": "c", "title": "T", "messages": messages(TURNS)}]),
        json.dumps({"conversations": [{"id": "c", "messages": messages(TURNS)}]}),
        json_lines(*messages(TURNS)).decode(),
        json_lines({"messages": messages(TURNS)}, {"messages": []}).decode(),
        json.dumps(
            [
                {"role": "human", "text": TURNS[0][1]},
                {"role": "AI", "content": [{"type": "text", "text": TURNS[1][1]}]},
            ]
        ),
    ):
        reading = read_file(content.encode(), name="chat.json")

        assert set(reading.kinds) == {"messages"}
        assert said(reading.messages) == TURNS
        assert [m.human_authored for m in reading.messages] == [True, False]


def test_ids_times_and_names_of_messages_are_kept() -> None:
    """An id that stands twice is not used twice."""
    lines = [
        {"role": "user", "content": "a", "id": "x", "timestamp": "2026-01-01T00:00:00Z", "name": "Ann"},
        {"role": "assistant", "content": "b", "id": "x", "created_at": 1767225600, "model": "m"},
        {"role": "system", "content": "rules"},
        {"role": "tool", "content": "4"},
        {"role": "wizard", "content": "?"},
    ]
    plain, full = (read_file(json_lines(*lines), include) for include in (Include(), EVERYTHING))

    assert [(m.key, m.parent, m.author, m.model) for m in plain.messages] == [
        ("x", None, "Ann", None),
        ("line:2", "x", None, "m"),
    ]
    assert all(m.at is not None for m in plain.messages)
    assert [m.role for m in full.messages] == ["user", "assistant", "tool"]
    assert dict(plain.report.unknown) == {"role wizard": 1}


def test_a_chat_has_the_key_of_its_name_and_first_message() -> None:
    """So it stays the same when it grows, and two chats that begin alike differ."""
    short, grown = json_lines(*messages(TURNS[:1])), json_lines(*messages(TURNS))
    keys = [
        read_file(content, name=name).conversations[0][0].key
        for name, content in (("a/chat.jsonl", short), ("b/chat.jsonl", grown), ("other.jsonl", grown))
    ]

    assert keys[0] == keys[1] != keys[2]


def test_markdown_says_who_speaks() -> None:
    """By headings, bold names or names; a heading before them is the title."""
    for text in (
        "# Title\n\n## User\n\nWhat is BM25?\n\n## Assistant\n\nA ranking function.\n",
        "# Title\n### 🧑 You:\nWhat is BM25?\n### 🤖 ChatGPT said:\nA ranking function.",
        "# Title\n\n**Human:** What is BM25?\n\n**Claude:** A ranking function.",
        "# Title\n\nUser: What is BM25?\nAssistant: A ranking function.\n",
        "\ufeff# Title\r\n\r\n## User\r\n\r\nWhat is BM25?\r\n\r\n## Assistant\r\n\r\nA ranking function.\r\n",
    ):
        reading = read_file(text.encode())
        [(about, found)] = reading.conversations

        assert reading.kinds == ["markdown"]
        assert about.title == "Title"
        assert said(found) == TURNS


def test_names_inside_code_and_of_other_styles_are_text() -> None:
    """A fence hides what looks like a name, and a transcript keeps to its first style."""
    answer = "See:\n\n```\n## User\nfake\n```\n\nUser: also text\n\n### Details\nmore"
    reading = read_file(f"## User\nHow?\n## Assistant\n{answer}\n## User\nThanks".encode())

    assert said(reading.messages) == [("user", "How?"), ("assistant", answer), ("user", "Thanks")]


def test_the_history_of_aider_is_read() -> None:
    """Each start is a conversation; what tools print comes when it is asked for."""
    sample = (SAMPLES / "aider.md").read_bytes()
    plain, full = (
        read_file(sample + sample.replace(b"2026-01-04", b"2026-01-05"), i) for i in (Include(), EVERYTHING)
    )

    assert plain.kinds == ["aider"]
    assert [
        (about.started_at.isoformat()[:10], said(found))
        for about, found in plain.conversations
        if about.started_at
    ] == [
        (day, [("user", "add a retry to the client"), ("assistant", "I added a retry with backoff.")])
        for day in ("2026-01-04", "2026-01-05")
    ]
    assert "Add client.py to the chat? (Y)es/(N)o [Yes]: y" in [
        m.text for m in full.messages if m.role == "tool"
    ]


def test_a_record_of_takeout_is_a_prompt_with_its_answer() -> None:
    """The answer is Markdown of its HTML; what is no prompt is skipped."""
    reading = read_file((SAMPLES / "takeout.json").read_bytes())

    assert reading.kinds == ["gemini_takeout"]
    assert [said(found) for _, found in reading.conversations] == [
        [("user", "What is BM25?"), ("assistant", "BM25 is a **ranking function**.")]
    ]
    assert dict(reading.report.skipped) == {"no_prompt": 1}


@pytest.mark.parametrize(
    "title", ["Prompted\xa0Was?", "Eingegebener Prompt: Was?", "Hai chiesto\xa0Was?", "Was?"]
)
def test_the_verb_of_a_prompt_is_in_the_language_of_the_account(title: str) -> None:
    """Known ones, and others before a hard space, are taken away."""
    html = "<p>One</p><ul><li>two</li><li><code>three</code></li></ul>"
    record = {
        "header": "Gemini-Apps",
        "title": title,
        "time": "2026-01-05T12:00:00Z",
        "safeHtmlItem": [{"html": html}],
    }

    assert said(read_file(json.dumps([record]).encode()).messages) == [
        ("user", "Was?"),
        ("assistant", "One\n\n- two\n- `three`"),
    ]


def test_a_session_of_gemini_cli_is_replayed() -> None:
    """The same id again replaces, and what was rewound is gone."""
    reading = read_file((SAMPLES / "gemini_cli.jsonl").read_bytes())
    [(about, found)] = reading.conversations

    assert reading.kinds == ["gemini_cli"]
    assert about.key == "eeee5555-0000-4000-8000-000000000001"
    assert [(m.key, m.role, m.text, m.model) for m in found] == [
        ("g1", "user", "List the open tasks", None),
        ("g2", "assistant", "Two tasks are open.", "gemini-demo"),
    ]


def test_sets_and_unknown_rewinds_of_gemini_cli() -> None:
    """`$set` replaces all messages; a rewind to an unknown message clears them."""
    head = {"sessionId": "s", "projectHash": "p"}
    one, two = ({"id": key, "type": "user", "content": key} for key in "ab")
    whole = {
        **head,
        "messages": [
            one,
            {"id": "g", "type": "gemini", "content": "hi", "toolCalls": [{"name": "ls", "args": {}}]},
        ],
    }

    assert [
        m.text
        for m in read_file(json_lines(head, one, {"$set": {"messages": [two], "summary": "S"}})).messages
    ] == ["b"]
    assert [m.text for m in read_file(json_lines(head, one, {"$rewindTo": "x"}, two)).messages] == ["b"]
    assert [m.text for m in read_file(json.dumps(whole).encode(), EVERYTHING).messages] == ["a", "hi", "{}"]
