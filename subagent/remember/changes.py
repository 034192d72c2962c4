"""The changes by the new statements of one call: which stored ones they replace, close or contradict."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from memex.store.entry_path import is_entry_at
from memex.store.records import Span
from memex.store.search.analyzer import Analyzer
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Addition, FiledStatement, Overtaking, Removal, Rivalry
from memex.subagent.remember.lately import told_lately
from memex.subagent.remember.mounts import is_writable
from memex.subagent.remember.related import RelatedFiles, SaidTime
from memex.subagent.remember.told_sentences import is_stated
from memex.subagent.statements.comparison.conjuncts import readings_of, rest_beside
from memex.subagent.statements.comparison.corrections import corrected
from memex.subagent.statements.comparison.putting_right import denies, puts_right
from memex.subagent.statements.comparison.relations import (
    MANY_KINDS,
    Relation,
    RelationOutcome,
    compare,
    decide,
    may_give_way,
)
from memex.subagent.statements.comparison.short_corrections import ShortCorrection, short_correction
from memex.subagent.statements.comparison.values import says_more
from memex.subagent.statements.comparison.views import view, words_of
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import destination, mount_of
from memex.subagent.statements.subjects import normal_form

LEFT_OUT_FROM = 0.6  # the likelihood from which on an older statement is not stored beside a newer rival
MAX_READ = 4  # entries of the journal that are read for one statement, to see what they state


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A stored statement that a new one probably contradicts.

    Attributes:
        older: the stored statement.
        outcome: what becomes of it by the rules.
        may_give_way: it may be replaced or closed at all: it is of the same scope, it says one thing or the rest of
            it stays, and it is not of a later day.
        rest: what else it says, which stays.
    """

    older: FiledStatement
    outcome: RelationOutcome
    may_give_way: bool
    rest: str = ""


