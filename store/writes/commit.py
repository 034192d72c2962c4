"""The statements of a commit, in one transaction: revisions, chunks, postings, links and counters."""

from collections.abc import Mapping, Sequence
from typing import Any

from memex.store.access import Access
from memex.store.database import Connection
from memex.store.log.call import Call
from memex.store.search.index import FileIndex, LinkRow, NewChunk
from memex.store.sql import sql
from memex.store.writes import pending
from memex.store.writes.edits import PlannedRevision
from memex.store.writes.pending import Counters

SEPARATOR = "\x1f"  # titles and tags hold no control character

WrittenFiles = Sequence[tuple[PlannedRevision, FileIndex]]


async def write_commit(
    connection: Connection,
    access: Access,
    call: Call,
    written: WrittenFiles,
    counters: dict[int, Counters],
    *,
    analyzers: Mapping[int, str],
) -> None:
    """Store the revisions and everything derived from them, under the locks that `counters` came with.

    Args:
        connection: a connection in the transaction that took the locks.
        access: the access of the caller who writes.
        call: the call that writes.
        written: the files that get a revision.
        counters: the counters of all scopes of these files, by scope.
        analyzers: the version of the analyzer and the chunker that made the chunks, by scope.
    """
    if not written:
        return
    file_ids = [_file_id(planned, counters) for planned, _ in written]
    scope_ids = sorted({planned.file.scope.scope_id for planned, _ in written})
    await connection.execute(
        sql("writes/scope_advance"),
        {"scope_ids": scope_ids, "analyzers": [analyzers[scope_id] for scope_id in scope_ids]},
    )
    await _write_revisions(connection, access, call, written, file_ids)
    await _write_links(connection, access, written, file_ids)
    for scope_id in scope_ids:
        mine = [
            (file_id, derived)
            for file_id, (planned, derived) in zip(file_ids, written, strict=True)
            if planned.file.scope.scope_id == scope_id
        ]
        await _write_chunks(connection, access, scope_id, mine, counters[scope_id])
    for planned, _ in written:
        counters[planned.file.scope.scope_id].files += planned.file.adds
    await pending.put(connection, [counters[scope_id] for scope_id in scope_ids])


def _file_id(planned: PlannedRevision, counters: dict[int, Counters]) -> int:
    if planned.file.head is not None:
        return planned.file.head.file_id
    counter = counters[planned.file.scope.scope_id]
    counter.next_file_id += 1
    return counter.next_file_id - 1


async def _write_revisions(
    connection: Connection, access: Access, call: Call, written: WrittenFiles, file_ids: Sequence[int]
) -> None:
    heads = [(planned.file.scope.scope_id, planned.file.head) for planned, _ in written if planned.file.head]
    if heads:
        await connection.execute(
            sql("writes/revision_close"),
            {
                "scope_ids": [scope_id for scope_id, _ in heads],
                "file_ids": [head.file_id for _, head in heads],
                "versions": [head.version for _, head in heads],
            },
        )
    files = [planned.file for planned, _ in written]
    changes = [planned.change for planned, _ in written]
    derived = [one for _, one in written]
    await connection.execute(
        sql("writes/revision_open"),
        {
            "tenant_id": access.tenant_id,
            "actor": access.actor,
            "channel": access.channel,
            "tool_call_id": call.request.tool_call_id,
            "scope_ids": [file.scope.scope_id for file in files],
            "file_ids": file_ids,
            "versions": [change.version for change in changes],
            "paths": [file.path for file in files],
            "contents": [change.new_content for change in changes],
            "operations": [change.operation for change in changes],
            "deleted": [change.deleted for change in changes],
            "counterparts": [change.counterpart for change in changes],
            "reasons": [file.reason for file in files],
            "titles": [one.title for one in derived],
            "tags": [SEPARATOR.join(one.tags) for one in derived],
            "tag_keys": [SEPARATOR.join(one.tag_keys) for one in derived],
            "size_chars": [len(change.new_content) for change in changes],
            "path_keys": [one.path_key for one in derived],
            "name_keys": [one.name_key for one in derived],
            "pinned": [one.pinned for one in derived],
            "dated": [one.dated for one in derived],
        },
    )


