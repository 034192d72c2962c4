"""The passages of pinned files that fit into a context, and how much is read for one. Pure.

All else is lines, which `line_selection` selects.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import isqrt
from typing import NamedTuple

from memex.store.records import Reference, Span
from memex.subagent.context.assembly import Note, Section, passage_header, title_line
from memex.subagent.planner import Choice, ContextPlan, OmissionReason, Omitted, RecallReason

MIN_CUT_CHARS = 120
MIN_FIRST_CHARS = (
    40  # where nothing but the pinned is chosen yet: better a little than as if there were nothing
)
MAX_GAP_CHARS = 8  # between two passages of a file lie only blank lines: they are recalled as one
MAX_OMITTED = 20
LENGTH_OFFSET = 3_000
POOL_SHARE = 5  # so many times the budget's characters of passages are read, whose lines are compared,
POOL_CHARS = range(20_000, 40_001)  # within these bounds
CHOSEN_FROM_CHARS = (
    12_000  # of the best lines, of which a context chooses, at least: a model is shown as many
)
READ_SHARE = 3  # so many times the budget's characters are read and looked at in any case

Cut = Callable[[str, int], Span]


class CandidatePassage(NamedTuple):  # a call makes hundreds, and a dataclass takes three times as long
    """A passage that may be recalled.

    Attributes:
        reference: where it stands.
        text: what stands there.
        value: what recalling it is worth, at least 0, in the units of a search's scores.
        reason: why it is one.
        linked_from: the file that leads to it, where only that speaks for it.
        heading: titles above it that do not stand in it.
    """

    reference: Reference
    text: str
    value: int
    reason: RecallReason
    linked_from: str | None = None
    heading: tuple[str, ...] = ()


def read_chars(budget: int) -> int:
    """Return how many characters of passages are read for a context of so many, beside those told near a match."""
    least, most = POOL_CHARS[0], POOL_CHARS[-1]
    return max(budget * READ_SHARE, min(max(budget * POOL_SHARE, least), most))


def chosen_from_chars(budget: int) -> int:
    """Return how many characters of the best lines are looked at, of which a context of so many is chosen."""
    return max(budget * READ_SHARE, CHOSEN_FROM_CHARS)


def value_for_length(value: int, chars: int) -> int:
    """Return what a passage of so many characters is worth beside others of other lengths."""
    return value * 1_000 // isqrt(chars + LENGTH_OFFSET)


@dataclass(slots=True)
class PassageSelection:
    """The passages that have been chosen: by file, in the order in which the files were first chosen."""

    cut: Cut
    chosen: dict[tuple[str, int], list[Choice]] = field(default_factory=dict)
    omitted: dict[Reference, OmissionReason] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    used: int = 0
    answers: int = 0  # chosen, but for the pinned

    def offer(self, candidate: CandidatePassage, available: int) -> None:
        """Choose a passage if it fits, cut it if a part does, or note why it was left out."""
        if self.holds(candidate.reference):
            return
        if candidate.text in self.texts:
            self.omit(candidate.reference, "duplicate")
            return
        choice = Choice(
            candidate.reference,
            candidate.reason,
            candidate.linked_from,
            heading=candidate.heading,
            why="pinned",
        )
        if self.used + self._added(choice) > available:
            room = available - self.used - _most_header_chars(choice)
            least = MIN_CUT_CHARS if self.answers else MIN_FIRST_CHARS
            start, end = self.cut(candidate.text, room) if room >= least else (0, 0)
            if start == end:  # of a single long character nothing is kept either
                self.omit(candidate.reference, "budget")
                return
            choice = _truncate(choice, (start, end))
        self._choose(choice)
        self.texts.add(candidate.text)

    def holds(self, reference: Reference) -> bool:
        """Return whether a part of a span was chosen."""
        file = self.chosen.get((reference.path, reference.version))
        return file is not None and _is_any_in(file, reference.span)

    def omit(self, reference: Reference, reason: OmissionReason) -> None:
        """Note that a passage was left out."""
        self.omitted.setdefault(reference, reason)

    def plan(self) -> ContextPlan:
        """Return the plan. What was left out, and stands in it after all, is not omitted."""
        files = {key: _merge_neighbours(file) for key, file in self.chosen.items()}
        choices = tuple(choice for file in files.values() for choice in file)
        omitted = [
            Omitted(reference, reason)
            for reference, reason in self.omitted.items()
            if (file := files.get((reference.path, reference.version))) is None
            or not _is_any_in(file, reference.span)
        ]
        return ContextPlan(choices, tuple(omitted))

    def _choose(self, choice: Choice) -> None:
        self.used += self._added(choice)
        self.answers += choice.reason != "pinned"
        self.chosen.setdefault(_key(choice), []).append(choice)

    def _added(self, choice: Choice) -> int:
        """Return how many characters a choice adds; beside a neighbour it needs no line of its own."""
        file = self.chosen.get(_key(choice))
        if file is None:
            return _chars([choice])
        return _chars(_merge_neighbours([*file, choice])) - _chars(_merge_neighbours(file))


def _merge_neighbours(choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices of one file in their order, neighbours as one."""
    if len(choices) == 1:
        return list(choices)
    merged: list[Choice] = []
    for choice in sorted(choices, key=lambda choice: choice.reference.span):
        last = merged[-1] if merged else None
        if last is not None and choice.reference.span[0] - last.reference.span[1] <= MAX_GAP_CHARS:
            span = last.reference.span[0], choice.reference.span[1]
            merged[-1] = last._replace(
                reference=last.reference._replace(span=span),
                truncated=last.truncated or choice.truncated,
            )
        else:
            merged.append(choice)
    return merged


