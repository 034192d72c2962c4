"""The confidence that memory answers a question, by the best line, and what that cannot judge. Pure.

The best line judges a question by meaning or words. Some questions are answered by something else, such as a list
of what is open, and some are too short, too long, or in another language than English. Their band is lifted to
`fair`, and `lifted_by` says why. It is lifted to `weak` where what was just told is not embedded yet, so that only
its words can be compared.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from memex.settings import Band
from memex.store.search.bm25 import Query
from memex.store.search.confidence import Confidence, is_below
from memex.subagent.statements.language import load as load_tables

Lift = Literal[
    "intent",
    "days",
    "path",
    "stop_words",
    "long_question",
    "remark",
    "language",
    "not_embedded",
    "model",
]

ENGLISH = "english"  # the only language for which evidence was measured
LIFTED: Band = "fair"
MAX_WORDS = 50  # of a question that is judged: a longer text holds more than a question
MAX_KEYWORDS = 8  # a longer text without a question mark is a remark, which asks for nothing

_WORD = re.compile(r"\w+")
_QUESTION_MARK = re.compile("[?\uff1f\u061f]")  # also the full-width and the Arabic one
_CODE = re.compile(r"(?<![\w'’])(?=[^\W\d_])\w*\d\w*")
_PATH = re.compile(r"(?<![\w/])(?:user|shared|projects)/\w|\w\.md\b")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The confidence that memory says something about a question.

    Attributes:
        score: of the best line, from 0 to 1.
        band: that of the score, or a higher one where something lifts it.
        lifted_by: what lifts it.
    """

    score: float
    band: Band
    lifted_by: Lift | None = None

    def lifted(self, why: Lift, band: Band = LIFTED) -> "Judgement":
        """Return the same with the band lifted, if it is lower."""
        return Judgement(self.score, band, why) if is_below(self.band, band) else self


def judge(
    question: str,
    query: Query,
    found: Confidence,
    *,
    is_of_days: bool = False,
    is_intent: bool = False,
    language: str = ENGLISH,
    is_embedded: bool = True,
) -> Judgement:
    """Return how sure it is that memory says something about a question.

    Args:
        question: as it was asked.
        query: as search weighed it.
        found: the confidence of the best line.
        is_of_days: the search was narrowed to the days that the question names.
        is_intent: the question asks for a list.
        language: of memory.
        is_embedded: all lines that can be compared by meaning were compared.
    """
    judged = Judgement(found.score, found.band)
    if not is_below(judged.band, LIFTED):
        return judged
    words = len(_WORD.findall(question))
    reasons: tuple[tuple[Lift, bool], ...] = (
        ("intent", is_intent),
        ("days", is_of_days),
        ("path", _PATH.search(question) is not None),
        ("stop_words", query.most <= 1),
        ("long_question", words > MAX_WORDS),
        ("remark", words > MAX_KEYWORDS and _QUESTION_MARK.search(question) is None),
        ("language", language != ENGLISH or not is_english(question)),
    )
    why = next((reason for reason, holds in reasons if holds), None)
    if why is not None:
        return judged.lifted(why)
    return judged if is_embedded else judged.lifted("not_embedded", "weak")


def codes_of(text: str) -> set[str]:
    """Return the words of a text that are letters with digits behind them, such as `F22`, in small letters."""
    return {found[0].casefold() for found in _CODE.finditer(text)}


def is_english(text: str) -> bool:
    """Return whether a text may be English: its letters are Latin, and its small words of no other language."""
    return is_latin(text) and load_tables("en").is_probably("en", text)


def is_latin(text: str) -> bool:
    """Return whether all letters of a text are of the Latin script."""
    letters = (char for char in text if char.isalpha() and not char.isascii())
    return all(unicodedata.name(char, "").startswith("LATIN") for char in letters)
