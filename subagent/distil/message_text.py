"""The statements in the texts of messages: the words of the person who wrote them, and nobody else's. Pure.

A message is read as a text for `memory_remember` is, with these differences: it never makes memory forget,
and quoted lines, code alone and what was pasted state nothing; neither do single words and orders to play a role. A
process may do it.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from memex.errors import LimitExceeded
from memex.store import markdown
from memex.store.citations.syntax import without_any_citation
from memex.store.conversations.machine_words import machine_spans
from memex.store.records import Span
from memex.subagent.remember.recalled import recalled_spans
from memex.subagent.statements.bullets import UNDATED
from memex.subagent.statements.extraction import Extraction, SkippedSpan, SkipReason, Statement
from memex.subagent.statements.forgetting import ForgetRequest, find_forget_request
from memex.subagent.statements.pasted import find_pasted
from memex.subagent.statements.storable import extract_storable

_LINE_END = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # as `str.splitlines`
_QUOTED_LINE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*>")
_LETTER = re.compile(r"[^\W\d_]")
MAX_CHARS = 200_000  # of a message that is read, as of a text for memory_remember
MAX_STATEMENT_CHARS = 2_000  # a longer one is no statement, but something that was pasted

_PLACEHOLDER = re.compile(
    r"\[[a-z ]{1,20}: [^\[\]]*\]"
)  # what a reader of an export puts in place of a picture
_ONE_WORD = re.compile(r"[A-Za-z]{1,30}[.!,]{0,3}")
_ROLE = re.compile(
    r"(?:you are|you're|act as|pretend to be|imagine you) (?:now )?(?:an?|the|my)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class TextReading:
    """The statements of a message, the spans that are skipped, and the request to forget that it holds."""

    extraction: Extraction
    request: ForgetRequest | None = None


def read_texts(texts: Sequence[tuple[str, date]]) -> list[TextReading]:
    """Return what messages state, each given with the day on which it was written."""
    return [read_text(text, day) for text, day in texts]


def read_text(text: str, day: date) -> TextReading:
    """Return what a message states, with dates beside days if the day of the message is known."""
    if len(text) > MAX_CHARS:
        return too_long(text)
    try:
        reading = extract_storable(text, None if day == UNDATED else day)
    except LimitExceeded:
        return too_long(text)
    kept, skipped = [], list(reading.skipped)
    lines, fences = [0, *(found.end() for found in _LINE_END.finditer(text))], _fences(text)
    pasted, recalled = find_pasted(text), [*recalled_spans(text), *machine_spans(text)]
    for statement in reading.statements:
        line = lines[bisect_right(lines, statement.start) - 1]
        if any(start < statement.end and statement.start < end for start, end in recalled):
            skipped.append(SkippedSpan(statement.start, statement.end, "recalled"))
        elif reason := _no_statement(statement, text, line, fences) or _not_said(statement, pasted):
            skipped.append(SkippedSpan(statement.start, statement.end, reason))
        else:
            kept.append(replace(statement, text=statement.text.strip()))
    return TextReading(
        Extraction(tuple(kept), tuple(sorted(skipped, key=lambda skip: skip.start))),
        find_forget_request(text),
    )


def too_long(text: str) -> TextReading:
    """Return the reading of a text that is too long to be read."""
    return TextReading(Extraction((), (SkippedSpan(0, len(text), "limit"),)))


def _no_statement(statement: Statement, text: str, line: int, fences: Sequence[Span]) -> SkipReason | None:
    """Return why what a text would state is nothing that its writer stated; None if it is.

    Args:
        statement: found in the text.
        text: the whole text.
        line: where the line begins in which the statement begins.
        fences: where code stands in the text, in order.
    """
    before = bisect_right(fences, (statement.start, len(text))) - 1
    if before >= 0 and statement.start < fences[before][1]:
        return "code"
    written = text[statement.start : statement.end].splitlines()
    if any(map(_QUOTED_LINE.match, (text[line : line + MAX_STATEMENT_CHARS], *written))):
        return "quoted"
    if not _LETTER.search(without_any_citation(statement.text)):
        return "empty"
    if _PLACEHOLDER.fullmatch(statement.text):
        return "other"
    return "limit" if len(statement.text) > MAX_STATEMENT_CHARS else None


def _fences(text: str) -> Sequence[Span]:
    return markdown.parse(text).fences if "```" in text or "~~~" in text else ()


def _not_said(statement: Statement, pasted: Sequence[Span]) -> SkipReason | None:
    """Return why a statement says nothing about its writer: it was pasted, is one word or gives out a role."""
    before = bisect_left(pasted, (statement.end, 0)) - 1
    if before >= 0 and statement.start < pasted[before][1]:
        return "pasted"
    if _ONE_WORD.fullmatch(statement.text):
        return "small_talk"
    return "instruction" if _ROLE.match(statement.text) else None
