"""A dream: it reads one mount in one state, and keeps a proposal that was verified and held against questions."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import structlog

from memex.errors import Overloaded
from memex.service.call import Caller
from memex.service.dreams.gate import MIN_REAL_QUESTIONS, hold_against_questions
from memex.service.dreams.reading import plan_of, read_state
from memex.service.dreams.results import signal_results
from memex.service.service import Service
from memex.store.dreams import proposals
from memex.store.dreams.proposals import StoredProposal
from memex.subagent.dream.edits import Group
from memex.subagent.dream.pages import ALL, MountState
from memex.subagent.dream.rules import DreamPlan, Refused
from memex.subagent.dream.signals import Signal, count_signals
from memex.subagent.dream.verify import UnsafeEdits, verify
from memex.subagent.planner import BUILTIN

DREAM_SECONDS = 600.0  # after which a dream ends without a proposal, whatever it does

# Plans more edits than the rules, behind theirs, such as by a model; what it plans is verified as theirs is.
PlansMore = Callable[[MountState, Sequence[Signal], Refused], Awaitable[Sequence[Group]]]

_log = structlog.get_logger("memex.dreams")


@dataclass(frozen=True, slots=True)
class Dream:
    """The outcome of a dream: the proposal that it made, if any, and why there is none.

    `state` is the state of the mount that it read; `left_out` counts groups that one proposal has no room for.
    """

    state: MountState
    counts: dict[str, int]
    proposal: StoredProposal | None = None
    left_out: int = 0
    refused: str | None = None


async def waiting(service: Service, caller: Caller, mount: str, now: datetime) -> StoredProposal | None:
    """Return the proposal of a mount that waits for a decision, if there is one."""
    scope = caller.access.scope_at(mount)
    async with service.database.transaction(caller.access) as connection:
        found = await proposals.read(connection, caller.access, now=now)
    return next(
        (
            record
            for record in found
            if record.scope_id == scope.scope_id
            and record.state == "open"
            and any(edit["state"] == "open" for edit in record.edits)
        ),
        None,
    )


async def dream(
    service: Service,
    caller: Caller,
    mount: str,
    now: datetime,
    *,
    since: int = ALL,
    keeps: bool = True,
    asks: bool = True,
    plans_more: PlansMore | None = None,
) -> Dream:
    """Dream over a mount, and keep what is proposed.

    Signals count only where somebody changed a page after the change `since`. Unless it `keeps` the proposal,
    nothing at all is written. With `asks`, questions are asked before and after; `plans_more` plans more edits.

    Raises:
        ProjectNotFound, ValidationFailed: there is no such mount for the caller.
        Overloaded: the dream did not end in its time; nothing was kept.
    """
    scope = caller.access.scope_at(mount)
    async with _in_time():
        state = await read_state(service, caller.access, mount, now, since)
        async with service.database.transaction(caller.access) as connection:
            refused = await proposals.refused(connection, scope)
        try:
            signals, plan = await plan_of(state, refused, scope.language)
        except UnsafeEdits as error:
            _log.warning("dream_refused", mount=mount, check=error.check)
            return Dream(state, {}, refused=str(error))
        counts = count_signals(signals)
        if not signals:
            _log.info("dream_without_signals", mount=mount)
            return Dream(state, counts)
        planner = BUILTIN
        if plans_more is not None:
            plan, planner = await _with_more(state, plan, signals, refused, plans_more)
        if not plan.groups:
            return Dream(state, counts, left_out=plan.left_out)
        gate = None
        held: list[int] = []
        if asks:
            found = await hold_against_questions(service, caller, state, plan.groups, now)
            gate, held = found.model_dump(), found.held
    made = StoredProposal(
        scope_id=scope.scope_id,
        proposal_id=f"dream_{secrets.token_hex(6)}",
        made_at=now,
        rev=state.rev,
        planner=planner,
        is_expired=False,
        counts=counts,
        listed=[result.model_dump(mode="json") for result in signal_results(plan.listed)],
        gate=gate,
        edits=list(_rows(plan.groups, held)),
    )
    if keeps:
        async with service.database.transaction(caller.access) as connection:
            if not await proposals.add(connection, caller.access, scope, made):
                return Dream(state, counts, refused="Another proposal came first.")
    _log.info("dream_proposed", mount=mount, groups=len(plan.groups), held=len(held), left_out=plan.left_out)
    return Dream(state, counts, made, plan.left_out)


@asynccontextmanager
async def _in_time() -> AsyncIterator[None]:
    limit = asyncio.timeout(DREAM_SECONDS)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        message = f"The dream did not end in {DREAM_SECONDS:,.0f} seconds; nothing was kept."
        raise Overloaded(message, hint="Dream again when the machine has less to do.") from error


def may_apply(proposal: StoredProposal, kinds: Sequence[str]) -> list[int]:
    """Return the groups of a proposal that a rule may apply: of chosen kinds, if enough was asked and it passed."""
    gate = proposal.gate
    if gate is None or not gate["passed"] or gate["real_questions"] < MIN_REAL_QUESTIONS:
        return []
    return [
        part
        for part, rows in proposal.parts().items()
        if rows[0]["state"] == "open" and rows[0]["kind"] in kinds
    ]


async def _with_more(
    state: MountState, plan: DreamPlan, signals: Sequence[Signal], refused: Refused, plans_more: PlansMore
) -> tuple[DreamPlan, str]:
    """Return a plan with the edits of a further planner; those that the checks refuse are dropped, one by one."""
    groups = list(plan.groups)
    added = 0
    for group in await plans_more(state, signals, refused):
        try:
            verify(state, [*groups, group])
        except Exception:  # noqa: BLE001, S112  # whatever is wrong with it: it is dropped
            continue
        groups.append(group)
        added += 1
    return replace(plan, groups=tuple(groups)), "model" if added else BUILTIN


def _rows(groups: Sequence[Group], held: Sequence[int]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for part, group in enumerate(groups, start=1):
        before = len(rows)
        rows.extend(
            {
                "number": before + place,
                "part": part,
                "kind": edit.kind,
                "path": edit.path,
                "base_version": edit.base_version,
                "change": edit.as_json(),
                "removed": list(edit.removed),
                "kept": list(edit.kept),
                "why": edit.why,
                "state": "held" if part in held else "open",
                "tool_call_id": None,
            }
            for place, edit in enumerate(group, start=1)
        )
    return rows
