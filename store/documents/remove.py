"""Remove documents with everything that is derived of them: some in a transaction, until none is left."""

from dataclasses import dataclass
from typing import Any

from memex.errors import SyncSuperseded
from memex.store.access import Access, Scope
from memex.store.database import Connection, Database, Rows, row
from memex.store.embedded.space import Space
from memex.store.search.index import FileIndex, StoredChunk
from memex.store.sql import sql
from memex.store.writes import pending
from memex.store.writes.commit import DerivedRows, write_derived
from memex.store.writes.pending import Counters

REMOVED_AT_ONCE = 1_000  # documents, in one transaction


@dataclass(frozen=True, slots=True)
class RemovedDocuments:
    """Counts of what was removed; `remaining` documents are still to be removed."""

    documents: int = 0
    passages: int = 0
    remaining: int = 0


def check_space(space: Space, *, is_growing: bool) -> None:
    """Raise DiskLow if the database has no space for a change; what makes documents fewer needs less of it."""
    (space.refuse_growth if is_growing else space.refuse_write)()


async def remove_some(
    database: Database,
    access: Access,
    scope: Scope,
    name: str,
    *,
    sync: int | None,
) -> RemovedDocuments:
    """Remove some documents that the manifest of a sync lacks; with no sync, of a root that is being removed.

    The caller may change the root; row-level security sees to that too.

    Raises:
        SyncSuperseded: a later sync, or the removal of the root, has begun.
        DiskLow: the disk of the database is full.
    """
    check_space(database.space, is_growing=False)
    place = {"scope_id": scope.scope_id, "name": name}
    statements = (
        ("writes/scope_lock", {"scope_ids": [scope.scope_id]}),
        ("documents/stat_lock", {"scope_id": scope.scope_id}),
        ("documents/root_lock", place),
        ("documents/missed_list", place | {"sync": sync, "limit": REMOVED_AT_ONCE}),
    )
    narrowed = access.limited_to((scope,))
    async with database.writing(narrowed, *statements, scope_ids=[scope.scope_id]) as (connection, read):
        counter = pending.counter_of(read[0], scope.scope_id)
        root = read[2][0] if read[2] else None
        if root is None:
            return RemovedDocuments()
        is_wanted = root["state"] == "removing" if sync is None else root["sync"] == sync
        if not is_wanted:
            raise SyncSuperseded(f"Another sync of {name!r} has begun since.")
        gone = read[3]
        if not gone:
            return RemovedDocuments()
        passages = await remove_documents(connection, counter, root["root_no"], gone)
        left = await row(
            connection,
            "documents/missed_count",
            scope_id=scope.scope_id,
            root_no=root["root_no"],
            sync=sync or 0,
        )
        assert left is not None  # noqa: S101  # always one row
        remaining = left["gone"] if sync is not None else root["documents"] - len(gone)
    return RemovedDocuments(len(gone), passages, remaining)


async def remove_documents(connection: Connection, counter: Counters, root_no: int, gone: Rows) -> int:
    """Remove documents, and their words from the postings at once; return how many passages went.

    The transaction of the connection took the locks of the scope and of the root. `gone` has the id and the size
    of each document.
    """
    document_ids = [record["document_id"] for record in gone]
    scope = {"scope_id": counter.scope_id}
    cursor = await connection.execute(sql("documents/chunk_known"), scope | {"document_ids": document_ids})
    chunks = stored_chunks(await cursor.fetchall())
    derived = DerivedRows()
    for of_document in chunks.values():
        derived.add(FileIndex(removed=tuple(of_document)), counter, 0, is_known=False)
    await connection.execute(sql("documents/document_clear"), scope | {"removed": document_ids, "moved": []})
    await write_derived(connection, counter.tenant_id, derived, [counter])
    await pending.merge(connection, counter)
    await pending.put(connection, [counter])
    passages = sum(map(len, chunks.values()))
    await connection.execute(
        sql("documents/stat_add"),
        scope
        | {
            "root_no": root_no,
            "documents": -len(gone),
            "text_bytes": -sum(record["size_bytes"] for record in gone),
            "passages": -passages,
        },
    )
    return passages


def stored_chunks(read: Rows) -> dict[int, tuple[StoredChunk, ...]]:
    """Return the chunks of documents by their ids, from rows of `documents/chunk_known`."""
    by_document: dict[int, list[StoredChunk]] = {}
    for record in read:
        by_document.setdefault(record["document_id"], []).append(_chunk(record))
    return {document_id: tuple(chunks) for document_id, chunks in by_document.items()}


def _chunk(record: dict[str, Any]) -> StoredChunk:
    return StoredChunk(
        chunk_id=record["chunk_id"],
        start=record["start_char"],
        end=record["end_char"],
        heading_path=tuple(record["heading_path"]),
        sha256=bytes(record["sha256"]),
        length=record["length"],
    )
