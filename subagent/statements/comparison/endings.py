"""Whether a statement says that a task is done, or that what was open is settled. Pure.

A part of it says that something is over or done, and has most words in common with a part of the older statement.
No pair of the statements of `memex.evals.true_statements` counts as one, of 1.2 million.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memex.store.search.analyzer import Analyzer
from memex.subagent.statements import language

# Of three words in common and more, these shares of both parts; of two, the half of the newer part and this sum.
OLDER_SHARE, NEWER_SHARE, TWO_WORDS_SUM = 0.5, 0.3, 1.2

_BETWEEN = re.compile(
    r"[;!?]\s*|[.:,]\s+|\s(?:and|but|so|because|since|which|who|where|while"
    r"|und|aber|weil|denn|da|et|mais|parce|y|pero|porque)\s|\s?\(|\)\s?|\s[–—-]\s",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w'-]+")
_AND = re.compile(r" (?:and|&|\+|und|et|y) ")
_LONGER_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class StatementPart:
    """The words of a clause, but those for days and amounts, and whether it says that something ends."""

    words: frozenset[str]
    is_end: bool


def parts_of(plain: str, amounts: frozenset[str], analyzer: Analyzer) -> tuple[StatementPart, ...]:
    """Return the clauses of a statement.

    Args:
        plain: the statement, with single spaces and straight quotes.
        amounts: the words that say when or how much.
        analyzer: makes lexemes.
    """
    tables = language.load()
    return tuple(
        StatementPart(
            frozenset(
                lexemes[0]
                for word in _WORD.findall(tables.change_words.sub(" ", part))
                if (lexemes := analyzer.lexemes(word))
            )
            - amounts,
            tables.closing.search(part) is not None,
        )
        for part in _BETWEEN.split(plain)
        if part.strip()
    )


def ends(newer: Sequence[StatementPart], older: Sequence[StatementPart]) -> bool:
    """Tell whether a part of a statement, or two such as `strings: done`, says that an older one is over."""
    return any(_is_ended(part, newer) for part in older)


def says_more(newer: Sequence[StatementPart], older: Sequence[StatementPart]) -> bool:
    """Tell whether an older statement says more than what ends: another part with two words of its own."""
    said = {word for part in newer for word in part.words}
    return any(len(part.words - said) > 1 and not _is_ended(part, newer) for part in older)


def leaves_a_part(done: str, task: str) -> bool:
    """Tell whether a task such as `buy milk and bread` has a part of which a statement says nothing."""
    said = _beginnings(done)
    parts = [_beginnings(part) for part in _AND.split(task)]
    return len(parts) > 1 and any(part and part.isdisjoint(said) for part in parts)


def _is_ended(part: StatementPart, newer: Sequence[StatementPart]) -> bool:
    said = (one for one in (*newer, *_joined(newer)) if one.is_end)
    return any(_is_same_thing(one.words, part.words) for one in said)


def _joined(parts: Sequence[StatementPart]) -> Iterator[StatementPart]:
    for one, other in pairwise(parts):
        yield StatementPart(one.words | other.words, one.is_end or other.is_end)


def _is_same_thing(newer: frozenset[str], older: frozenset[str]) -> bool:
    common = len(newer & older)
    if common < 2:
        return False
    said, asked = common / len(newer), common / len(older)
    if common > 2:
        return asked >= OLDER_SHARE and said >= NEWER_SHARE
    return said >= OLDER_SHARE and said + asked >= TWO_WORDS_SUM


def _beginnings(text: str) -> set[str]:
    """Return the beginnings of the longer words of a text, in which their forms agree."""
    return {word[:4].casefold() for word in _LONGER_WORD.findall(text)}
