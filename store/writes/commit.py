"""The statements of a commit, in one transaction: revisions, and what is derived of them.

Rows come to a statement as JSON, a list for each table: psycopg takes longer to write arrays of texts than Postgres
takes to read JSON.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memex.store.access import Access
from memex.store.database import Connection
from memex.store.log.call import Call
from memex.store.search import series
from memex.store.search.index import FileIndex, NewChunk
from memex.store.sql import sql
from memex.store.writes import pending
from memex.store.writes.edits import PlannedRevision
from memex.store.writes.pending import Counters, NewPostings
from memex.store.writes.quota import StoredAmounts

SEPARATOR = "\x1f"  # headings, titles and tags hold no control character

WrittenFiles = Sequence[tuple[PlannedRevision, FileIndex]]
Row = dict[str, Any]  # of a table, as JSON

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


async def write_commit(
    connection: Connection,
    access: Access,
    call: Call,
    written: WrittenFiles,
    counters: dict[int, Counters],
    *,
    analyzers: Mapping[int, str],
    used: Mapping[int, StoredAmounts],
) -> bool:
    """Store the revisions and everything derived from them, under the locks that `counters` came with.

    Return whether what waited of a scope was merged into its postings, as it is after each few hundred passages.

    Args:
        connection: a connection in the transaction that took the locks.
        access: the access of the caller who writes.
        call: the call that writes.
        written: the files that get a revision.
        counters: the counters of all scopes of these files, by scope.
        analyzers: the version of the analyzer and the chunker that made the chunks, by scope.
        used: what each scope stores after the commit.
    """
    if not written:
        return False
    revisions: list[Row] = []
    derived = DerivedRows()
    for planned, file_index in written:
        head, counter = planned.file.head, counters[planned.file.scope.scope_id]
        counter.files += 0 if planned.is_entry else planned.file.adds
        file_id = head.file_id if head else counter.take_file_id()
        revisions.append(_revision(planned, file_index, file_id))
        derived.add(file_index, counter, file_id, is_known=head is not None)
    changed = [counters[scope_id] for scope_id in sorted({revision["scope_id"] for revision in revisions})]
    await connection.execute(
        sql("writes/revision_write"),
        {
            "tenant_id": access.tenant_id,
            "actor": access.actor,
            "channel": access.channel,
            "tool_call_id": call.request.tool_call_id,
            "scope_ids": [counter.scope_id for counter in changed],
            "analyzers": [analyzers[counter.scope_id] for counter in changed],
            "standing_bytes": [used[counter.scope_id].bytes for counter in changed],
            "counts": [used[counter.scope_id].revisions for counter in changed],
            "stored_bytes": [used[counter.scope_id].stored_bytes for counter in changed],
            "journal_bytes": [used[counter.scope_id].journal_bytes for counter in changed],
            "revisions": _encode(revisions),
        },
    )
    await write_derived(connection, access.tenant_id, derived, changed)
    full = [counter for counter in changed if counter.unmerged > pending.BOUND]
    for counter in full:
        await pending.merge(connection, counter)
        await pending.put(connection, [counter])
    await _mark_series(connection, written, counters)
    return bool(full)


async def _mark_series(
    connection: Connection, written: WrittenFiles, counters: Mapping[int, Counters]
) -> None:
    """Note the scopes in which a short file gets a neighbour in a numbered series; see `search.series`."""
    pairs: dict[int, list[tuple[str, str]]] = {}
    for planned, derived in written:
        scope_id, path = planned.file.scope.scope_id, planned.file.path
        is_short = all(chunk.length < series.MAX_SHORT_LEXEMES for chunk in derived.added)
        if is_short and len(derived.added) <= 1 and not counters[scope_id].has_series:
            near = series.neighbours(path, max(series.SHARE_BY_DISTANCE)).values()
            pairs.setdefault(scope_id, []).extend((path, neighbour) for neighbour in near)
    for scope_id, found in pairs.items():
        if found:
            await connection.execute(
                sql("writes/series_mark"),
                {
                    "scope_id": scope_id,
                    "paths": [path for path, _ in found],
                    "neighbours": [neighbour for _, neighbour in found],
                    "short": series.MAX_SHORT_LEXEMES,
                },
            )


@dataclass(slots=True)
class DerivedRows:
    """The changes in the tables that are derived from texts.

    Attributes:
        known: the files that may have links.
        links: the links of all files, in the place of those of `known`.
        removed: the chunks that go.
        shifted: the chunks that stand elsewhere.
        chunks: the chunks that are new, by their ids.
    """

    known: list[Row] = field(default_factory=list)
    links: list[Row] = field(default_factory=list)
    removed: list[Row] = field(default_factory=list)
    shifted: list[Row] = field(default_factory=list)
    chunks: list[tuple[int, int, int, NewChunk]] = field(default_factory=list)  # scope, file, chunk

    def add(self, derived: FileIndex, counter: Counters, file_id: int, *, is_known: bool) -> None:
        """Add what is derived of a file, and count it.

        Args:
            derived: as a change of what is stored of the file.
            counter: the counters of its scope, whose lock is held.
            file_id: of the file.
            is_known: whether the file may have links.
        """
        place = {"scope_id": counter.scope_id, "file_id": file_id}
        if is_known:
            self.known.append(place)
        for link in derived.links:
            stands = {"ordinal": link.ordinal, "side": link.side, "target_key": link.target_key}
            self.links.append(place | stands | {"raw": link.raw, "anchor": link.anchor})
        for gone in derived.removed:
            is_merged = gone.chunk_id <= counter.merged_chunk_id
            row = {"scope_id": counter.scope_id, "chunk_id": gone.chunk_id, "is_merged": is_merged}
            self.removed.append(row | _lexeme_columns(gone.frequencies))
            counter.count_chunk(-1, gone.length)
        for chunk_id, start, end in derived.shifted:
            row = {"scope_id": counter.scope_id, "chunk_id": chunk_id}
            self.shifted.append(row | {"start_char": start, "end_char": end})
        for chunk in derived.added:
            self.chunks.append((counter.scope_id, file_id, counter.take_chunk_id(), chunk))
            counter.count_chunk(1, chunk.length)

    def postings(self) -> NewPostings:
        """Return the postings of the new chunks, which are of one scope."""
        made = NewPostings()
        for _, _, chunk_id, chunk in self.chunks:
            made.add(chunk_id, chunk)
        return made


async def write_derived(
    connection: Connection,
    tenant_id: int,
    derived: DerivedRows,
    counters: Iterable[Counters],
    *,
    keeps_lexemes: bool = True,
) -> None:
    """Store what is derived of texts, and the counters of their scopes, whose lock is held.

    Args:
        connection: in the transaction that took the lock.
        tenant_id: of the scopes.
        derived: what is stored.
        counters: of the scopes.
        keeps_lexemes: store the lexemes of new chunks. Without them, the caller merges the chunks at once, and
            makes the lexemes from the texts again when the chunks are removed.
    """
    await connection.execute(
        sql("writes/index_write"),
        pending.columns(counters)
        | {
            "tenant_id": tenant_id,
            "known": _encode(derived.known),
            "links": _encode(derived.links),
            "removed": _encode(derived.removed),
            "shifted": _encode(derived.shifted),
            "chunks": _encode([_chunk(*row, keeps_lexemes=keeps_lexemes) for row in derived.chunks]),
        },
    )


def _chunk(scope_id: int, file_id: int, chunk_id: int, chunk: NewChunk, *, keeps_lexemes: bool) -> Row:
    return {
        "scope_id": scope_id,
        "file_id": file_id,
        "chunk_id": chunk_id,
        "start_char": chunk.start,
        "end_char": chunk.end,
        "heading_path": chunk.heading_path,
        "sha256": chunk.sha256.hex(),
        "length": chunk.length,
    } | _lexeme_columns(dict(zip(chunk.lexemes, chunk.tfs, strict=True)) if keeps_lexemes else {})


def _lexeme_columns(frequencies: Mapping[str, int] | None) -> Row:
    """Return the lexemes of a chunk as columns; none where they are read from the chunk's row."""
    if frequencies is None:
        return {}
    return {"lexemes": " ".join(frequencies), "tfs": " ".join(map(str, frequencies.values()))}


def _revision(planned: PlannedRevision, derived: FileIndex, file_id: int) -> Row:
    file, change = planned.file, planned.change
    return {
        "scope_id": file.scope.scope_id,
        "file_id": file_id,
        "head_version": file.head.version if file.head else None,
        "version": change.version,
        "path": file.path,
        "content": change.new_content,
        "operation": change.operation,
        "deleted": change.deleted,
        "counterpart": change.counterpart,
        "reason": file.reason,
        "title": derived.title,
        "tags": derived.tags,
        "tag_keys": derived.tag_keys,
        "size_chars": len(change.new_content),
        "path_key": derived.path_key,
        "name_key": derived.name_key,
        "pinned": derived.pinned,
        "dated": derived.dated.isoformat() if derived.dated else None,
        "valid": derived.valid,
        "is_entry": planned.is_entry,
        **(file.told.columns() if file.told else {}),
    }
