"""The calls of each hour: summed from the log, the same however often and by however many."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg.errors import InsufficientPrivilege
from tests.kit.rows import select

from memex.service.service import Caller, Service
from memex.store.log.call import Call, CallAnswer, CallRequest
from memex.store.log.hours import HourlySum, list_hours, percentile_ms, sum_hours
from memex.store.log.operations import add
from memex.store.log.retention import prune

CallerOf = Callable[..., Awaitable[Caller]]
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


async def log(service: Service, caller: Caller, when: datetime, status: Any = "answered") -> None:
    """Log a call of some time."""
    call = Call(CallRequest(f"c-{when.timestamp()}-{status}", "memory_find", {}, caller.logged, when))
    async with service.database.transaction(caller.access) as connection:
        answer = None if status == "failed" else CallAnswer({}, {}, {})
        code = "INTERNAL" if status == "failed" else None
        await add(connection, caller.access, call, status=status, answer=answer, error_code=code)


async def hours(service: Service, admin: Caller) -> list[tuple[int, str, int]]:
    """Return the sums that an administrator reads: hours since noon, status and calls."""
    async with service.database.transaction(admin.access) as connection:
        found = await list_hours(connection, admin.access, NOON - timedelta(days=1))
    return [(round((one.hour - NOON).total_seconds() / 3600), one.status, one.calls) for one in found]


async def test_hours_are_summed_by_status_and_again_with_what_came_late(
    service: Service, caller_of: CallerOf, alice: Caller
) -> None:
    """A second run changes nothing but what came since; replicas at once count nothing twice."""
    admin = await caller_of(None, role="admin")
    for minute in (0, 30, 59):
        await log(service, alice, NOON + timedelta(minutes=minute))
    await log(service, alice, NOON + timedelta(minutes=60))
    await log(service, alice, NOON + timedelta(minutes=61), "failed")
    await log(service, alice, NOON + timedelta(minutes=62), "queued")

    await asyncio.gather(*(sum_hours(service.database, NOON - timedelta(hours=3)) for _ in range(4)))
    first = await hours(service, admin)
    await log(service, alice, NOON + timedelta(minutes=5))
    await sum_hours(service.database, NOON + timedelta(minutes=40))

    assert first == [(0, "answered", 3), (1, "answered", 1), (1, "failed", 1)]
    assert await hours(service, admin) == [(0, "answered", 4), (1, "answered", 1), (1, "failed", 1)]


@pytest.mark.both_servers
async def test_sums_are_shown_to_the_administrators_of_the_tenant(
    service: Service, caller_of: CallerOf, alice: Caller
) -> None:
    """Row-level security: an agent sees none, nor does another tenant, and nobody changes them."""
    admin, theirs = await caller_of(None, role="admin"), await caller_of(None, role="admin", tenant="others")
    await log(service, alice, NOON)
    await sum_hours(service.database, NOON)

    assert len(await hours(service, admin)) == 1
    assert await hours(service, theirs) == []
    for caller in (alice, admin):
        changed = None
        try:
            async with service.database.transaction(caller.access) as connection:
                changed = (await connection.execute(b"delete from log_hour")).rowcount
        except InsufficientPrivilege:
            changed = 0
        assert changed == 0
    async with service.database.transaction(theirs.access) as connection:
        assert await (await connection.execute(b"select hour from log_hour")).fetchall() == []


async def test_sums_go_with_the_log(service: Service, caller_of: CallerOf, alice: Caller) -> None:
    """Retention removes the sums of whole hours before its time."""
    admin = await caller_of(None, role="admin")
    for hour in (0, 1, 2):
        await log(service, alice, NOON + timedelta(hours=hour))
    await sum_hours(service.database, NOON)

    await prune(service.database, NOON + timedelta(minutes=90))

    assert [hour for hour, _, _ in await hours(service, admin)] == [1, 2]
    assert await select(service.database, "select count(*) from operation") == [(1,)]


def test_percentiles_are_those_of_all_calls() -> None:
    """Half of the calls, and nineteen of twenty, were as fast as this or faster, within a bucket."""

    def made(*given: tuple[int, int]) -> HourlySum:
        buckets, counts = zip(*given, strict=True)
        return HourlySum(NOON, "memory_find", "answered", sum(counts), buckets, counts)

    sums = [made((8, 50)), made((8, 40), (40, 10))]

    assert percentile_ms(sums, 0.5) == 4.0
    assert percentile_ms(sums, 0.95) == 1024.0
    assert percentile_ms([], 0.5) is None


async def test_a_duration_is_in_the_bucket_below_its_upper_end(service: Service, alice: Caller) -> None:
    """What the database makes of a duration is what percentiles are read from."""
    await log(service, alice, NOON)
    for duration_ms, upper_ms in ((0.0, 1.0), (0.9, 1.0), (1.0, 1.19), (100.0, 108.0), (1e9, 2**20)):
        await select(service.database, "update operation set duration_ms = %s", duration_ms)
        await sum_hours(service.database, NOON)

        [(buckets, counts)] = await select(service.database, "select buckets, counts from log_hour")
        found = percentile_ms([HourlySum(NOON, "f", "answered", 1, buckets, counts)], 0.5)
        assert found == pytest.approx(upper_ms, rel=0.01)
