"""Reads of one mount for a dream, in one state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memex.store.access import Access, Scope
from memex.store.database import Connection, Rows, row, rows
from memex.store.memory import Memory
from memex.store.records import Tombstone

MAX_ENTRIES = 500  # of a journal that are looked at, the newest


@dataclass(frozen=True, slots=True)
class StoredMount:
    """A mount as it stands: the number of its last change, its pages, and unfiled entries of its journal.

    `past_lines` are those of older versions of its pages; they are read if there are such entries.
    """

    rev: int
    pages: Rows
    entries: Rows
    tombstones: Sequence[Tombstone]
    past_lines: Sequence[str] = ()


async def read_mount(connection: Connection, access: Access, scope: Scope) -> StoredMount:
    """Return a mount; `connection` is a snapshot begun for `access`."""
    place = {"scope_id": scope.scope_id}
    found = await row(connection, "dreams/scope_rev", **place)
    pages = await rows(connection, "dreams/page_load", **place)
    entries: Rows = []
    if scope.mount == "user":
        entries = await rows(connection, "dreams/entry_unfiled", **place, limit=MAX_ENTRIES)
    tombstones = await Memory(connection, access).tombstones() if entries else []
    past = await rows(connection, "dreams/line_past", **place) if entries else []
    lines = [record["line"] for record in past]
    return StoredMount(found["rev"] if found else 0, pages, entries, tombstones, lines)


async def read_past(
    connection: Connection, scope: Scope, file_ids: Sequence[int], at: datetime
) -> Mapping[int, str]:
    """Return the texts of pages as they stood at a time, by their file ids."""
    found = await rows(connection, "dreams/page_past", scope_id=scope.scope_id, file_ids=file_ids, at=at)
    return {record["file_id"]: record["content"] for record in found}


async def read_moved(connection: Connection, scope: Scope, keys: Sequence[str]) -> Mapping[str, str]:
    """Return where files stand now that had one of these keys once; a key of several files is left out."""
    found = await rows(connection, "dreams/page_moved", scope_id=scope.scope_id, keys=keys)
    places: dict[str, set[str]] = {}
    for record in found:
        places.setdefault(record["key"], set()).add(scope.virtual(record["path"]))
    return {key: next(iter(paths)) for key, paths in places.items() if len(paths) == 1}


async def read_known(connection: Connection, access: Access, scope: Scope, keys: Sequence[str]) -> set[str]:
    """Return which of these keys lead to files of other mounts that the caller reads."""
    others = [project.scope_id for project in access.scopes if project != scope]
    found = await rows(connection, "dreams/key_known", scope_ids=others, keys=keys)
    return {record["key"] for record in found}
