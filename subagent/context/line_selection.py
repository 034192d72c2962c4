"""The selection of lines for a context: best first, until the budget is full or nothing left could answer. Pure.

Lines of one page, and of one day of the journal, share a header; the newest stand first. The newest statement about
a thing stands before an older one that it contradicts, which is never shown alone. What is no line of memory stands
behind memory, the lines of one passage below one header.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import repeat

from memex.store.entry_path import entry_day, is_entry_at
from memex.store.records import Reference, maker
from memex.subagent.context.assembly import Section
from memex.subagent.context.pool import STOP, ContextLine
from memex.subagent.context.rendering import shown_chars
from memex.subagent.context.selection import (
    MIN_FIRST_CHARS,
    CandidatePassage,
    Cut,
    PassageSelection,
    by_title,
    header_chars,
    newest_first,
    title_of,
)
from memex.subagent.planner import Choice, ContextPlan, Omitted
from memex.subagent.statements.places import is_statement_file, series_order

_WORD = re.compile(r"\w")
_make_omitted = maker(Omitted)
MAX_OUTDATED = 3  # older statements that newer ones contradict


def select_lines(
    pinned: Sequence[CandidatePassage],
    lines: Sequence[ContextLine],
    *,
    available: int,
    cut: Cut,
    unread: Iterable[Reference] = (),
    shows_all: bool = False,
    is_list: bool = False,
    best: float | None = None,
) -> ContextPlan:
    """Return what to recall within `available` characters: the pinned, of half of them, then the best lines.

    Args:
        pinned: in the order in which they shall stand.
        lines: the best first.
        available: characters for notes, the wrapper not counted.
        cut: gives the span of a text that is best kept when only so many characters of it can be.
        unread: passages that rank below all those.
        shows_all: all lines that fit are recalled, however low they score.
        is_list: the question asks for a list, whose order stays; else what is newer stands first.
        best: the score of which a line must have a share; that of the first line by default.
    """
    selection = PassageSelection(cut=cut)
    for candidate in pinned:
        selection.offer(candidate, available // 2)
    others = lines
    if selection.chosen:
        others = [line for line in lines if not selection.holds(line.candidate.reference)]
    chosen = _ChosenLines({line.candidate.reference: line for line in others}, available - selection.used)
    whole = {choice.reference for file in selection.chosen.values() for choice in file}
    chosen.known += [passage.text for passage in pinned if passage.reference in whole]
    once = _each_once(others, is_list=is_list)
    omitted = _held_by_memory(others, once)
    top = max(0.0, (lines[0].score if lines else 0.0) if best is None else best)
    for key, line in once.items():
        if line.score < STOP * top and not shows_all:
            omitted.append(Omitted(line.candidate.reference, "relevance"))
        elif key in chosen.keys or not chosen.adds(line):
            omitted.append(Omitted(line.candidate.reference, "duplicate"))
        elif not chosen.take(line) and not chosen.take_part(line, cut):
            chosen.take_newer(line)
            omitted.append(Omitted(line.candidate.reference, "budget"))
    kept = [omission for omission in omitted if omission.reference not in chosen.taken]
    kept += map(_make_omitted, zip(unread, repeat("relevance")))
    return ContextPlan((*selection.plan().choices, *chosen.choices(is_list=is_list)), tuple(kept))


def _words(line: ContextLine) -> str:
    """Return what a line says, without a list's mark and a statement's date."""
    return (line.read or line.words).said[0]


def _key(line: ContextLine) -> str:
    """Return a line's words, by which it is the same as another one."""
    return (line.read or line.words).said[1]


def _each_once(lines: Sequence[ContextLine], *, is_list: bool) -> dict[str, ContextLine]:
    """Return lines in their order, by their words: of equal ones the first, or a page's that contradicts another.

    A line of memory stands for an equal one that is none, and, but in a list, a page's for one of the journal.
    """
    contradicting = {newer for line in lines if line.unit is not None for newer in line.unit.newer}
    best: dict[str, ContextLine] = {}
    for line in lines:
        key = _key(line)
        known = best.get(key)
        if known is None:
            best[key] = line
        elif _stands_for(line, known, is_list=is_list):
            best[key] = line._replace(score=known.score)
        elif _is_of_pair(line, contradicting) and not _is_of_pair(known, contradicting):
            best[key] = line
    return best


