"""Filing of statements of old conversations, by rules; what is older than memory changes nothing of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from memex.store.citations.syntax import CitedPlace
from memex.store.records import Tombstone
from memex.subagent.distil.reading import MessageReading
from memex.subagent.distil.removed import RemovedStatements, find_removed, statement_form
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import (
    PLANNER_VERSION,
    Addition,
    FiledStatement,
    KnownStatement,
    RememberPlan,
)
from memex.subagent.remember.changes import Changes, find_contradiction, newer_contradiction
from memex.subagent.remember.echoes import is_kept_out
from memex.subagent.remember.filing.entries import SAME_TASK
from memex.subagent.remember.placing import place_statements
from memex.subagent.remember.related import RelatedFiles, find_related
from memex.subagent.remember.stage import find_replacements
from memex.subagent.statements.bullets import UNDATED
from memex.subagent.statements.comparison.remains import Echo, find_echoes
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination
from memex.subagent.statements.subjects import normal_form


@dataclass(frozen=True, slots=True)
class OutdatedStatement:
    """A statement that is not taken, because memory holds a `newer` one, or has given the statement up since.

    So is an open task of which nobody knows when it was said.
    """

    add: Addition
    newer: FiledStatement | None


@dataclass(frozen=True, slots=True)
class DistilPlan:
    """The plan for statements of conversations, and those that are outdated. Each addition names its message.

    `known` are statements that other files make already, with the paths of those files. `anew` say
    what was forgotten or replaced before their messages were written.
    """

    plan: RememberPlan
    known: tuple[Addition, ...]
    outdated: tuple[OutdatedStatement, ...]
    anew: tuple[Echo, ...] = ()


async def plan_distil(
    messages: Sequence[MessageReading],
    project: str | None,
    tools: MemoryTools,
    *,
    version: int = PLANNER_VERSION,
) -> DistilPlan:
    """Return where the statements of messages go, in the order in which they were said.

    Args:
        messages: those of a part of some conversations, in any order.
        project: the project that the statements are about, if any.
        tools: reads memory.
        version: of the planner, whose reads of memory are made.
    """
    said_at = {reading.said.place: reading.message.said_at for reading in messages}
    removed, tombstones = await find_removed(project, tools), await tools.tombstones()
    taking = _Taking(project, version, tools, said_at, removed, tombstones)
    for add in await taking.place(messages):
        await taking.take(add)
    return await taking.plan()


@dataclass(slots=True)
class _Taking:
    """Statements while they are compared with memory, one after the other."""

    project: str | None
    version: int
    tools: MemoryTools
    said_at: Mapping[CitedPlace, datetime | None]
    removed: RemovedStatements
    tombstones: Sequence[Tombstone] = ()
    anew: list[Echo] = field(default_factory=list)
    adds: list[Addition] = field(default_factory=list)
    known: dict[Addition, KnownStatement] = field(default_factory=dict)
    outdated: list[OutdatedStatement] = field(default_factory=list)
    changes: Changes = field(default_factory=lambda: Changes(UNDATED))

    async def place(self, messages: Sequence[MessageReading]) -> list[Addition]:
        """Return the statements of messages with where they go, in the order in which they were said."""
        ordered = sorted(
            messages, key=lambda message: (message.said.day, message.message.said_at_s, message.said.place)
        )
        said = [(statement, message.said) for message in ordered for statement in message.statements]
        adds = await place_statements(
            [statement for statement, _ in said], self.project, UNDATED, self.tools, version=self.version
        )
        return [replace(add, said=by) for add, (_, by) in zip(adds, said, strict=True)]

    async def take(self, add: Addition) -> None:
        """Take a statement, unless memory holds it or something newer."""
        day = add.said.day if add.said else UNDATED
        about = await find_related(add, self._own_paths, self.tools)
        add = replace(add, path=about.home or add.path, links=about.links)
        if about.known:
            self.known[add] = about.known
            self.adds.append(add)
            return
        form = normal_form(add.statement.text)
        if any(normal_form(statement.text) == form for statement in about.stored):
            self.adds.append(add)  # filing adds the citation
            return
        if self._was_given_up(add) or (day == UNDATED and add.statement.kind in SAME_TASK):
            self.outdated.append(OutdatedStatement(add, None))
            return
        newer = _same_of_another_day(add, about, day)
        newer = newer or newer_contradiction(add, about, self.tools.analyzer, day)
        found = find_contradiction(add, about, self.tools.analyzer, day, self.changes.gone)
        if newer is None and found is not None and found.older.day >= day:
            newer = found.older
        if newer is not None:
            self.outdated.append(OutdatedStatement(add, newer))
        else:
            self.adds.append(self.changes.carry_out(add, about, found))

    def _was_given_up(self, add: Addition) -> bool:
        """Return whether memory gave a statement up since the statement was said, such as on request."""
        if add.said is None:
            return False
        said_at = self.said_at.get(add.said.place) if add.said.day != UNDATED else None
        removed_at = self.removed.get(statement_form(add.statement.text))
        if removed_at is not None and (said_at is None or removed_at >= said_at):
            return True
        for echo in find_echoes(add.statement.text, self.tombstones, self.tools.analyzer):
            is_older = said_at is None or said_at < echo.tombstone.ended_at
            if is_kept_out(echo, is_older=is_older):
                return True
            if echo.is_outright and not is_older:
                self.anew.append(echo)
        return False

    async def plan(self) -> DistilPlan:
        """Return the plan of all statements that were taken."""
        for add in await find_replacements(self.adds, self.known, UNDATED, self.tools):
            self.known.pop(add, None)
        kept = tuple(add for add in self.adds if add not in self.known)
        plan = RememberPlan(
            kept,
            tuple(self.known.values()),
            removals=tuple(self.changes.removals),
            rivals=tuple(self.changes.rivals),
        )
        known = tuple(replace(add, path=held.reference.path) for add, held in self.known.items())
        return DistilPlan(plan, known, tuple(self.outdated), tuple(self.anew))

    @property
    def _own_paths(self) -> frozenset[str]:
        projects = {self.project, None}
        return frozenset(destination(kind, project).path for kind in STATEMENT_KINDS for project in projects)


def _same_of_another_day(add: Addition, about: RelatedFiles, day: date) -> FiledStatement | None:
    """Return a newer statement that says the same of another day, such as `I fly tomorrow`; None for none."""
    form = statement_form(add.statement.text)
    return next(
        (
            statement
            for statement in about.stored
            if statement.day >= day and statement_form(statement.text) == form
        ),
        None,
    )
