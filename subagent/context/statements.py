"""Single statements for a context: a file that `memory_remember` writes is recalled bullet by bullet. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from memex.store.citations.syntax import without_citations
from memex.store.records import Reference, Span
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query, score
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.statements.bullets import (
    ITEM,
    parse_bullet,
    stamped_day,
    stamped_due_day,
    still_true_day,
    unclosed_fence,
)
from memex.subagent.statements.comparison.relations import (
    StatementView,
    compare,
    decide,
    statement_weights,
    view,
    weights_of,
)
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import (
    general_heading,
    is_statement_file,
    kind_of_item,
    mount_of,
    series_order,
)
from memex.subagent.statements.topics import heading_keys, is_about
from memex.subagent.statements.words import count_lexemes
from memex.subagent.text_cache import cached_for_texts

PASSAGE_PERCENT = 5  # of its passage's value is what a statement without a word of the query is worth
LISTED_VALUE = 100  # for each of a list, so that its last one is worth nearly as much as its first
COMPARED = 24  # statements, the best, among which rivals are looked for
TYPICAL_STATEMENTS = 200  # of a memory, by which the words of the compared ones are weighed
MAX_KEPT_CHARS = 2_000_000  # of texts whose parts are kept
MARKED_FROM = 0.5  # likelihood from which the older of two statements is shown as one that may be out of date

_BOX = re.compile(r"[-*+][ \t]+\[ \]")
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
class TextParts:
    """The dated bullets of a text, and the spans between them that say something."""

    bullets: tuple[DatedBullet, ...]
    between: tuple[Span, ...]


_NO_PARTS = TextParts((), ())


@dataclass(frozen=True, slots=True)
class StatementUnit:
    """A statement of a passage, that may be recalled by itself.

    Attributes:
        candidate: it as a passage.
        day: the day on which it was said.
        newer: the statements that contradict it and are newer.
        due: the day on which it is due, if its stamp says so.
        still_true: the last day on which a caller said that it holds beside what contradicts it.
        place: its place, from 1, in a list that has an order of its own; 0 if it is in no such list.
    """

    candidate: CandidatePassage
    day: date
    newer: tuple[Reference, ...] = ()
    due: date | None = None
    still_true: date | None = None
    place: int = 0

    @property
    def reference(self) -> Reference:
        """Where it stands."""
        return self.candidate.reference

    @property
    def kind(self) -> StatementKind:
        """What it is: its file, its heading and its box say that."""
        heading, item = self.candidate.heading, ITEM.match(self.candidate.text)
        return kind_of_item(heading[-1] if heading else "", self.reference.path, item[3] if item else None)

    @property
    def label(self) -> tuple[str, ...]:
        """The title that its line gives; none if the path of its file or the statement itself says as much."""
        heading, path = self.candidate.heading, self.reference.path
        if not heading:
            return ()
        is_general = heading[-1].casefold() == (general_heading(path) or "").casefold()
        keys = heading_keys(heading[-1])
        if is_general and (self.kind != "pending" or _BOX.match(self.candidate.text)):
            return ()
        return () if keys and is_about(parse_bullet(self.candidate.text), keys) else heading

    def worth(self, value: int) -> "StatementUnit":
        """Return it with another value."""
        one = self.candidate
        candidate = CandidatePassage(one.reference, one.text, value, one.reason, one.linked_from, one.heading)
        return StatementUnit(candidate, self.day, self.newer, self.due, self.still_true, self.place)

    @property
    def order(self) -> tuple[date, tuple[str, int], int]:
        """What statements are ordered by in time: those of one day by their place."""
        return self.day, series_order(self.reference.path), self.reference.span[0]


def split_passages(
    passages: Iterable[CandidatePassage], query: Query, analyzer: Analyzer, *, weighs_statements: bool = True
) -> tuple[list[StatementUnit], list[CandidatePassage]]:
    """Return the statements in passages of files that hold statements, and all other passages.

    What stands between the statements of a passage, such as prose that somebody wrote there, is a passage.
    A passage of such a file that holds headings alone says nothing, and is left out.

    Args:
        passages: with their texts.
        query: weighs the words of a statement.
        analyzer: makes the lexemes of a statement.
        weighs_statements: whether the words of a statement add to its value; needless if it is ranked anew.
    """
    units: dict[Reference, StatementUnit] = {}
    others = []
    weighed = frozenset(query.lexemes)
    said = weighed if weighs_statements else frozenset[str]()
    for passage in passages:
        parts = split_text(passage.text) if is_statement_file(passage.reference.path) else _NO_PARTS
        if not parts.bullets:
            if not (is_statement_file(passage.reference.path) and _is_headings(passage.text)):
                others.append(passage)
            continue
        for bullet in parts.bullets:
            heading = (bullet.title,) if bullet.title else passage.heading[-1:]
            part = _part(passage, bullet.span, heading, query, said, analyzer)
            known = units.get(part.reference)
            if known is None or known.candidate.value < part.value:
                units[part.reference] = StatementUnit(
                    part, bullet.day, due=bullet.due, still_true=bullet.still_true
                )
        others += [_part(passage, span, passage.heading, query, weighed, analyzer) for span in parts.between]
    return list(units.values()), others


def with_listed(
    units: Sequence[StatementUnit], listed: Sequence[StatementUnit], passages: Iterable[CandidatePassage] = ()
) -> list[StatementUnit]:
    """Return statements with those that a list holds, which are worth more than the best, the first of them most.

    In a list that has no order of its own, those come first that hold words of the question. One that has an order
    of its own is the whole answer, unless it is empty.
    """
    values = (unit.candidate.value for unit in (*units, *listed))
    best = max((*values, *(passage.value for passage in passages)), default=0)
    top = best + LISTED_VALUE * len(listed)
    is_whole = any(unit.place for unit in listed)
    merged = {} if is_whole else {unit.reference: unit for unit in units}
    for place, unit in enumerate(listed):
        value = 2 * top - place if unit.place else top + unit.candidate.value - place
        merged[unit.reference] = unit.worth(value)
    return list(merged.values())


def mark_rivals(units: Sequence[StatementUnit], query: Query, analyzer: Analyzer) -> list[StatementUnit]:
    """Return the statements, the best of which say which newer ones contradict them.

    A statement that contradicts an older one is worth at least as much as that one: it never stands behind it.
    """
    best = sorted(units, key=lambda unit: -unit.candidate.value)[:COMPARED]
    views = {unit.reference: _view(unit, analyzer) for unit in best}
    weights = {**weights_of(views.values(), among=TYPICAL_STATEMENTS), **statement_weights(query)}
    by_reference = {unit.reference: unit for unit in units}
    placed = [(unit.order, unit) for unit in best]
    for order, newer in sorted(placed, key=lambda one: one[0]):
        older = [unit for earlier, unit in placed if earlier < order and not _holds_beside(unit, newer)]
        for outdated in _contradicted(newer, older, views, weights):
            old, new = by_reference[outdated], by_reference[newer.reference]
            by_reference[outdated] = replace(old, newer=(*old.newer, newer.reference))
            by_reference[newer.reference] = new.worth(max(old.candidate.value + 1, new.candidate.value))
    return list(by_reference.values())


def _holds_beside(older: StatementUnit, newer: StatementUnit) -> bool:
    """Tell whether a caller has said of a statement, since a newer one was said, that it holds still."""
    return older.still_true is not None and older.still_true >= newer.day


def _contradicted(
    newer: StatementUnit,
    older: Sequence[StatementUnit],
    views: Mapping[Reference, StatementView],
    weights: Mapping[str, float],
) -> list[Reference]:
    """Return where the older statement stands that a newer one contradicts; no place if it contradicts none."""
    new, mount = views[newer.reference], mount_of(newer.reference.path)
    if new.is_guarded:
        return []
    # One that shares no word is contradicted by none, and is no nearer than any other.
    by_text = {
        (view.text, view.kind): (view, unit)
        for unit in older
        if not (view := views[unit.reference]).topic.isdisjoint(new.topic)
    }
    relation = decide(
        new,
        [
            compare(new, one, weights, is_same_scope=mount_of(unit.reference.path) == mount)
            for one, unit in by_text.values()
        ],
    )
    if relation is None or relation.likelihood < MARKED_FROM:
        return []
    text, kind = relation.older.text, relation.older.kind
    said = ((unit, views[unit.reference]) for unit in older)
    return [unit.reference for unit, view in said if (view.text, view.kind) == (text, kind)]


def _view(unit: StatementUnit, analyzer: Analyzer) -> StatementView:
    return view(parse_bullet(unit.candidate.text), unit.kind, analyzer)


@cached_for_texts(max_chars=MAX_KEPT_CHARS)
def split_text(text: str) -> TextParts:
    """Return the dated bullets of a text, and where something is said between them."""
    bullets = tuple(bullets_in(text))
    whole = [(bullet.span[0], bullet.end) for bullet in bullets]
    return TextParts(bullets, tuple(_between(text, whole)) if bullets else ())


def embedded_text(heading: str, bullet: str) -> str:
    """Return the text by which a bullet is embedded by itself: the heading above it, and what it says."""
    said = parse_bullet(bullet)
    return f"{heading}: {said}" if heading else said


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


def _between(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Yield where something is said between spans, by more than a heading."""
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    for start, end in zip(ends, starts, strict=True):
        said = text[start:end]
        if not _is_headings(said):
            yield start + len(said) - len(said.lstrip()), start + len(said.rstrip())


def _is_headings(text: str) -> bool:
    """Return whether a text holds nothing but headings and blank lines."""
    return all(not line.strip() or _HEADING.match(line) for line in text.splitlines())


def _part(
    passage: CandidatePassage,
    span: Span,
    heading: tuple[str, ...],
    query: Query,
    weighed: frozenset[str],
    analyzer: Analyzer,
) -> CandidatePassage:
    """Return a part of a passage as a passage; of the query, the lexemes in `weighed` add to its value."""
    text = passage.text[span[0] : span[1]]
    frequencies = count_lexemes(parse_bullet(text), analyzer) if weighed else {}
    own = 0 if weighed.isdisjoint(frequencies) else score(query, frequencies, sum(frequencies.values()))
    whole = passage.reference
    first = whole.span[0]
    return CandidatePassage(
        Reference(whole.path, whole.version, (first + span[0], first + span[1])),
        text,
        own + passage.value * PASSAGE_PERCENT // 100,
        passage.reason,
        passage.linked_from,
        heading,
    )
