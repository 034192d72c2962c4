"""Sentences that put right what memory said, or deny it: `No, that's wrong, …`, `It is not true that …`. Pure.

Somebody who says so speaks of one stored statement, and that has to be beyond doubt: a correction is the same
statement but for one place, and a denial has the same words. The phrases are those of `putting_right.yaml`.
"""

import re
from collections.abc import Sequence
from functools import cache

from memex.store.records import Span
from memex.store.search.analyzer import Analyzer
from memex.subagent.statements.comparison.clauses import base_form
from memex.subagent.statements.comparison.frames import verb_in
from memex.subagent.statements.comparison.values import values_of
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.rule_table import RuleTable
from memex.subagent.statements.subjects import APOSTROPHES
from memex.subagent.text_cache import cached_for_short_texts

MAX_CHARS = 220  # of a sentence that puts something right
MAX_DIFFERING = 6  # words that a value has
MAX_AT_END = 2  # of a value behind which nothing stands, where no known verb stands before it
MIN_COMMON = 2  # words that a correction, or a denial, and a stored statement have in common

_TABLE = RuleTable("comparison", "putting_right.yaml")
_TOKEN = re.compile(r"[^\W_]+(?:['’.@:/+-][^\W_]+)*")


def is_lead(sentence: str) -> bool:
    """Return whether a sentence only says that something is wrong, such as `No, that's not right.`."""
    return len(sentence) <= MAX_CHARS and _pattern("lead").fullmatch(_plain(sentence)) is not None


def correcting_spans(sentences: Sequence[Span], text: str) -> dict[Span, bool]:
    """Return the sentences of a text that put something right; and whether it says outright that this was wrong."""
    found, is_led = {}, False
    for start, end in sentences:
        sentence = _plain(text[start:end])
        if len(sentence) > MAX_CHARS:
            is_led = False
        elif not is_lead(sentence):
            opening = _pattern("opening").match(sentence)
            if is_led or opening:
                found[start, end] = is_led or (opening is not None and opening["wrong"] is not None)
            is_led = False
        else:
            is_led = True
    return found


def last_retraction(text: str) -> int:
    """Return where a text last takes back, or puts right, what it said before; -1 if it does not."""
    found = _pattern("retraction").finditer(text.translate(APOSTROPHES))
    return max((match.start("back") for match in found), default=-1)


def is_hedged(text: str) -> bool:
    """Return whether a text says that its teller is not sure."""
    return _TABLE.pattern("hedge").search(text.translate(APOSTROPHES)) is not None


def puts_right(text: str, stored: str) -> bool:
    """Return whether a sentence is a stored statement but for one value, which it puts right."""
    plain = _without_opening(_plain(text))
    now, then = _tokens(plain), _tokens(_plain(stored))
    first = _agreeing(now, then)
    last = min(_agreeing(now[::-1], then[::-1]), len(now) - first, len(then) - first)
    differing = len(now) - first - last, len(then) - first - last
    if min(differing) == 0 or max(differing) > MAX_DIFFERING or first + last < MIN_COMMON:
        return False
    is_at_end = last == 0 and max(differing) <= MAX_AT_END
    return is_at_end or verb_in(" ".join(now[:first])) is not None


@cached_for_short_texts(entries=1_024)
def denied_words(text: str, analyzer: Analyzer) -> frozenset[str]:
    """Return the words of what a sentence says is not so, or no longer; none if it denies nothing."""
    plain = _without_opening(_plain(text))
    if len(plain) > MAX_CHARS:
        return frozenset()
    bare, count = _TABLE.pattern("denial").subn(" ", plain)
    return _words(bare, analyzer) if count else frozenset()


def denies(text: str, stored: str, analyzer: Analyzer) -> bool:
    """Return whether a sentence denies just what a statement says: it begins alike, and lacks at most one word."""
    if len(denied := denied_words(text, analyzer)) < MIN_COMMON:
        return False
    said = _words(_plain(stored), analyzer)
    if not denied <= said or _TABLE.pattern("denial").search(_plain(stored)):
        return False
    if denied == said:
        return True
    plain = _TABLE.pattern("denial").sub(" ", _without_opening(_plain(text)))
    begins_alike = _tokens(plain)[:1] == _tokens(_plain(stored))[:1]
    return begins_alike and len(said - denied) == 1 and bool(values_of(plain))


def _without_opening(plain: str) -> str:
    opening = _pattern("opening").match(plain)
    return plain[opening.end() :] if opening else plain


def _words(plain: str, analyzer: Analyzer) -> frozenset[str]:
    return frozenset(lexeme for word in _TOKEN.findall(plain) for lexeme in analyzer.lexemes(base_form(word)))


def _plain(text: str) -> str:
    return " ".join(without_dates(text[: 2 * MAX_CHARS]).translate(APOSTROPHES).split())


def _tokens(plain: str) -> list[str]:
    return [token.casefold() for token in _TOKEN.findall(plain)]


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a sentence that only says that something is wrong, or of one that begins so."""
    led = rf"\W*(?:(?:{_TABLE.joined('start')})\b[ ,.!…]*)*(?P<wrong>{_TABLE.joined('wrong')})"
    forms = {
        "lead": rf"{led}[ .!]*",
        # `It is not true that …` opens no correction.
        "opening": rf"{led}[ ,.:;!–—-]+(?!that\b|dass\b|que\b)(?=\w)|\W*(?:{_TABLE.joined('opening')})[ ,:]+",
        "retraction": rf"(?:^|[.!?;:\n–—-])\W*(?:(?:{_TABLE.joined('start')})\b[ ,.!…]*)*"
        rf"(?P<back>{_TABLE.joined('wrong')}|{_TABLE.joined('opening')}|{_TABLE.joined('retraction')})(?!\w)",
    }
    return re.compile(forms[name], re.IGNORECASE)
