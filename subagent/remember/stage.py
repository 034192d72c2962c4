"""Remembering a text: a planner decides where its statements go, and code files them in one commit."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from memex.store.entry_path import is_entry_at
from memex.store.records import FileChange, Remains, TakenOut
from memex.store.search.analyzer import Analyzer
from memex.store.text_pool import offload
from memex.store.writes.draft import Draft
from memex.store.writes.rivals import ContradictingPair, RivalRecords, StatementPlace
from memex.store.writes.statements import EndedLine, EndedWords, EndState, FiledLine, LineRecords
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import (
    BUILTIN,
    Addition,
    FiledStatement,
    RememberPlan,
    Removal,
    Rivalry,
)
from memex.subagent.remember.filing.entries import Entry, EntryOutcome
from memex.subagent.remember.filing.page import RevisedFile
from memex.subagent.remember.filing.tasks import Filing
from memex.subagent.remember.settling import Settlement
from memex.subagent.statements.bullets import UNDATED
from memex.subagent.statements.comparison.remains import remains_of, value_form
from memex.subagent.statements.days.dating import due_day, without_dates
from memex.subagent.statements.extraction import Statement
from memex.subagent.statements.subjects import normal_form

MAX_TEXT_CHARS = 200_000
BULLET_CHARS = 80  # what a statement's bullet, date and links add to it, roughly


@dataclass(frozen=True, slots=True)
class StagedFile:
    """The statements to add to one file and to remove from it, and what revises the file's text."""

    path: str
    adds: tuple[Addition, ...]
    removals: tuple[Removal, ...]
    confirmed: tuple[str, ...]
    task: Filing


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome of one file: the change, and the outcome of each statement.

    `change` is None when there was no file and none was created.
    """

    path: str
    change: FileChange | None
    adds: tuple[Addition, ...]
    outcomes: tuple[EntryOutcome, ...]
    removals: tuple[Removal, ...] = ()
    removed: tuple[EntryOutcome, ...] = ()
    confirmed: tuple[str, ...] = ()

    @property
    def statement_outcomes(self) -> list[tuple[Statement, EntryOutcome]]:
        """Each statement of the text with its outcome."""
        added = ((add.statement, outcome) for add, outcome in zip(self.adds, self.outcomes, strict=True))
        removed = (
            (removal.statement, outcome)
            for removal, outcome in zip(self.removals, self.removed, strict=True)
            if removal.statement is not None
        )
        return [*added, *removed]


def group_by_file(
    adds: Sequence[Addition],
    day: date,
    *,
    removals: Sequence[Removal] = (),
    confirmed: Sequence[tuple[str, str]] = (),
    matches_paraphrases: bool = False,
) -> list[StagedFile]:
    """Return the statements to add and to remove, grouped by file.

    Args:
        adds: the statements to add.
        day: the date of new statements.
        removals: the statements to remove.
        confirmed: the paths and texts of statements that hold still.
        matches_paraphrases: do not add a statement that the file holds in nearly the same words.
    """
    staged = []
    paths = [add.path for add in adds] + [removal.path for removal in removals]
    for path in dict.fromkeys([*paths, *(path for path, _ in confirmed)]):
        new = tuple(add for add in adds if add.path == path)
        gone = tuple(removal for removal in removals if removal.path == path)
        held = tuple(text for where, text in confirmed if where == path)
        task = Filing(
            path,
            new[0].title if new else "",
            tuple(_entry(add, day) for add in new),
            tuple((removal.removes, removal.keeps) for removal in gone),
            held,
            day,
            matches_paraphrases,
        )
        staged.append(StagedFile(path, new, gone, held, task))
    return staged


async def find_replacements(
    adds: Sequence[Addition], known: Collection[Addition], day: date, tools: MemoryTools
) -> list[Addition]:
    """Return the known statements that replace a statement of the file that they would go to.

    An old note in another file is no reason to keep a value that was withdrawn, or a task that is done.
    """
    paths = {add.path for add in known}
    found = []
    for file in group_by_file([add for add in adds if add.path in paths], day):
        listed = await tools.list_files(file.path, limit=1)
        stands = any(listed_file.path == file.path for listed_file in listed)
        content = (await tools.read_file(file.path)).content if stands else None
        revised = await offload.run(len(content or "") + _chars(file), file.task.revise, content)
        outcomes = zip(file.adds, revised.outcomes, strict=True)
        found += [add for add, outcome in outcomes if outcome.action == "superseded"]
    return found


def stage(
    draft: Draft,
    plan: RememberPlan,
    day: date,
    confirmed: Sequence[tuple[str, str]] = (),
    *,
    reason: str = "memory_remember",
) -> list[StagedFile]:
    """Stage the statements of a plan, file by file, and return the staged files.

    The commit decides under the scope's lock what becomes of each statement, so concurrent calls neither lose a
    statement nor write it twice. A model rewords statements, so its plans are also compared by paraphrase.
    """
    matches_paraphrases = plan.planner != BUILTIN
    staged = group_by_file(
        plan.adds,
        day,
        removals=plan.removals,
        confirmed=confirmed,
        matches_paraphrases=matches_paraphrases,
    )
    for file in staged:
        draft.revise(file.path, file.task, chars=_chars(file), reason=reason)
    return staged


def file_outcomes(staged: Sequence[StagedFile], changes: Sequence[FileChange]) -> list[FileOutcome]:
    """Return the outcomes of the staged statements, as the tasks that revised the files gave them."""
    by_path = {change.path: change for change in changes}
    outcomes = {change.path: iter(change.outcomes) for change in changes}
    result = []
    for file in staged:
        change = by_path.get(file.path)
        # Where there was no file and none was made, there was nothing to add.
        revised: RevisedFile = next(outcomes.get(file.path, iter(())), None) or file.task.revise(None)
        result.append(
            FileOutcome(
                file.path,
                change,
                file.adds,
                revised.outcomes,
                file.removals,
                revised.removals,
                file.confirmed,
            )
        )
    return result


def ended_words(plan: RememberPlan, settled: Settlement) -> list[EndedWords]:
    """Return the words that entries alone have and that hold no more: they are replaced, or forgotten.

    Words that a page holds too come back with the line of the page.
    """
    paged = {_told_form(removal.removes) for removal in plan.removals if removal.is_forgotten}
    forgotten = [*plan.forgotten, *settled.forgotten]
    ended: list[tuple[FiledStatement, EndState, str | None]] = [
        *((over.older, _end_state(over.statement), over.statement.text) for over in plan.overtaken),
        *((told, "forgotten", None) for told in forgotten if _told_form(told.text) not in paged),
    ]
    return [
        EndedWords(stored.reference, stored.text, state, newer)
        for stored, state, newer in ended
        if stored.reference is not None
    ]


def _told_form(text: str) -> tuple[str, ...]:
    return normal_form(without_dates(text))


def line_records(
    done: Sequence[FileOutcome],
    day: date,
    plan: RememberPlan,
    settled: Settlement,
    analyzer: Analyzer,
) -> LineRecords:
    """Return what a text makes of lines of pages, and which statements it contradicts that stay.

    Args:
        done: the outcome of each file.
        day: on which the text was said.
        plan: that was carried out.
        settled: what the handles of the call confirm and take out.
        analyzer: makes lexemes.
    """
    filed: list[FiledLine] = []
    ended: list[EndedLine] = []
    taken: list[tuple[StatementPlace, Statement]] = []
    parts: dict[tuple[str, str], str] = {}
    for file in done:
        for add, outcome in zip(file.adds, file.outcomes, strict=True):
            said, span = add.statement.text, (add.statement.start, add.statement.end)
            if add.said is None and outcome.action == "overtaken":
                filed.append(FiledLine(file.path, said, span, "replaced"))
            elif add.said is None:
                filed.append(FiledLine(file.path, outcome.known or said, span))
            if outcome.action == "superseded" and outcome.replaced is not None:
                ended.append(EndedLine(file.path, outcome.replaced, _end_state(add.statement), said))
                parts[file.path, outcome.replaced] = _left_out(outcome.replaced, add.keeps)
                taken.append((StatementPlace(file.path, outcome.replaced), add.statement))
        for removal, outcome in zip(file.removals, file.removed, strict=True):
            if outcome.action == "removed":
                text = outcome.replaced or removal.removes
                ended.append(_ended(file.path, removal, text))
                parts[file.path, text] = removal.part
                if removal.statement is not None:
                    taken.append((StatementPlace(file.path, text), removal.statement))
    taken += [
        (place, overtaken.statement) for overtaken in plan.overtaken if (place := _place_of(overtaken.older))
    ]
    places = _places(done)
    confirmed = [StatementPlace(file.path, text) for file in done for text in file.confirmed]
    rivals = RivalRecords(
        named_rivals(done, day, plan),
        [ContradictingPair(older, _new_place(newer, places)) for older, newer in taken],
        [*confirmed, *(place for statement in settled.held if (place := _place_of(statement)))],
    )
    said_now = {normal_form(add.statement.text) for file in done for add in file.adds}
    taken_out = _taken_out(ended, parts, plan, settled, analyzer)
    gone = [out for out in taken_out if normal_form(out.text) not in said_now]
    return LineRecords(filed, ended, day, rivals, gone)


def _taken_out(
    ended: Sequence[EndedLine],
    parts: Mapping[tuple[str, str], str],
    plan: RememberPlan,
    settled: Settlement,
    analyzer: Analyzer,
) -> Iterator[TakenOut]:
    """Yield the statements of which the call leaves tombstones: those that it replaces or forgets, also in part."""
    for line in ended:
        if line.state != "closed":
            text = parts.get((line.path, line.text)) or line.text
            yield TakenOut(line.path, line.text, line.state, remains_of(text, analyzer))
    for overtaken in plan.overtaken:
        if _end_state(overtaken.statement) != "closed":
            text = overtaken.older.text
            yield TakenOut(overtaken.older.path, text, "replaced", remains_of(text, analyzer))
    for sentence in settled.forgotten:
        yield TakenOut(sentence.path, sentence.text, "replaced", remains_of(sentence.text, analyzer))
    for sentence in plan.forgotten:
        yield TakenOut(sentence.path, sentence.text, "forgotten", remains_of(sentence.text, analyzer))
    places = [*(line.path for line in ended), *(sentence.path for sentence in plan.forgotten)]
    for named in plan.named:
        if name := value_form(named):
            for path in dict.fromkeys(places):
                yield TakenOut(path, named, "forgotten", Remains((name,), ()))


def named_rivals(done: Sequence[FileOutcome], day: date, plan: RememberPlan) -> list[ContradictingPair]:
    """Return the pairs of statements that contradict each other and both stay, which contexts will mark.

    Args:
        done: the outcome of each file.
        day: on which the text was said, but for statements that say it themselves; `UNDATED` if nobody knows.
        plan: that was carried out.
    """
    places = _places(done)
    return [pair for rivalry in plan.rivals for pair in _pairs(rivalry, places, day)]


def _places(done: Sequence[FileOutcome]) -> dict[Statement, tuple[StatementPlace, date | None]]:
    """Return where pages hold new statements; and the day on which each was said, if that is not the call's."""
    return {
        add.statement: (
            StatementPlace(file.path, outcome.known or add.statement.text),
            add.said.day if add.said else None,
        )
        for file in done
        for add, outcome in zip(file.adds, file.outcomes, strict=True)
        if outcome.action in ("added", "superseded", "duplicate")
    }


