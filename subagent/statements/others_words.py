"""The statements of a text that its teller does not make: quotations, letters, reports, objects of an order. Pure.

- Quoted lines (`>`), and sentences that are of a sure kind only by what stands in quotation marks.
- Pasted letters, mails, logs and traces; see `pasted`.
- What stands behind a colon: what somebody else says of himself (`Ana wrote: I am allergic to nuts.`), and the text
  that an order is about (`Translate this: …`). In the line of the colon that is the rest of the paragraph; behind a
  colon that ends its line it is the next paragraph, and of an order all that follows.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from memex.subagent.statements.extraction import (
    Extraction,
    SkippedSpan,
    SkipReason,
    Statement,
    order_about_text,
    rule_verdict,
)
from memex.subagent.statements.own_names import words_of
from memex.subagent.statements.pasted import find_pasted
from memex.subagent.statements.subjects import QUOTED, is_personal

_QUOTED_LINE = re.compile(r"^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*>.*", re.MULTILINE)
# Somebody else speaks, up to the colon: the verbs of `no_requests` in `forgetting.yaml`.
_REPORT = re.compile(
    r"(?!i\b|we\b|ich\b|wir\b|je\b|nous\b|yo\b)[^:\n]{1,80}\b(?<!\bi )(?<!\bwe )"
    r"(?:wrote|writes|said|says|told me|texted"
    r"|schreibt|schrieb|sagt|sagte|meint|meinte|a écrit|écrit|a dit|dit|escribió|escribe|dijo|dice)\b[^:\n]{0,40}",
    re.IGNORECASE,
)
_COLON = re.compile(r":(?=\s|$)")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\r?\n")
_CONTENT = re.compile(r"\S")
_LINE_START = re.compile(r"^[ \t]*(?=\S)", re.MULTILINE)
MAX_HEAD_CHARS = 160


@dataclass(frozen=True, slots=True)
class _Foreign:
    """A part of a text that its teller does not say; of a report only what is said in the first person."""

    start: int
    end: int
    reason: SkipReason
    is_report: bool = False


def without_others_words(text: str, reading: Extraction, own_names: Collection[str] = ()) -> Extraction:
    """Return what a text holds, with those statements alone that its teller makes.

    Args:
        text: the whole text.
        reading: what it holds.
        own_names: words of the teller's name, as `names_in` gives them: a letter that he signed is his own.
    """
    kinds = [
        list(find(text)) for find in (_quoted_lines, partial(_pasted, own_names=own_names), _behind_colons)
    ]
    kept, skipped = [], list(reading.skipped)
    for statement in reading.statements:
        reason = _reason(statement, text, [part for parts in kinds if (part := _part_at(statement, parts))])
        if reason is None:
            kept.append(statement)
        else:
            skipped.append(SkippedSpan(statement.start, statement.end, reason))
    return Extraction(tuple(kept), tuple(sorted(skipped, key=lambda skip: skip.start)))


def _part_at(one: Statement, parts: Sequence[_Foreign]) -> _Foreign | None:
    """Return the part that a statement stands in, of parts that are in order and disjoint."""
    place = bisect_left(parts, one.end, key=lambda part: part.start)
    return parts[place - 1] if place and one.start < parts[place - 1].end else None


def _reason(one: Statement, text: str, parts: Sequence[_Foreign]) -> SkipReason | None:
    for part in parts:
        said = text[max(one.start, part.start) : one.end]
        if not part.is_report or is_personal(said.strip()):
            return part.reason
    bare = QUOTED.sub("X", one.text)
    if bare != one.text and one.kind != "note" and rule_verdict(one.text) == one.kind != rule_verdict(bare):
        return "quoted"
    return None


def _quoted_lines(text: str) -> Iterator[_Foreign]:
    yield from (_Foreign(*match.span(), "quoted") for match in _QUOTED_LINE.finditer(text))


def _pasted(text: str, own_names: Collection[str]) -> Iterator[_Foreign]:
    for start, end in find_pasted(text):
        signed = words_of(text[start:end].strip().rpartition("\n")[2])
        if not (signed and signed <= set(own_names)):
            yield _Foreign(start, end, "pasted")


def _behind_colons(text: str) -> Iterator[_Foreign]:
    """Yield what reports and orders are about, by the first colon of a line."""
    until = 0
    for line in _LINE_START.finditer(text) if ":" in text else ():
        start = line.end()
        colon = _COLON.search(text, start, start + MAX_HEAD_CHARS)
        if start < until or colon is None or "\n" in text[start : colon.start()]:
            continue
        head = text[start : colon.start()]
        is_order = order_about_text(head)
        if not is_order and not _REPORT.fullmatch(head):
            continue
        begin = colon.end()
        behind = _CONTENT.search(text, begin)
        if behind is None:
            return
        is_below = "\n" in text[begin : behind.start()]
        ending = None if is_order and is_below else _PARAGRAPH_END.search(text, behind.start())
        until = ending.start() if ending else len(text)
        yield _Foreign(begin, until, "instruction" if is_order else "quoted", is_report=not is_order)