@dataclass(slots=True)
class Changes:
    """The changes of one call so far; `day` is the one on which its text was said, `project` the one that it names.

    `correcting` are the sentences that put something right, and whether they say outright that it was wrong.

    A statement that is replaced in the file to which the new one goes gives its place to it. One in another file
    is taken out there, and a sentence of the journal stays where it is, as one that is `overtaken`. A rival stays
    as it is.
    """

    day: date
    project: str | None = None
    correcting: Mapping[Span, bool] = field(default_factory=dict)
    removals: list[Removal] = field(default_factory=list)
    rivals: list[Rivalry] = field(default_factory=list)
    overtaken: list[Overtaking] = field(default_factory=list)
    gone: set[tuple[str, str]] = field(default_factory=set)  # the paths and texts of what the call takes out

    async def take(
        self, add: Addition, about: RelatedFiles, tools: MemoryTools, first_said: SaidTime | None = None
    ) -> Addition:
        """Note what a new statement changes, and return its addition, which may replace a stored statement.

        Args:
            add: the new statement and where it goes.
            about: what memory holds about it.
            tools: reads memory.
            first_said: when it was said, if it is the first statement of a text that the journal keeps.
        """
        corrects = self._corrected(add, about, tools.analyzer)
        if len(wrong := [stored for stored in corrects if self._may_change(stored)]) == 1:
            return self._rewritten(add, wrong[0], corrects[wrong[0]])
        if (older := await self._put_right(add, about, tools)) is not None:
            rest = rest_beside(older.text, lambda fact: puts_right(add.statement.text, fact))
            is_all = not (is_entry_at(older.path) if rest else says_more(older.text, add.statement.text))
            return self.carry_out(
                add, about, Contradiction(older, "replaces", may_give_way=is_all, rest=rest)
            )
        if (told := _only([stored for stored in corrects if is_entry_at(stored.path)])) is not None:
            # It says more than the value, and no page holds it, so it stays beside the new one.
            return self.carry_out(add, about, Contradiction(told, "rival", may_give_way=False))
        if (done := await self._put_right_shortly(add, about, first_said, tools)) is not None:
            return done
        found, about = await self._stated_contradiction(add, about, tools)
        add = self.carry_out(add, about, found)
        for _ in readings_of(add.statement.text)[2:]:  # each further fact may replace another statement
            if found is None or not (found.outcome == "replaces" and found.may_give_way):
                break
            found, about = await self._stated_contradiction(add, about, tools)
            if found is not None and found.outcome == "replaces" and found.may_give_way:
                add = self.carry_out(add, about, found)
        return add

    async def _stated_contradiction(
        self, add: Addition, about: RelatedFiles, tools: MemoryTools
    ) -> tuple[Contradiction | None, RelatedFiles]:
        """Return what a new statement contradicts, and the stored ones without those that nobody states."""
        for _ in range(MAX_READ):
            found = find_contradiction(add, about, tools.analyzer, self.day, self.gone, self.project)
            if found is None or not is_entry_at(found.older.path):
                return found, about
            if await is_stated(found.older, add.path, tools):
                return found, about
            about = replace(
                about, stored=tuple(statement for statement in about.stored if statement != found.older)
            )
        return None, about

    def carry_out(self, add: Addition, about: RelatedFiles, found: "Contradiction | None") -> Addition:
        """Note what becomes of the statement that a new one contradicts, and return the addition of the new one."""
        if found is None:
            return add
        self._say_again(add, about)
        older = found.older
        if found.outcome == "rival" or not found.may_give_way:
            self.rivals.append(Rivalry(add.statement, older, self._elsewhere(about, older)))
            return add
        if found.outcome == "closes" and older.kind == "pending" and not is_entry_at(older.path):
            return self._finish(add, older, found.rest)
        self._overtake(add, about, older)
        if is_entry_at(older.path):
            return add
        self.gone.add((older.path, older.text))
        if older.path == add.path and add.replaces is None:
            return replace(add, replaces=older.text, keeps=found.rest)
        self.removals.append(Removal(older.path, add.statement, older.text, found.rest))
        return add

    def _corrected(self, add: Addition, about: RelatedFiles, analyzer: Analyzer) -> dict[FiledStatement, str]:
        """Return the stored statements in which a new one puts a value right, each with that value."""
        text = add.statement.text
        return {
            stored: right
            for stored in about.stored
            if stored.day <= self.day and (right := corrected(text, stored.text, analyzer))
        }

    def _may_change(self, stored: FiledStatement) -> bool:
        """Return whether a statement stands in a page where the call may write, and was not said after its text."""
        is_open = (stored.path, stored.text) not in self.gone and stored.day <= self.day
        return is_open and not is_entry_at(stored.path) and is_writable(stored.path, self.project)

    async def _put_right_shortly(
        self, add: Addition, about: RelatedFiles, said: SaidTime | None, tools: MemoryTools
    ) -> Addition | None:
        """Return the addition of a short correction of one statement; None if it corrects none beyond doubt.

        A sentence that the journal alone has stays beside it, since it alone says of what both speak.
        """
        if (correction := short_correction(add.statement.text)) is None:
            return None
        older = None
        if correction.topic:
            older = self._named_by(correction, about, tools.analyzer)
        elif said is not None:
            older = await told_lately(correction, add, said, tools)
        if older is None:
            return None
        if is_entry_at(older.path):
            return self.carry_out(add, about, Contradiction(older, "rival", may_give_way=False))
        right = correction.applied_to(older.text)
        return self._rewritten(add, older, right) if right and self._may_change(older) else None

    def _named_by(
        self, correction: ShortCorrection, about: RelatedFiles, analyzer: Analyzer
    ) -> FiledStatement | None:
        """Return the one stored statement of which a correction speaks by its topic; None for none."""
        topic = set(analyzer.lexemes(correction.topic))
        if correction.value.sort == "name":
            topic -= set(analyzer.lexemes("name"))  # which `is called` says as well
        return _only(
            [
                stored
                for stored in about.stored
                if stored.day <= self.day
                and topic
                and topic <= set(analyzer.lexemes(stored.text))
                and correction.applied_to(stored.text) is not None
            ]
        )

    def _rewritten(self, add: Addition, older: FiledStatement, right: str) -> Addition:
        """Return the addition of a statement that stands for a stored one, in which it puts a value right."""
        self.gone.add((older.path, older.text))
        place = destination(older.kind, self.project)
        statement = replace(add.statement, kind=older.kind, text=right)
        return replace(
            add,
            path=older.path,
            title=place.title,
            heading=place.heading,
            statement=statement,
            replaces=older.text,
        )

    async def _put_right(
        self, add: Addition, about: RelatedFiles, tools: MemoryTools
    ) -> FiledStatement | None:
        """Return the one stored statement that a new one corrects or denies; None for none, and for several."""
        text, statement = add.statement.text, add.statement
        is_wrong = next((wrong for span, wrong in self.correcting.items() if _holds(span, statement)), None)
        is_right = is_wrong or (is_wrong is False and statement.kind not in MANY_KINDS)
        older = _only(
            [
                stored
                for stored in about.stored
                if stored.day <= self.day
                and (stored.path, stored.text) not in self.gone
                and stored.kind != "pending"
                and is_writable(stored.path, self.project)
                and mount_of(stored.path) == mount_of(add.path)
                and (
                    (is_right and any(puts_right(text, fact) for fact in readings_of(stored.text)))
                    or denies(text, stored.text, tools.analyzer)
                )
            ]
        )
        if older is None:
            return None
        is_said = not is_entry_at(older.path) or await is_stated(older, add.path, tools)
        return older if is_said and normal_form(older.text) != normal_form(text) else None

    def _finish(self, add: Addition, task: FiledStatement, rest: str) -> Addition:
        """Return what is done as the statement that stands for a task, of which the rest stays.

        A task of another scope stays there whole, as done.
        """
        self.gone.add((task.path, task.text))
        if mount_of(task.path) != mount_of(add.path):
            self.removals.append(Removal(task.path, add.statement, task.text, rest or task.text))
            return add
        place = destination("done", self.project)
        done = replace(add.statement, kind="done")
        return replace(
            add,
            path=task.path,
            title=place.title,
            heading=place.heading,
            statement=done,
            replaces=task.text,
            keeps=rest,
        )

    def _overtake(self, add: Addition, about: RelatedFiles, older: FiledStatement) -> None:
        """Note the sentences of the journal that say what a new statement takes the place of."""
        for statement in _that_say(older.text, about, self.gone):
            if is_entry_at(statement.path) and statement.day <= self.day:
                self.overtaken.append(Overtaking(add.statement, statement))
                self.gone.add((statement.path, statement.text))

    def _elsewhere(self, about: RelatedFiles, older: FiledStatement) -> tuple[FiledStatement, ...]:
        """Return the other places in which memory says the same as a stored statement."""
        same = _that_say(older.text, about, self.gone)
        return tuple(statement for statement in same if statement != older)

    def _say_again(self, add: Addition, about: RelatedFiles) -> None:
        """Take out what is stored of a statement that is said again, so that it is stored as the newest."""
        for statement in _that_say(add.statement.text, about, self.gone):
            if not is_entry_at(statement.path):
                self.removals.append(Removal(statement.path, None, statement.text))
                self.gone.add((statement.path, statement.text))


