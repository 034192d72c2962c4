"""The entries that are put into a file, and what those of one call make of each other."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from memex.store.citations.syntax import CitedPlace
from memex.subagent.statements.bullets import parse_bullet
from memex.subagent.statements.comparison.values import may_take_place
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import kind_under
from memex.subagent.statements.subjects import claim_of, is_replaceable, normal_form, subject_of

# Where a task is known already: one that is done may come up again.
SAME_TASK: dict[StatementKind, tuple[StatementKind, ...]] = {
    "pending": ("pending", "blocker"),
    "done": ("done",),
    "blocker": ("blocker",),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement to file; `links` are targets such as `people/alice`.

    `replaces` is the text of a bullet, or of a sentence of prose, whose place it shall take if that still stands;
    `keeps` is what else that bullet says, which stays.
    `due` is the day on which it is due. `cited` is the message of a conversation that it was taken from: such a
    statement never takes the place of one that may be newer; see `ListItem.resists`.
    """

    statement: Statement
    heading: str
    date: datetime.date
    links: tuple[str, ...] = ()
    replaces: str | None = None
    due: datetime.date | None = None
    cited: CitedPlace | None = None
    keeps: str = ""


@dataclass(frozen=True, slots=True)
class EntryOutcome:
    """The outcome for an entry or for a text to take out; `replaced` is what went.

    `overtaken`: a later entry of the same call takes its place, or a bullet that was said later has it, and it is
    not filed. Of a text to take out:
    `removed`; `absent` when it does not stand there; `nested` when what stands below it would lose its parent.
    Of a duplicate, `cited` is the text of the bullet that a citation was added to, and `known` that of the bullet
    that says the same.
    """

    action: Literal["added", "duplicate", "superseded", "overtaken", "removed", "absent", "nested"]
    replaced: str | None = None
    cited: str | None = None
    known: str | None = None


@dataclass(slots=True)
class PlannedEntry:
    """An entry, and what the later entries of its call make of it.

    `is_overtaken` when one takes its place, which has its text as `instead_of`; `is_reopened` when its task is
    done here and comes up again there. `replaces` is the entry's, or that of one whose place it takes.
    """

    entry: Entry
    kind: StatementKind
    normal_form: tuple[str, ...]
    subject: str | None
    replaces: str | None
    is_overtaken: bool = False
    overtaken_text: str | None = None
    is_reopened: bool = False

    @classmethod
    def of(cls, entry: Entry, path: str) -> "PlannedEntry":
        """Return an entry of a file by itself."""
        text = entry.statement.text
        kind, form = kind_under(entry.heading, path), normal_form(text)
        return cls(entry, kind, form, entry_subject(kind, text, form), entry.replaces)

    def outcome(self) -> EntryOutcome:
        """Return what becomes of it when nothing in the file gives way to it."""
        return (
            EntryOutcome("superseded", self.overtaken_text) if self.overtaken_text else EntryOutcome("added")
        )


def plan_entries(entries: Sequence[Entry], path: str = "") -> list[PlannedEntry]:
    """Return entries of a file with what those of one call make of each other."""
    planned_entries = [PlannedEntry.of(entry, path) for entry in entries]
    later: dict[object, dict[tuple[str, ...], PlannedEntry]] = {}
    for planned in reversed(planned_entries):
        taking = next(_overtaking_entries(planned, later), None)
        if taking is not None:
            planned.is_overtaken, taking.overtaken_text = True, planned.entry.statement.text
            taking.replaces = taking.replaces or planned.replaces
        planned.is_reopened = planned.kind == "done" and f"pending {planned.subject}" in later
        for name in lookup_keys(planned.kind, planned.subject, planned.normal_form):
            later.setdefault(name, {}).setdefault(planned.normal_form, planned)
    return planned_entries


def entry_subject(kind: StatementKind, text: str, form: tuple[str, ...]) -> str | None:
    """Return a statement's key; of a task also when it is too long to have one."""
    found = subject_of(kind, text)
    return " ".join(form) if found is None and kind in SAME_TASK else found


def lookup_keys(kind: StatementKind, subject: str | None, form: tuple[str, ...]) -> Iterator[object]:
    """Yield what a statement is found by when another may take its place."""
    if kind in SAME_TASK:
        yield f"{kind} {subject}"
        return
    yield claim_of(form)
    if subject is not None:
        yield subject


def opposite_claim(form: tuple[str, ...]) -> tuple[str, bool]:
    """Return the claim of a statement that says the opposite."""
    words, is_denied = claim_of(form)
    return words, not is_denied


def _overtaking_entries(
    planned: PlannedEntry, later: Mapping[object, Mapping[tuple[str, ...], PlannedEntry]]
) -> Iterator[PlannedEntry]:
    """Yield the later entries that take an entry's place."""
    if planned.kind in SAME_TASK:
        if planned.kind == "pending":
            yield from later.get(f"done {planned.subject}", {}).values()
        return
    yield from later.get(opposite_claim(planned.normal_form), {}).values()
    if planned.subject is not None and is_replaceable(planned.entry.statement.text):
        yield from (
            other
            for form, other in later.get(planned.subject, {}).items()
            if form != planned.normal_form
            and may_take_place(other.entry.statement.text, planned.entry.statement.text)
        )


def normal_forms(content: str) -> set[tuple[str, ...]]:
    """Return what the lines of a file say, by normal form."""
    return {normal_form(parse_bullet(line)) for line in content.splitlines()}
