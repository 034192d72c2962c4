"""Rivals: stored statements that a text probably contradicts, and what a model says becomes of each.

The built-in planner's code finds them, and the same code says whether one may give way at all. The model only
judges between; what it leaves unsaid, or says in two ways, becomes a rival of the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from memex.store.records import Span
from memex.store.search.analyzer import Analyzer
from memex.store.text_pool import offload
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.edits import MAX_CHECKED, MAX_PROBLEMS, Edits, require_all_keys
from memex.subagent.model.nearest import NumberedStatements
from memex.subagent.planner import Addition, FiledStatement, RememberRequest, Removal, Rivalry
from memex.subagent.remember.changes import Contradiction, find_contradiction
from memex.subagent.remember.related import RelatedFiles, find_related
from memex.subagent.statements.extraction import Statement, extract_statements
from memex.subagent.statements.language import STATEMENT_KINDS
from memex.subagent.statements.places import destination, mount_of
from memex.subagent.statements.secrets.statement import holds_secret

SHOWN_CHARS = 300  # of the sentence of the text beside a rival

_TARGETING = frozenset({"update", "supersede", "remove"})
_TAKING_OUT = frozenset({"supersede", "remove"})  # which says that the older statement no longer holds

Fate = Literal["replaced", "closed", "both_hold", "unsure"]
StatementKey = tuple[str, str]  # the path and the text of a stored statement


class Verdict(BaseModel):
    """What becomes of a known statement that the text may contradict."""

    model_config = ConfigDict(json_schema_extra=require_all_keys)

    known: Annotated[str, Field(description="The number of the known statement, such as N3.")]
    becomes: Annotated[Fate, Field(description="What becomes of it.")]


class EditsAndVerdicts(Edits):
    """What is stored of the text, what is not, and what becomes of the statements that it may contradict."""

    model_config = ConfigDict(json_schema_extra=require_all_keys)

    verdicts: list[Verdict] = Field(
        default_factory=list, description="One for each known statement that the text may contradict."
    )


@dataclass(frozen=True, slots=True)
class ProbableRival:
    """A statement of the text as the rules read it, and the stored one that it probably contradicts."""

    statement: Statement
    contradiction: Contradiction

    @property
    def key(self) -> StatementKey:
        """The path and the text of the stored statement."""
        return self.contradiction.older.path, self.contradiction.older.text


async def find_rivals(
    span: Span, request: RememberRequest, near: Sequence[FiledStatement], tools: MemoryTools, most: int
) -> list[ProbableRival]:
    """Return the stored statements that a part of a text probably contradicts, as the built-in planner finds them.

    Args:
        span: the part of the text.
        request: the text.
        near: the stored statements that are near to the part.
        tools: to search with.
        most: so many statements of the part are compared with what is stored.
    """
    text, known = request.text[slice(*span)], {(old.path, old.text): old for old in near}
    reading = await offload.run(len(text), extract_statements, text)
    own_paths = frozenset(
        destination(kind, slug).path for kind in STATEMENT_KINDS for slug in (request.project, None)
    )
    said: dict[str, Statement] = {}
    for statement in reading.statements:
        if not holds_secret(statement.text):
            said.setdefault(statement.text, statement)
    found = []
    for statement in list(said.values())[:most]:
        place = destination(statement.kind, request.project, statement.text)
        add = Addition(place.path, place.title, place.heading, statement)
        about = await find_related(add, own_paths, tools)
        seen = find_contradiction(add, about, tools.analyzer, request.day)
        if (
            seen is not None
            and (older := known.get((seen.older.path, seen.older.text), seen.older)).reference
        ):
            start, end = statement.start + span[0], statement.end + span[0]
            found.append(ProbableRival(replace(statement, start=start, end=end), replace(seen, older=older)))
    return found


@dataclass(frozen=True, slots=True)
class ShownRivals:
    """The rivals that a model is shown with a part of a text, under the numbers of the known statements."""

    rivals: Sequence[ProbableRival]
    notes: NumberedStatements

    @property
    def max_chars(self) -> int:
        """The length of all lines at most, in characters."""
        return sum(len("N000 · \n") + min(len(rival.statement.text), SHOWN_CHARS) for rival in self.rivals)

    def lines(self, max_chars: int) -> str:
        """Return a line for each: the number, and the sentence of the text; as many as fit, empty for none."""
        lines = []
        for key, number in self._numbers.items():
            said = next(rival.statement.text for rival in self.rivals if rival.key == key)
            line = f"N{number} · {' '.join(said.split())[:SHOWN_CHARS]}"
            max_chars -= len(line) + 1
            if max_chars >= 0:
                lines.append(line)
        return "\n".join(lines)

    def problems(self, answer: Edits) -> list[str]:
        """Return what is wrong with the verdicts of an answer, in sentences for the model."""
        named, numbers = self._fates_named(answer), self._numbers
        wrong = [
            f"Verdict {place}: there is no such statement in the list of what the text may contradict."
            for place, verdict in enumerate(_verdicts(answer), start=1)
            if self._key(verdict.known) not in numbers
        ]
        for key, number in numbers.items():
            if key not in named:
                wrong.append(f"N{number}: say in `verdicts` what becomes of it.")
            elif len(named[key]) > 1:
                wrong.append(f"N{number}: your verdicts and edits say different things of it.")
        return wrong[:MAX_PROBLEMS]

    def fates(self, answer: Edits) -> dict[StatementKey, Fate]:
        """Return what an answer says of each rival, but for those of which it says different things."""
        return {key: next(iter(fates)) for key, fates in self._fates_named(answer).items() if len(fates) == 1}

    def contested(self, answer: Edits) -> frozenset[StatementKey]:
        """Return the rivals of which an answer says different things."""
        return frozenset(key for key, fates in self._fates_named(answer).items() if len(fates) > 1)

    def _fates_named(self, answer: Edits) -> dict[StatementKey, set[Fate]]:
        """Return all that an answer says of each rival; an edit of a rival says something of it too."""
        numbers = self._numbers
        named: dict[StatementKey, set[Fate]] = {}
        for verdict in _verdicts(answer):
            if (key := self._key(verdict.known)) in numbers:
                named.setdefault(key, set()).add(verdict.becomes)
        for edit in answer.edits[:MAX_CHECKED]:
            key = self._key(edit.target or "")
            if key in numbers and edit.action in _TARGETING:
                fates = named.setdefault(key, {"replaced"})
                if edit.action in _TAKING_OUT and fates.isdisjoint({"replaced", "closed"}):
                    fates.add("replaced")
        return named

    @property
    def _numbers(self) -> dict[StatementKey, int]:
        """The numbers of those that were shown."""
        keys = {rival.key for rival in self.rivals}
        shown = (((one.path, one.text), place) for place, one in enumerate(self.notes.statements, start=1))
        return {key: place for key, place in shown if key in keys}

    def _key(self, number: str) -> StatementKey:
        stored = self.notes.by_number(number)
        return (stored.path, stored.text) if stored is not None else ("", "")


@dataclass(frozen=True, slots=True)
class JudgedRival:
    """A rival and what the model says becomes of it; None if it says nothing, or several things."""

    rival: ProbableRival
    fate: Fate | None


@dataclass(slots=True)
class JudgedChanges:
    """The changes that the new statements of a call make by the verdicts of a model.

    A verdict is carried out only if the statement that it is about is stored, and only on a rival that may give
    way, in the scope to which the new statement goes. A rival that is not settled is told to the caller.

    Attributes:
        judged: the rivals of all parts of the text, each with the new statement that is about it.
        gone: what edits of the model have replaced or taken out.
        day: the day on which the text was said.
        analyzer: makes lexemes.
        removals: the statements to take out of other files.
        rivals: the pairs that both stay.
    """

    judged: Sequence[tuple[JudgedRival, Statement]]
    gone: set[StatementKey]
    day: date
    analyzer: Analyzer
    removals: list[Removal] = field(default_factory=list)
    rivals: dict[StatementKey, Rivalry] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        judged: Sequence[JudgedRival],
        adds: Sequence[Addition],
        removals: Sequence[Removal],
        day: date,
        analyzer: Analyzer,
    ) -> "JudgedChanges":
        """Return the changes of a call before any new statement is placed.

        Args:
            judged: the rivals of all parts of the text.
            adds: what the accepted edits of the model add.
            removals: what they take out.
            day: the day on which the text was said.
            analyzer: makes lexemes.
        """
        told = {add.statement: frozenset(analyzer.lexemes(add.statement.text)) for add in adds}
        gone = {(add.path, add.replaces) for add in adds if add.replaces is not None}
        gone |= {(removal.path, removal.removes) for removal in removals}
        pairs = ((judged_rival, _newer(judged_rival.rival, told, analyzer)) for judged_rival in judged)
        return cls(
            [(judged_rival, newer) for judged_rival, newer in pairs if newer is not None], gone, day, analyzer
        )

    def take(self, add: Addition, about: RelatedFiles | None) -> Addition:
        """Note what a new statement changes, and return its addition, which may replace a stored statement.

        What the model was not asked about is named as a rival, as the rules find it.

        Args:
            add: the new statement.
            about: what memory holds about the statement; None if it has the place of another one already.
        """
        own = [judged_rival for judged_rival, newer in self.judged if newer == add.statement]
        for judged_rival in own:
            if judged_rival.rival.key not in self.gone:
                add = self._settle(add, judged_rival)
        if about is not None and not own:
            found = find_contradiction(add, about, self.analyzer, self.day, self.gone)
            if found is not None:
                self._name(add.statement, found.older)
        return add

    def _settle(self, add: Addition, one: JudgedRival) -> Addition:
        older = one.rival.contradiction.older
        is_change = one.fate in ("replaced", "closed") and one.rival.contradiction.may_give_way
        if not is_change or mount_of(older.path) != mount_of(add.path):
            if one.fate != "both_hold":
                self._name(add.statement, older)
            return add
        self.gone.add(one.rival.key)
        rest = one.rival.contradiction.rest
        if older.path == add.path and add.replaces is None:
            return replace(add, replaces=older.text, keeps=rest)
        self.removals.append(Removal(older.path, add.statement, older.text, rest))
        return add

    def _name(self, newer: Statement, older: FiledStatement) -> None:
        self.rivals.setdefault((older.path, older.text), Rivalry(newer, older))


def _newer(
    rival: ProbableRival, told: Mapping[Statement, frozenset[str]], analyzer: Analyzer
) -> Statement | None:
    """Return the new statement that rests on the sentence of a rival, and shares most words with the rival."""
    words = set(analyzer.lexemes(rival.contradiction.older.text))
    start, end = rival.statement.start, rival.statement.end
    beside = [statement for statement in told if statement.start < end and start < statement.end]
    return max(beside, key=lambda statement: len(words & told[statement]), default=None)


def _verdicts(answer: Edits) -> list[Verdict]:
    return answer.verdicts[:MAX_CHECKED] if isinstance(answer, EditsAndVerdicts) else []
