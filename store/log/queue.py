"""The queue in the log: a call that was accepted, who has it, and what became of it.

A call in the queue is an operation of the status `queued`, with the whole of what was asked; its job holds the ids
of that row alone. A worker has it as long as it keeps the lease. The commit of the call makes it `answered` in the
same transaction; one that failed too often is `quarantined`, with the code of the last error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import psycopg

from memex.errors import RateLimited
from memex.store.access import Access
from memex.store.database import Connection, Database, batch, row, rows
from memex.store.identity import write_rates
from memex.store.identity.write_rates import WriteRate
from memex.store.log import operations
from memex.store.log.call import Call, CallAnswer
from memex.store.sql import sql

MAX_QUEUED = 1_000  # calls of one caller
RETRY_AFTER_S = 60


@dataclass(frozen=True, slots=True)
class LeasedCall:
    """A call of the queue that a worker has.

    Attributes:
        request: its arguments, as they were accepted.
        now: when it was accepted, the call's clock.
        tries: how often a worker began with it, this time included; it tells this worker from a later one.
        key_is_valid: the key that it came by was not revoked since.
        user_is_known: the user whom it was accepted for is still there.
    """

    scope_id: int
    tenant_id: int
    operation_id: int
    tool_call_id: str
    kind: str
    principal: dict[str, Any]
    request: dict[str, Any]
    now: datetime
    tries: int
    key_is_valid: bool
    user_is_known: bool


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A call that is in the queue, or was given up there; `lease_until` while a worker has it."""

    scope_id: int
    operation_id: int
    tool_call_id: str
    user_id: str
    status: Literal["queued", "quarantined"]
    tries: int
    error_code: str | None
    accepted_at: datetime
    lease_until: datetime | None


async def accept(
    database: Database, access: Access, call: Call, answer: CallAnswer, limits: Sequence[WriteRate] = ()
) -> dict[str, Any]:
    """Put a call into the queue with its job, all or nothing, and return its answer.

    The same call again gets the same answer, or once it is done what it did. One that was given up is queued anew,
    as of the moment at which it was accepted first.
    `limits` are those by which a new one is counted.

    Raises:
        ToolCallConflict: the tool call id is another request's.
        ToolCallInProgress: it runs outside of the queue.
        RateLimited: a thousand calls of this caller's wait already, or one of the limits is reached.
        DiskLow: the database may not grow.
    """
    database.space.refuse_growth()
    try:
        return await _accept(database, access, call, answer, limits)
    except psycopg.errors.UniqueViolation as violation:
        if violation.diag.constraint_name != "operation_once":
            raise
        # The id was taken at the same moment: now it is seen by whom.
        return await _accept(database, access, call, answer, limits)
    except psycopg.DatabaseError as error:
        if (refusal := write_rates.refusal(error)) is None:
            raise
        raise refusal from error


async def _accept(
    database: Database, access: Access, call: Call, answer: CallAnswer, limits: Sequence[WriteRate]
) -> dict[str, Any]:
    async with database.transaction(access) as connection:
        [found] = await batch(connection, operations.committed_statement(access, call.request.tool_call_id))
        first = operations.find_holder(call, found)
        if first is not None and first["status"] == "queued":
            await operations.add(connection, access, call, status="repeated")
            return dict(first["response"]["result"])
        result = await operations.first_result(connection, access, call, found)
        if result is not None:
            await operations.add(connection, access, call, status="repeated")
            return result
        await _check_room(connection, access)
        if first is not None:  # it was given up, and is as old as it was
            call = call.accepted_at(first["now"])
        await operations.end_queued_call(connection, found, "failed")
        await operations.add(connection, access, call, status="queued", answer=answer)
        waiting = {"user_id": access.user_id or "", "tool_call_id": call.request.tool_call_id}
        await connection.execute(sql("log/queue_later"), {"scope_id": access.log_scope_id, **waiting})
        await write_rates.count(connection, limits)
    return answer.result


async def _check_room(connection: Connection, access: Access) -> None:
    """Refuse another call of one whose queue is full; calls at the same moment may exceed it by their number."""
    found = await row(
        connection,
        "log/queue_length",
        tenant_id=access.tenant_id,
        scope_id=access.log_scope_id,
        bound=MAX_QUEUED,
    )
    if found is not None and found["queued"] >= MAX_QUEUED:
        raise RateLimited(
            f"{MAX_QUEUED:,} calls wait in the queue already.",
            hint="Wait until some are done, or send the text with wait.",
            reason="queue_full",
            retry_after_s=RETRY_AFTER_S,
        )


