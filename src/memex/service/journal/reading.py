"""memory_journal: the months, the days and the entries of a journal, as a person reads them."""

from typing import Annotated

from pydantic import Field

from memex.errors import FileNotFound, ValidationFailed
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.files import MonthResult
from memex.service.tools.tool import Arguments, ResultPart, ToolResult
from memex.store.access import Access
from memex.store.database import Connection
from memex.store.entry_path import FOLDER, is_entry_at
from memex.store.journal.entries import JournalEntry, MadeLine, made_lines, read_entries
from memex.store.memory import Memory
from memex.store.statement_lines import lines_of

IN_PAGE = ("in_force", "put_back")  # states of a line that its page holds


class JournalArguments(Arguments):
    """The part of the journal that is asked for; nothing for its months alone."""

    month: Annotated[str | None, Field(pattern=r"^\d{4}-\d\d$")] = None
    day: Annotated[str | None, Field(pattern=r"^\d{4}-\d\d-\d\d$")] = None
    path: Annotated[str | None, Field(max_length=2_000)] = None
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    cursor: str | None = None


class DayResult(ResultPart):
    """A day of the journal, and how many entries it has."""

    day: str
    entries: int


class ToldAgainResult(ResultPart):
    """The time at which the text of an entry was told again, and the call that told it."""

    said_at: str
    tool_call_id: str


class MadeLineResult(ResultPart):
    """A line of a page that was made from an entry: the words in the entry, the page, and what became of the line.

    `line` is the line as the page holds it, null once the page does not; `held_in` says where it stood last.
    """

    path: str
    words: str
    line: str | None
    state: str
    held_in: str | None


class EntryResult(ResultPart):
    """An entry: its words, whose they are, when and by whom they were told, and about which project.

    `told_again` lists when the same text was told again. `lines` are there if the entry was asked for by its path.
    """

    path: str
    version: int
    content: str
    origin: str
    said_at: str
    about: str | None
    actor: str | None
    channel: str
    tool_call_id: str
    told_again: list[ToldAgainResult]
    lines: list[MadeLineResult] | None = None


class JournalResult(ToolResult):
    """The months of the journal, the days of a month, and the entries of a day in their order."""

    months: list[MonthResult]
    days: list[DayResult]
    entries: list[EntryResult]
    next_cursor: str | None


async def _read_journal(call: OperationCall, arguments: JournalArguments) -> LoggedAnswer[JournalResult]:
    """Return a part of the caller's journal, and log what was shown; `given` is as JournalArguments has it.

    Raises:
        ValidationFailed: an argument is wrong.
        FileNotFound: there is no entry at the path.
    """
    month, prefix = _place(arguments)
    after = from_cursor(arguments.cursor, str)[0] if arguments.cursor is not None else None
    limit, access = arguments.limit, call.access
    async with call.database.transaction(access, snapshot=True) as connection:
        memory = Memory(connection, access)
        state = await memory.state(access.scopes)
        months = await memory.journal_months()
        days = await memory.journal_days(month) if month is not None else []
        found = await read_entries(connection, access, prefix, limit=limit + 1, after=after) if prefix else []
        entries = [_entry(access, row) for row in found[:limit]]
        if arguments.path is not None:
            if not entries:
                raise FileNotFound(f"{arguments.path}: there is no such entry.", path=arguments.path)
            entries = [await _with_lines(connection, memory, access, entries[0])]
    result = JournalResult(
        months=[MonthResult(month=row.period, entries=row.entries) for row in months],
        days=[DayResult(day=day.period, entries=day.entries) for day in days],
        entries=entries,
        next_cursor=to_cursor(entries[-1].path) if len(found) > limit else None,
    )
    logged = {"entries": [f"{entry.path}@{entry.version}" for entry in entries]}
    return LoggedAnswer(result, logged, state)


def _place(arguments: JournalArguments) -> tuple[str | None, str | None]:
    """Return the month whose days are listed, and the prefix of the entries that are read; None for none.

    Raises:
        ValidationFailed: more than one place, or a path that is that of no entry.
    """
    if sum(part is not None for part in (arguments.month, arguments.day, arguments.path)) > 1:
        raise ValidationFailed("The journal takes a month, a day or a path, and only one of them.")
    if arguments.path is not None:
        if not is_entry_at(arguments.path):
            raise ValidationFailed(
                f"{arguments.path} is no path of an entry.",
                hint="`memex files journal DAY` lists the entries of a day.",
            )
        return None, arguments.path
    if arguments.day is not None:
        return arguments.day[:7], f"user/{FOLDER}/{arguments.day}/"
    return arguments.month, None


def _entry(access: Access, entry: JournalEntry) -> EntryResult:
    told_again = [ToldAgainResult(**again) for again in entry.told_again]
    path = access.by_mount["user"].virtual(entry.path)
    return EntryResult.taken_from(entry, path=path, told_again=told_again, lines=None)


async def _with_lines(
    connection: Connection, memory: Memory, access: Access, entry: EntryResult
) -> EntryResult:
    made = await made_lines(connection, access, entry.path)
    paths = sorted({line.path for line in made if line.state in IN_PAGE})
    pages = {page.virtual_path: lines_of(page.content) for page in await memory.read_files(paths)}
    lines = [_line(line, entry.content, pages.get(line.path, {})) for line in made]
    return entry.model_copy(update={"lines": lines})


def _line(made: MadeLine, words: str, page: dict[bytes, str]) -> MadeLineResult:
    start, end = made.words
    return MadeLineResult.taken_from(
        made, words=words[start:end], line=page.get(made.key) if made.state in IN_PAGE else None
    )


READ_JOURNAL = LoggedOperation("memory_journal", JournalArguments, JournalResult, _read_journal)
