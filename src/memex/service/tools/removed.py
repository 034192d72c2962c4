"""The tools on lines that were taken out of pages: a list of them, and putting one back."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field

from memex.errors import LineNotFound, MalformedCursor, VersionConflict
from memex.service.log import references
from memex.service.tools.cursor import from_cursor, time_in_cursor, to_cursor
from memex.service.tools.tool import (
    Arguments,
    CallTool,
    ReadAnswer,
    ReadTool,
    ResultPart,
    StorableText,
    ToolResult,
)
from memex.service.tools.tool_context import ToolContext
from memex.store.access import Access
from memex.store.entry_path import is_entry_at
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory
from memex.store.paths import Prefix, parse_prefix
from memex.store.records import FileChange, TombstonePlace
from memex.store.removed_lines import (
    REMOVED_STATES,
    NamedLine,
    RemovedState,
    find_removed,
    hidden_words,
    list_removed,
)
from memex.store.search.analyzer import analyzer_of
from memex.store.statement_lines import standing_lines
from memex.store.text_pool import offload
from memex.store.upkeep.words.digests import is_erased
from memex.store.writes.draft import Draft
from memex.store.writes.statements import LineRecords
from memex.subagent.remember.filing.put_back import HeldLine, PuttingBack, held_line
from memex.subagent.statements.comparison.remains import find_echoes

BY_REMEMBERING: tuple[RemovedState, ...] = ("replaced", "closed", "forgotten")
REASON = "memory_put_back"


class RemovedArguments(Arguments):
    """List the lines that were taken out of memory files and are not put back, the newest first."""

    state: Annotated[
        RemovedState | None,
        Field(
            description="Only lines that were replaced by newer ones, closed because the task was done, forgotten, "
            "or removed by an edit of the file."
        ),
    ] = None
    all: Annotated[bool, Field(description="Also lines that somebody took out by editing the file.")] = False
    prefix: Annotated[str, Field(description="Only paths that begin so, such as user/notes.")] = ""
    limit: Annotated[int, Field(ge=1, le=500, description="How many at most.")] = 50
    cursor: Annotated[str | None, Field(description="next_cursor of the last answer.")] = None

    @property
    def states(self) -> tuple[RemovedState, ...]:
        """The states that are asked for."""
        if self.state is not None:
            return (self.state,)
        return REMOVED_STATES if self.all else BY_REMEMBERING


class RemovedLineResult(ResultPart):
    """A line that was taken out of a file.

    `state` says why: `replaced` by `newer`, or by nothing if somebody said that it no longer holds; `closed` since
    the task was done, `forgotten` on request, or `removed` by an edit. `path` is the file now, and `file_stands`
    false if it is deleted. `text` is the statement as it stood in `held_in`, null where that version was erased.
    `tool_call_id` is the call that took it out.
    """

    id: str
    state: RemovedState
    path: str
    file_stands: bool
    text: str | None
    newer: str | None
    held_in: str
    tool_call_id: str
    removed_at: str


class RemovedResult(ReadAnswer):
    """Lines that were taken out, the newest first; `next_cursor` is null after the last."""

    lines: list[RemovedLineResult]
    next_cursor: str | None


class PutBackArguments(Arguments):
    """Put a line back into the memory file that it was taken out of; memory_removed lists what can be put back."""

    id: Annotated[
        StorableText, Field(min_length=1, max_length=40, description="Of the line, from memory_removed.")
    ]


class PutBackResult(ToolResult):
    """The outcome for the line: `put_back`, or `stands` if the file says it already: nothing was written.

    `restored_words` says whether words of journal entries, which were hidden when the line was forgotten, can be
    read again.
    """

    status: Literal["put_back", "stands"]
    path: str
    version: int
    text: str
    restored_words: bool


async def removed(memory: Memory, arguments: RemovedArguments) -> CallAnswer:
    """Answer memory_removed. The log keeps references to the lines, and not what took their places."""
    prefix = parse_prefix(arguments.prefix)
    _check_mount(memory.access, prefix)
    found = await list_removed(
        memory.connection,
        memory.access,
        states=arguments.states,
        prefix=prefix,
        limit=arguments.limit + 1,
        before=None if arguments.cursor is None else _place(arguments.cursor),
    )
    lines = [
        RemovedLineResult.taken_from(
            line,
            id=line.handle,
            file_stands=line.page_stands,
            removed_at=line.changed_at.isoformat(),
            text=None if line.text and is_erased(line.text) else line.text,
        )
        for line in found[: arguments.limit]
    ]
    last = lines[-1] if len(found) > arguments.limit else None
    cursor = to_cursor(last.removed_at, last.id) if last is not None else None
    result = RemovedResult(lines=lines, next_cursor=cursor)
    logged = {
        "lines": [{"id": line.id, "text": line.text and {"$text": line.held_in}} for line in lines],
        "next_cursor": cursor,
    }
    return CallAnswer(result.body(), arguments.canonical(), logged)


async def put_back(work: ToolContext, arguments: PutBackArguments) -> dict[str, Any]:
    """Answer memory_put_back: whether the line stands already is decided under the lock of its scope."""
    draft = work.new_draft()
    try:
        line, held = await _read(work, arguments.id)
    except LineNotFound:
        if (first := await work.first_result(draft)) is None:
            raise
        return first
    path = line.path or line.held_in.path
    lifted = await _tombstones(work, held if isinstance(held, str) else " ".join(held.lines))
    if isinstance(held, str):
        await _stage_words(work, draft, line)
        draft.hold_again(path, line.line_key)
        answer = partial(_answer_words, arguments, line, held)
        return (await work.commit(draft, answer, lines=lambda _: LineRecords(lifted=lifted))).result
    task = PuttingBack(path, held, line.line_key, has_page=line.path is not None)
    draft.revise(path, task, chars=sum(len(kept) + 1 for kept in held.lines), reason=REASON)
    await _stage_words(work, draft, line)
    answer = partial(_answer, arguments, line, path)
    return (await work.commit(draft, answer, lines=lambda _: LineRecords(lifted=lifted))).result


async def _read(work: ToolContext, handle: str) -> tuple[NamedLine, HeldLine | str]:
    """Return the line that a handle names, and how its page held it; of words of an entry the words alone.

    Raises:
        LineNotFound: there is no such line, or it was put back.
        VersionNotFound: the version of the page that held it is erased.
    """
    async with work.database.transaction(work.access, snapshot=True) as connection:
        line = await find_removed(connection, work.access, handle.strip())
        if line is None:
            raise LineNotFound(f"No line that was taken out has the id {handle[:40]!r}.")
        if not line.is_gone:
            raise LineNotFound(f"The line {handle[:40]!r} is not taken out any more: it was put back.")
        at = line.held_in
        page = await Memory(connection, work.access).read(at.path, version=at.version)
    if is_erased(page.content[slice(*at.span)]):
        raise LineNotFound(f"The words of the line {handle[:40]!r} were erased.")
    if is_entry_at(at.path):
        return line, page.content[slice(*at.span)]
    held = await offload.run_on(page.content, held_line, at.path, page.content, at.span)
    return line, held


async def _tombstones(work: ToolContext, text: str) -> list[TombstonePlace]:
    """Return the tombstones that would hide what is put back."""
    async with work.database.transaction(work.access, snapshot=True) as connection:
        tombstones = await Memory(connection, work.access).tombstones()
    echoes = [
        echo
        for tombstone in tombstones
        for echo in find_echoes(text, [tombstone], analyzer_of(work.access.language))
    ]
    return [echo.tombstone.place for echo in echoes if echo.is_outright]


async def _stage_words(work: ToolContext, draft: Draft, line: NamedLine) -> None:
    if line.state != "forgotten":
        return
    async with work.database.transaction(work.access, snapshot=True) as connection:
        hidden = await hidden_words(connection, work.access, line)
    for path, words in hidden.items():
        draft.show(path, words, reason=REASON)


def _answer(
    arguments: PutBackArguments, line: NamedLine, path: str, changes: tuple[FileChange, ...]
) -> CallAnswer:
    """Answer memory_put_back; the commit that asks for it is given up if the page went away meanwhile."""
    page = next((change for change in changes if change.outcomes), None)
    if page is None:
        raise VersionConflict(
            f"{path} was moved or deleted at the same moment. Nothing was written.",
            hint="Put the line back once more.",
            path=path,
        )
    [status] = page.outcomes
    words = [change for change in changes if change is not page and change.changed]
    start, end = standing_lines(page.new_content)[line.line_key]
    result = PutBackResult(
        status=status,
        path=page.path,
        version=page.version,
        text=page.new_content[start:end],
        restored_words=bool(words),
    ).body()
    logged = result | {"text": references.of_change(page, (start, end))}
    return CallAnswer(result, arguments.canonical(), logged)


def _answer_words(
    arguments: PutBackArguments, line: NamedLine, words: str, changes: tuple[FileChange, ...]
) -> CallAnswer:
    """Answer memory_put_back for words of an entry, which hold again where they stand."""
    entry = next((change for change in changes if change.path == line.held_in.path), None)
    if entry is None or entry.deleted:
        raise VersionConflict(
            f"{line.held_in.path} is deleted. Nothing was written.",
            hint="Restore the entry first.",
            path=line.held_in.path,
        )
    restored = any(change.changed for change in changes)
    result = PutBackResult(
        status="put_back", path=entry.path, version=entry.version, text=words, restored_words=restored
    ).body()
    return CallAnswer(result, arguments.canonical(), result | {"text": {"$text": str(line.held_in)}})


def _check_mount(access: Access, prefix: Prefix) -> None:
    """Refuse a prefix of a project that is none of the caller's, and of `user/` in a call that names no user."""
    if prefix.mount == "project":
        if prefix.project is not None:
            access.scope_at(f"projects/{prefix.project}")
    elif prefix.mount is not None:
        access.scope_at(prefix.mount)


def _place(cursor: str) -> tuple[datetime, str]:
    """Return the time and the handle in a cursor; raises ValidationFailed for one that is none of ours."""
    at, handle = from_cursor(cursor, str, str)
    if not handle.isalnum():
        raise MalformedCursor
    return time_in_cursor(at), handle


REMOVED = ReadTool("memory_removed", RemovedArguments, RemovedResult, removed)
PUT_BACK = CallTool("memory_put_back", PutBackArguments, PutBackResult, put_back)
