"""The tools that change files: write, patch, move, delete."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from memex.errors import ValidationFailed
from memex.service.log import references
from memex.service.tools.files import Forgotten, Path, spans_or_none
from memex.service.tools.tool import MAX_VERSION, Arguments, ToolResult, WriteTool, check_storable
from memex.store.log.call import CallAnswer
from memex.store.records import FileChange, Span
from memex.store.writes.draft import Draft
from memex.store.writes.edits import MAX_REASON_CHARS

Reason = Annotated[
    Annotated[str, Field(max_length=MAX_REASON_CHARS), AfterValidator(check_storable)] | None,
    Field(description="Why, kept with the revision for people."),
]
BaseVersion = Annotated[
    int | None,
    Field(
        ge=0,
        le=MAX_VERSION,
        description="The version that was read; the call fails when it is no longer the newest.",
    ),
]


class WriteArguments(Arguments):
    """Write a whole memory file.

    Without base_version the path must be free; with it that version is replaced; overwrite replaces any.
    """

    path: Path
    content: Annotated[str, Field(description="The whole file, Markdown.")]
    reason: Reason = None
    base_version: BaseVersion = None
    overwrite: Annotated[bool, Field(description="Replace whatever stands there.")] = False


class WriteResult(ToolResult):
    """The version that stands now; `changed` is false when the text already stood there.

    `forgotten` says where the text says what the user asked to forget: contexts leave it out.
    """

    path: str
    version: int
    created: bool
    changed: bool
    replaced_version: int | None
    sha256: str
    forgotten: Forgotten = None


async def stage_write(draft: Draft, arguments: WriteArguments) -> None:
    """Stage memory_write."""
    if arguments.overwrite and arguments.base_version is not None:
        raise ValidationFailed("memory_write takes base_version or overwrite, not both.")
    draft.write(**dict(arguments))


def answer_write(
    arguments: WriteArguments, changes: tuple[FileChange, ...], forgotten: Sequence[Sequence[Span]]
) -> CallAnswer:
    """Answer memory_write."""
    [change] = changes
    result = WriteResult(
        path=change.path,
        version=change.version,
        created=change.old_version is None,
        changed=change.changed,
        replaced_version=change.old_version if change.changed else None,
        sha256=change.sha256,
        forgotten=spans_or_none(forgotten[0]),
    ).body()
    request = arguments.canonical() | {"content": references.of_change(change)}
    return CallAnswer(result, request, result)


class PatchArguments(Arguments):
    """Change a part of a memory file: append lines, insert text, or replace an exact text that occurs once.

    append adds at the end of the file or of the section under heading; insert puts text after match, or at the
    start of the section or file; replace puts text in the place of match. Text is taken literally.
    """

    path: Path
    operation: Annotated[Literal["append", "insert", "replace"], Field(description="What to do with text.")]
    text: Annotated[str, Field(description="The new text.")]
    heading: Annotated[str | None, Field(description="The section to change, by its heading.")] = None
    match: Annotated[str | None, Field(description="Exact text that occurs exactly once.")] = None
    reason: Reason = None
    base_version: BaseVersion = None


class PatchResult(ToolResult):
    """The version that stands now and what changed, as a unified diff; `forgotten` as memory_write has it."""

    path: str
    version: int
    changed: bool
    diff: str
    forgotten: Forgotten = None


async def stage_patch(draft: Draft, arguments: PatchArguments) -> None:
    """Stage memory_patch."""
    draft.patch(**dict(arguments))


def answer_patch(
    arguments: PatchArguments, changes: tuple[FileChange, ...], forgotten: Sequence[Sequence[Span]]
) -> CallAnswer:
    """Answer memory_patch."""
    [change] = changes
    start = change.new_content.find(arguments.text, change.span[0] if change.span else 0)
    result = PatchResult(
        path=change.path,
        version=change.version,
        changed=change.changed,
        diff=change.diff(),
        forgotten=spans_or_none(forgotten[0], start),
    ).body()
    request = arguments.canonical()
    if change.span is not None:
        request["text"] = references.of_change(change, (start, start + len(arguments.text)))
    if arguments.match is not None and change.old_version:
        start = change.old_content.find(arguments.match)
        request["match"] = references.of_old(change, (start, start + len(arguments.match)))
    logged = result | {"diff": references.of_diff(change) if change.changed else ""}
    return CallAnswer(result, request, logged)


class MoveArguments(Arguments):
    """Move a memory file to another path. Its history stays with it inside a mount."""

    path: Path
    to: Path
    reason: Reason = None
    base_version: BaseVersion = None


class PlacedResult(ToolResult):
    """The path where the file stands, or stood, and the version that says so."""

    path: str
    version: int


async def stage_move(draft: Draft, arguments: MoveArguments) -> None:
    """Stage memory_move."""
    draft.move(**dict(arguments))


def answer_placed(arguments: Arguments, changes: tuple[FileChange, ...]) -> CallAnswer:
    """Answer memory_move, memory_delete and memory_restore: the last change is where the file is now.

    The log keeps every revision written: a move between mounts writes two.
    """
    change = changes[-1]
    result = PlacedResult(path=change.path, version=change.version).body()
    return CallAnswer(result, arguments.canonical(), result)


class DeleteArguments(Arguments):
    """Delete a memory file. Its revisions stay and can be restored."""

    path: Path
    reason: Reason = None
    base_version: BaseVersion = None


async def stage_delete(draft: Draft, arguments: DeleteArguments) -> None:
    """Stage memory_delete."""
    draft.delete(**dict(arguments))


def _written_text(arguments: WriteArguments) -> list[tuple[str, str]]:
    return [(arguments.path, arguments.content)]


def _patched_text(arguments: PatchArguments) -> list[tuple[str, str]]:
    return [(arguments.path, arguments.text)]


WRITE = WriteTool("memory_write", WriteArguments, WriteResult, stage_write, answer_write, _written_text)
PATCH = WriteTool("memory_patch", PatchArguments, PatchResult, stage_patch, answer_patch, _patched_text)
MOVE = WriteTool("memory_move", MoveArguments, PlacedResult, stage_move, answer_placed)
DELETE = WriteTool("memory_delete", DeleteArguments, PlacedResult, stage_delete, answer_placed)