def _new_place(
    statement: Statement, places: Mapping[Statement, tuple[StatementPlace, date | None]]
) -> StatementPlace:
    """Return where a new statement stands: the words of the text where no page holds it."""
    if statement in places:
        return places[statement][0]
    return StatementPlace(None, statement.text, (statement.start, statement.end))


def _place_of(stored: FiledStatement) -> StatementPlace | None:
    """Return where a stored statement stands; None for words of an entry of which nobody knows where."""
    if not is_entry_at(stored.path):
        return StatementPlace(stored.path, stored.text)
    return StatementPlace(stored.path, stored.text, stored.reference.span) if stored.reference else None


def _pairs(
    rivalry: Rivalry, places: Mapping[Statement, tuple[StatementPlace, date | None]], day: date
) -> Iterator[ContradictingPair]:
    """Yield a stored statement and the new one, the older of them first; no pair where nobody knows which it is."""
    new = _new_place(rivalry.statement, places)
    said = places[rivalry.statement][1] if rivalry.statement in places else None
    for stored in (rivalry.older, *rivalry.same):
        place = _place_of(stored)
        if place is not None and (said or day) != UNDATED:
            yield (
                ContradictingPair(new, place) if stored.day > (said or day) else ContradictingPair(place, new)
            )


def _ended(path: str, removal: Removal, text: str) -> EndedLine:
    if removal.is_forgotten:
        return EndedLine(path, text, "forgotten")
    newer = removal.statement
    if newer is None:
        return EndedLine(path, text, "replaced")
    return EndedLine(path, text, _end_state(newer), newer.text)


def _end_state(newer: Statement) -> EndState:
    """Return what becomes of a statement whose place a newer one takes."""
    return "closed" if newer.kind == "done" else "replaced"


def _left_out(text: str, keeps: str) -> str:
    """Return the words of a line that go where a part of it stays; "" if the whole goes."""
    pairs = enumerate(zip(text, keeps, strict=False))
    start = next((at for at, (one, other) in pairs if one != other), len(keeps))
    end = start + len(text) - len(keeps)
    return text[start:end] if keeps and text[:start] + text[end:] == keeps else ""


def _chars(file: StagedFile) -> int:
    """Return how many characters a file gets, roughly."""
    return sum(len(add.statement.text) + BULLET_CHARS for add in file.adds)


def _entry(add: Addition, day: date) -> Entry:
    said = add.said
    if said is None:
        due = due_day(add.statement.text, add.statement.kind, day)
        return Entry(add.statement, add.heading, day, add.links, add.replaces, due, keeps=add.keeps)
    due = None if said.day == UNDATED else due_day(add.statement.text, add.statement.kind, said.day)
    links = (*add.links, said.link)
    return Entry(add.statement, add.heading, said.day, links, add.replaces, due, said.place, add.keeps)
