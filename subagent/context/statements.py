"""Single statements for a context: a file that `memory_remember` writes is recalled bullet by bullet. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from memex.store.records import Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query, score
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.statements.bullets import ITEM, STAMP, parse_bullet
from memex.subagent.statements.places import is_statement_file, kind_under, mount_of
from memex.subagent.statements.relations import (
    StatementView,
    compare,
    decide,
    statement_weights,
    view,
    weights_of,
)

PASSAGE_PERCENT = 5  # of its passage's value is what a statement without a word of the query is worth
COMPARED = 24  # statements, the best, among which rivals are looked for
TYPICAL_STATEMENTS = 200  # of a memory, by which the words of the compared ones are weighed
MARKED_FROM = 0.3  # likelihood from which the older of two statements is shown as one that may be out of date

_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(r"#{1,6}[ \t]+(.*?)[ \t#]*$")


@dataclass(frozen=True, slots=True)
class StatementUnit:
    """A statement of a passage, that may be recalled by itself.

    Attributes:
        candidate: it as a passage.
        day: the day on which it was said.
        newer: the statements that contradict it and are newer.
    """

    candidate: CandidatePassage
    day: date
    newer: tuple[Reference, ...] = ()

    @property
    def reference(self) -> Reference:
        """Where it stands."""
        return self.candidate.reference

    @property
    def order(self) -> tuple[date, str, int]:
        """What statements are ordered by in time: those of one day by their place."""
        return self.day, self.reference.path, self.reference.span[0]


def split_passages(
    passages: Iterable[CandidatePassage], query: Query, analyzer: Analyzer
) -> tuple[list[StatementUnit], list[CandidatePassage]]:
    """Return the statements in passages of files that hold statements, and all other passages.

    Args:
        passages: with their texts.
        query: weighs the words of a statement.
        analyzer: makes the lexemes of a statement.
    """
    units: dict[Reference, StatementUnit] = {}
    others = []
    for passage in passages:
        found = (
            list(_statements(passage, query, analyzer)) if is_statement_file(passage.reference.path) else []
        )
        for unit in found:
            known = units.get(unit.reference)
            if known is None or known.candidate.value < unit.candidate.value:
                units[unit.reference] = unit
        if not found:
            others.append(passage)
    return list(units.values()), others


def with_listed(units: Sequence[StatementUnit], listed: Sequence[StatementUnit]) -> list[StatementUnit]:
    """Return statements with those that a list holds, which are worth as much as the best, the newest most."""
    top = max((unit.candidate.value for unit in (*units, *listed)), default=0) + len(listed) + 1
    merged = {unit.reference: unit for unit in units}
    for place, unit in enumerate(listed):
        value = top + unit.candidate.value - place
        merged[unit.reference] = replace(unit, candidate=replace(unit.candidate, value=value))
    return list(merged.values())


def mark_rivals(units: Sequence[StatementUnit], query: Query, analyzer: Analyzer) -> list[StatementUnit]:
    """Return the statements, the best of which say which newer ones contradict them.

    A statement that contradicts an older one is worth at least as much as that one: it never stands behind it.
    """
    best = sorted(units, key=lambda unit: -unit.candidate.value)[:COMPARED]
    views = {unit.reference: _view(unit, analyzer) for unit in best}
    weights = {**weights_of(views.values(), among=TYPICAL_STATEMENTS), **statement_weights(query)}
    by_reference = {unit.reference: unit for unit in units}
    for newer in sorted(best, key=lambda unit: unit.order):
        older = [unit for unit in best if unit.order < newer.order]
        if (outdated := _contradicted(newer, older, views, weights)) is not None:
            old, new = by_reference[outdated], by_reference[newer.reference]
            by_reference[outdated] = replace(old, newer=(*old.newer, newer.reference))
            value = max(old.candidate.value + 1, new.candidate.value)
            by_reference[newer.reference] = replace(new, candidate=replace(new.candidate, value=value))
    return list(by_reference.values())


def _contradicted(
    newer: StatementUnit,
    older: Sequence[StatementUnit],
    views: Mapping[Reference, StatementView],
    weights: Mapping[str, float],
) -> Reference | None:
    """Return which of the older statements a newer one contradicts."""
    new, mount = views[newer.reference], mount_of(newer.reference.path)
    by_view = {views[unit.reference]: unit for unit in older}
    relation = decide(
        new,
        [
            compare(new, one, weights, is_same_scope=mount_of(unit.reference.path) == mount)
            for one, unit in by_view.items()
        ],
    )
    if relation is None or relation.likelihood < MARKED_FROM:
        return None
    return by_view[relation.older].reference


def _view(unit: StatementUnit, analyzer: Analyzer) -> StatementView:
    heading = unit.candidate.heading
    return view(parse_bullet(unit.candidate.text), kind_under(heading[-1]) if heading else "note", analyzer)


def _statements(passage: CandidatePassage, query: Query, analyzer: Analyzer) -> Iterator[StatementUnit]:
    """Yield the dated bullets of a passage."""
    heading = passage.heading[-1:]
    lines = [(match.start(), match[0].rstrip("\r\n")) for match in _LINE.finditer(passage.text) if match[0]]
    at = 0
    while at < len(lines):
        start, line = lines[at]
        at += 1
        if title := _HEADING.match(line):
            heading = (title[1],)
            continue
        item = ITEM.match(line)
        if item is None:
            continue
        end, stamp = start + len(line), STAMP.search(line)
        while at < len(lines) and lines[at][1].startswith("  ") and not ITEM.match(lines[at][1].strip()):
            end = lines[at][0] + len(lines[at][1])
            stamp = STAMP.search(lines[at][1]) or stamp
            at += 1
        if stamp is not None:
            text = passage.text[start:end]
            yield StatementUnit(
                _unit_candidate(passage, start, text, heading, query, analyzer), date.fromisoformat(stamp[1])
            )


def _unit_candidate(
    passage: CandidatePassage,
    start: int,
    text: str,
    heading: tuple[str, ...],
    query: Query,
    analyzer: Analyzer,
) -> CandidatePassage:
    frequencies = Counter(analyzer.lexemes(parse_bullet(text)))
    own = score(query, frequencies, frequencies.total())
    first = passage.reference.span[0] + start
    return replace(
        passage,
        reference=replace(passage.reference, span=(first, first + len(text))),
        text=text,
        value=own + passage.value * PASSAGE_PERCENT // 100,
        heading=heading,
    )