def _chars(choices: Sequence[Choice]) -> int:
    return sum([_most_header_chars(choice) + _length(choice.reference) for choice in choices])


def _length(reference: Reference) -> int:
    start, end = reference.span
    return end - start


def _most_header_chars(choice: Choice) -> int:
    """Return what a choice adds to a context at most beside its text."""
    path = choice.reference.path
    return Note(path, "", choice.is_outdated).chars + len(title_line(path, choice.heading))


def _truncate(choice: Choice, kept: Span) -> Choice:
    start = choice.reference.span[0]
    span = start + kept[0], start + kept[1]
    return choice._replace(reference=choice.reference._replace(span=span), truncated=True)


def _key(choice: Choice) -> tuple[str, int]:
    return choice.reference.path, choice.reference.version


def _is_any_in(file: Sequence[Choice], span: Span) -> bool:
    """Tell whether a span has a part in common with a choice of its file."""
    start, end = span
    for choice in file:
        first, last = choice.reference.span
        if first < end and start < last:
            return True
    return False


def header_chars(choice: Choice) -> int:
    """Return how many characters the header of a choice adds to a context, with the break behind its text."""
    if choice.included is not None:
        return Section(passage_header(choice.included.passage, str), "").chars
    return Note(choice.reference.path, "", choice.is_outdated).chars


def title_of(choice: Choice) -> tuple[str, str]:
    """Return the path of a choice and the line of titles above it, below which others of them may stand too."""
    return choice.reference.path, title_line(choice.reference.path, choice.heading)


def by_title(choices: Sequence[Choice]) -> list[Choice]:
    """Return choices with those together that stand under the same titles, those under none first."""
    under: dict[tuple[str, str], list[Choice]] = {}
    for choice in choices:
        under.setdefault(title_of(choice), []).append(choice)
    first = sorted(under, key=lambda title: title[1] != "")
    return [choice for title in first for choice in under[title]]


def newest_first(groups: Iterable[Sequence[Choice]], days: Mapping[Reference, date]) -> list[list[Choice]]:
    """Return groups of choices by the days on which they were said, the newest first, among them and in each.

    Args:
        groups: in some order; those that were said on no known day keep their places.
        days: by the references of choices, where the day is known.
    """
    found = [
        sorted(choices, key=lambda choice: days.get(choice.reference, date.min), reverse=True)
        for choices in groups
    ]
    dated = [choices for choices in found if choices[0].reference in days]
    newest = iter(sorted(dated, key=lambda choices: days[choices[0].reference], reverse=True))
    return [next(newest) if choices[0].reference in days else choices for choices in found]