async def _write_links(
    connection: Connection, access: Access, written: WrittenFiles, file_ids: Sequence[int]
) -> None:
    known = [planned.file for planned, _ in written if planned.file.head is not None]
    if known:
        await connection.execute(
            sql("writes/link_remove"),
            {
                "scope_ids": [file.scope.scope_id for file in known],
                "file_ids": [file.head.file_id for file in known if file.head],
            },
        )
    links = [
        (planned.file.scope.scope_id, file_id, link)
        for file_id, (planned, derived) in zip(file_ids, written, strict=True)
        for link in derived.links
    ]
    if links:
        await connection.execute(
            sql("writes/link_add"), {"tenant_id": access.tenant_id} | link_columns(links)
        )


async def _write_chunks(
    connection: Connection,
    access: Access,
    scope_id: int,
    files: Sequence[tuple[int, FileIndex]],
    counter: Counters,
) -> None:
    removed = [chunk for _, derived in files for chunk in derived.removed]
    shifted = [shift for _, derived in files for shift in derived.shifted]
    added = [(file_id, chunk) for file_id, derived in files for chunk in derived.added]
    if removed:
        await connection.execute(
            sql("writes/chunk_remove"),
            {
                "scope_id": scope_id,
                "chunk_ids": [chunk.chunk_id for chunk in removed],
                "merged_chunk_id": counter.merged_chunk_id,
            },
        )
    if shifted:
        chunk_ids, starts, ends = zip(*shifted, strict=True)
        await connection.execute(
            sql("writes/chunk_shift"),
            {"scope_id": scope_id, "chunk_ids": list(chunk_ids), "starts": list(starts), "ends": list(ends)},
        )
    if added:
        first = counter.next_chunk_id
        counter.next_chunk_id += len(added)
        common = {"scope_id": scope_id, "tenant_id": access.tenant_id}
        await connection.execute(sql("writes/chunk_add"), common | chunk_columns(added, first))
    counter.unmerged += len(added) + len(removed)
    if counter.unmerged > pending.BOUND:
        await pending.merge(connection, counter)
    counter.n += len(added) - len(removed)
    counter.total_length += sum(chunk.length for _, chunk in added) - sum(chunk.length for chunk in removed)


def chunk_columns(added: Sequence[tuple[int, NewChunk]], first_chunk_id: int) -> dict[str, Any]:
    """Return chunks, each with its file's id, as `writes/chunk_add` takes them; their ids follow each other."""
    return {
        "chunk_ids": list(range(first_chunk_id, first_chunk_id + len(added))),
        "file_ids": [file_id for file_id, _ in added],
        "starts": [chunk.start for _, chunk in added],
        "ends": [chunk.end for _, chunk in added],
        "heading_paths": [SEPARATOR.join(chunk.heading_path) for _, chunk in added],
        "sha256s": [chunk.sha256 for _, chunk in added],
        "lexemes": [" ".join(chunk.lexemes) for _, chunk in added],
        "tfs": [" ".join(map(str, chunk.tfs)) for _, chunk in added],
        "lengths": [chunk.length for _, chunk in added],
    }


def link_columns(links: Sequence[tuple[int, int, LinkRow]]) -> dict[str, Any]:
    """Return links, each with the ids of its scope and file, as `writes/link_add` takes them."""
    return {
        "scope_ids": [scope_id for scope_id, _, _ in links],
        "file_ids": [file_id for _, file_id, _ in links],
        "ordinals": [link.ordinal for _, _, link in links],
        "sides": [link.side for _, _, link in links],
        "target_keys": [link.target_key for _, _, link in links],
        "raws": [link.raw for _, _, link in links],
        "anchors": [link.anchor for _, _, link in links],
    }
