"""Frames: two statements that are the same but for one value, such as `The tab width is 4.` and `… is 2.`. Pure.

If a thing has one such value at a time, the newer statement replaces the older one, though no word says that
something changed. `I am allergic to nuts` and `I am allergic to latex` are the same but for one value too, and both
hold: the tables of `frames.yaml` tell these apart, and what is doubtful is no frame.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from memex.subagent.statements.comparison.values import values_of
from memex.subagent.statements.rule_table import RuleTable
from memex.subagent.statements.subjects import APOSTROPHES
from memex.subagent.text_cache import cached_for_short_texts

_TABLE = RuleTable("comparison", "frames.yaml")
MAX_CHARS = 220  # of a statement that says one thing
MAX_DIFFERING = 6  # words that a value has
MAX_PLAIN_WORDS = 2  # of a value that is no number, date, name or the like
STEMMED_FROM = 4  # a longer word is compared without its ending

_IN_YEAR = re.compile(
    r"\b(?:in|since|from|until|im|ab|seit|bis|en|depuis|dès|desde|hasta) (?:19|20)\d\d\b", re.IGNORECASE
)
_KEY = re.compile(r"[:=]\s")
_ENDING = re.compile(r"(?:(?<=f)fe|(?<=n)ne|es|s|e)$")
_NUMBERED = re.compile(r"\b([^\W\d_]{2,}) (?:no\.? ?|#)?(\d[\w.-]*) ", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W_][\w.,:/@%'+-]*[\w%]|[^\W_]|[$€£¥]\d[\d.,]*")


@dataclass(frozen=True, slots=True)
class Frame:
    """The value that each of two statements has in the place where they differ."""

    newer: str
    older: str


def common_frame(newer: str, older: str) -> Frame | None:
    """Return the frame of two statements about one thing, of which only the newer one can still hold.

    None if they differ in more than one place, are about two things, may both hold, or one of them is long.
    """
    return _short_frame(newer, older) if max(len(newer), len(older)) <= MAX_CHARS else None


def verb_in(text: str) -> tuple[int, int] | None:
    """Return where the first verb stands that may stand before a value; None if there is none."""
    found = _TABLE.pattern("verb").search(text)
    return found.span() if found else None


def are_of_other_numbers(one: str, other: str) -> bool:
    """Tell whether two statements are about two things by their numbers: `crate 6007 goes to …`, `crate 6011 …`."""
    mine, theirs = _numbered(one), _numbered(other)
    return any(mine[thing] != theirs[thing] for thing in mine.keys() & theirs.keys())


@cached_for_short_texts(entries=8_192)
def _numbered(text: str) -> dict[str, str]:
    """Return the numbers that stand behind what they number and before a verb, by what they number."""
    verb = _TABLE.pattern("verb")
    return {
        found[1].casefold(): found[2]
        for found in _NUMBERED.finditer(text[:MAX_CHARS])
        if verb.match(text, found.end())
    }


@lru_cache(maxsize=4_096)
def _short_frame(newer: str, older: str) -> Frame | None:
    now, then = _tokens(newer), _tokens(older)
    first = _agreeing(now, then)
    last = min(_agreeing(now[::-1], then[::-1]), len(now) - first, len(then) - first)
    new, old = now[first : len(now) - last], then[first : len(then) - last]
    common = {token.form for token in (*now[:first], *now[len(now) - last :])}
    if not (0 < len(new) <= MAX_DIFFERING and 0 < len(old) <= MAX_DIFFERING) or common <= _TABLE.words(
        "generic"
    ):
        return None
    newer, older = newer.translate(APOSTROPHES), older.translate(APOSTROPHES)
    span, old_span = (new[0].start, new[-1].end), (old[0].start, old[-1].end)
    frame = Frame(newer[slice(*span)], older[slice(*old_span)])
    kinds = _kinds_in(newer, span) & _kinds_in(older, old_span)
    if not first:
        rest = newer[span[1] :].lstrip()
        is_role = (
            "name" in kinds and _TABLE.pattern("role").match(rest) and not _TABLE.pattern("kin").search(rest)
        )
        return frame if is_role else None
    if _splits(frame) or not _TABLE.pattern("verb").search(newer[: span[0]]):
        return None
    if not (_is_pure(newer, span, new) and _is_pure(older, old_span, old)):
        return None
    if _is_of_another_time(newer, older, span, old_span, kinds):
        return None
    if not _is_one_value(new, old, kinds) or _may_both_hold(newer, older, frame, kinds):
        return None
    is_alike = frame.newer[0].isupper() == frame.older[0].isupper()
    return frame if kinds or (is_alike and _TABLE.pattern("one").search(newer[: span[0]])) else None


def _is_of_another_time(
    newer: str, older: str, span: tuple[int, int], old_span: tuple[int, int], kinds: set[str]
) -> bool:
    """Tell whether both may hold at their times: `500 euros in 2026`, `is booked for Monday`.

    A thing has one day or time if its verb stands before that: `The audit is on 3 June`.
    """
    is_moment = any(kind.startswith(("date", "time")) for kind in kinds)
    if not is_moment:
        return any(_IN_YEAR.search(text[slice(*at)]) for text, at in ((newer, span), (older, old_span)))
    if kinds & {"money", "code"}:
        return True
    verb = list(_TABLE.pattern("verb").finditer(newer[: span[0]]))[-1]
    between = {token.form for token in _tokens(newer[verb.end() : span[0]])}
    return not between <= _TABLE.words("generic") | _TABLE.words("happens")


def _is_pure(text: str, span: tuple[int, int], tokens: Sequence["_Token"]) -> bool:
    """Tell whether what differs is nothing but values, and small words between them; a plain word is one word."""
    values = [value for value in values_of(text) if value.start < span[1] and span[0] < value.end]
    if not values:
        return len(tokens) <= MAX_PLAIN_WORDS
    small = _TABLE.words("generic") | _TABLE.words("time_words")
    return all(
        token.form in small
        or any(value.start < token.end and token.start < value.end for value in values)
        or text[token.start].isupper()
        for token in tokens
    )


def _splits(frame: "Frame") -> bool:
    """Tell whether what differs has two parts, as in `Tom: A`, or says when else, as in `11:00 on holidays`."""
    if any(_KEY.search(text) for text in (frame.newer, frame.older)):
        return True
    when = [bool(_TABLE.pattern("condition").search(text)) for text in (frame.newer, frame.older)]
    return when[0] != when[1]


def _is_one_value(new: Sequence["_Token"], old: Sequence["_Token"], kinds: set[str]) -> bool:
    """Tell whether one value differs, and not what the statements are about as well.

    `12 June at 8:30` and `19 June at 14:00` are two values of one thing; `Jena has 14` and `Gera has 9` are not,
    and neither are `A, 10` and `D, 20`.
    """
    if any(
        len(tokens) > 1 and len(tokens[0].form) == 1 and tokens[0].form.isalpha() for tokens in (new, old)
    ):
        return False
    generic = _TABLE.words("generic")
    if new[0].form in generic or old[0].form in generic:  # `at Acme`, `in Ghent`: two things of one person
        return False
    forms = {token.form for token in new}, {token.form for token in old}
    between = (forms[0] & forms[1]) - generic - _TABLE.words("time_words")
    if between:
        return False
    differing = forms[0] ^ forms[1]
    is_counted = all(any(map(str.isdigit, form)) for form in differing)
    return forms[0].isdisjoint(forms[1]) or ("name" not in kinds and bool(kinds) and is_counted)


def _may_both_hold(newer: str, older: str, frame: "Frame", kinds: set[str]) -> bool:
    """Tell whether both statements may hold: what they speak of may have several values, or happens again."""
    if _TABLE.pattern("weekly").search(frame.newer) or any(
        _TABLE.pattern("added").search(text) or _TABLE.pattern("past").search(text) for text in (newer, older)
    ):
        return True
    if not kinds and _TABLE.pattern("kind_of").search(newer):
        return True
    return not kinds - {"name"} and _TABLE.pattern("many").search(newer) is not None


@dataclass(frozen=True, slots=True)
class _Token:
    form: str
    start: int
    end: int


@cached_for_short_texts(entries=4_096)
def _tokens(text: str) -> tuple[_Token, ...]:
    return tuple(
        _Token(_stem(match[0].casefold()), *match.span())
        for match in _TOKEN.finditer(text.translate(APOSTROPHES).rstrip(" .!"))
        if match[0].casefold() not in _TABLE.words("articles", "speaker", "fillers") or _is_label(match)
    )


def _is_label(match: re.Match[str]) -> bool:
    """Tell whether a word that looks like an article names a thing, as in `vitamin A`."""
    return match.start() > 0 and match[0] == "A"


def _stem(word: str) -> str:
    """Return a word without the ending by which `lives` differs from `live`, and `cheffe` from `chef`."""
    return _ENDING.sub("", word) if len(word) > STEMMED_FROM and word.isalpha() else word


def _agreeing(one: Sequence[_Token], other: Sequence[_Token]) -> int:
    """Return how many tokens agree from the start."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].form == pair[1].form, pairs))


def _kinds_in(text: str, span: tuple[int, int]) -> set[str]:
    """Return the kinds of the values in a span; numbers of all units are one kind, and a capital makes a name."""
    kinds = {
        "number" if value.sort == "number" else value.kind
        for value in values_of(text)
        if value.start < span[1] and span[0] < value.end
    }
    return kinds | {"name"} if text[span[0]].isupper() else kinds
