"""Corrections: `Port 4190, not 4180` puts a value right that a stored statement has. Pure.

Such a sentence is no statement by itself: it says of what it speaks in one or two words. So the value is put right
in the stored statement, and everything else there stays. To be wrong here is to lose a value, so all that the
sentence says beside the two values has to stand in the stored statement, which has the wrong value once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memex.store.search.analyzer import Analyzer
from memex.subagent.statements.comparison.values import Value, values_of
from memex.subagent.statements.days.dating import without_dates
from memex.subagent.statements.subjects import APOSTROPHES
from memex.subagent.text_cache import cached_for_short_texts

MAX_CHARS = 120  # of a sentence that puts a value right
MIN_DISTINCT_DIGITS = 4  # of a number that tells by itself which statement is meant

_BUT = re.compile(
    r"^(?P<lead>.*?)\b(?:not|nicht|pas|no) (?P<wrong>[^,]{1,40}?),? (?:but|sondern|mais|sino) (?P<right>.{1,40})$",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"^(?P<right>.+?),? \(?(?:and |und |et |y )?(?:not|nicht|pas|no) (?P<wrong>.{1,40})$", re.IGNORECASE
)
_LABEL = re.compile(r"^(?:correction|korrektur|corrección)s? ?: ", re.IGNORECASE)
_COMMA = re.compile(r"[,(–—-] ?(?:and |und |et |y )?(?:not|nicht|pas|no) ", re.IGNORECASE)
# Words that say that something is put right, and that only join the values to it.
_ASIDE = re.compile(
    r"\b(?:correction|corrected|correcting|sorry|oops|wait|actually|no|yes|well|i (?:meant|mean|was wrong)"
    r"|my (?:mistake|bad)|typo|in fact|make that|it'?s|it is|it was|that'?s|that is|should (?:be|say|read)"
    r"|right one is|the|an?|is|are|was"
    r"|will be|on|at|in|for|from|of|to|korrektur|entschuldigung|ich meinte|doch|es ist|der|die|das|ist"
    r"|sind|am|um|im|désolée?|pardon|je voulais dire|c'est|en fait|le|la|les|est|sont|à|perdón|quise decir"
    r"|corrección|es|son|el|los|las|en)\b",
    re.IGNORECASE,
)
DATE_BESIDE = re.compile(r"^ \(\d{4}-\d\d-\d\d[^)\n]{0,20}\)")  # beside the day that was wrong
_YEAR = re.compile(r"(?:19|20)\d\d")
_MANY = re.compile(
    r"[.!?;:]\s|\n|\b(?:if|because|unless|should|would|could|maybe|perhaps|wenn|si)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Correction:
    """The right value and the wrong one, as they are written, and what else the sentence says."""

    right: str
    wrong: str
    beside: str


def corrected(text: str, stored: str, analyzer: Analyzer) -> str | None:
    """Return a stored statement with the value put right that a sentence corrects; None if it corrects another one.

    Args:
        text: the sentence.
        stored: a stored statement.
        analyzer: makes lexemes.
    """
    for correction in _known_corrections(text):
        if _is_meant(correction, stored, analyzer) and (place := _place_of(correction.wrong, stored)):
            return stored[: place[0]] + correction.right + DATE_BESIDE.sub("", stored[place[1] :])
    return None


@cached_for_short_texts(entries=64)
def _known_corrections(text: str) -> tuple[Correction, ...]:
    """Return what `_corrections` yields, which is asked for with each stored statement."""
    return tuple(_corrections(text))


def _corrections(text: str) -> Iterator[Correction]:
    """Yield the ways in which a sentence can be read as one that puts a value right."""
    plain = _LABEL.sub("", " ".join(without_dates(text).translate(APOSTROPHES).split())).strip(" .!)")
    if len(plain) > MAX_CHARS or _MANY.search(plain):
        return
    if both := _BUT.match(plain):
        yield from _pairs(both["lead"], both["right"], both["wrong"], is_right_last=True)
    elif _COMMA.search(plain) and (negated := _NOT.match(plain)):
        yield from _pairs("", negated["right"].rstrip(" ,(–—-"), negated["wrong"], is_right_last=False)


def _pairs(lead: str, right: str, wrong: str, *, is_right_last: bool) -> Iterator[Correction]:
    """Yield the values of one kind on both sides; the other words of both sides are what stands beside them."""
    wrongs = [value for value in values_of(wrong) if _covers(value, wrong)] or _names(wrong)
    for old in wrongs:
        rights = [value for value in values_of(right) or _names(right) if value.kind == old.kind]
        if not rights:
            continue
        new = rights[0] if is_right_last else rights[-1]
        if new.form != old.form:
            beside = f"{lead} {right[: new.start]} {right[new.end :]}"
            yield Correction(right[new.start : new.end], wrong[old.start : old.end], beside)


def _covers(value: Value, text: str) -> bool:
    """Tell whether a text is a value, and besides only words such as `on`."""
    return not _ASIDE.sub("", text[: value.start] + text[value.end :]).strip(" ,.")


def _names(text: str) -> list[Value]:
    """Return a text of one name as a value, also at the head of a sentence."""
    bare = _ASIDE.sub("", text).strip(" ,.")
    is_name = bare and bare in text and bare[0].isupper() and all(part[0].isupper() for part in bare.split())
    start = text.index(bare) if is_name else 0
    return [Value("name", bare.casefold(), "", start, start + len(bare))] if is_name else []


def _is_meant(correction: Correction, stored: str, analyzer: Analyzer) -> bool:
    """Tell whether a stored statement has all that a sentence says beside the values, and not the right one yet."""
    said = set(analyzer.lexemes(without_dates(stored)))
    beside = set(analyzer.lexemes(_ASIDE.sub(" ", correction.beside)))
    if set(analyzer.lexemes(correction.right)) <= said or not beside <= said:
        return False
    digits = sum(map(str.isdigit, correction.wrong))
    is_distinct = digits >= MIN_DISTINCT_DIGITS and not _YEAR.fullmatch(correction.wrong)
    return bool(beside) or is_distinct


def _place_of(wrong: str, stored: str) -> tuple[int, int] | None:
    """Return where the wrong value stands in a statement, if it stands there once."""
    found = [match.span() for match in re.finditer(rf"(?<![\w.]){re.escape(wrong)}(?![\w%]|[.:]\d)", stored)]
    return found[0] if len(found) == 1 else None
