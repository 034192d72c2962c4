"""A memory as a person looks through it: mounts, folders, and the files that pass filters."""

from typing import Annotated, Literal, get_args

from pydantic import AwareDatetime, Field

from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.tool import Arguments, ResultPart, StorableText, ToolResult
from memex.store.browse.folders import FileFilter, list_filtered, list_mounts, list_tree
from memex.store.markdown import MAX_TAG_CHARS
from memex.store.memory import Memory
from memex.subagent.statements.places import STATEMENT_FILE_NAMES

# What a file is: one of statements by its name, or any other.
FileKind = Literal["profile", "preferences", "decisions", "goals", "tasks", "notes", "other"]
KINDS: tuple[FileKind, ...] = get_args(FileKind)


class BrowseArguments(Arguments):
    """The folders and files that are asked for."""

    prefix: Annotated[str, Field(max_length=2_000)] = ""
    kind: FileKind | None = None
    tag: Annotated[StorableText | None, Field(max_length=MAX_TAG_CHARS)] = None
    actor: Annotated[StorableText | None, Field(max_length=200)] = None
    since: Annotated[AwareDatetime | None, Field(strict=False)] = None
    until: Annotated[AwareDatetime | None, Field(strict=False)] = None
    pinned: bool = False
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100
    cursor: str | None = None


class FolderResult(ResultPart):
    """A mount or a folder: how many files stand in it and below it, and when something there last changed."""

    path: str
    files: int
    updated_at: str | None


class BrowsedFileResult(ResultPart):
    """A file in the list; `actor` is who wrote its newest version, or the channel that this came by."""

    path: str
    version: int
    size_chars: int
    title: str
    tags: list[str]
    pinned: bool
    actor: str
    updated_at: str


class BrowseResult(ToolResult):
    """All mounts, the folders that the prefix lies in and those right below it, and the files that pass."""

    mounts: list[FolderResult]
    parents: list[FolderResult]
    folders: list[FolderResult]
    files: list[BrowsedFileResult]
    next_cursor: str | None


async def _browse(call: OperationCall, arguments: BrowseArguments) -> LoggedAnswer[BrowseResult]:
    """Return mounts, folders and files, and log what was shown; `given` is as BrowseArguments has it.

    An admin who names a user gets what this user may read, unless the prefix names another project.

    Raises:
        ValidationFailed: an argument is wrong.
        ProjectNotFound: the prefix names a project that is none of the user's.
    """
    after = from_cursor(arguments.cursor, str)[0] if arguments.cursor is not None else None
    access = await call.service.identities.limited_to_user(call.caller)
    others = call.access.by_mount.keys() - access.by_mount.keys()
    if any(arguments.prefix.startswith(f"{mount}/") for mount in others):
        access = call.access
    async with call.database.transaction(access, snapshot=True) as connection:
        state = await Memory(connection, access).state(access.scopes)
        mounts = await list_mounts(connection, access)
        tree = await list_tree(connection, access, arguments.prefix)
        listed = await list_filtered(
            connection, access, _filter_of(arguments), limit=arguments.limit + 1, after=after
        )
    page = listed[: arguments.limit]
    result = BrowseResult(
        mounts=list(map(FolderResult.taken_from, mounts)),
        parents=list(map(FolderResult.taken_from, tree.parents)),
        folders=list(map(FolderResult.taken_from, tree.folders)),
        files=list(map(BrowsedFileResult.taken_from, page)),
        next_cursor=to_cursor(page[-1].path) if len(listed) > arguments.limit else None,
    )
    logged = {"files": [f"{file.path}@{file.version}" for file in page]}
    return LoggedAnswer(result, logged, state)


def _filter_of(arguments: BrowseArguments) -> FileFilter:
    names = None if arguments.kind is None else (arguments.kind,)
    return FileFilter(
        **arguments.model_dump(include={"prefix", "tag", "actor", "since", "until"}),
        is_pinned=arguments.pinned,
        names=STATEMENT_FILE_NAMES if arguments.kind == "other" else names,
        is_named=arguments.kind != "other",
    )


BROWSE = LoggedOperation("memory_browse", BrowseArguments, BrowseResult, _browse)
