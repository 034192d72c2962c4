"""Mounts and folders with how many files stand there, and the files that pass filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from memex.store.access import Access, Scope
from memex.store.database import Connection, rows, rows_as
from memex.store.entry_path import FOLDER, is_in_journal
from memex.store.markdown import tag_key
from memex.store.paths import Prefix, parse, parse_prefix
from memex.store.search.find import is_within

MAX_FOLDERS = 1_000


@dataclass(frozen=True, slots=True)
class Folder:
    """A mount or a folder: how many files stand in it and below it, and when the last of them changed.

    A mount also changes when a file is deleted there.
    """

    path: str
    files: int
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class FolderTree:
    """The folders around a prefix.

    Attributes:
        parents: those that the prefix lies in, the outermost first and without the mount.
        folders: those right below, by name, at most 1,000.
    """

    parents: tuple[Folder, ...]
    folders: tuple[Folder, ...]


@dataclass(frozen=True, slots=True)
class BrowsedFile:
    """A file in a list, with who wrote its newest version."""

    path: str
    version: int
    size_chars: int
    title: str
    tags: tuple[str, ...]
    pinned: bool
    actor: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Conditions on the files of a list; one that is None lets every file through.

    Attributes:
        prefix: how the virtual path begins.
        tag: a tag of the file, in whatever case.
        actor: who wrote the newest version: its actor, or without one its channel.
        since: when the newest version was written, at the earliest.
        until: and before when.
        is_pinned: only pinned files.
        names: only files of these names right in user/ or in a project: `tasks` for tasks.md, tasks-2.md and so on.
        is_named: whether the files have these names; False for all others.
    """

    prefix: str = ""
    tag: str | None = None
    actor: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    is_pinned: bool = False
    names: tuple[str, ...] | None = None
    is_named: bool = True


async def list_mounts(connection: Connection, access: Access) -> Sequence[Folder]:
    """Return the mounts that the access reaches, by name."""
    ids = [scope.scope_id for scope in access.scopes]
    found = await rows(connection, "memory/mount_list", scope_ids=ids)
    mounts = [
        Folder(f"{access.by_id[file['scope_id']].mount}/", file["files"], file["updated_at"])
        for file in found
    ]
    return sorted(mounts, key=lambda mount: mount.path)


async def list_tree(connection: Connection, access: Access, prefix: str) -> FolderTree:
    """Return the folders around a prefix.

    Raises:
        ProjectNotFound: the prefix names a project that is none of the user's.
    """
    within = parse_prefix(prefix)
    if within.mount is None or (within.mount == "project" and within.project is None):
        return FolderTree((), ())
    scope = access.scope_at(_mount_of(within))
    ends = [at + 1 for at, character in enumerate(within.relative) if character == "/"]
    *above, folder = ["", *(within.relative[:end] for end in ends)]
    counted = await rows(
        connection, "memory/folder_list", scope_id=scope.scope_id, folder=folder, limit=MAX_FOLDERS + 2
    )
    parents: list[Folder] = []
    if len(above) > 1:
        found = await rows(connection, "memory/folder_count", scope_id=scope.scope_id, folders=above[1:])
        parents = [_folder_of(scope, row["path"], row) for row in found]
    if folder:
        parents.append(_folder_of(scope, folder, counted[0]))
    inside = [_folder_of(scope, f"{folder}{row['name']}/", row) for row in counted if row["name"]]
    return FolderTree(tuple(parents), tuple(inside[:MAX_FOLDERS]))


async def list_filtered(
    connection: Connection, access: Access, wanted: FileFilter, *, limit: int, after: str | None = None
) -> Sequence[BrowsedFile]:
    """Return at most `limit` files that pass a filter, by mount and path, after a virtual path.

    Raises:
        ProjectNotFound: the prefix names a project that is none of the user's.
    """
    within = parse_prefix(wanted.prefix)
    if within.project is not None:
        access.scope_at(_mount_of(within))
    last = parse(after) if after is not None else None
    found: list[BrowsedFile] = []
    for scope in sorted(access.scopes, key=lambda scope: scope.mount):
        if not is_within(scope, within) or (last is not None and scope.mount < last.mount_name):
            continue
        found += await rows_as(
            partial(_file_of, scope),
            connection,
            "memory/file_browse",
            scope_id=scope.scope_id,
            prefix=within.relative,
            # A folder a day stands for them above: those of a day, or of a month, are listed.
            entries=is_in_journal(wanted.prefix) and len(within.relative) > len(f"{FOLDER}/"),
            after=last.relative if last is not None and scope.mount == last.mount_name else "",
            tag=None if wanted.tag is None else tag_key(wanted.tag),
            actor=wanted.actor,
            since=wanted.since,
            until=wanted.until,
            is_pinned=wanted.is_pinned,
            names=None if wanted.names is None else list(wanted.names) if scope.mount != "shared" else [],
            is_named=wanted.is_named,
            limit=limit - len(found),
        )
        if len(found) >= limit:
            break
    return found


def _mount_of(within: Prefix) -> str:
    return f"projects/{within.project}" if within.project is not None else str(within.mount)


def _folder_of(scope: Scope, path: str, counted: dict[str, Any]) -> Folder:
    return Folder(scope.virtual(path), counted["files"], counted["updated_at"])


def _file_of(
    scope: Scope, *, path: str, tags: Sequence[str], created_at: datetime, **columns: Any
) -> BrowsedFile:
    return BrowsedFile(path=scope.virtual(path), tags=tuple(tags), updated_at=created_at, **columns)
