"""The choices of a model of an earlier version, which its calls have in the log."""

from datetime import UTC, date, datetime

from memex.subagent.distil.choices import apply_choices
from memex.subagent.distil.reading import HumanMessage, MessageReading
from memex.subagent.planner import SaidMessage
from memex.subagent.statements.extraction import SkippedSpan, Statement

TEXT = "I prefer oolong tea. We met Mara. I live in Linz."
STATEMENTS = (
    Statement("preference", "I prefer oolong tea.", 0, 20),
    Statement("note", "We met Mara.", 21, 33),
    Statement("profile", "I live in Linz.", 34, 49),
)


def reading(number: int) -> MessageReading:
    """Return a message of three statements."""
    place = ("7k2m9x4q1cab", number)
    message = HumanMessage(place, TEXT, b"", datetime(2026, 11, 22, tzinfo=UTC))
    return MessageReading(message, SaidMessage(place, date(2026, 11, 22)), STATEMENTS, ())


def test_a_replay_takes_what_the_model_chose() -> None:
    """By their spans and of their kinds; the others are left out, and a message that it was not shown is whole."""
    shown, unseen = reading(1), reading(2)
    chosen, whole = apply_choices(
        [shown, unseen], {shown.said.link: [(21, 33, "profile"), (34, 49, "profile")]}
    )

    assert [(one.kind, one.text) for one in chosen.statements] == [
        ("profile", "We met Mara."),
        ("profile", "I live in Linz."),
    ]
    assert chosen.skipped == (SkippedSpan(0, 20, "other"),)
    assert whole == unseen
