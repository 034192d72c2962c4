"""The tool that changes many files at once: `memory_write_many`."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from memex.errors import LimitExceeded, ValidationFailed
from memex.service.log import references
from memex.service.tools.file_edits import DELETE, MOVE, PATCH, WRITE, BaseVersion, Reason
from memex.service.tools.files import Forgotten, Path, spans_or_none
from memex.service.tools.tool import Arguments, ResultPart, ToolResult, WriteTool
from memex.store.log.call import CallAnswer
from memex.store.log.operations import WRITTEN_TEXT_CHARS, shorten
from memex.store.records import FileChange, Span
from memex.store.writes.draft import Draft
from memex.store.writes.edits import naming_member

MAX_MEMBERS = 500
MAX_CHARS = 4 << 20  # of all texts of a batch
KINDS: dict[str, WriteTool[Any]] = {"write": WRITE, "patch": PATCH, "move": MOVE, "delete": DELETE}
TEXTS = ("content", "text", "match")

Edit = dict[str, Any]  # the kind, and the arguments of its tool


class EditArguments(Arguments):
    """One edit: its kind, and the arguments of memory_write, memory_patch, memory_move or memory_delete."""

    kind: Literal["write", "patch", "move", "delete"]
    path: Path
    content: Annotated[str | None, Field(description="write: the whole file.")] = None
    overwrite: Annotated[bool | None, Field(description="write: replace whatever stands there.")] = None
    operation: Annotated[
        Literal["append", "insert", "replace"] | None, Field(description="patch: what to do with text.")
    ] = None
    text: Annotated[str | None, Field(description="patch: the new text.")] = None
    heading: Annotated[str | None, Field(description="patch: the section to change.")] = None
    match: Annotated[str | None, Field(description="patch: exact text that occurs once.")] = None
    to: Annotated[str | None, Field(description="move: the new path.")] = None
    reason: Reason = None
    base_version: BaseVersion = None


class WriteManyArguments(Arguments):
    """Write, patch, move and delete up to 500 memory files at once: all of it, or nothing if one edit does not fit.

    Each edit sees what those before it did. base_version is the version before the batch; each file gets one new.
    """

    edits: Annotated[
        list[Annotated[Edit, WithJsonSchema(EditArguments.model_json_schema())]],
        Field(min_length=1, max_length=MAX_MEMBERS, description="The edits, in their order."),
    ]

    def canonical(self) -> dict[str, Any]:
        """Return the arguments as they are logged and compared: without what is null."""
        return {"edits": [_without_null(edit) for edit in self.edits]}


class EditResult(ResultPart):
    """The state of an edit's file after the whole batch.

    `path` is where the file stands, or stood. `version` is null if nothing of the file is stored, because one edit
    made it and a later one took it away. `forgotten` says where the text of the edit says what the user asked to
    forget. The other values compare with what stood before the batch.
    """

    kind: str
    path: str
    version: int | None
    created: bool
    changed: bool
    deleted: bool
    replaced_version: int | None
    sha256: str
    forgotten: Forgotten = None


class WriteManyResult(ToolResult):
    """One result for each edit, in their order."""

    results: list[EditResult]


async def stage(draft: Draft, arguments: WriteManyArguments) -> None:
    """Stage memory_write_many."""
    chars = sum(
        len(edit[name]) for edit in arguments.edits for name in TEXTS if isinstance(edit.get(name), str)
    )
    if chars > MAX_CHARS:
        raise LimitExceeded(
            f"The texts of this batch have {chars:,} characters; {MAX_CHARS:,} are written at once.",
            hint="Send several smaller batches.",
            limit=MAX_CHARS,
        )
    draft.begin_batch()
    for index, edit in enumerate(arguments.edits):
        with naming_member(index):
            tool, single = _parse(edit)
            await tool.stage(draft, single)


def answer(
    arguments: WriteManyArguments, changes: tuple[FileChange, ...], forgotten: Sequence[Sequence[Span]]
) -> CallAnswer:
    """Answer memory_write_many."""
    # A move between mounts changes two files: the last is where it went.
    found = {edit: change for change in changes for edit in change.edits}
    by_edit = [found[edit] for edit in range(len(arguments.edits))]
    results = [_result(*one) for one in zip(arguments.edits, by_edit, forgotten, strict=True)]
    result = WriteManyResult(results=results).body()
    logged = [_logged(edit, change) for edit, change in zip(arguments.edits, by_edit, strict=True)]
    return CallAnswer(result, {"edits": logged}, result)


def _parse(edit: Edit) -> tuple[WriteTool[Any], Arguments]:
    """Return the tool of an edit with its arguments, checked as in a call of the tool alone."""
    given = _without_null(edit)
    kind = given.pop("kind", None)
    tool = KINDS.get(kind) if isinstance(kind, str) else None
    if tool is None:
        raise ValidationFailed(
            f"kind must be {', '.join(map(repr, KINDS))}." if kind is not None else "kind is missing."
        )
    return tool, tool.parse(given)


def _texts(arguments: WriteManyArguments) -> list[tuple[str, str]]:
    """Return the path and the new text of each edit; "" where it brings none."""
    return [(edit["path"], edit.get("content") or edit.get("text") or "") for edit in arguments.edits]


def _result(edit: Edit, change: FileChange, forgotten: Sequence[Span]) -> EditResult:
    return EditResult.taken_from(
        change,
        kind=edit["kind"],
        version=change.version or None,
        created=change.old_version is None and change.changed,
        replaced_version=change.old_version if change.changed else None,
        forgotten=spans_or_none(forgotten),
    )


def _logged(edit: Edit, change: FileChange) -> Edit:
    """Return an edit as the log keeps it: references to texts that a revision holds, digests of other long ones."""
    logged = _without_null(edit)
    for name in TEXTS:
        if name in logged:
            logged[name] = _reference(logged[name], change) or shorten(
                logged[name], max_chars=WRITTEN_TEXT_CHARS
            )
    return logged


def _reference(text: str, change: FileChange) -> dict[str, Any] | None:
    if change.version and (start := change.new_content.find(text)) >= 0:
        return references.of_change(change, (start, start + len(text)))
    if change.old_version and (start := change.old_content.find(text)) >= 0:
        return references.of_old(change, (start, start + len(text)))
    return None


def _without_null(edit: Edit) -> Edit:
    return {name: value for name, value in edit.items() if value is not None}


WRITE_MANY = WriteTool("memory_write_many", WriteManyArguments, WriteManyResult, stage, answer, _texts)
