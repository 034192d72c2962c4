"""The tools on what was: history, diff, restore; and the undoing of a whole call."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from memex.errors import MalformedCursor
from memex.service.log import references
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.file_edits import BaseVersion, PlacedResult, Reason, answer_placed
from memex.service.tools.files import Path
from memex.service.tools.tool import (
    MAX_VERSION,
    Arguments,
    ReadAnswer,
    ReadTool,
    ResultPart,
    ToolResult,
    WriteTool,
)
from memex.store.diff import unified
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory
from memex.store.records import FileChange, Revision
from memex.store.text_pool import offload
from memex.store.writes.draft import Draft


class HistoryArguments(Arguments):
    """List the versions of a memory file, the newest first: when, by whom, in which call, and why."""

    path: Path
    limit: Annotated[int, Field(ge=1, le=1_000, description="How many at most.")] = 100
    cursor: Annotated[str | None, Field(description="next_cursor of the last answer.")] = None


class RevisionResult(ResultPart):
    """A stored version, without its text. `counterpart` is the other end of a move.

    The text of one that is `thinned` is gone, and memory_read answers VERSION_THINNED.
    """

    path: str
    version: int
    operation: str
    deleted: bool
    size_chars: int
    sha256: str
    counterpart: str | None
    reason: str | None
    actor: str | None
    channel: str
    tool_call_id: str
    created_at: str
    thinned: Annotated[bool, Field(exclude_if=lambda thinned: not thinned)] = False


class HistoryResult(ReadAnswer):
    """Versions, the newest first; `next_cursor` is null after the first one."""

    revisions: list[RevisionResult]
    next_cursor: str | None


async def history(memory: Memory, arguments: HistoryArguments) -> CallAnswer:
    """Answer memory_history."""
    before = _place(arguments.cursor) if arguments.cursor is not None else None
    found = await memory.history(arguments.path, limit=arguments.limit + 1, before=before)
    page = found[: arguments.limit]
    cursor = _cursor(page[-1], found[-1]) if len(found) > arguments.limit else None
    revisions = [
        RevisionResult.taken_from(revision, path=revision.virtual_path, thinned=revision.thinned is not None)
        for revision in page
    ]
    result = HistoryResult(revisions=revisions, next_cursor=cursor)
    logged = {"revisions": [revision.reference for revision in page], "next_cursor": cursor}
    return CallAnswer(result.body(), arguments.canonical(), logged)


def _cursor(last: Revision, following: Revision) -> str:
    """Return the cursor behind the last revision of a page.

    It names the path too where one change made two files of the same version, of which the history holds both.
    """
    place = (last.rev, last.version)
    return to_cursor(*place, last.path) if place == (following.rev, following.version) else to_cursor(*place)


def _place(cursor: str) -> tuple[int, int, str]:
    try:
        rev, version = from_cursor(cursor, int, int)
    except MalformedCursor:
        rev, version, path = from_cursor(cursor, int, int, str)
        return rev, version, path
    return rev, version, ""


class DiffArguments(Arguments):
    """Show what changed between two versions of a memory file, as a unified diff."""

    path: Path
    from_version: Annotated[
        int | None,
        Field(
            ge=0,
            le=MAX_VERSION,
            description="The older version, 0 for nothing; by default what the file was before to_version.",
        ),
    ] = None
    to_version: Annotated[
        int | None, Field(ge=1, le=MAX_VERSION, description="The newer version; by default the newest.")
    ] = None


class DiffResult(ReadAnswer):
    """A unified diff; "" when the texts are equal. `from_version` 0 is the empty text before the first version."""

    path: str
    from_version: int
    to_version: int
    diff: str


async def diff(memory: Memory, arguments: DiffArguments) -> CallAnswer:
    """Answer memory_diff."""
    if arguments.to_version is None:
        newest = (await memory.history(arguments.path, limit=1))[0]
        new = await memory.read(newest.virtual_path, version=newest.version)
    else:
        new = await memory.read(arguments.path, version=arguments.to_version)
    old = await _older(memory, arguments, new)
    old_name, old_text = (old.reference, old.content) if old else (None, "")
    compared = (old_text, new.content, old_name or "/dev/null", new.reference)
    result = DiffResult(
        path=new.virtual_path,
        from_version=old.version if old else 0,
        to_version=new.version,
        diff=await offload.run(len(old_text) + len(new.content), unified, *compared),
    ).body()
    logged = result | {"diff": {"$diff": [old_name, new.reference]}}
    return CallAnswer(result, arguments.canonical(), logged)


class RestoreArguments(Arguments):
    """Put an earlier version of a memory file back, as its next version. A deleted file stands again."""

    path: Path
    version: Annotated[int, Field(ge=1, le=MAX_VERSION, description="The version to put back.")]
    reason: Reason = None
    base_version: BaseVersion = None


async def stage_restore(draft: Draft, arguments: RestoreArguments) -> None:
    """Stage memory_restore."""
    await draft.restore(
        arguments.path, arguments.version, base_version=arguments.base_version, reason=arguments.reason
    )


class RevertArguments(Arguments):
    """Undo everything that one call wrote, as new revisions."""

    tool_call_id: Annotated[str, Field(description="The call to undo.")]
    writes: Annotated[list[str], Field(description="What it wrote, from the log.")]
    reason: Reason = None


class RevertedResult(ResultPart):
    """One file as the undoing left it."""

    path: str
    version: int
    deleted: bool
    diff: str


class RevertResult(ToolResult):
    """The writes that undid a call."""

    reverted: str
    writes: list[RevertedResult]


async def stage_revert(draft: Draft, arguments: RevertArguments) -> None:
    """Stage the undoing of a call."""
    call = arguments.tool_call_id
    await draft.undo(arguments.writes, [call], arguments.reason or f"revert {call}")


def answer_revert(arguments: RevertArguments, changes: tuple[FileChange, ...]) -> CallAnswer:
    """Answer the undoing of a call."""
    writes = [write.model_dump(mode="json") for write in reverted_files(changes)]
    result = {"reverted": arguments.tool_call_id, "writes": writes}
    return CallAnswer(result, arguments.canonical(), result | {"writes": logged_files(changes)})


def reverted_files(changes: Iterable[FileChange]) -> list[RevertedResult]:
    """Return the files as an undoing left them."""
    return [RevertedResult.taken_from(change, diff=change.diff()) for change in changes]


def logged_files(changes: Iterable[FileChange]) -> list[dict[str, Any]]:
    """Return the files as an undoing left them, as the log keeps them."""
    return [
        RevertedResult.taken_from(change, diff="").model_dump(mode="json")
        | ({"diff": references.of_diff(change)} if change.changed else {})
        for change in changes
    ]


async def _older(memory: Memory, arguments: DiffArguments, new: Revision) -> Revision | None:
    if arguments.from_version == 0:
        return None
    if arguments.from_version is not None:
        return await memory.read(arguments.path, version=arguments.from_version)
    return await memory.before(new)


REVERT = WriteTool("memory_revert", RevertArguments, RevertResult, stage_revert, answer_revert)

TOOLS: tuple[ReadTool[Any] | WriteTool[Any], ...] = (
    ReadTool("memory_history", HistoryArguments, HistoryResult, history),
    ReadTool("memory_diff", DiffArguments, DiffResult, diff),
    WriteTool("memory_restore", RestoreArguments, PlacedResult, stage_restore, answer_placed),
)
