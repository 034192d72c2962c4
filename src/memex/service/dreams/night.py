"""Dreams that begin by themselves: in mounts that somebody chose, once in 20 hours whatever the number of replicas.

Before it begins, a dream takes the lease of its mount, and keeps it by a heartbeat. The lease of a process that was
killed ends by itself; a dream whose lease is another's writes nothing more.
"""

import asyncio
import secrets
from datetime import datetime

import structlog

from memex.call_context import CallContext
from memex.errors import MemexError
from memex.service.call import Caller
from memex.service.dreams import deciding
from memex.service.dreams.dreaming import Dream, dream, may_apply
from memex.service.dreams.model_planner import planner_of
from memex.service.service import Service
from memex.store.dreams import proposals
from memex.store.dreams.proposals import LIFETIME, DreamTimes, DueMount
from memex.store.identity import authentication
from memex.store.identity.authentication import Principal
from memex.store.sql import sql

MOUNTS_AT_ONCE = 20  # that one run of the job dreams over
BEATS = 4  # in the time of a lease
TIMES = DreamTimes()

_log = structlog.get_logger("memex.dreams")


async def dream_where_due(service: Service, now: datetime, *, times: DreamTimes = TIMES) -> list[DueMount]:
    """Dream over the mounts in which a dream may begin, one after the other; return those that it dreamt over."""
    async with service.database.maintenance() as connection:
        await connection.execute(sql("dreams/proposal_expire"), {"before": now - LIFETIME})
        found = await proposals.due(connection, times, now, limit=MOUNTS_AT_ONCE)
    done = []
    for mount in found:
        lease = secrets.token_hex(12)
        async with service.database.maintenance() as connection:
            is_taken = await proposals.take(connection, mount, lease, times, now)
        if is_taken:
            await _dream_over(service, mount, lease, now, times)
            done.append(mount)
    return done


async def _dream_over(
    service: Service,
    mount: DueMount,
    lease: str,
    now: datetime,
    times: DreamTimes,
) -> None:
    seen = mount.seen_rev
    dreaming = asyncio.create_task(_dream(service, mount, now))
    beating = asyncio.create_task(_beat(service, mount, lease, times, dreaming))
    try:
        await asyncio.wait([dreaming, beating], return_when=asyncio.FIRST_COMPLETED)
        if dreaming.done():
            made = dreaming.result()
            # What one proposal had no room for is looked at again by the next dream.
            seen = mount.seen_rev if made.left_out else made.state.rev
    except Exception as error:  # noqa: BLE001  # the other mounts have their dreams all the same
        seen = mount.rev  # the same pages would fail again
        is_known = isinstance(error, MemexError)
        _log.warning("dream_failed", error=type(error).__name__, exc_info=None if is_known else error)
    finally:
        for task in (dreaming, beating):
            task.cancel()
        await asyncio.gather(dreaming, beating, return_exceptions=True)
        async with service.database.maintenance() as connection:
            await proposals.done(connection, mount, lease, seen)


async def _dream(service: Service, mount: DueMount, now: datetime) -> Dream:
    caller = await _caller_of(service, mount)
    name = {"user": "user", "shared": "shared"}.get(mount.kind, f"projects/{mount.key}")
    more = planner_of(service, caller)
    made = await dream(service, caller, name, now, since=mount.seen_rev, plans_more=more)
    if made.proposal is not None and mount.mode == "auto":
        parts = may_apply(made.proposal, mount.auto_kinds)
        await deciding.apply(service, caller, made.proposal, parts, now)
    return made


async def _caller_of(service: Service, mount: DueMount) -> Caller:
    """Return who dreams over a mount: its user, or for a project and `shared` nobody in particular."""
    principal = Principal(mount.tenant_id, "agent" if mount.kind == "user" else "admin")
    context = CallContext(
        user_id=mount.key if mount.kind == "user" else None,
        project=mount.key if mount.kind == "project" else None,
        actor="memex",
    )
    return Caller(principal, await authentication.resolve(service.database, principal, context))


async def _beat(
    service: Service, mount: DueMount, lease: str, times: DreamTimes, dreaming: asyncio.Task[Dream]
) -> None:
    """Keep the lease until the dream ends; return if it is another's by now."""
    while not dreaming.done():
        await asyncio.sleep(times.lease.total_seconds() / BEATS)
        async with service.database.maintenance() as connection:
            found = await connection.execute(b"select clock_timestamp() as now")
            now = (await found.fetchone() or {})["now"]
            if not await proposals.beat(connection, mount, lease, times, now):
                _log.warning("dream_lost_its_lease")
                return
