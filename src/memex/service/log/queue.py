"""The queue of memory_remember: what is in it, and a worker's way through one call of it."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import structlog
from pydantic import BaseModel

from memex.call_context import CallContext
from memex.errors import (
    Forbidden,
    MemexError,
    OperationNotFound,
    RateLimited,
    Refused,
    ToolCallInProgress,
    VersionConflict,
)
from memex.logging import frames
from memex.service.service import Caller, Service
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.tool import ResultPart
from memex.store.access import Access
from memex.store.database import Connection, Database
from memex.store.identity.authentication import Principal
from memex.store.log import queue
from memex.store.log.queue import LeasedCall, QueueEntry
from memex.store.paths import check_tool_call_id
from memex.store.waiting.failures import is_away
from memex.subagent.model import chat as chat_models

LEASE_S = 60.0  # for so long a worker has a call without saying anything
HEARTBEAT_S = 20.0
CANCEL_S = 1.0  # how long a task that is cancelled may take to end before it is cancelled again
MAX_TRIES = 5
FIRST_PAUSE_S = 5.0  # then 10, 20, 40
IN_TURN_S = 60.0  # for so long after it was accepted, the later calls of its scope wait for one that failed
# What may be otherwise the next time, though it is the call that was refused.
TRANSIENT_ERRORS = (VersionConflict, ToolCallInProgress, RateLimited)

_log = structlog.get_logger("memex.service")


class QueuedCall(ResultPart):
    """A call that waits in the queue, or was given up there: `status` is queued or quarantined.

    `attempts` counts how often a worker began with it; `lease_until` is null while none has it; `error_code` is
    what the last attempt of a quarantined one failed with. What was asked stands in the log, under `tool_call_id`.
    """

    tool_call_id: str
    user: str
    status: str
    attempts: int
    error_code: str | None
    accepted_at: str
    lease_until: str | None


class QueueResult(BaseModel):
    """Calls of the queue, the oldest first; `next_cursor` is null after the newest."""

    calls: list[QueuedCall]
    next_cursor: str | None


class RetryResult(BaseModel):
    """Calls that are in the queue again."""

    calls: list[QueuedCall]


async def list_queued_calls(
    service: Service, caller: Caller, *, limit: int = 100, cursor: str | None = None
) -> QueueResult:
    """Return the calls of the caller's user that are not done; of an admin who names no user, the tenant's."""
    after = from_cursor(cursor, int)[0] if cursor is not None else 0
    access = caller.access
    async with service.database.transaction(access) as connection:
        found = await queue.list_queue(
            connection, access, user_id=access.user_id, after=after, limit=limit + 1
        )
    page = found[:limit]
    return QueueResult(
        calls=[_render_waiting(entry) for entry in page],
        next_cursor=to_cursor(page[-1].operation_id) if len(found) > limit else None,
    )


class Pause(NamedTuple):
    """The wait before a call is tried again, and whether the later calls of its scope wait with it."""

    seconds: float
    holds_others: bool = True


async def retry_call(service: Service, caller: Caller, tool_call_id: str) -> RetryResult:
    """Put calls of this id that were given up back into the queue: of the user whom an admin names, or of all.

    Raises:
        OperationNotFound: none was given up.
        Forbidden: the caller is no admin.
    """
    return await _retry(service, caller, check_tool_call_id(tool_call_id))


async def retry_all(service: Service, caller: Caller) -> RetryResult:
    """Put all calls that were given up back into the queue, in the order in which they were accepted.

    Those of the user whom an admin names, or of the whole tenant; none if none was given up.

    Raises:
        Forbidden: the caller is no admin.
    """
    return await _retry(service, caller, None)


async def _retry(service: Service, caller: Caller, tool_call_id: str | None) -> RetryResult:
    async def put_back(connection: Connection, access: Access) -> list[QueueEntry]:
        found = await queue.retry(connection, access, user_id=access.user_id, tool_call_id=tool_call_id)
        if not found and tool_call_id is not None:
            raise OperationNotFound(
                f"No call {tool_call_id!r} was given up.",
                hint="See those that were with GET /v1/admin/queue or `memex service queue list`.",
                reason="not_given_up",
                tool_call_id=tool_call_id,
            )
        return found

    meant = {"all": True} if tool_call_id is None else {"tool_call_id": tool_call_id}
    arguments = {**meant, "user": caller.access.user_id}
    found = await service.administer(caller, "queue_retry", arguments, put_back)
    return RetryResult(calls=[_render_waiting(entry) for entry in found])


async def carry_out(
    service: Service, scope_id: int, operation_id: int, kept: list[LeasedCall] | None = None
) -> Pause | None:
    """Do a call of the queue as if its caller had waited, and say when to come back to it.

    None when there is nothing more to do: it is done, was given up, or is not there any more. No connection is held
    meanwhile; the lease is renewed, and whoever finds it at its end takes the call over. It is committed once,
    since the commit takes over the tool call id that the call holds.

    Without a database that takes writes, an attempt does not count. What could not be given back then is added to
    `kept`, for `give_back`.
    """
    database = service.database
    kept = [] if kept is None else kept
    await give_back(database, kept)
    async with database.maintenance() as connection:
        taken = await queue.take(connection, scope_id, operation_id, lease_s=LEASE_S)
        if taken is None:
            left_s = await queue.lease_left_s(connection, scope_id, operation_id)
            return None if left_s is None else Pause(left_s)
    try:
        if taken.tries > MAX_TRIES:
            raise _WorkerLost  # each time the worker ended with it: it must not end this one
        await _run_under_lease(database, taken, _resume(service, taken))
    except asyncio.CancelledError:
        with suppress(MemexError):  # then the lease ends by itself
            await give_back(database, kept, taken)
        raise
    except _LeaseLost:
        return Pause(LEASE_S)
    except Exception as error:  # noqa: BLE001  # here a job ends
        if is_away(error):
            with suppress(MemexError):
                await give_back(database, kept, taken)
            return Pause(FIRST_PAUSE_S)
        return await _give_up_or_retry(database, taken, error)
    return None


async def give_back(database: Database, kept: list[LeasedCall], *taken: LeasedCall) -> None:
    """Let go of calls whose attempt does not count; those that cannot be let go of now stay in `kept`.

    Raises:
        MemexError: the database takes no writes.
    """
    kept += taken
    for call in list(kept):
        async with database.maintenance() as connection:
            await queue.release(connection, call, is_counted=False)
        kept.remove(call)


class _LeaseLost(Exception):
    """Another worker has the call."""


class _WorkerLost(Exception):
    """The call was begun as often as it may be, and no worker came back to say how it went."""


async def _resume(service: Service, taken: LeasedCall) -> None:
    """Run a call for whom it was accepted for, as they are now; in a task of its own."""
    chat_models.gives_up_at_shutdown.set(
        False
    )  # when the process ends the call is given back, and not answered by the rules
    said = taken.principal
    if not taken.user_is_known:
        raise Forbidden("The user of this call is not there any more.")
    holder = Principal(taken.tenant_id, said["role"], said["key_id"])
    caller = await service.caller(
        holder if taken.key_is_valid else replace(holder, key_id=None),  # whose refusal `resume` logs
        CallContext(said["user"], said["actor"], said["project"], channel=said["channel"]),
        action=taken.kind,
        tool_call_id=taken.tool_call_id,
    )
    await service.resume(replace(caller, principal=holder), taken)


async def _run_under_lease(database: Database, taken: LeasedCall, work: Coroutine[Any, Any, None]) -> None:
    """Do some work while its lease is renewed; raises _LeaseLost when another worker has the call."""
    working = asyncio.create_task(work)
    keeping = asyncio.create_task(_renew_lease(database, taken))
    try:
        await asyncio.wait({working, keeping}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            keeping.result()
            await asyncio.wait({working})  # its call is done, and it ends
        working.result()
    finally:
        await _cancel(working, keeping)


async def _cancel(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks until they are done: `asyncio.wait_for` of Python 3.11 can lose a cancellation."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_S)
    await asyncio.gather(*tasks, return_exceptions=True)


async def _renew_lease(database: Database, taken: LeasedCall) -> None:
    """Renew the lease until the call is done; raises _LeaseLost when another worker has it."""
    while True:
        await asyncio.sleep(HEARTBEAT_S)
        try:
            async with database.maintenance() as connection:
                if await queue.keep(connection, taken, lease_s=LEASE_S):
                    continue
                if await queue.is_done(connection, taken):
                    return
        except MemexError as error:  # the lease lasts for two beats more
            _log.warning("lease_not_renewed", tool_call_id=taken.tool_call_id, code=error.code)
            continue
        raise _LeaseLost


async def _give_up_or_retry(database: Database, taken: LeasedCall, error: Exception) -> Pause | None:
    """Give a call up, or say when to try it again."""
    code = error.code if isinstance(error, MemexError) else MemexError.code
    is_lasting = isinstance(error, Refused) and not isinstance(error, TRANSIENT_ERRORS)
    is_given_up = is_lasting or taken.tries >= MAX_TRIES
    _log.warning(
        "queued_call_failed",
        tool_call_id=taken.tool_call_id,
        code=code,
        tries=taken.tries,
        given_up=is_given_up,
        error=type(error).__name__,
        where=[] if isinstance(error, MemexError) else frames(error),
    )
    async with database.maintenance() as connection:
        if is_given_up:
            await queue.quarantine(connection, taken, code)
            return None
        await queue.release(connection, taken, is_counted=True)
    pause_s = FIRST_PAUSE_S * 2 ** (taken.tries - 1)
    age_s = (datetime.now(UTC) - taken.now).total_seconds()
    return Pause(pause_s, holds_others=age_s + pause_s <= IN_TURN_S)


def _render_waiting(waiting: QueueEntry) -> QueuedCall:
    return QueuedCall.taken_from(waiting, user=waiting.user_id, attempts=waiting.tries)
