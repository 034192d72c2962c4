"""Erasing a user for good, with a receipt that says how much was removed and holds no text.

An erasure is a row from its beginning on, and the row is the receipt when it has ended:

1. One transaction waits for the writer of the user's memory, makes the row and removes by what the user is known:
   the scopes, keys, memberships, sessions. From its commit on, `refuse_erased` of schema.sql refuses every call for
   the user, and calls that began before never store anything, not even in the log.
2. Memex waits for the transactions that were running then, which may have looked before.
3. Small transactions remove the log, the revisions, the messages of conversations and the documents, and add to the
   row what they removed.
4. The last one removes the index, the vectors and the jobs, takes the name out of the log of the administrators,
   and ends the row.

An erasure that was interrupted is finished by the next call for the same user, from the step where it was.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memex.errors import StoreUnavailable
from memex.store.database import Connection, Database, row, row_as, rows, rows_as
from memex.store.log.retention import remove_unnamed_prompts
from memex.store.sql import sql
from memex.store.waiting.time_limits import TimeLimits

ROWS_AT_ONCE = 2_000  # of the log and of the history, in one transaction
AUTHOR = "erased user"  # in the place of the name
PATIENCE_S = 90.0  # for the transactions that were running when the erasure began
POLL_S = 0.02
BEGINNING = TimeLimits(lock_s=5)  # other changes of keys and members wait meanwhile


@dataclass(frozen=True, slots=True)
class Erasure:
    """The erasure of a user; `finished_at` is None until all is gone.

    Attributes:
        counts: what was removed, by its kind; `revisions_of_others` are those in shared files and projects that
            stay and say no more who wrote them.
    """

    erasure_id: int
    tenant_id: int
    user_id: str
    scope_ids: list[int]
    begun_at: datetime
    finished_at: datetime | None
    counts: dict[str, int] = field(default_factory=dict)


async def count(database: Database, tenant_id: int, user_id: str) -> dict[str, int] | None:
    """Return how much would be removed with a user, by its kind; None for one of whom nothing is stored."""
    whose = {"tenant_id": tenant_id, "user_id": user_id}
    async with database.maintenance() as connection:
        counts = dict(await _row(connection, "erasure/erasure_count", **whose))
        counts["vectors"] = 0
        if database.has_vectors:
            counts |= await _row(connection, "erasure/vectors_count", **whose)
    has_memory = counts.pop("has_memory")
    return counts if has_memory or any(counts.values()) else None


async def find_open(database: Database, tenant_id: int, user_id: str) -> Erasure | None:
    """Return the erasure of a user that has begun and not ended."""
    async with database.maintenance() as connection:
        return await row_as(Erasure, connection, "erasure/erasure_find", tenant_id=tenant_id, user_id=user_id)


async def list_erasures(
    database: Database, tenant_id: int, *, limit: int, before: int | None = None
) -> Sequence[Erasure]:
    """Return the receipts of a tenant, the newest first, and the erasures that are not finished."""
    async with database.maintenance() as connection:
        return await rows_as(
            Erasure, connection, "erasure/erasure_list", tenant_id=tenant_id, limit=limit, before=before
        )


async def erase(
    database: Database,
    tenant_id: int,
    user_id: str,
    *,
    key_id: int | None = None,
    rows_at_once: int = ROWS_AT_ONCE,
) -> Erasure:
    """Erase a user for good, or finish to do so, and return the receipt.

    There need not be such a user. `key_id` is the key of who asked for it.

    Raises:
        ScopeBusy: a call that writes did not end in time; nothing is removed.
        StoreUnavailable: the database went away, or a transaction that was running at the beginning did not end in
            time; the next call goes on.
    """
    begun = await _begin(database, tenant_id, user_id, key_id)
    await await_earlier_transactions(database)
    await _remove_in_steps(database, begun, "erasure/log_remove", "calls", rows_at_once)
    await _remove_in_steps(database, begun, "erasure/revision_remove", "revisions", rows_at_once)
    await _remove_in_steps(database, begun, "erasure/message_remove", "messages", rows_at_once)
    await _remove_in_steps(database, begun, "erasure/document_remove", "documents", rows_at_once)
    async with database.maintenance() as connection:
        prompts = await remove_unnamed_prompts(connection, tenant_id)
        await _note(connection, begun, {"prompts": len(prompts)})
    return await _finish(database, begun)


async def _begin(database: Database, tenant_id: int, user_id: str, key_id: int | None) -> Erasure:
    whose = {"tenant_id": tenant_id, "user_id": user_id}
    async with database.maintenance(BEGINNING) as connection:
        begun = await row_as(Erasure, connection, "erasure/erasure_begin", **whose, key_id=key_id)
        if begun is None:
            found = await row_as(Erasure, connection, "erasure/erasure_find", **whose)
            if found is None:  # finished by another call at this moment
                raise StoreUnavailable("The user was erased by another call.", hint="See the receipts.")
            return found
        await rows(connection, "erasure/erasure_lock_writers", scope_ids=begun.scope_ids)
        return await _note(connection, begun, await _row(connection, "erasure/identity_remove", **whose))


async def await_earlier_transactions(database: Database) -> None:
    """Wait until the transactions that run now have ended; raises StoreUnavailable."""
    left = set(await _running(database))
    try:
        async with asyncio.timeout(PATIENCE_S):
            while left:
                await asyncio.sleep(POLL_S)
                left &= set(await _running(database))
    except TimeoutError:
        raise StoreUnavailable(
            "The user cannot use Memex any more, and the texts are not removed yet: a transaction in the database "
            "does not end.",
            hint="See which session it is in pg_stat_activity, and erase the user again.",
        ) from None


async def _running(database: Database) -> list[str]:
    async with database.maintenance() as connection:
        return [found["name"] for found in await rows(connection, "erasure/earlier_transactions")]


async def _remove_in_steps(
    database: Database, begun: Erasure, statement: str, measure: str, rows_at_once: int
) -> None:
    """Remove rows until there are none, and note in each transaction what the transaction removed."""
    while True:
        async with database.maintenance() as connection:
            removed = await _row(connection, statement, **_parameters(begun), limit=rows_at_once)
            if not removed[measure]:
                return
            await _note(connection, begun, removed)


async def _finish(database: Database, begun: Erasure) -> Erasure:
    given = _parameters(begun)
    async with database.maintenance() as connection:
        if await row(connection, "erasure/erasure_find", **given) is None:
            return await _note(connection, begun, {}, is_last=True)  # another call has finished it
        # Once more: a first call may have made a scope for the user just before it was refused.
        removed = dict(await _row(connection, "erasure/identity_remove", **given))
        removed |= await _row(connection, "erasure/index_remove", **given)
        if database.has_vectors:
            removed |= await _row(connection, "erasure/vectors_remove", **given)
        await row(connection, "erasure/names_remove", **given)
        finished = await _note(connection, begun, removed, is_last=True)
        if database.has_jobs:
            # The last statement: what the library does when a job goes looks for its tables here.
            await connection.execute(b"set local search_path to procrastinate")
            await connection.execute(sql("upkeep/throwaway_remove_jobs"), {"scope_ids": begun.scope_ids})
    return finished


async def _note(
    connection: Connection, begun: Erasure, removed: dict[str, Any], *, is_last: bool = False
) -> Erasure:
    """Add what this transaction removed to the row of the erasure, and return the row."""
    noted = await row_as(
        Erasure,
        connection,
        "erasure/erasure_note",
        erasure_id=begun.erasure_id,
        removed=json.dumps(removed),
        is_last=is_last,
    )
    assert noted is not None  # noqa: S101  # no statement removes the row
    return noted


def _parameters(begun: Erasure) -> dict[str, Any]:
    return {
        "tenant_id": begun.tenant_id,
        "user_id": begun.user_id,
        "scope_ids": begun.scope_ids,
        "author": AUTHOR,
        "tool_call_id": f"erased.{begun.erasure_id}",
    }


async def _row(connection: Connection, statement: str, **parameters: Any) -> dict[str, Any]:
    found = await row(connection, statement, **parameters)
    assert found is not None  # noqa: S101  # each of these statements returns one row
    return found