def _holds(span: Span, statement: Statement) -> bool:
    return span[0] <= statement.start < span[1]


def find_contradiction(
    add: Addition,
    about: RelatedFiles,
    analyzer: Analyzer,
    day: date,
    gone: Collection[tuple[str, str]] = (),
    project: str | None = None,
) -> Contradiction | None:
    """Return the stored statement that a new one most likely contradicts; None for none.

    A statement that is said again contradicts only what was stored after it, and of which nobody has said that both
    hold; else it is a duplicate.

    Args:
        add: the new statement and where it goes.
        about: what memory holds about it.
        analyzer: makes lexemes.
        day: the one on which the text was said.
        gone: the paths and texts of stored statements that the call has taken out.
        project: that the call names: its tasks may be closed too.
    """
    same = _that_say(add.statement.text, about, gone)
    stored = [
        statement
        for statement in about.stored
        if (statement.path, statement.text) not in gone and statement not in same
    ]
    found = _relation(add, stored, about, analyzer, project)
    if found is None:
        return None
    relation, older = found
    if any(
        statement.order > older.order
        or older.day > day
        or (statement.still_true is not None and statement.still_true >= older.day)
        for statement in same
    ):
        return None
    is_same_scope = mount_of(older.path) == mount_of(add.path)
    is_settled = relation.outcome != "rival" or may_give_way(relation.older, is_same_scope=is_same_scope)
    if is_entry_at(older.path):  # whose words are not rewritten, so that what else they say would go
        is_settled = is_settled and not relation.rest
    return Contradiction(older, relation.outcome, is_settled and older.day <= day, relation.rest)


