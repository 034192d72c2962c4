"""The list of what programs put into the place of a person's words, as readers, distilling and work use it."""

from datetime import date

from memex.sources.conversations.formats.typed import of_claude_code, of_codex
from memex.store.conversations.machine_words import ELEMENTS, machine_spans
from memex.subagent.distil.message_text import read_text
from memex.subagent.work.turns import SessionTurn, observe

WORDS = "TODO: rotate the keys. I live in Graz."
MACHINES = [f"<{name}>\n{WORDS}\n</{name}>" for name in ELEMENTS if not name.startswith("command-")]
MACHINES += [
    f'<teammate-message from="bo">{WORDS}</teammate-message>',
    f"<memory-3fa9>\n{WORDS}\n</memory-3fa9>",
    f"This session is being continued from a previous conversation. {WORDS}",
    f"From Memex, the user's memory: where the work stands. {WORDS}",
    f"[SYSTEM NOTIFICATION - not the user] {WORDS}",
    "Implement the plan.",
    f"Implement the following plan:\n\n# Keys\n\n{WORDS}",
    f'<teammate-message teammate_id="bo" color="blue">{WORDS}',
]


def test_nothing_of_a_program_is_a_persons_word() -> None:
    """No reader gives it, no statement is made of it, and no work is found in it; words beside it count."""
    for text in MACHINES:
        assert of_claude_code(text) == "", text
        assert read_text(text, date(2026, 3, 1)).extraction.statements == (), text
        assert observe(SessionTurn("user", text, human_authored=True)) == (), text
        if not text.startswith("This session"):
            assert of_codex(text) in ("", text.strip())
        beside = f"{text}\n\nTODO: write the docs" if text.endswith(">") else WORDS
        kinds = [one.kind for one in observe(SessionTurn("user", beside, human_authored=True))]
        assert kinds == ["pending"] or "pending" in kinds, text


def test_what_a_person_writes_about_tags_stays() -> None:
    """An element that does not end, other tags and a sentence about a button are words like others."""
    for text in (
        "Why does <system-reminder> stand here?",
        "<div>Hello</div>",
        "Implement the plan of Bo, please.",
    ):
        assert machine_spans(text) == []
        assert of_claude_code(text) == text