async def retry(
    connection: Connection, access: Access, *, user_id: str | None, tool_call_id: str | None = None
) -> list[QueueEntry]:
    """Put calls that were given up back into the queue, in the order of their acceptance, and return them.

    Without `user_id` they are those of all users of the admin's tenant, and without `tool_call_id` all.
    """
    found = await rows(
        connection, "log/queue_retry", tenant_id=access.tenant_id, tool_call_id=tool_call_id, user_id=user_id
    )
    for record in found:
        del record["deferred"]
    return [QueueEntry(**record) for record in found]


async def list_queue(
    connection: Connection, access: Access, *, user_id: str | None, after: int = 0, limit: int
) -> Sequence[QueueEntry]:
    """Return the calls that are in the queue or were given up, of a user or of all, the oldest first."""
    found = await rows(
        connection, "log/queue_list", tenant_id=access.tenant_id, user_id=user_id, after=after, limit=limit
    )
    return [QueueEntry(**record) for record in found]


async def take(
    connection: Connection, scope_id: int, operation_id: int, *, lease_s: float
) -> LeasedCall | None:
    """Take a call for some seconds; None when it is done, or another worker has it. For maintenance."""
    found = await row(
        connection, "log/queue_take", scope_id=scope_id, operation_id=operation_id, lease_s=lease_s
    )
    return LeasedCall(**found) if found else None


async def lease_left_s(connection: Connection, scope_id: int, operation_id: int) -> float | None:
    """Return for how many seconds a worker still has a call; None when none has. For maintenance."""
    found = await row(connection, "log/queue_left", scope_id=scope_id, operation_id=operation_id)
    return float(found["left_s"]) if found else None


async def keep(connection: Connection, taken: LeasedCall, *, lease_s: float) -> bool:
    """Keep a call for some seconds more; tells whether it is still this worker's. For maintenance."""
    return await row(connection, "log/queue_keep", lease_s=lease_s, **_row_key(taken)) is not None


async def is_done(connection: Connection, taken: LeasedCall) -> bool:
    """Tell whether a call was carried out, by whichever worker. For maintenance."""
    key = {"scope_id": taken.scope_id, "operation_id": taken.operation_id}
    found = await row(connection, "log/queue_is_done", **key)
    return found is not None and bool(found["is_done"])


async def redact(database: Database, access: Access, call: Call) -> None:
    """Let a queued call be the one that `call` is, without the secrets that the policy of now takes out."""
    parameters = {
        "scope_id": access.log_scope_id,
        "operation_id": call.request.accepted_id,
        "request": operations.to_json(call.request.arguments),
        "request_sha256": call.request.request_sha256,
    }
    async with database.maintenance() as connection:
        await connection.execute(sql("log/queue_redact"), parameters)


async def release(connection: Connection, taken: LeasedCall, *, is_counted: bool) -> None:
    """Let go of a call, so that it can be taken again; `is_counted` as a try of it. For maintenance."""
    await connection.execute(
        sql("log/queue_release"), _row_key(taken) | {"uncounted": 0 if is_counted else 1}
    )


async def quarantine(connection: Connection, taken: LeasedCall, error_code: str) -> None:
    """Give a call up, until somebody looks at it. For maintenance."""
    await connection.execute(sql("log/queue_quarantine"), _row_key(taken) | {"error_code": error_code})


async def recover(connection: Connection) -> int:
    """Make a job for each queued call that has none, and return how many those were. For maintenance."""
    return len(await rows(connection, "log/queue_recover"))


async def count(connection: Connection) -> dict[str, int]:
    """Return how many calls of the whole database are queued and quarantined. For maintenance."""
    return await row(connection, "log/queue_count") or {}


async def count_of_tenant(connection: Connection, access: Access) -> dict[str, int]:
    """Return how many calls of the tenant of an admin are queued and quarantined."""
    return await row(connection, "log/queue_count_tenant", tenant_id=access.tenant_id) or {}


def _row_key(taken: LeasedCall) -> dict[str, Any]:
    return {"scope_id": taken.scope_id, "operation_id": taken.operation_id, "tries": taken.tries}
