"""The lines of a pool that may not hold any more: newer ones contradict them, or the day that they name has passed.

The calls that told the newer ones recorded what contradicts what.
An older line is shown as earlier, behind the newer one. A newer one that is not in the pool is read, so that no
older line is ever shown alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import NamedTuple

from memex.store.entry_path import entry_day, is_entry_at
from memex.store.records import Reference, Rival, Span
from memex.store.statement_lines import line_key
from memex.subagent.context.pool import ContextLine, best_first, left_of, lines_of, part_of
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.days.ending import are_ended, end_of, kinds_of


class NewerPlace(NamedTuple):
    """The place of a newer statement: a line of a page by its key, or words of an entry by their span."""

    path: str
    line_key: bytes
    span: Span


@dataclass(frozen=True, slots=True)
class OlderLine:
    """A line of a pool, or a part of one, and where the newer statements stand that contradict it."""

    line: ContextLine
    newer: tuple[NewerPlace, ...]


async def mark_older(
    lines: Sequence[ContextLine], known: Iterable[str], tools: MemoryTools
) -> list[ContextLine]:
    """Return lines, best first, of which older statements name the lines of the newer ones that contradict them.

    Words of an entry that a newer statement contradicts are a line of their own, apart from the rest of their line.
    `known` are the paths of files whose newer statements were read ahead.
    """
    paths = list(dict.fromkeys((*known, *[line.candidate.reference.path for line in lines])))
    rivals = await tools.rivals(paths) if paths else []
    if not rivals:
        return list(lines)
    parted, older = _part_lines(lines, rivals)
    places = {place for older_line in older for place in older_line.newer}
    wanted = {_place_of(rival): rival.newer for rival in rivals if _place_of(rival) in places}
    found, missing = _in_pool([*parted, *(older_line.line for older_line in older)], wanted)
    found |= await _read_newer(missing, tools)
    return _marked(parted, older, found)


def mark_over(lines: Sequence[ContextLine], today: date) -> list[ContextLine]:
    """Return lines of memory, of which those that say until which day they hold are marked after that day."""
    return [
        line._replace(unit=replace(_unit_of(line), is_over=True))
        if (line.unit is not None or is_entry_at(line.candidate.reference.path)) and _is_over(line, today)
        else line
        for line in lines
    ]


def _is_over(line: ContextLine, today: date) -> bool:
    """Return whether a statement of a page, or words of an entry, say that they do not hold any more."""
    if line.included is not None:
        return False
    text = parse_bullet(line.candidate.text) if line.is_of_page else line.candidate.text
    last = end_of(text, _day_of(line))
    if last is None or last >= today:
        return False
    return are_ended({line.unit.kind} if line.is_of_page and line.unit else kinds_of(text))


def _unit_of(line: ContextLine) -> StatementUnit:
    return line.unit or StatementUnit(line.candidate, _day_of(line))


def _place_of(rival: Rival) -> NewerPlace:
    path, _, span = rival.newer
    return NewerPlace(path, rival.newer_key, span if is_entry_at(path) else (0, 0))


def _part_lines(
    lines: Sequence[ContextLine], rivals: Iterable[Rival]
) -> tuple[list[ContextLine], list[OlderLine]]:
    """Return the lines that no newer one contradicts, and those that one may contradict."""
    of_path: dict[str, list[Rival]] = defaultdict(list)
    for rival in rivals:
        of_path[rival.path].append(rival)
    others: list[ContextLine] = []
    older: list[OlderLine] = []
    for line in lines:
        of_line = of_path.get(line.reference.path, ())
        if line.unit is not None and of_line:
            key = _key(line)
            if newer := tuple(_place_of(rival) for rival in of_line if rival.line_key == key):
                older.append(OlderLine(line, newer))
                continue
        elif of_line and (spans := _spans_in(line, of_line)):
            older += [OlderLine(_as_statement(part_of(line, span)), newer) for span, newer in spans.items()]
            text = line.candidate.text
            others += [part_of(line, span) for span in left_of(text, (0, len(text)), spans)]
            continue
        others.append(line)
    return others, older


def _spans_in(line: ContextLine, rivals: Iterable[Rival]) -> dict[Span, tuple[NewerPlace, ...]]:
    """Return which spans of the text of an entry's line newer statements contradict."""
    first, last = line.reference.span
    found: dict[Span, tuple[NewerPlace, ...]] = {}
    for rival in rivals:
        start, end = max(rival.span[0], first), min(rival.span[1], last)
        if start < end:
            span = start - first, end - first
            found[span] = (*found.get(span, ()), _place_of(rival))
    return _apart(found)


