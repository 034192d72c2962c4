"""The statements of messages that are kept, and their kinds, where a model of an earlier version chose them. Pure.

A choice is a span of a message and a kind. The statement itself is what the rules read at that span, so a replay of
such a call needs no text of a message in the log.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memex.subagent.distil.reading import MessageReading
from memex.subagent.statements.extraction import SkippedSpan
from memex.subagent.statements.language import StatementKind

# By the name of each message that the model was shown: where a statement begins and ends, and its kind.
StatementChoices = Mapping[str, Sequence[tuple[int, int, StatementKind]]]


def apply_choices(messages: Sequence[MessageReading], choices: StatementChoices) -> list[MessageReading]:
    """Return messages with the statements that were chosen; of those that were not shown, with all of them."""
    return [_apply(one, choices[one.said.link]) if one.said.link in choices else one for one in messages]


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
