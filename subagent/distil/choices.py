"""The statements of messages that are kept, and their kinds, where a model chose them. Pure.

A choice is a span of a message and a kind. The statement itself is what the rules read at that span, so that the
log can hold choices, and no text of a message.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memex.store.text_pool.portions import portions
from memex.subagent.distil.reading import MessageReading
from memex.subagent.statements.extraction import SkippedSpan
from memex.subagent.statements.language import StatementKind

WINDOW_CHARS = 12_000  # of messages that a model is shown at once
CONTEXT_CHARS = 400  # of what the assistant said before a message
FRAME_CHARS = 200  # around a message
NUMBER_CHARS = 24  # before each of its statements

# By the name of each message that the model was shown: where a statement begins and ends, and its kind.
StatementChoices = Mapping[str, Sequence[tuple[int, int, StatementKind]]]


def apply_choices(messages: Sequence[MessageReading], choices: StatementChoices) -> list[MessageReading]:
    """Return messages with the statements that were chosen; of those that were not shown, with all of them."""
    return [_apply(one, choices[one.said.link]) if one.said.link in choices else one for one in messages]


def logged_choices(choices: StatementChoices) -> dict[str, list[list[Any]]]:
    """Return choices in the form of the log."""
    return {name: [list(choice) for choice in chosen] for name, chosen in choices.items()}


def windows_of(messages: Sequence[MessageReading]) -> Iterator[list[MessageReading]]:
    """Yield the messages that a model is shown at once, in their order.

    Messages without a statement, and those that are too long to be shown whole, are in no window.
    """
    shown = (one for one in messages if one.statements and _shown_chars(one) <= WINDOW_CHARS)
    return portions(shown, _shown_chars, WINDOW_CHARS)


def count_fitting(messages: Sequence[MessageReading], max_windows: int) -> int:
    """Return how many messages, from the first one on, fit into so many windows."""
    for place, window in enumerate(windows_of(messages)):
        if place == max_windows:
            return next(at for at, one in enumerate(messages) if one is window[0])
    return len(messages)


def _shown_chars(message: MessageReading) -> int:
    room = CONTEXT_CHARS + FRAME_CHARS + NUMBER_CHARS * len(message.statements)
    return len(message.message.text) + room


def _apply(message: MessageReading, chosen: Sequence[tuple[int, int, StatementKind]]) -> MessageReading:
    kinds = {(start, end): kind for start, end, kind in chosen}
    kept = tuple(
        replace(statement, kind=kinds[statement.start, statement.end])
        for statement in message.statements
        if (statement.start, statement.end) in kinds
    )
    left = [
        SkippedSpan(statement.start, statement.end, "other")
        for statement in message.statements
        if (statement.start, statement.end) not in kinds
    ]
    skipped = tuple(sorted((*message.skipped, *left), key=lambda skip: skip.start))
    return replace(message, statements=kept, skipped=skipped)
