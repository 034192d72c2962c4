"""The features of a clause in the linear model: its words and form, its surroundings, and its author. Pure.

Beside the words, their pairs and their parts, the model sees patterns: a run of words in which only the common ones
stand as they are (`has`, `still`, `not`), and of each other word its ending, so that `the importer is merged` and
`the parser is fixed` look the same.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from memex.subagent.statements.subjects import APOSTROPHES, JUDGED_CHARS
from memex.subagent.work.classifier.clauses import Clause

PART_LENGTHS = (3, 4, 5)  # characters of a part of a word
PATTERN_LENGTHS = (2, 3)  # words of a pattern
MERGED_LENGTHS = (3, 4)  # of one in which words that are not common and stand side by side count as one
PLACES_FROM = (1, 2, 4, 8)  # steps of the number of a sentence in its turn
WORDS_FROM = (1, 2, 3, 5, 8, 12, 18, 26)  # steps of the length of a clause

_TOKEN = re.compile(r"`[^`]*+`|[^\W\d_]+(?:'[^\W\d_]+)?|\d[\d.,]*+|[^\w\s]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|[?!:]")
_ENDINGS = ("ing", "ed", "en", "iert", "s", "t", "e")
_CODE, _NUMBER = "CODE", "NUM"
_OTHER = "W"  # begins what stands for a word that is not common


@dataclass(frozen=True, slots=True)
class ClauseFeatures:
    """The features of a clause.

    Attributes:
        words: its words, of whose parts `parts_of` has the features.
        groups: the features of its words, of its surroundings and of its patterns; each group weighs the same,
            however many features it has.
        form: its form and its place, which count as they are.
    """

    words: Sequence[str]
    groups: tuple[Sequence[str], ...]
    form: Sequence[str]


def clause_features(clause: Clause, common: frozenset[str]) -> ClauseFeatures:
    """Return the features of a clause.

    Args:
        clause: the clause.
        common: the words that stand as they are in patterns.
    """
    who = clause.who[0]
    raw = tokens(clause.text)
    shaped = [_token(token) for token in raw]
    words = list(dict.fromkeys(token for token in shaped if token[0].isalpha() and token[0].islower()))
    own = [f"w {token}" for token in dict.fromkeys(shaped)]
    own += [f"2 {word} {other}" for word, other in pairwise(("^", *shaped, "$"))]
    groups = (
        own,
        [f"{who} {feature}" for feature in own],
        _surrounding("^", clause.heading),
        _surrounding("a", clause.above),
        _surrounding("<", clause.before),
        _surrounding(">", clause.after),
        _patterns([_shape(token, common) for token in shaped]),
    )
    form = [f"{who} {feature}" for feature in (*_form(clause.text, raw, shaped), *_place(clause))]
    return ClauseFeatures(words, groups, form)


def tokens(text: str) -> list[str]:
    """Return the words and marks of a text."""
    return _TOKEN.findall(text[:JUDGED_CHARS].translate(APOSTROPHES))


@lru_cache(maxsize=20_000)
def parts_of(word: str) -> tuple[str, ...]:
    """Return the features of the parts of a word."""
    bounded = f"<{word}>"
    return tuple(
        f"c {bounded[start : start + length]}"
        for length in PART_LENGTHS
        for start in range(len(bounded) - length + 1)
    )


def _token(token: str) -> str:
    if token[0] == "`" and len(token) > 1:
        return _CODE
    return _NUMBER if token[0].isdigit() else token.casefold()


def _shape(token: str, common: frozenset[str]) -> str:
    if token in common or not token[0].islower():
        return token
    ending = next((one for one in _ENDINGS if token.endswith(one)), "")
    began = "ge" if token.startswith("ge") and ending in {"t", "en"} else ""
    return _OTHER + began + ending


@lru_cache(maxsize=1_024)
def _surrounding(mark: str, text: str) -> tuple[str, ...]:
    words = _WORD.findall(text.casefold().translate(APOSTROPHES))
    return tuple(f"{mark} {word}" for word in dict.fromkeys(words))


def _patterns(shapes: Sequence[str]) -> list[str]:
    bounded = ["^", *shapes, "$"]
    merged = [
        shape
        for place, shape in enumerate(bounded)
        if not (shape[0] == _OTHER and bounded[place - 1][0] == _OTHER)
    ]
    found = [f"d {run}" for run in _runs(bounded, PATTERN_LENGTHS)]
    found += [f"k {run}" for run in _runs(merged, MERGED_LENGTHS)]
    return found


def _runs(shapes: Sequence[str], lengths: Sequence[int]) -> Iterator[str]:
    for length in lengths:
        for start in range(len(shapes) - length + 1):
            yield " ".join(shapes[start : start + length])


def _form(text: str, raw: Sequence[str], shaped: Sequence[str]) -> Iterator[str]:
    """Yield how a clause begins and ends, how long it is, and what signs it holds."""
    yield from (f"{place} {word}" for place, word in zip(("first", "second", "third"), shaped, strict=False))
    yield f"begins {' '.join(shaped[:2])}"
    yield f"begins3 {' '.join(shaped[:3])}"
    yield f"ends {' '.join(shaped[-1:])}"
    yield f"ends2 {' '.join(shaped[-2:])}"
    yield from (f"words {least}" for least in WORDS_FROM if len(shaped) >= least)
    if text[:1].isupper():
        yield "upper"
    if any(token[0].isupper() for token in raw[1:]):
        yield "capital"
    yield from (f"has {mark}" for mark in (_CODE, _NUMBER, "!", ":", "(") if mark in shaped)


def _place(clause: Clause) -> Iterator[str]:
    if clause.is_item:
        yield "item"
    if clause.is_first:
        yield "opens"
    if clause.is_late:
        yield "late"
    if clause.heading:
        yield "headed"
    if clause.above.rstrip().endswith(":"):
        yield "introduced"
    if clause.sentence_text.rstrip().endswith("?"):
        yield "asked"
    yield from (f"from {least}" for least in PLACES_FROM if clause.sentence >= least)