def _stands_for(line: ContextLine, other: ContextLine, *, is_list: bool) -> bool:
    if other.included is not None:
        return line.included is None
    return line.is_of_page and is_entry_at(other.reference.path) and not is_list


def _held_by_memory(lines: Sequence[ContextLine], once: Mapping[str, ContextLine]) -> list[Omitted]:
    """Return the lines beside memory for which an equal line of memory stands."""
    beside = [line for line in lines if line.included is not None]
    return [Omitted(line.reference, "duplicate") for line in beside if once[_key(line)].included is None]


def _is_of_pair(line: ContextLine, contradicting: Container[Reference]) -> bool:
    return line.reference in contradicting or bool(line.unit is not None and line.unit.newer)


@dataclass(slots=True)
class _ChosenLines:
    """The lines that were chosen, by the header that they share.

    Those that newer ones contradict stand behind all others of memory, in the order in which they were chosen.
    """

    by_reference: Mapping[Reference, ContextLine]
    room: int
    groups: dict[object, list[Choice]] = field(default_factory=dict)
    taken: dict[Reference, Choice] = field(default_factory=dict)
    titles: set[tuple[str, str]] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    stated: list[str] = field(default_factory=list)  # statements of pages
    told: list[str] = field(default_factory=list)  # lines of entries
    known: list[str] = field(default_factory=list)  # all that stands in the context
    outdated: list[Choice] = field(default_factory=list)
    days: dict[Reference, date] = field(default_factory=dict)  # on which chosen lines were said, if known

    def adds(self, line: ContextLine) -> bool:
        """Return whether no chosen line holds what this one says: an entry may say more than a page's statement."""
        if line.included is not None:
            said = _words(line)
            return not any(said in text for text in self.known)
        is_entry = is_entry_at(line.candidate.reference.path)
        if line.unit is None and not is_entry:
            return True
        said = _words(line)
        if not is_entry:
            return not any(said in words for words in self.told)
        for statement in self.stated:
            said = said.replace(statement, " ")
        return _WORD.search(said) is not None

    def take(self, line: ContextLine) -> bool:
        """Choose a line, after the newer ones that contradict it, if all of them fit."""
        if line.unit is None or not line.unit.newer:
            if line.candidate.reference in self.taken:
                return True
            # Most lines are left out because they do not fit; headers come on top.
            return len(line.candidate.text) < self.room and self._take_all([line])
        return self._take_all([*self._newer(line), line])

    def take_newer(self, line: ContextLine) -> None:
        """Choose the newer lines that contradict one that does not fit beside them, in its place."""
        if line.unit is not None and line.unit.newer:
            self._take_all(self._newer(line))

    def _take_all(self, wanted: Sequence[ContextLine]) -> bool:
        new = [line for line in wanted if line.reference not in self.taken]
        if not new:
            return True
        if sum([len(line.candidate.text) + len("\n") for line in new]) > self.room:  # headers come on top
            return False
        outdated = [line for line in new if line.unit is not None and line.unit.is_outdated]
        if len(self.outdated) + len(outdated) > MAX_OUTDATED:
            return False
        choices = [_choice(line) for line in new]
        chars = self._added(choices, [line.candidate.text for line in new])
        if chars > self.room:
            return False
        for line, choice in zip(new, choices, strict=True):
            self._put(choice, line)
        self.room -= chars
        return True

    def take_part(self, line: ContextLine, cut: Cut) -> bool:
        """Choose what fits of a line that is too long, if nothing was chosen yet."""
        if self.taken:
            return False
        choice, text = _choice(line), line.candidate.text
        room = self.room - self._added([choice], [""])
        if choice.is_outdated or room < MIN_FIRST_CHARS:
            return False
        start, end = cut(text, room)
        if (chars := shown_chars(text[start:end])) > room:
            start, end = cut(text, room * (end - start) // chars)
        if start == end or shown_chars(text[start:end]) > room:
            return False
        first = choice.reference.span[0]
        reference = choice.reference._replace(span=(first + start, first + end))
        choice = choice._replace(reference=reference, truncated=True)
        self.room -= self._added([choice], [text[start:end]])
        self._put(choice, line)
        return True

    def choices(self, *, is_list: bool) -> list[Choice]:
        """Return the choices, header by header; what a page or an entry says in the order in which it says it.

        Of a list the headers, and the statements of a page, stand best first, and else the newest first.
        """
        ordered, beside = list[Choice](), list[Choice]()
        groups = self.groups.values()
        for choices in groups if is_list else newest_first(groups, self.days):
            is_page = is_statement_file(choices[0].reference.path)
            part = ordered if choices[0].included is None else beside
            part += by_title(choices if is_page else sorted(choices, key=lambda choice: choice.reference))
        return [*ordered, *self.outdated, *beside]

    def _put(self, choice: Choice, line: ContextLine) -> None:
        if choice.is_outdated:
            self.outdated.append(choice)
        else:
            self.groups.setdefault(choice.group, []).append(choice)
            if (day := line.day) is not None:
                self.days[choice.reference] = day
            self.titles.add(title_of(choice))
        self.reasons.add(choice.reason)
        self.known.append(line.candidate.text)
        self.taken[line.reference] = choice
        self.keys.add(_key(line))
        if line.is_of_page and not choice.is_outdated:
            self.stated.append(_words(line))
        elif is_entry_at(line.reference.path) and not choice.truncated:
            self.told.append(_words(line))

    def _added(self, choices: Sequence[Choice], texts: Sequence[str]) -> int:
        """Return how many characters choices add to a context at most; outdated ones may share no header."""
        groups: set[object] = set()  # those of these choices, beside the ones that stand there
        titles: set[tuple[str, str]] = set()
        chars = 0
        for choice, text in zip(choices, texts, strict=True):
            title, group = title_of(choice), choice.group
            chars += shown_chars(text) + len("\n")
            if not self._has_header(group, groups):
                chars += header_chars(choice) - len("\n")
            if choice.included is not None and not self._has_header(choice.reason, groups):
                chars += Section(choice.included.section.sentence, None).chars
            if title not in self.titles and title not in titles:
                chars += len(title[1])
            if not choice.is_outdated:
                groups |= {group, choice.reason}
                titles.add(title)
        return chars

    def _has_header(self, group: object, others: Container[object]) -> bool:
        return group in self.groups or group in self.reasons or group in others

    def _newer(self, line: ContextLine) -> list[ContextLine]:
        """Return the statements that contradict a statement, and those that contradict them, the newest first."""
        found: dict[Reference, ContextLine] = {}
        wanted = list(line.unit.newer) if line.unit is not None else []
        while wanted:
            one = self.by_reference.get(wanted.pop())
            if one is not None and one.reference not in found:
                found[one.reference] = one
                wanted += one.unit.newer if one.unit is not None else ()
        return sorted(found.values(), key=_order, reverse=True)


def _order(line: ContextLine) -> tuple[object, ...]:
    if line.unit is not None:
        return line.unit.order
    path, _, (start, _) = line.reference
    return entry_day(path.removeprefix("user/")), series_order(path), start


def _choice(line: ContextLine) -> Choice:
    candidate, unit = line.candidate, line.unit
    said = () if line.included is None else line.included.passage.heading
    return Choice(
        candidate.reference,
        candidate.reason,
        candidate.linked_from,
        heading=() if line.is_of_page else tuple(title for title in candidate.heading if title not in said),
        is_outdated=unit is not None and unit.is_outdated,
        why=line.why,
        included=line.included,
    )
