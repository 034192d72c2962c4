"""Replays that a caller may ask for: of its own calls, as they were, or with something changed."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Literal

from memex.call_context import CallContext
from memex.errors import LimitExceeded, ValidationFailed
from memex.service.call import Caller
from memex.service.log.replay.bundle import Bundle, restored_database
from memex.service.log.replay.counterfactual import (
    ChangedResult,
    ReplayChange,
    apply_change,
    compare_outcomes,
)
from memex.service.log.replay.logged_snapshots import access_of, states
from memex.service.log.replay.replay import DISTORTED, ReplayResult, logged_options, replay
from memex.service.log.replay.rerun import READ_TOOLS, LoggedCall, check_replayable, load_call, rerun
from memex.service.query_embedding import QueryEmbedder
from memex.service.service import Service
from memex.service.spending import TenantSpending
from memex.store.access import Access
from memex.store.database import rows
from memex.store.identity import authentication
from memex.store.identity.authentication import Principal
from memex.store.log.call import CallAnswer, digest
from memex.store.upkeep.restore import read_scopes, restore
from memex.store.upkeep.throwaway import throwaway_tenant
from memex.subagent.planner import Planner

REPLAY = "memory_replay"
RESTORED_HINT = "`memex log replay` puts the scopes as they stood into a tenant that is thrown away."
ReplayableKind = Literal["context", "remember", "reads", "all"]
KINDS: dict[ReplayableKind, Sequence[str]] = {
    "context": ["memory_context"],
    "remember": ["memory_remember"],
    "reads": list(READ_TOOLS),
    "all": ["memory_context", "memory_remember", *READ_TOOLS],
}


async def replay_call(
    service: Service, caller: Caller, tool_call_id: str, *, may_restore: bool = True
) -> ReplayResult:
    """Run one of the caller's calls again in the state that it saw, offline, and compare what comes of it.

    If it `may_restore`, and too much was changed since to read the past in place, its scopes are put into a
    tenant that is thrown away, which takes seconds for thousands of files.

    Raises:
        OperationNotFound: the caller made no such call.
        ValidationFailed: it gave no answer, or is of a tool that is not replayed.
        ProjectNotFound: the caller cannot read any more what the call saw.
        VersionNotFound: a revision that it saw is gone.
        LimitExceeded: too much was changed since, and nothing may be restored.
    """
    logged = await _logged(service, caller, tool_call_id)
    try:
        return await replay(service.database, caller.access, logged)
    except LimitExceeded as error:
        if not may_restore:
            raise LimitExceeded(error.message, hint=RESTORED_HINT, **error.details) from None
        async with _throwaway_database(service, caller, logged) as access:
            return await replay(service.database, access, logged, beside=caller.access)


async def replay_bundle(service: Service, bundle: Bundle) -> ReplayResult:
    """Run the call of a bundle again, over its scopes in a tenant that is thrown away; raises as `replay_call`."""
    try:
        async with restored_database(service.database, bundle) as (caller, logged):
            return await replay(service.database, caller.access, logged)
    except DISTORTED as error:
        raise ValidationFailed(
            f"The call of this bundle cannot be run again: what it says of it has no known form "
            f"({type(error).__name__}).",
            hint="Export the call again: `memex files export --call ID --to FILE`.",
        ) from error


async def replay_changed(
    service: Service,
    caller: Caller,
    tool_call_id: str,
    change: ReplayChange,
    *,
    planner: Planner | None = None,
    may_restore: bool = True,
) -> ChangedResult:
    """Run one of the caller's calls again with something changed, beside what it was.

    A model that is really asked is paid, and its requests are logged as a call of their own, as is what an embedder
    is asked: something has left the machine.

    `planner` is the model that is asked, where the change names one or gives it a prompt; by default the
    service's.

    Raises:
        OperationNotFound, ValidationFailed, ProjectNotFound, VersionNotFound: as `replay_call`.
        ValidationFailed: the change is none for this call.
    """
    if planner is None and (change.model or change.prompt):
        planner = service.planners.asking(change.model, change.prompt)
    logged = await _logged(service, caller, tool_call_id)
    check_replayable(logged.operation)
    try:
        return await _changed(service, caller, caller.access, logged, change, planner)
    except LimitExceeded as error:
        if not may_restore or change.as_of is not None:  # what a call did not see is not restored
            raise LimitExceeded(error.message, hint=RESTORED_HINT, **error.details) from None
        async with _throwaway_database(service, caller, logged) as access:
            return await _changed(service, caller, access, logged, change, planner)


async def replayable(
    service: Service,
    caller: Caller,
    *,
    which: ReplayableKind = "all",
    since: datetime | None = None,
    only_degraded: bool = False,
    limit: int = 1_000,
) -> list[str]:
    """Return the tool call ids of the caller's calls that can be replayed, the newest first."""
    async with service.database.transaction(caller.access) as connection:
        found = await rows(
            connection,
            "log/operation_replayable",
            scope_ids=caller.access.visible_logs,
            user_id=caller.access.user_id or "",
            kinds=list(KINDS[which]),
            since=since or datetime.min.replace(tzinfo=UTC),
            only_degraded=only_degraded,
            limit=limit,
        )
    return [record["tool_call_id"] for record in found]


async def _logged(service: Service, caller: Caller, tool_call_id: str) -> LoggedCall:
    async with service.database.transaction(caller.access) as connection:
        return await load_call(connection, caller.access, tool_call_id)


async def _changed(
    service: Service,
    caller: Caller,
    access: Access,
    logged: LoggedCall,
    change: ReplayChange,
    planner: Planner | None,
) -> ChangedResult:
    by = apply_change(logged, change, planner=planner, query_embedder=QueryEmbedder(service.embedder, "auto"))
    # Twice, for its time: the first run finds nothing in any cache, and whatever came after it would seem faster.
    again = partial(rerun, service.database, access, logged, beside=caller.access)
    await again(logged_options(logged))
    before = await again(logged_options(logged))
    is_replayed = digest(before.result) == logged.operation.result_sha256
    if planner is None and by.query_embedder is None:
        after = await again(by)
        return compare_outcomes(logged, change, before, after, is_replayed=is_replayed)
    given = {"tool_call_id": logged.operation.tool_call_id} | change.named
    async with service.recorder.recorded(caller, REPLAY, given) as log:
        day = datetime.now(UTC).date()
        spending = TenantSpending(service.database, caller.access, day, service.planners.daily_usd)
        after = await again(replace(by, spending=spending), record=log.call.record)
        made = compare_outcomes(logged, change, before, after, is_replayed=is_replayed)
        summary = made.model_dump(mode="json", exclude={"diff"})
        await log.add("answered", CallAnswer(summary, given, summary, planner.config if planner else None))
        return made


@asynccontextmanager
async def _throwaway_database(service: Service, caller: Caller, logged: LoggedCall) -> AsyncIterator[Access]:
    """The scopes that a call saw, put into a tenant that is thrown away, as they stood then."""
    own = access_of(caller.access, logged.operation)
    async with service.database.transaction(own, snapshot=True) as connection:
        seen = await read_scopes(connection, own, states(logged.operation), also=logged.operation.saw)
    principal = logged.operation.principal
    async with throwaway_tenant(service.database) as tenant_id:
        await restore(service.database, tenant_id, seen)
        who = Principal(tenant_id, "admin" if principal.get("role") == "admin" else "agent")
        yield await authentication.resolve(service.database, who, CallContext(user_id=own.user_id))
