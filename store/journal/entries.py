"""The entries of a journal as a person reads them: in the order of a day, with what is known of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.store.access import Access
from memex.store.database import Connection, rows, rows_as
from memex.store.entry_path import FOLDER
from memex.store.paths import parse
from memex.store.records import Span

MAX_LINES = 200  # of pages that are listed for one entry


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """An entry of a journal.

    Attributes:
        path: relative to the user's mount.
        version: 1, and higher where words of it were hidden since.
        content: the words, without those that were hidden.
        origin: whose words they are.
        said_at: when they were said.
        about: the slug of the project that they were told about, if any.
        actor: who told them, if the caller said it.
        channel: by which way they came.
        tool_call_id: of the call that told them.
        created_at: when the entry was stored.
        told_again: when the same text was told again, and by which call.
    """

    path: str
    version: int
    content: str
    origin: str
    said_at: datetime
    about: str | None
    actor: str | None
    channel: str
    tool_call_id: str
    created_at: datetime
    told_again: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class MadeLine:
    """A line of a page that was made from words of an entry.

    Attributes:
        path: of the page, virtual.
        key: of the line; see `statement_lines.line_key`.
        words: where the words stand in the entry.
        state: what became of the line, such as `in_force`.
        held_in: `path@version:start-end` of the line, where the page held it last; None while the page holds it.
    """

    path: str
    key: bytes
    words: Span
    state: str
    held_in: str | None


async def read_entries(
    connection: Connection, access: Access, prefix: str, *, limit: int, after: str | None = None
) -> list[JournalEntry]:
    """Return the first entries of the caller's journal whose virtual paths begin with a prefix, in their order."""
    scope = access.by_mount.get("user")
    if scope is None or not prefix.startswith(f"user/{FOLDER}/"):
        return []
    return await rows_as(
        JournalEntry,
        connection,
        "journal/entry_read",
        scope_id=scope.scope_id,
        prefix=prefix.removeprefix("user/"),
        after="" if after is None else parse(after).relative,
        limit=limit,
    )


async def made_lines(connection: Connection, access: Access, path: str) -> list[MadeLine]:
    """Return the lines of readable pages that were made from an entry, by its virtual path."""
    entry = parse(path)
    found = await rows(
        connection,
        "journal/statement_of_entry",
        entry_scope=access.scope_of(entry).scope_id,
        path=entry.relative,
        scope_ids=[scope.scope_id for scope in access.scopes],
        limit=MAX_LINES,
    )
    return [
        MadeLine(
            path=access.by_id[row["scope_id"]].virtual(row["path"]),
            key=bytes(row["line_key"]),
            words=(row["start_char"], row["end_char"]),
            state=row["state"],
            held_in=row["held_in"],
        )
        for row in found
    ]
