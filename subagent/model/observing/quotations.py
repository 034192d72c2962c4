"""The places in messages of what a model quotes from them, and the rules by which quotations count. Pure.

A quotation counts only if it stands in the message that it is said to be from, word for word, in the author's own
words: not in code, in a quote, in a table, or in what a program put in. Only white space, quotation marks and
dashes may be written otherwise. What counts are the place and the kind; the words of the model are thrown away.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from memex.store.records import Span
from memex.store.work.records import AnsweredSpan
from memex.subagent.model.quotes import ALIKE, MIN_LETTERS
from memex.subagent.statements import sentences
from memex.subagent.statements.extraction import is_attack
from memex.subagent.work.answers import is_allowed
from memex.subagent.work.masking import mask
from memex.subagent.work.records import HUMAN_KINDS, WorkAuthor, WorkKind
from memex.subagent.work.rules import load_labels
from memex.subagent.work.turns import MAX_CLAUSE_CHARS, MAX_TURN_CHARS

MAX_SPANS = 60  # of one message
LEFT_OUT = "[…]"  # in place of what is not the author's

Fault = Literal["message", "quotation", "author", "length", "instruction", "repeated", "too_many"]

_HIDDEN = "\x00"  # no quotation reaches over it
_LEFT_OUT_AGAIN = re.compile(r"\[…\](?:\s*\[…\])+")
_QUOTATION_MARKS = "\"'“”„‘’«»`"


@dataclass(frozen=True)
class QuotableMessage:
    """A message that a model may quote from: whose it is, and its text."""

    who: WorkAuthor
    text: str

    @cached_property
    def shown(self) -> str:
        """The text as a model sees it: without code, quotes, tables, and what programs put in."""
        lines: list[str] = []
        for line, own in zip(self._text.split("\n"), self._own.split("\n"), strict=True):
            if _HIDDEN not in own:
                lines.append(line)
            else:
                lines.append(LEFT_OUT)
        return _LEFT_OUT_AGAIN.sub(LEFT_OUT, "\n".join(lines)).strip()

    @property
    def has_words(self) -> bool:
        """Return whether any of the text is its author's."""
        return any(map(str.isalnum, self.shown))

    def find(self, quotation: str) -> Iterator[Span]:
        """Yield where a quotation stands as whole words; if nowhere, where it stands without marks around it."""
        places = list(self._find(quotation)) or list(self._find(quotation.strip().strip(_QUOTATION_MARKS)))
        yield from places

    def _find(self, quotation: str) -> Iterator[Span]:
        words = quotation.translate(ALIKE).split()
        if not words or _HIDDEN in quotation:
            return
        pattern = r"\s+".join(map(re.escape, words))
        before = r"(?<!\w)" if words[0][0].isalnum() else ""
        behind = r"(?!\w)" if words[-1][-1].isalnum() else ""
        for match in re.finditer(before + pattern + behind, self._own):
            yield match.span()

    @cached_property
    def has_attack(self) -> bool:
        """Return whether the text gives orders to its reader, such as `Ignore all previous instructions`."""
        return bool(self._attacks)

    def is_attack(self, span: Span) -> bool:
        """Return whether a span is a part of such an order."""
        return any(start < span[1] and span[0] < end for start, end in self._attacks)

    @cached_property
    def _text(self) -> str:
        return self.text[:MAX_TURN_CHARS]

    @cached_property
    def _own(self) -> str:
        """The text, of the same length, with a mark in place of each character that is not the author's."""
        masked = mask(self._text)
        own = "".join(
            char if char == kept else _HIDDEN for char, kept in zip(self._text, masked, strict=True)
        )
        return own.translate(ALIKE)

    @cached_property
    def _attacks(self) -> list[Span]:
        found = sentences.split_sentences(self._own, load_labels())
        return [(start, end) for start, end in found if is_attack(self._own[start:end])]


@dataclass(slots=True)
class CheckedAnswer:
    """The spans of an answer that count, by the place of their message; `dropped` counts the rest."""

    spans: list[list[AnsweredSpan]]
    dropped: Counter[Fault] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """The number of spans that count."""
        return sum(map(len, self.spans))


@dataclass(frozen=True, slots=True)
class Quotation:
    """A model's claim that a message, counted from 1, says something of a kind in these words."""

    message: int
    kind: WorkKind
    words: str


def check_quotations(found: Sequence[Quotation], messages: Sequence[QuotableMessage]) -> CheckedAnswer:
    """Return what counts of an answer about messages."""
    checked = CheckedAnswer([[] for _ in messages])
    for quotation in found:
        if not 1 <= quotation.message <= len(messages):
            checked.dropped["message"] += 1
            continue
        spans = checked.spans[quotation.message - 1]
        placed = _place(quotation, messages[quotation.message - 1], spans)
        if isinstance(placed, str):
            checked.dropped[placed] += 1
        else:
            spans.append((quotation.kind, *placed))
    for spans in checked.spans:
        spans.sort(key=lambda span: (span[1], span[2], span[0]))
    return checked


def _place(one: Quotation, message: QuotableMessage, known: Sequence[AnsweredSpan]) -> Span | Fault:
    """Return where a quotation stands, or why it does not count."""
    words = one.words.strip()
    if not is_allowed(one.kind, message.who):
        return "author"
    if one.kind in HUMAN_KINDS and message.has_attack:
        return "instruction"
    if sum(map(str.isalnum, words)) < MIN_LETTERS or len(words) > MAX_CLAUSE_CHARS:
        return "length"
    if len(known) >= MAX_SPANS:
        return "too_many"
    taken = [(start, end) for kind, start, end in known if kind == one.kind]
    fault: Fault = "quotation"
    for span in message.find(words):
        if span[1] - span[0] > MAX_CLAUSE_CHARS:
            fault = "length"
        elif message.is_attack(span):
            fault = "instruction"
        elif any(start < span[1] and span[0] < end for start, end in taken):
            fault = "repeated"
        else:
            return span
    return fault
