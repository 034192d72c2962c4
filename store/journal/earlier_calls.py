"""Facts from log and history about texts that were told before there was a journal. For maintenance."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memex.store.database import Connection, Database, rows, rows_as
from memex.store.journal.removal import JournalOwner
from memex.store.paths import parse
from memex.store.search.index import text_digest
from memex.store.sql import sql
from memex.store.statement_lines import changed_lines, lines_of

MAX_VERSIONS = 50  # of a file that are read at once

Write = tuple[int, int, int]  # the scope, the file, and the change of the scope that made a version


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A version of a page that a call wrote, and the virtual path at which the page stands now, if it does."""

    version: Write
    path: str | None


Writes = Mapping[str, WrittenPage]  # by `path@version`


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call of memory_remember whose text stands in the log.

    Attributes:
        operation_id: of its row in the log.
        tool_call_id: the caller's.
        text: as it was told.
        said_at: as the call named it.
        project: the slug of the project that it was about.
        actor: who told it, if the caller said it.
        now: when the call was made.
        skipped: parts of the text of which no statement was made, as the answer has them.
        writes: what it wrote, as `path@version`.
    """

    operation_id: int
    tool_call_id: str
    text: str
    said_at: str | None
    project: str | None
    actor: str | None
    now: datetime
    skipped: Sequence[dict[str, Any]]
    writes: Sequence[str]


@dataclass(frozen=True, slots=True)
class KnownText:
    """The facts that a journal holds about a text: see `queries/journal/entry_known.sql`."""

    is_made: bool
    held_by: str | None
    was_held: bool


@dataclass(slots=True)
class PageLines:
    """The lines that calls brought into pages, and which calls took them out.

    Attributes:
        came: the lines that a version of a page brought, by their keys.
        gone_by: by key, the calls that took a line out last, one for each page that had it.
        standing: the keys of the lines that pages hold now.
    """

    came: defaultdict[Write, dict[bytes, str]] = field(default_factory=lambda: defaultdict(dict))
    gone_by: defaultdict[bytes, set[str]] = field(default_factory=lambda: defaultdict(set))
    standing: set[bytes] = field(default_factory=set)

    def taken_out_by(self, writes: Iterable[Write]) -> set[str]:
        """Return the calls that took lines out which these versions brought, and which no page holds now."""
        keys = {key for write in writes for key in self.came.get(write, ())} - self.standing
        return {call for key in keys for call in self.gone_by.get(key, ())}


async def tellers(database: Database, tenant_id: int, user_id: str | None) -> Sequence[JournalOwner]:
    """Return the users of a tenant who told something, or the one who is named."""
    async with database.maintenance() as connection:
        return await rows_as(
            JournalOwner, connection, "journal/told_scope", tenant_id=tenant_id, user_id=user_id
        )


async def read_calls(database: Database, owner: JournalOwner, *, after: int, limit: int) -> list[EarlierCall]:
    """Return calls of a user whose texts stand in the log, the oldest first, after one of them."""
    async with database.maintenance() as connection:
        return await rows_as(
            EarlierCall,
            connection,
            "journal/told_call",
            scope_id=owner.scope_id,
            after=after,
            limit=limit,
        )


async def reverted_calls(database: Database, owner: JournalOwner) -> Collection[str]:
    """Return the calls of a user that were taken back, and not by a call that was taken back itself."""
    async with database.maintenance() as connection:
        return await reverted_in(connection, [owner.scope_id])


async def reverted_in(
    connection: Connection,
    scope_ids: Sequence[int],
    user_id: str | None = None,
    actor: str | None = None,
    since: datetime | None = None,
) -> AbstractSet[str]:
    """Return the calls in logs that were taken back, as if calls of an actor since a time had taken back none."""
    where = {"scope_ids": scope_ids, "user_id": user_id, "actor": actor, "since": since}
    found = await rows(connection, "journal/reverting_call", **where)
    reverting = defaultdict[str, list[str]](list)
    for row in found:
        reverting[row["reverted"]].append(row["tool_call_id"])
    standing: dict[str, bool] = {}

    def stands(call: str) -> bool:
        if call not in standing:
            standing[call] = True  # also ends a circle, which no log has
            standing[call] = not any(stands(other) for other in reverting.get(call, ()))
        return standing[call]

    return {call for call in list(reverting) if not stands(call)}


async def harmless_calls(
    database: Database, owner: JournalOwner, tool_call_ids: Collection[str]
) -> Collection[str]:
    """Return those of some calls that forgot nothing: newer words replaced the lines that they took out."""
    async with database.maintenance() as connection:
        found = await rows(
            connection,
            "journal/harmless_call",
            scope_id=owner.scope_id,
            tool_call_ids=sorted(tool_call_ids),
        )
    return {row["tool_call_id"] for row in found}


async def find_writes(
    database: Database, owner: JournalOwner, references: Sequence[str]
) -> dict[str, WrittenPage]:
    """Return the versions of pages that `path@version` names; one that is gone has none."""
    named = [(reference, *reference.rpartition("@")[::2]) for reference in references]
    parsed = [parse(path) for _, path, _ in named]
    async with database.maintenance() as connection:
        found = await rows(
            connection,
            "journal/written_file",
            tenant_id=owner.tenant_id,
            scope_id=owner.scope_id,
            references=list(references),
            mounts=[path.mount_name for path in parsed],
            paths=[path.relative for path in parsed],
            versions=[int(version) for _, _, version in named],
        )
    mounts = dict(zip(references, (path.mount_name for path in parsed), strict=True))
    return {
        row["reference"]: WrittenPage(
            (row["scope_id"], row["file_id"], row["rev"]),
            None if row["path"] is None else f"{mounts[row['reference']]}/{row['path']}",
        )
        for row in found
    }


async def read_lines(database: Database, writes: Iterable[Write]) -> PageLines:
    """Return what became of the lines of the pages that were written."""
    lines = PageLines()
    for scope_id, file_id in sorted({(scope_id, file_id) for scope_id, file_id, _ in writes}):
        after, before, gone = -1, "", dict[bytes, str]()
        while True:
            async with database.maintenance() as connection:
                found = await rows(
                    connection,
                    "journal/written_text",
                    scope_id=scope_id,
                    file_id=file_id,
                    after=after,
                    limit=MAX_VERSIONS,
                )
            for row in found:
                taken, came = changed_lines(before, row["content"])
                gone |= {key: str(row["tool_call_id"]) for key in taken}
                brought = {key: row["content"][start:end] for key, (start, end) in came.items()}
                lines.came[scope_id, file_id, row["rev"]] |= brought
                before, after = row["content"], row["rev"]
            if len(found) < MAX_VERSIONS:
                break
        lines.standing |= lines_of(before).keys()
        for key, call in gone.items():
            lines.gone_by[key].add(call)
    return lines


async def known_texts(
    database: Database, owner: JournalOwner, texts: Sequence[tuple[str, str, str | None, str]]
) -> list[KnownText]:
    """Return what a user's journal knows of texts.

    Args:
        database: the database.
        owner: whose journal it is.
        texts: each with the path that its entry would have, its project and its call: (path, text, project, call).
    """
    async with database.maintenance() as connection:
        return await rows_as(
            KnownText,
            connection,
            "journal/entry_known",
            scope_id=owner.scope_id,
            paths=[path for path, _, _, _ in texts],
            sha256s=[text_digest(text) for _, text, _, _ in texts],
            abouts=[about for _, _, about, _ in texts],
            tool_call_ids=[call for _, _, _, call in texts],
        )


async def add_told_again(
    database: Database, owner: JournalOwner, told: Iterable[tuple[str, datetime, str]]
) -> None:
    """Count that texts were told again: the relative path of each entry, when, and by which call."""
    async with database.maintenance() as connection:
        for path, said_at, tool_call_id in told:
            await _add_told_again(connection, owner, path, said_at, tool_call_id)


async def _add_told_again(
    connection: Connection, owner: JournalOwner, path: str, said_at: datetime, tool_call_id: str
) -> None:
    row = {"scope_id": owner.scope_id, "path": path, "said_at": said_at, "tool_call_id": tool_call_id}
    await connection.execute(sql("writes/told_again_add"), row)
