"""The day until which a statement says that it holds: "Jonas manages the Lyon office until 30 June 2027."."""

import re
from collections.abc import Collection
from datetime import date

from memex.subagent.statements.days.dating import OPEN_KINDS, is_past
from memex.subagent.statements.days.mentions import find_days, last_day, stands_behind
from memex.subagent.statements.extraction import extract_statements
from memex.subagent.statements.language import StatementKind
from memex.subagent.text_cache import cached_for_short_texts

# Words that may stand before such a day, so that few lines are looked at more closely.
_MAY_END = re.compile(r"\b(?:until|till?|through|bis|jusqu|hasta)\b", re.IGNORECASE)
_IS = re.compile(
    r"\b(?:is|are|am|ist|sind|bin|est|sont|suis|está|están|estoy)\b|\w'(?:s|re|m)\b", re.IGNORECASE
)


@cached_for_short_texts(entries=16_384)
def end_of(text: str, day: date) -> date | None:
    """Return the last day on which a text that was said on `day` holds; None if it says none, as nearly all do."""
    if not _MAY_END.search(text):
        return None
    ends = [
        mention
        for mention in find_days(text, day)
        if stands_behind(mention.tables.until, text, mention.start)
    ]
    if not ends or (is_past(text, ends) and not _IS.search(text)):
        return None
    return max(last_day(text, end) for end in ends)


def kinds_of(text: str) -> frozenset[StatementKind]:
    """Return the kinds of the statements of a text."""
    return frozenset(statement.kind for statement in extract_statements(text).statements)


def are_ended(kinds: Collection[StatementKind]) -> bool:
    """Return whether statements of these kinds hold no more after their last day; a task still waits."""
    return bool(kinds) and OPEN_KINDS.isdisjoint(kinds)