def newer_contradiction(
    add: Addition, about: RelatedFiles, analyzer: Analyzer, day: date
) -> FiledStatement | None:
    """Return a stored statement that contradicts an older one, as if it were said now; None if there is none.

    Args:
        add: the older statement.
        about: what memory holds about it.
        analyzer: makes lexemes.
        day: the one on which the older statement was said: what was said before it does not count.
    """
    older, mount = view(add.statement.text, add.statement.kind, analyzer), mount_of(add.path)
    for statement in about.stored:
        if statement.day < day:
            continue
        newer, is_same = view(statement.text, statement.kind, analyzer), mount_of(statement.path) == mount
        if older.topic.isdisjoint(newer.topic):
            continue
        relation = decide(newer, [compare(newer, older, about.weights, is_same_scope=is_same)])
        if relation is not None and (relation.outcome != "rival" or relation.likelihood >= LEFT_OUT_FROM):
            return statement
    return None


def _that_say(text: str, about: RelatedFiles, gone: Collection[tuple[str, str]]) -> list[FiledStatement]:
    """Return the stored statements that say the same as a text."""
    form = normal_form(text)
    stored = (statement for statement in about.stored if (statement.path, statement.text) not in gone)
    return [statement for statement in stored if normal_form(statement.text) == form]


def _only(found: Sequence[FiledStatement]) -> FiledStatement | None:
    """Return the first of stored statements that all say the same; None for none, and for several things."""
    return found[0] if len({normal_form(stored.text) for stored in found}) == 1 else None


def _relation(
    add: Addition,
    stored: Sequence[FiledStatement],
    about: RelatedFiles,
    analyzer: Analyzer,
    project: str | None,
) -> tuple[Relation, FiledStatement] | None:
    """Return what a new statement makes of a stored one, and which one that is."""
    new, mount = view(add.statement.text, add.statement.kind, analyzer), mount_of(add.path)
    alike: dict[tuple[str, StatementKind], FiledStatement] = {}
    for statement in stored:
        key = statement.text, statement.kind
        if new.topic.isdisjoint(words_of(statement.text, analyzer)):
            continue  # it says nothing of what the new one is about
        if (
            key not in alike or mount_of(statement.path) == mount
        ):  # one that stands twice is changed in its scope
            alike[key] = statement
    compared = [
        compare(
            new,
            view(*key, analyzer),
            about.weights,
            is_same_scope=mount_of(statement.path) == mount,
            may_close=statement.kind == "pending" and is_writable(statement.path, project),
        )
        for key, statement in alike.items()
    ]
    relation = decide(new, compared, with_facts=True)
    return None if relation is None else (relation, alike[relation.older.text, relation.older.kind])
