"""Asides: words of a statement that say when or how often something is, and nothing about what it is. Pure.

`I take vitamin D every morning` says what `I take vitamin D` says, and when. To be wrong here is to take out a
statement that says more, so every word counts that the tables of `asides.yaml` do not have.
"""

import re
from collections.abc import Sequence

from memex.subagent.statements.rule_table import RuleTable

_TABLE = RuleTable("comparison", "asides.yaml")
_NUMBER = re.compile(r"\d[\d.:/-]*(?:am|pm|st|nd|rd|th|h)?")
_CLOCK = re.compile(r"\d{1,2}(?:[:.]\d\d)?(?:am|pm)|\d{1,2}:\d\d|\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)")


def rest_of(words: Sequence[str], within: Sequence[str]) -> list[int] | None:
    """Return which words of a statement are left over; None if it does not have all of `words` in their order."""
    left, place = [], 0
    for number, word in enumerate(within):
        if place < len(words) and word == words[place]:
            place += 1
        else:
            left.append(number)
    return left if place == len(words) else None


def are_asides(words: Sequence[str], places: Sequence[int], *, may_repeat: bool) -> bool:
    """Tell whether some words of a statement say only when it is.

    Args:
        words: of the statement, in lower case.
        places: which of its words are asked about, counted from 0.
        may_repeat: words such as `every` and `since` count too.
    """
    allowed = _TABLE.words("when", "often") if may_repeat else _TABLE.words("when")

    def is_aside(place: int) -> bool:
        word = words[place]
        if word in _TABLE.words("between"):
            return all(beside in places and words[beside] in allowed for beside in (place - 1, place + 1))
        if not _NUMBER.fullmatch(word):
            return word in allowed
        before = words[place - 1] if place else ""
        behind = words[place + 1] if place + 1 < len(words) else ""
        is_time = before in _TABLE.words("before_number") or behind in _TABLE.words("behind_number")
        return is_time or _CLOCK.fullmatch(word) is not None

    return all(is_aside(place) for place in places)


def comes_again(words: Sequence[str]) -> bool:
    """Tell whether words say that something comes again and again."""
    return not _TABLE.words("again").isdisjoint(words)
