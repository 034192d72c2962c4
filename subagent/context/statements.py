"""Single statements for a context: a file that `memory_remember` writes is recalled bullet by bullet. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from memex.store.citations.syntax import without_citations
from memex.store.markdown import plain_title
from memex.store.records import Reference, Span
from memex.store.search.chunks import MAX_HEADING_CHARS
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.statements.bullets import (
    ITEM,
    parse_bullet,
    stamped_day,
    stamped_due_day,
    still_true_day,
    unclosed_fence,
)
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import (
    kind_of_item,
    series_order,
)

_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(r"#{1,6}[ \t]++(.*)$")


@dataclass(frozen=True, slots=True)
class DatedBullet:
    """A dated bullet of a text.

    Attributes:
        span: where it stands, with what is nested in it, and without the citations at its end.
        title: the heading above it; "" without one.
        day: the day on which it was said.
        due: the day on which it is due, if its stamp says so.
        still_true: the last day on which a caller said that it holds beside what contradicts it.
        end: where its citations end.
    """

    span: Span
    title: str
    day: date
    due: date | None
    still_true: date | None
    end: int


@dataclass(frozen=True, slots=True)
class StatementUnit:
    """A statement of a passage, that may be recalled by itself.

    Attributes:
        candidate: it as a passage.
        day: the day on which it was said.
        newer: where the lines stand that contradict it and are newer.
        due: the day on which it is due, if its stamp says so.
        still_true: the last day on which a caller said that it holds beside what contradicts it.
        is_over: the day until which it says to hold has passed.
    """

    candidate: CandidatePassage
    day: date
    newer: tuple[Reference, ...] = ()
    due: date | None = None
    still_true: date | None = None
    is_over: bool = False

    @property
    def is_outdated(self) -> bool:
        """Whether it may not hold any more: a newer one contradicts it, or the day that it names has passed."""
        return bool(self.newer) or self.is_over

    @property
    def reference(self) -> Reference:
        """The place of the statement."""
        return self.candidate.reference

    @property
    def kind(self) -> StatementKind:
        """The kind of the statement: its file, its heading and its box say that."""
        heading, item = self.candidate.heading, ITEM.match(self.candidate.text)
        return kind_of_item(heading[-1] if heading else "", self.reference.path, item[3] if item else None)

    @property
    def order(self) -> tuple[date, tuple[str, int], int]:
        """The key that orders statements in time: those of one day by their place."""
        return self.day, series_order(self.reference.path), self.reference.span[0]


def embedded_text(heading: str, bullet: str) -> str:
    """Return the text by which a bullet is embedded by itself: the heading above it, and what it says."""
    said, title = parse_bullet(bullet), _passage_heading(heading)
    return f"{title}: {said}" if title else said


@lru_cache(maxsize=1_024)
def _passage_heading(title: str) -> str:
    """Return a heading as the passages below it have it: without markup, and cut short."""
    return plain_title(title)[:MAX_HEADING_CHARS].rstrip()


def bullets_in(text: str) -> Iterator[DatedBullet]:
    """Yield the dated bullets of a text."""
    title = ""
    lines = [(match.start(), match[0].rstrip("\r\n")) for match in _LINE.finditer(text) if match[0]]
    at = 0
    while at < len(lines):
        start, line = lines[at]
        at += 1
        if heading := _HEADING.match(line):
            title = heading[1].rstrip(" \t#")
        if not ITEM.match(line):
            continue
        end, fence = start + len(line), unclosed_fence(parse_bullet(line))
        day, due = stamped_day(line), stamped_due_day(line)
        for place in range(at, len(lines)):
            first, nested = lines[place]
            if not nested.strip():  # code and nested lists may hold blank lines
                continue
            own_day = stamped_day(nested)
            if not nested.startswith("  ") or (own_day and not fence and ITEM.match(nested)):
                break
            fence = unclosed_fence(f"{fence}\n{nested.strip()}" if fence else nested.strip())
            end, at = first + len(nested), place + 1
            if own_day and not fence:
                day, due = own_day, stamped_due_day(nested)
        if day is not None:
            still_true = still_true_day(text[start:end].splitlines()[-1])
            said = without_citations(text[start:end])
            yield DatedBullet((start, start + len(said)), title, day, due, still_true, end)