def _apart(spans: Mapping[Span, tuple[NewerPlace, ...]]) -> dict[Span, tuple[NewerPlace, ...]]:
    """Return spans of which none overlaps with one before it."""
    kept: dict[Span, tuple[NewerPlace, ...]] = {}
    for span in sorted(spans):
        if not kept or next(reversed(kept))[1] <= span[0]:
            kept[span] = spans[span]
    return kept


def _as_statement(line: ContextLine) -> ContextLine:
    return line._replace(unit=_unit_of(line))


def _day_of(line: ContextLine) -> date:
    if line.unit is not None:
        return line.unit.day
    return entry_day(line.reference.path.removeprefix("user/"))


def _key(line: ContextLine) -> bytes:
    return line_key(parse_bullet(line.candidate.text))


def _in_pool(
    lines: Iterable[ContextLine], wanted: Mapping[NewerPlace, Reference]
) -> tuple[dict[NewerPlace, ContextLine], dict[NewerPlace, Reference]]:
    """Return the lines of a pool that stand in places, and the places that none stands in."""
    of_path: dict[str, list[NewerPlace]] = defaultdict(list)
    for place in wanted:
        of_path[place.path].append(place)
    found: dict[NewerPlace, ContextLine] = {}
    for line in lines:
        if (places := of_path.get(line.reference.path)) is not None:
            found |= {place: line for place in _places_in(line, places) if place not in found}
    return found, {place: newer for place, newer in wanted.items() if place not in found}


def _places_in(line: ContextLine, places: Sequence[NewerPlace]) -> Iterator[NewerPlace]:
    if is_entry_at(line.reference.path):
        start, end = line.reference.span
        yield from (place for place in places if start <= place.span[0] < end)
    elif line.unit is not None:
        key = _key(line)
        yield from (place for place in places if place.line_key == key)


async def _read_newer(
    missing: Mapping[NewerPlace, Reference], tools: MemoryTools
) -> dict[NewerPlace, ContextLine]:
    """Return the lines in places as they are read; none for a place where the statement does not stand any more."""
    references = list(dict.fromkeys(missing.values()))
    texts = await tools.read(references) if references else []
    passages = [
        CandidatePassage(reference, text, 0, "match")
        for reference, text in zip(references, texts, strict=True)
        if text.strip()
    ]
    return _in_pool(lines_of(passages), missing)[0]


def _marked(
    others: Sequence[ContextLine], older: Sequence[OlderLine], found: Mapping[NewerPlace, ContextLine]
) -> list[ContextLine]:
    by_reference = {line.reference: line for line in (*others, *(older_line.line for older_line in older))}
    for older_line in older:
        line, unit = by_reference[older_line.line.reference], older_line.line.unit
        newer = [
            found[place] for place in older_line.newer if place in found and not _holds(line, found[place])
        ]
        newer = [new for new in newer if new.reference != line.reference]
        if unit is None or not newer:
            if is_entry_at(line.reference.path):
                by_reference[line.reference] = line._replace(unit=None)
            continue
        references = tuple(dict.fromkeys(new.reference for new in newer))
        by_reference[line.reference] = line._replace(unit=replace(unit, newer=references))
        for new in newer:
            by_reference.setdefault(new.reference, new)
    return best_first(by_reference.values())


def _holds(older: ContextLine, newer: ContextLine) -> bool:
    """Return whether a caller has said of an older statement, since the newer one was said, that it holds still."""
    still_true = older.unit.still_true if older.unit is not None else None
    return still_true is not None and still_true >= _day_of(newer)
