"""Which statements and passages go into a context together. Pure.

Statements compete with passages by what they are worth for their length. Statements of one heading share a line.
The newest statement about a thing stands before an older one that it contradicts, which is never shown alone.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from memex.store.records import Reference, Span
from memex.subagent.context.assembly import Note
from memex.subagent.context.selection import (
    CUT_FROM,
    FLOOR,
    CandidatePassage,
    Cut,
    PassageSelection,
    overlap,
    rank,
)
from memex.subagent.context.statements import StatementUnit
from memex.subagent.planner import Choice, ContextPlan

# A statement that is worth less than so many percent of the best is not recalled; by the characters of the budget.
FLOOR_PERCENTS = ((1_000, 35), (4_000, 25), (1_000_000, 5))
MAX_STATEMENTS = 10
CHARS_PER_STATEMENT = 230  # of a budget: one statement for so many characters, at least FEWEST
FEWEST = 3
MAX_LISTED = 25  # statements where a list is asked for
CHARS_PER_LISTED = 150
MAX_OUTDATED = 3  # older statements that newer ones contradict


def select_mixed(
    pinned: Sequence[CandidatePassage],
    units: Sequence[StatementUnit],
    passages: Iterable[CandidatePassage],
    *,
    available: int,
    cut: Cut,
    unread: Iterable[tuple[Reference, int]] = (),
    is_list: bool = False,
) -> ContextPlan:
    """Return what to recall within `available` characters: the pinned, of half of them, then the best.

    Args:
        pinned: in the order in which they shall stand.
        units: statements, in any order.
        passages: other passages, in any order.
        available: characters for notes, the wrapper not counted.
        cut: as for `select`.
        unread: passages that rank below all those, with their values; they are left out.
        is_list: a list is asked for, of which as many statements as fit are recalled.
    """
    selection = PassageSelection(cut=cut)
    for candidate in pinned:
        selection.offer(candidate, available // 2, may_cut=True)
    most = max(FEWEST, min(MAX_STATEMENTS, available // CHARS_PER_STATEMENT))
    if is_list:
        most = max(FEWEST, min(MAX_LISTED, available // CHARS_PER_LISTED))
    chosen = _ChosenStatements({unit.reference: unit for unit in units}, most)
    items: list[tuple[CandidatePassage, StatementUnit | None]] = [(one, None) for one in passages]
    items += [(unit.candidate, unit) for unit in units]
    items.sort(key=lambda item: rank(item[0].value, item[0].reference))
    floor_percent = next(percent for chars, percent in FLOOR_PERCENTS if available <= chars)
    top = max((candidate.value for candidate, unit in items if unit is None), default=0)
    top_unit = max((unit.candidate.value for unit in units), default=0)
    for candidate, unit in items:
        is_weak = (
            candidate.value * FLOOR < top
            if unit is None
            else candidate.value * 100 < top_unit * floor_percent
        )
        if is_weak:
            selection.omit(candidate.reference, "relevance")
        elif unit is None:
            if not chosen.holds(candidate.reference):
                selection.offer(
                    candidate, available - chosen.chars, may_cut=candidate.value * CUT_FROM >= top
                )
        elif not selection.holds(candidate.reference) and not chosen.take(unit, available, selection):
            selection.omit(candidate.reference, "budget")
    best = max(top, top_unit)
    for reference, value in unread:
        selection.omit(reference, "relevance" if value * FLOOR < best else "budget")
    plan = selection.plan()
    omitted = plan.omitted
    if chosen.chosen:
        omitted = tuple([one for one in omitted if not chosen.holds(one.reference)])
    return ContextPlan(_merged(plan.choices, chosen), omitted)


@dataclass(slots=True)
class _ChosenStatements:
    """The statements that were chosen, in the order of their choice.

    Attributes:
        by_reference: all statements.
        most: how many may be chosen.
        chosen: the chosen ones.
        chars: how many characters they add to a context.
    """

    by_reference: dict[Reference, StatementUnit]
    most: int
    chosen: dict[Reference, StatementUnit] = field(default_factory=dict)
    chars: int = 0
    _spans: dict[tuple[str, int], list[Span]] = field(default_factory=dict)  # of the chosen ones, by file
    _choices: dict[Reference, Choice] = field(default_factory=dict)

    def holds(self, reference: Reference) -> bool:
        """Return whether a chosen statement holds a part of a span."""
        spans = self._spans.get((reference.path, reference.version)) if self._spans else None
        if spans is None:
            return False
        start, end = reference.span
        return any(first < end and start < last for first, last in spans)

    def take(self, unit: StatementUnit, available: int, passages: PassageSelection) -> bool:
        """Choose a statement, after the newer ones that contradict it, if all of them fit beside the passages."""
        if len(self.chosen) == self.most or unit.reference in self.chosen:
            return unit.reference in self.chosen
        chosen = dict(self.chosen)
        for one in (*self._newer(unit), unit):
            if one.reference in chosen:
                continue
            if passages.holds(one.reference) or any(overlap(one.reference, other) for other in chosen):
                return False
            chosen[one.reference] = one
        if len(chosen) > self.most or sum(bool(one.newer) for one in chosen.values()) > MAX_OUTDATED:
            return False
        chars = sum(note.chars for note in self._notes(chosen))
        if chars > available - passages.used:
            return False
        for reference in chosen.keys() - self.chosen.keys():
            self._spans.setdefault((reference.path, reference.version), []).append(reference.span)
        self.chosen, self.chars = chosen, chars
        return True

    def choices(self) -> list[Choice]:
        """Return the choices: by heading, the best first, each outdated one behind what contradicts it.

        Statements of a list that has an order of its own keep it.
        """
        return [choice for group in self._groups(self.chosen.values()) for choice in group]

    def _newer(self, unit: StatementUnit) -> list[StatementUnit]:
        """Return the statements that contradict a statement, and those that contradict them, the newest first."""
        found: dict[Reference, StatementUnit] = {}
        wanted = list(unit.newer)
        while wanted:
            one = self.by_reference[wanted.pop()]
            if one.reference not in found:
                found[one.reference] = one
                wanted += one.newer
        return sorted(found.values(), key=lambda one: one.order, reverse=True)

    def _groups(self, units: Collection[StatementUnit]) -> list[list[Choice]]:
        groups: dict[object, list[StatementUnit]] = {}
        for unit in units:
            if not unit.newer:
                groups.setdefault(self._choice(unit).group, []).append(unit)
        ordered: list[list[Choice]] = []
        outdated = sorted((unit for unit in units if unit.newer), key=lambda unit: unit.order, reverse=True)
        waiting = {
            unit.reference: {one.reference for one in self._newer(unit) if not one.newer} for unit in outdated
        }
        for group in groups.values():
            ordered.append([self._choice(unit) for unit in sorted(group, key=lambda unit: unit.place)])
            for newer in waiting.values():
                newer.difference_update(unit.reference for unit in group)
            below = [reference for reference, newer in waiting.items() if not newer]
            for reference in below:
                del waiting[reference]
            behind = (self._choice(self.by_reference[reference]) for reference in below)
            ordered += [list(run) for _, run in groupby(behind, key=lambda choice: choice.group)]
        return ordered

    def _notes(self, chosen: Mapping[Reference, StatementUnit]) -> list[Note]:
        return [
            note_of(group, [chosen[choice.reference].candidate.text for choice in group])
            for group in self._groups(chosen.values())
        ]

    def _choice(self, unit: StatementUnit) -> Choice:
        if unit.reference not in self._choices:
            candidate = unit.candidate
            self._choices[unit.reference] = Choice(
                candidate.reference,
                candidate.reason,
                candidate.linked_from,
                heading=unit.label,
                is_statement=True,
                is_outdated=bool(unit.newer),
            )
        return self._choices[unit.reference]


def note_of(choices: Sequence[Choice], texts: Sequence[str]) -> Note:
    """Return the note of one span, or of statements that share a line."""
    first = choices[0]
    return Note(
        first.reference,
        "\n".join(texts),
        first.linked_from,
        first.heading,
        more_spans=tuple(choice.reference.span for choice in choices[1:]),
        is_outdated=first.is_outdated,
    )


def _merged(passages: Sequence[Choice], chosen: _ChosenStatements) -> tuple[Choice, ...]:
    """Return the pinned passages, then the statements, then the other passages."""
    pinned = [choice for choice in passages if choice.reason == "pinned"]
    others = [choice for choice in passages if choice.reason != "pinned"]
    return (*pinned, *chosen.choices(), *others)
