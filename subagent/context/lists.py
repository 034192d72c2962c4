"""The statements of a list that a question asks for: by their kind, by the day on which they are due, or by age."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from memex.store.entry_path import FOLDER, entry_day, is_entry_at
from memex.store.records import EntryStatement, FileSummary, Reference
from memex.store.search.analyzer import Analyzer
from memex.store.search.dates import DateRange
from memex.store.search.words.due import due_query
from memex.store.snapshot.reads import Reads
from memex.subagent.context.intents import Intent
from memex.subagent.context.pool import ContextLine, entries_of, lines_of
from memex.subagent.context.selection import CandidatePassage
from memex.subagent.context.statements import StatementUnit
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import ContextRequest
from memex.subagent.statements.bullets import ITEM, parse_bullet
from memex.subagent.statements.comparison.views import view
from memex.subagent.statements.days.asked import asked_days, days_before
from memex.subagent.statements.days.dating import due_day
from memex.subagent.statements.days.mentions import find_days, names_weekday
from memex.subagent.statements.language import STATEMENT_KINDS, StatementKind
from memex.subagent.statements.places import destination, is_statement_file

MAX_FILES = 8  # files that one question reads, those that changed last
MAX_LISTED = 50  # files of one series that are looked at
DUE_FILES = 32  # files in which statements that are due are found
DUE_PASSAGES = 24
DAYS_BACK = 365  # in which what is overdue is looked for
DAYS_AHEAD = 730  # in which due days are looked for if the question names no days
NEW_DAYS = 7  # that are new if the question names no days
MAX_DATES = 31  # days whose dates are searched

_OPEN_KINDS: frozenset[StatementKind] = frozenset({"pending", "blocker", "objective", "definition_of_done"})
_PERSON: tuple[StatementKind, ...] = (
    "profile",
    "preference",
    "constraint",
    "objective",
    "decision",
    "pending",
    "blocker",
    "note",
)
_TASKS: frozenset[StatementKind] = frozenset({"pending", "blocker"})


async def listed_statements(
    intent: Intent, request: ContextRequest, tools: MemoryTools
) -> list[StatementUnit]:
    """Return the statements of the list that a question asks for, in its order.

    Args:
        intent: what is asked for.
        request: the question.
        tools: reads memory.
    """
    if intent.by in ("new", "told"):
        days = days_before(request.query, request.today)
        if days is None and intent.by == "told":
            return []
        return await _said_on(
            days or DateRange(request.today - timedelta(days=NEW_DAYS), request.today), tools
        )
    if intent.by == "person":
        return await _known_of_person(request.today, tools)
    days = asked_days(request.query, request.today)
    if intent.by != "kind" or (days is not None and "pending" in intent.kinds):
        return await _DueList(intent, days, request.today, tools).statements()
    kinds = (*intent.kinds, "note") if intent.is_open else tuple(intent.kinds)
    units = await statements_of_kinds(kinds, tools)
    found = [unit for unit in units if _answers(unit, intent, tools.analyzer)]
    return sorted(found, key=lambda unit: unit.order, reverse=True)


@dataclass(frozen=True, slots=True)
class _DueList:
    """The list of what is due, or happens, on some days: overdue first, if today is one of the days.

    Attributes:
        intent: what is asked for; of a list of tasks, also those that have no day.
        days: the days; None for all from today on.
        today: the day of the question.
        tools: reads memory.
    """

    intent: Intent
    days: DateRange | None
    today: date
    tools: MemoryTools

    @property
    def is_today(self) -> bool:
        """Return whether today is one of the days."""
        return self.days is None or self.days.first <= self.today <= self.days.last

    async def statements(self) -> list[StatementUnit]:
        """Return the statements, by their days; the undated ones last, the newest first."""
        tasks = await statements_of_kinds(self.intent.kinds, self.tools)
        units = {unit.reference: unit for unit in (*await self._found(), *tasks)}.values()
        days = {unit.reference: day for unit in units if (day := self._day(unit))}
        dated = [unit for unit in units if unit.reference in days]
        dated.sort(key=lambda unit: (*days[unit.reference], *unit.order))
        undated = [unit for unit in units if self._is_undated(unit)]
        undated.sort(key=lambda unit: unit.order, reverse=True)
        return [*dated, *undated]

    async def _found(self) -> list[StatementUnit]:
        """Return the statements that search finds by their days."""
        first = self.days.first if self.days else self.today
        last = self.days.last if self.days else self.today + timedelta(days=DAYS_AHEAD)
        queries = [due_query(first, last)]
        if self.is_today:
            queries.append(due_query(self.today - timedelta(days=DAYS_BACK), self.today))
        texts = [" ".join(queries)]
        if self.intent.by == "days" and (last - first).days < MAX_DATES:
            named = (first + timedelta(days=count) for count in range((last - first).days + 1))
            texts.append(" ".join(f"{day.isoformat()} {day:%A}s" for day in named))
        found = [unit for text in texts for unit in await self._search(text)]
        if self.intent.by == "days":  # which the journal may call tomorrow
            found += await _told_on(DateRange(self.today - timedelta(days=NEW_DAYS), self.today), self.tools)
        return found

    async def _search(self, text: str) -> list[StatementUnit]:
        found = await self.tools.find(text, limit=DUE_FILES, passages=DUE_PASSAGES)
        passages = [
            CandidatePassage(
                Reference(hit.path, hit.version, passage.span),
                passage.text,
                0,
                "match",
                heading=passage.heading,
            )
            for hit in found.hits
            if hit.file is not None and (is_statement_file(hit.path) or is_entry_at(hit.path))
            for passage in hit.file.passages
            if passage.text
        ]
        entries = entries_of(passages)
        return _statements(passages, await self.tools.entry_statements(entries) if entries else ())

    def _day(self, unit: StatementUnit) -> tuple[date, bool] | None:
        """Return the day by which a statement stands in the list, and if it is each week; None if it does not."""
        if unit.kind == "done":
            return None
        text = parse_bullet(unit.candidate.text)
        due = _due(unit)
        if due is not None and self._is_asked(due, is_open=unit.kind in _OPEN_KINDS):
            return due, False
        if self.intent.by != "days" or self.days is None:
            return None
        for named in (mention.days for mention in find_days(text, unit.day)):
            if named.first <= self.days.last and self.days.first <= named.last:
                return max(named.first, self.days.first), False
        weekly = (day for day in _week_of(self.days) if names_weekday(text, unit.day, day.weekday()))
        return next(((day, True) for day in weekly), None)

    def _is_asked(self, due: date, *, is_open: bool) -> bool:
        if due < self.today and self.is_today:
            return is_open
        if self.intent.by == "overdue":
            return False
        return self.days is None or self.days.first <= due <= self.days.last

    def _is_undated(self, unit: StatementUnit) -> bool:
        """Return whether a statement is a task without a day, and tasks are asked for."""
        return self.intent.by == "kind" and unit.kind in _TASKS and _due(unit) is None


def asked_for(lines: Sequence[ContextLine], intent: Intent, request: ContextRequest) -> Sequence[ContextLine]:
    """Return lines without those of other days than a question asks about, and without what is done."""
    return _without_done(_without_other_days(lines, intent, request), intent)


def _without_other_days(
    lines: Sequence[ContextLine], intent: Intent, request: ContextRequest
) -> Sequence[ContextLine]:
    """Return lines without those of other days than a question asks about, such as an old `tomorrow`."""
    is_told = intent.by in ("new", "told")
    days = days_before(request.query, request.today) if is_told else asked_days(request.query, request.today)
    if days is None or not (is_told or intent.by == "days"):
        return lines
    return [line for line in lines if not _is_of_other_days(line, days, is_told=is_told)]


def _without_done(lines: Sequence[ContextLine], intent: Intent) -> Sequence[ContextLine]:
    """Return lines without tasks that are done, if a question asks for what is open, also those without a date."""
    if not intent.kinds or not intent.kinds <= _OPEN_KINDS:
        return lines
    return [line for line in lines if line.included is not None or not _is_done(line)]


def _is_done(line: ContextLine) -> bool:
    if line.unit is not None and line.unit.kind == "done":
        return True
    item = ITEM.match(line.candidate.text)
    return item is not None and item[3] not in (None, " ")


def _is_of_other_days(line: ContextLine, days: DateRange, *, is_told: bool) -> bool:
    """Return whether a line names other days alone, or was told on another day if that is what counts."""
    path, text = line.reference.path, line.candidate.text
    if line.included is not None or not (line.unit or is_entry_at(path)):
        return False
    said_on = line.unit.day if line.unit else entry_day(path.removeprefix("user/"))
    named = [mention.days for mention in find_days(parse_bullet(text), said_on)]
    if is_told and days.first <= said_on <= days.last:
        return False
    is_named = any(found.first <= days.last and days.first <= found.last for found in named)
    return not is_named and (bool(named) or is_told)


def _week_of(days: DateRange) -> Iterator[date]:
    """Yield the first day of each weekday of some days."""
    for count in range(min(7, (days.last - days.first).days + 1)):
        yield days.first + timedelta(days=count)


def _due(unit: StatementUnit) -> date | None:
    """Return when a statement is due, also one that was stored before due days were stamped."""
    return unit.due or due_day(parse_bullet(unit.candidate.text), unit.kind, unit.day)


async def _known_of_person(today: date, tools: MemoryTools) -> list[StatementUnit]:
    """Return the statements of pages, by their kinds, and the lines of the journal, the newest of each first."""
    places = {kind: place for place, kind in enumerate(_PERSON)}
    units = await statements_of_kinds(_PERSON, tools)
    units.sort(key=lambda unit: unit.order, reverse=True)
    units.sort(key=lambda unit: places.get(unit.kind, len(places)))
    told = await _told_on(DateRange(today - timedelta(days=MAX_DATES), today), tools)
    return [*units, *sorted(told, key=lambda unit: unit.order, reverse=True)]


async def _said_on(days: DateRange, tools: MemoryTools) -> list[StatementUnit]:
    """Return the statements that were said on some days, the newest first."""
    files = await tools.list_series(_names(STATEMENT_KINDS), limit=MAX_LISTED)
    recent = [file for file in _statement_files(files) if file.updated_at.date() >= days.first]
    units = await _statements_in([file.path for file in recent[:MAX_FILES]], tools)
    units += await _told_on(days, tools)
    found = [unit for unit in units if days.first <= unit.day <= days.last]
    return sorted(found, key=lambda unit: unit.order, reverse=True)


async def _told_on(days: DateRange, tools: MemoryTools) -> list[StatementUnit]:
    """Return the lines of the journal of days, of the last `MAX_DATES` of them."""
    files: list[FileSummary] = []
    for count in range(min(MAX_DATES, (days.last - days.first).days + 1)):
        prefix = f"user/{FOLDER}/{days.last - timedelta(days=count)}/"
        files += await tools.list_files(prefix, limit=MAX_LISTED, of_project=True)
    references = [Reference(file.path, file.version, (0, file.size_chars)) for file in files[:MAX_LISTED]]
    texts = await tools.read(references) if references else []
    passages = [
        CandidatePassage(reference, text, 0, "match")
        for reference, text in zip(references, texts, strict=True)
    ]
    entries = entries_of(passages)
    return _statements(passages, await tools.entry_statements(entries) if entries else ())


async def statements_of_kinds(kinds: Iterable[StatementKind], tools: MemoryTools) -> list[StatementUnit]:
    """Return the statements in the files of kinds, of those files that changed last."""
    listed = await tools.list_series(_names(kinds), limit=MAX_LISTED)
    return await _statements_in([file.path for file in _statement_files(listed)][:MAX_FILES], tools)


def _names(kinds: Iterable[StatementKind]) -> list[str]:
    """Return the beginnings of the names of the files of kinds."""
    paths = (destination(kind, None).path for kind in kinds)
    return sorted({path.removeprefix("user/").removesuffix(".md") for path in paths})


def _statement_files(listed: Iterable[FileSummary]) -> list[FileSummary]:
    return [file for file in listed if is_statement_file(file.path)]


async def _statements_in(paths: Sequence[str], tools: MemoryTools) -> list[StatementUnit]:
    passages = []
    await tools.read_ahead(Reads(files=paths))
    for path in paths:
        revision = await tools.read_file(path)
        reference = Reference(path, revision.version, (0, len(revision.content)))
        passages.append(CandidatePassage(reference, revision.content, 0, "match"))
    return _statements(passages)


def _statements(
    passages: Iterable[CandidatePassage], stated: Iterable[EntryStatement] = ()
) -> list[StatementUnit]:
    """Return the statements of pages, and the lines of entries, which were said on the day of their entry."""
    found = []
    for line in lines_of(passages, stated):
        path = line.reference.path
        if line.unit is not None:
            found.append(line.unit)
        elif is_entry_at(path):
            found.append(StatementUnit(line.candidate, entry_day(path.removeprefix("user/"))))
    return found


def _answers(unit: StatementUnit, intent: Intent, analyzer: Analyzer) -> bool:
    if unit.kind in intent.kinds:
        return True
    return intent.is_open and view(parse_bullet(unit.candidate.text), unit.kind, analyzer).is_open
