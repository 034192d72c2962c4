"""The sides of a question: the sentences that a memory should hold, and the amounts that changed. Pure.

BEAM says which messages answer a question, but neither which sentence does, nor which value is out of date. Both
are read from the data by the same plain rules for each question, and by none of the rules of the planner:

- The sentence of a message that counts is the one with the most words of the question and its answer.
- The newest values are the amounts in the answer: numbers with the words beside them. A message is the newer one
  if one of its sentences holds them all.
- An older value is another number of the same kind, such as another `%` or another day of `april`, in a message
  of the evidence before the newer one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memex.evals.beam.chats import BeamQuestion, UserMessage
from memex.subagent.statements.bullets import parse_bullet

NEAR_WORDS = 3  # behind a number, which say what it counts
MIN_WORD_CHARS = 3  # which a word has more than, if it stands further behind a number
MIN_WORDS = 3  # of a text that is looked for in a sentence

_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_AMOUNT = re.compile(
    rf"(?:(?P<before>[$€£])|\b(?P<month>{_MONTH})[a-z]*\.? )?"
    r"(?<![\w.])(?P<number>\d+(?:,\d{3})*(?:[.:-]\d+)*)(?P<after> ?%| ?[a-z]+)?"
)
_UNITS = frozenset({"%", "am", "pm"})
_DIGIT_OR_LINE = re.compile(r"\d|\n")
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_PLAIN_WORDS = frozenset(
    {"and", "are", "for", "have", "how", "that", "the", "was", "what", "when", "with", "you"}
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, and the words or signs beside it that say what it counts."""

    number: str
    kinds: frozenset[str]

    def is_like(self, other: "Amount") -> bool:
        """Tell whether both count the same thing."""
        return not self.kinds.isdisjoint(other.kinds)

    def counts_same(self, other: "Amount") -> bool:
        """Tell whether both count as many of the same thing."""
        return self.number == other.number and self.is_like(other)


@dataclass(frozen=True, slots=True)
class Update:
    """A knowledge update: the newest values, the message that says them first, and the messages before it."""

    newest: frozenset[Amount]
    later: UserMessage
    earlier: tuple[UserMessage, ...]

    def is_newer(self, text: str) -> bool:
        """Tell whether a text states the newest values, beside the same words or in the newer message."""
        amounts = amounts_of(text)
        is_same = all(any(amount.counts_same(same) for amount in amounts) for same in self.newest)
        return is_same or (_has_numbers(amounts, self.newest) and is_part(text, self.later.text))

    def is_older(self, text: str) -> bool:
        """Tell whether a text is a part of an earlier message, and states an older value and no newest one."""
        return any(is_part(text, message.text) for message in self.earlier) and bool(self.older_amounts(text))

    def older_amounts(self, text: str) -> list[Amount]:
        """Return the amounts of a text that count what the newest ones count, and differ; none if it has both."""
        amounts = amounts_of(text)
        if self.is_newer(text):
            return []
        numbers = {amount.number for amount in self.newest}
        return [
            amount
            for amount in amounts
            if amount.number not in numbers and any(map(amount.is_like, self.newest))
        ]


def update_of(question: BeamQuestion) -> Update | None:
    """Return what a question about a knowledge update is about; None if its values are no numbers."""
    newest = frozenset(amount for amount in amounts_of(question.answer) if not _YEAR.fullmatch(amount.number))
    for place, message in enumerate(question.evidence):
        said = (_has_numbers(amounts_of(sentence), newest) for sentence in sentences_of(message.text))
        if newest and any(said):
            update = Update(newest, message, question.evidence[:place])
            before = (sentence for older in update.earlier for sentence in sentences_of(older.text))
            if any(map(update.older_amounts, before)):
                return update
    return None


def amounts_of(text: str) -> list[Amount]:
    """Return the amounts in a text, in their order."""
    lower = text.casefold()
    found = []
    for match in _AMOUNT.finditer(lower):
        after = (match["after"] or "").strip()
        beside = [match["before"], match["month"], after]
        if not (match["before"] or match["month"] or after in _UNITS):
            following = _DIGIT_OR_LINE.split(lower[match.end() :], maxsplit=1)[0]
            beside += [
                word for word in _WORD.findall(following)[: NEAR_WORDS - 1] if len(word) > MIN_WORD_CHARS
            ]
        kinds = frozenset(filter(None, beside)) - _PLAIN_WORDS
        found.append(Amount(match["number"].replace(",", ""), kinds))
    return found


def key_sentence(message: UserMessage, question: BeamQuestion) -> str:
    """Return the sentence of a message that has the most words of a question and its answer."""
    wanted = set(_words(f"{question.text} {question.answer}")) - _PLAIN_WORDS
    return max(sentences_of(message.text), key=lambda sentence: len(wanted & set(_words(sentence))))


def sentences_of(text: str) -> list[str]:
    """Return the sentences and lines of a text."""
    return [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence.strip()]


def states(text: str, sentence: str) -> bool:
    """Tell whether a text is a sentence, a part of it, or holds it."""
    return is_part(text, sentence) or is_part(sentence, text)


def is_part(text: str, whole: str) -> bool:
    """Tell whether a text, at least three words, stands in another one; marks and dates of bullets do not count."""
    words = _words(parse_bullet(text))
    return len(words) >= MIN_WORDS and f" {' '.join(words)} " in f" {' '.join(_words(whole))} "


def _has_numbers(amounts: Sequence[Amount], wanted: frozenset[Amount]) -> bool:
    return {amount.number for amount in wanted} <= {amount.number for amount in amounts}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
