"""The records of the journal beside its entries, taken from scopes and put anew: see `restore`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

from memex.store.database import Connection, rows
from memex.store.sql import sql


@dataclass(frozen=True, slots=True)
class StoredLine:
    """The state of a line of a page since a change of its scope; a row of the table `statement`.

    `entry_owner` is the user whose entry holds the words; None where none does, or one of somebody else.
    """

    file_id: int
    line_key: bytes
    entry_owner: str | None
    entry_path: str
    start_char: int
    end_char: int
    state: str
    rev: int
    rev_end: int | None
    held_in: str | None
    newer: str | None
    tool_call_id: str
    changed_at: datetime
    said_on: date | None
    accepted_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredRival:
    """A newer statement that contradicts an older one, since a change of a scope; a row of the table `rival`.

    The scopes of both are told by their kinds and keys: `older_owner` and `newer_owner` are those keys.
    """

    older_kind: str
    older_owner: str
    older_path: str
    older_key: bytes
    older_start: int
    older_end: int
    newer_kind: str
    newer_owner: str
    newer_path: str
    newer_key: bytes
    newer_start: int
    newer_end: int
    is_settled: bool
    rev: int
    rev_end: int | None
    tool_call_id: str


@dataclass(frozen=True, slots=True)
class StoredTombstone:
    """A row of the table `tombstone`: words that were forgotten or replaced, since a change of a scope."""

    line_key: bytes
    strength: str
    salt: bytes
    value_digests: tuple[bytes, ...]
    value_sizes: tuple[int, ...]
    word_digests: tuple[bytes, ...]
    ended_at: datetime
    rev: int
    rev_end: int | None
    tool_call_id: str
    lifted_in: str | None


@dataclass(frozen=True, slots=True)
class StoredRepeat:
    """A record that the text of an entry was told again; a row of the table `told_again`."""

    path: str
    said_at: datetime
    tool_call_id: str
    taken_back_in: str | None


async def read_statements(
    connection: Connection, scope_id: int, file_ids: Sequence[int], *, last_rev: int, user_id: str | None
) -> list[StoredLine]:
    """Return what became of lines of pages up to a change of their scope; entries of the user alone are named."""
    wanted = {"scope_id": scope_id, "file_ids": list(file_ids), "last_rev": last_rev, "user_id": user_id}
    found = await rows(connection, "upkeep/restore_statements_read", **wanted)
    return [StoredLine(**record | {"line_key": bytes(record["line_key"])}) for record in found]


async def read_rivals(
    connection: Connection, scope_id: int, *, last_rev: int, user_id: str | None
) -> list[StoredRival]:
    """Return which statements contradict older ones, up to a change of a scope; of users, one alone is named."""
    wanted = {"scope_id": scope_id, "last_rev": last_rev, "user_id": user_id}
    found = await rows(connection, "upkeep/restore_rivals_read", **wanted)
    keys = ("older_key", "newer_key")
    return [StoredRival(**record | {key: bytes(record[key]) for key in keys}) for record in found]


async def read_tombstones(connection: Connection, scope_id: int, *, last_rev: int) -> list[StoredTombstone]:
    """Return what was forgotten and replaced in a scope up to a change of it."""
    found = await rows(connection, "upkeep/restore_tombstones_read", scope_id=scope_id, last_rev=last_rev)
    lists = ("value_digests", "word_digests")
    return [
        StoredTombstone(
            **record
            | {key: bytes(record[key]) for key in ("line_key", "salt")}
            | {key: tuple(map(bytes, record[key])) for key in lists}
            | {"value_sizes": tuple(record["value_sizes"])}
        )
        for record in found
    ]


async def read_repeats(connection: Connection, scope_id: int, paths: Sequence[str]) -> list[StoredRepeat]:
    """Return when the texts of entries were told again, by their paths in their scope."""
    found = await rows(connection, "upkeep/restore_repeats_read", scope_id=scope_id, paths=list(paths))
    return [StoredRepeat(**record) for record in found]


async def put_lines(
    connection: Connection,
    tenant_id: int,
    scope_id: int,
    known: Mapping[str, Sequence[Any]],
) -> None:
    """Put `statements`, `repeats`, `rivals` and `tombstones` into a scope; others that they name are there."""
    for name, records in known.items():
        if records:
            told = {name: _encode([asdict(record) for record in records])}
            place = {"tenant_id": tenant_id, "scope_id": scope_id}
            await connection.execute(sql(f"upkeep/restore_{name}"), place | told)


def _encode(records: list[dict[str, Any]]) -> str:
    return json.dumps(records, default=lambda value: value.hex() if isinstance(value, bytes) else str(value))
