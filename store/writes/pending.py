"""The bounded delta: chunks that a write has stored, or taken away, and the postings do not know yet.

A write leaves the postings alone. It counts what it adds and removes, and the writer that finds the bound reached
merges everything at once, in its own transaction and under the scope's lock. Chunks above `merged_chunk_id` are the
ones to be added; those to be taken out wait in `chunk_removed`. A search reads both with the postings, in one
snapshot, so it finds the same before a merge and after it.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from memex.store.database import Connection, Rows, rows
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


async def lock(connection: Connection, scope_ids: Iterable[int]) -> dict[int, Counters]:
    """Take the writers' lock of scopes for the rest of the transaction, and return their counters."""
    return counters_of(await rows(connection, "writes/scope_lock", scope_ids=sorted(scope_ids)))


def counters_of(locked: Rows) -> dict[int, Counters]:
    """Return the counters of scopes by their ids, from the rows of `writes/scope_lock`."""
    return {record["scope_id"]: Counters(**record) for record in locked}


async def put(connection: Connection, counters: Iterable[Counters]) -> None:
    """Store the counters of scopes whose lock is held."""
    changed = [asdict(counter) for counter in counters]
    columns: dict[str, Any] = {name: [one[name] for one in changed] for name in Counters.__slots__}
    await connection.execute(sql("writes/scope_stat_set"), columns)


async def merge(connection: Connection, counter: Counters) -> None:
    """Put all that is pending of a scope into its postings; its lock is held, and `put` follows."""
    scope = {"scope_id": counter.scope_id}
    await connection.execute(sql("writes/posting_remove"), scope)
    added = {"tenant_id": counter.tenant_id, "first_chunk_id": counter.merged_chunk_id + 1}
    await connection.execute(sql("writes/posting_add"), scope | added)
    counter.merged_chunk_id = counter.next_chunk_id - 1
    counter.unmerged = 0


async def merge_scopes(connection: Connection, scope_ids: Iterable[int]) -> None:
    """Merge all that is pending of some scopes, however little."""
    counters = (await lock(connection, scope_ids)).values()
    for counter in counters:
        await merge(connection, counter)
    await put(connection, counters)
