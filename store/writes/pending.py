"""The bounded delta: chunks that a write has stored, or taken away, and the postings do not know yet.

A write leaves the postings alone. It counts what it adds and removes, and the writer that finds the bound reached
merges everything at once, in its own transaction and under the scope's lock. Chunks above `merged_chunk_id` are the
ones to be added; those to be taken out wait in `chunk_removed`. A search reads both with the postings, in one
snapshot, so it finds the same before a merge and after it.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from memex.errors import UserErased
from memex.store.database import Connection, Rows, rows
from memex.store.search.bm25 import entry
from memex.store.search.index import NewChunk
from memex.store.sql import sql

BOUND = 256  # chunks added or removed since the last merge, over which a writer merges


@dataclass(slots=True)
class Counters:
    """The counters of a scope as its lock showed them."""

    scope_id: int
    tenant_id: int
    n: int
    total_length: int
    files: int
    next_file_id: int
    next_chunk_id: int
    merged_chunk_id: int
    unmerged: int
    has_series: bool

    def take_file_id(self) -> int:
        """Return the id of a new file."""
        self.next_file_id += 1
        return self.next_file_id - 1

    def take_chunk_id(self) -> int:
        """Return the id of a new chunk."""
        self.next_chunk_id += 1
        return self.next_chunk_id - 1

    def count_chunk(self, number: Literal[1, -1], length: int) -> None:
        """Count a chunk that was added or removed, and its lexemes, as not merged yet."""
        self.n += number
        self.total_length += number * length
        self.unmerged += 1


class NewPostings:
    """The postings of new chunks, by lexeme."""

    def __init__(self) -> None:
        self._entries: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, chunk_id: int, chunk: NewChunk) -> None:
        """Add a chunk; its id is above all others."""
        without_tf = entry(chunk_id, chunk.length, 0)
        for lexeme, tf in zip(chunk.lexemes, chunk.tfs, strict=True):
            self._entries[lexeme].append(without_tf | tf)

    def columns(self) -> dict[str, str]:
        """Return the lexemes and the entries of each, as `writes/posting_add` takes them."""
        return {
            "lexemes": " ".join(self._entries),
            "entries": " ".join(f"{{{','.join(map(str, packed))}}}" for packed in self._entries.values()),
        }


async def lock(connection: Connection, scope_ids: Iterable[int]) -> dict[int, Counters]:
    """Take the writers' lock of scopes for the rest of the transaction, and return their counters."""
    return counters_of(await rows(connection, "writes/scope_lock", scope_ids=sorted(scope_ids)))


def counter_of(locked: Rows, scope_id: int) -> Counters:
    """Return the counters of a scope of a user; raises UserErased if it is gone, for only an erasure ends it."""
    counters = counters_of(locked)
    if scope_id not in counters:
        raise UserErased("The user was erased while the call ran.")
    return counters[scope_id]


def counters_of(locked: Rows) -> dict[int, Counters]:
    """Return the counters of scopes by their ids, from the rows of `writes/scope_lock`."""
    return {record["scope_id"]: Counters(**record) for record in locked}


async def put(connection: Connection, counters: Iterable[Counters]) -> None:
    """Store the counters of scopes whose lock is held."""
    await connection.execute(sql("writes/scope_stat_set"), columns(counters))


def columns(counters: Iterable[Counters]) -> dict[str, Any]:
    """Return counters as `writes/scope_stat_set` and `writes/index_write` take them."""
    changed = list(counters)
    return {name: [getattr(counter, name) for counter in changed] for name in Counters.__slots__}


async def merge(connection: Connection, counter: Counters, postings: NewPostings | None = None) -> None:
    """Put all that is pending of a scope into its postings; its lock is held, and `put` follows.

    `postings` are those of chunks that were stored without their lexemes, behind all others.
    """
    scope = {"scope_id": counter.scope_id}
    await connection.execute(sql("writes/posting_remove"), scope)
    added = {"tenant_id": counter.tenant_id, "first_chunk_id": counter.merged_chunk_id + 1}
    if postings is None:
        await connection.execute(sql("writes/posting_add"), scope | added | NewPostings().columns())
    else:  # of thousands of lexemes: each of them must be found by its key
        await connection.execute(sql("writes/scans_avoid"))
        await connection.execute(sql("writes/posting_add"), scope | added | postings.columns())
        await connection.execute(sql("writes/scans_allow"))
    counter.merged_chunk_id = counter.next_chunk_id - 1
    counter.unmerged = 0


async def merge_scopes(connection: Connection, scope_ids: Iterable[int]) -> None:
    """Merge all that is pending of some scopes, however little."""
    counters = (await lock(connection, scope_ids)).values()
    for counter in counters:
        await merge(connection, counter)
    await put(connection, counters)
