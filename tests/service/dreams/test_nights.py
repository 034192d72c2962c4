"""Dreams that begin by themselves: when, how often, and what they may apply."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.function import FunctionModel
from tests.kit.memory import run_tool, write, write_each
from tests.kit.property_budget import is_thorough
from tests.kit.rows import select
from tests.service.dreams.test_dreams import DIRT, texts

from memex.service.dreams import dreaming
from memex.service.dreams.night import dream_where_due
from memex.service.dreams.operations import CHOOSE, LIST
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.dreams import proposals
from memex.store.dreams.proposals import DreamTimes
from memex.subagent.dream.pages import MountState
from memex.subagent.model.chat import ChatModel

CallerOf = Callable[..., Awaitable[Caller]]

pytestmark = pytest.mark.embedded_only

HOUR = timedelta(hours=1)
DIARY = "user/diary.md"


async def live(service: Service, caller: Caller, changes: int) -> None:
    """Change a page so many times."""
    for number in range(changes):
        await write(service, caller, DIARY, f"# Diary\n\nDay {number} of many.\n")


async def run_sql(database: Database, statement: bytes) -> None:
    """Run a statement as the owner."""
    async with database.maintenance() as connection:
        await connection.execute(statement)


async def test_a_dream_begins_where_it_was_chosen_and_enough_changed(service: Service, alice: Caller) -> None:
    """Not before 20 changes, not within half an hour of the last one, and not where nobody chose it."""
    await write_each(service, alice, DIRT)
    await live(service, alice, 15)
    now = datetime.now(UTC)

    assert await dream_where_due(service, now + HOUR) == []  # off
    await CHOOSE.call(service, alice, {"mode": "propose"})
    assert await dream_where_due(service, now + HOUR) == []  # 19 changes
    await live(service, alice, 1)
    assert await dream_where_due(service, now) == []  # somebody writes
    assert len(await dream_where_due(service, now + HOUR)) == 1
    [made] = (await LIST.call(service, alice, {})).proposals
    assert {group.state for group in made.groups} == {"open"}
    await live(service, alice, 21)
    assert await dream_where_due(service, now + 48 * HOUR) == []  # a proposal is open
    assert len(await dream_where_due(service, now + 24 * 32 * HOUR)) == 1  # it is too old by then


async def test_a_pause_and_what_a_dream_wrote_keep_dreams_away(service: Service, alice: Caller) -> None:
    """A revision of a dream is no reason to dream."""
    await CHOOSE.call(service, alice, {"mode": "propose", "pause_days": 3})
    await live(service, alice, 30)
    now = datetime.now(UTC)

    assert await dream_where_due(service, now + HOUR) == []
    await CHOOSE.call(service, alice, {"pause_days": 0})
    await run_sql(service.database, b"update revision set channel = 'dream' where rev > 5")
    assert await dream_where_due(service, now + HOUR) == []


async def test_what_may_be_applied_is_applied_if_enough_was_asked(service: Service, alice: Caller) -> None:
    """With 20 real questions, a duplicate goes by itself; other kinds wait."""
    await write_each(service, alice, DIRT)
    await CHOOSE.call(service, alice, {"mode": "auto", "auto_kinds": ["duplicate"]})
    await live(service, alice, 20)
    for number in range(20):
        await run_tool(service, alice, "context", f"q-{number}", query=f"What tea do I like, asked {number}?")

    await dream_where_due(service, datetime.now(UTC) + HOUR)

    [made] = (await LIST.call(service, alice, {})).proposals
    assert made.gate is not None
    assert made.gate.real_questions == 20
    assert {group.kind: group.state for group in made.groups} == {"duplicate": "applied", "task_done": "open"}
    assert "tea" not in (await texts(service, alice, "user/notes.md"))["user/notes.md"]


async def test_with_few_questions_nothing_is_applied_by_itself(service: Service, alice: Caller) -> None:
    """A person decides then."""
    await write_each(service, alice, DIRT)
    await CHOOSE.call(service, alice, {"mode": "auto", "auto_kinds": ["duplicate"]})
    await live(service, alice, 20)

    await dream_where_due(service, datetime.now(UTC) + HOUR)

    [made] = (await LIST.call(service, alice, {})).proposals
    assert {group.state for group in made.groups} == {"open"}


async def test_four_replicas_dream_once_a_day(service: Service, alice: Caller) -> None:
    """The lease and its time decide, by a clock that is given: one dream of a mount a day."""
    await CHOOSE.call(service, alice, {"mode": "propose"})
    start = datetime.now(UTC) + HOUR
    dreams: list[int] = []
    days = 30 if is_thorough() else 6
    for day in range(days):
        await live(service, alice, 20)
        await run_sql(service.database, b"update revision set created_at = created_at - interval '1 day'")
        found = 0
        for hour in (0, 6, 12, 18):
            now = start + timedelta(days=day, hours=hour)
            rounds = await asyncio.gather(*(dream_where_due(service, now) for _ in range(4)))
            found += sum(map(len, rounds))
        dreams.append(found)

    assert dreams == [1] * days


async def test_a_lease_ends_with_its_time_and_is_kept_by_a_heartbeat(service: Service, alice: Caller) -> None:
    """A process that was killed leaves a lease that ends; whoever lost it writes nothing more."""
    await CHOOSE.call(service, alice, {"mode": "propose"})
    await live(service, alice, 20)
    now, times = datetime.now(UTC) + HOUR, DreamTimes(between=timedelta(0))
    async with service.database.maintenance() as connection:
        [mount] = await proposals.due(connection, times, now, limit=5)
        assert await proposals.take(connection, mount, "first", times, now)
        assert not await proposals.take(connection, mount, "second", times, now)
        assert await proposals.beat(connection, mount, "first", times, now + timedelta(minutes=4))
        assert not await proposals.take(connection, mount, "second", times, now + timedelta(minutes=6))
        assert await proposals.take(connection, mount, "second", times, now + timedelta(minutes=10))
        assert not await proposals.beat(connection, mount, "first", times, now + timedelta(minutes=11))
        await proposals.done(connection, mount, "first", 1_000)  # which is not its own any more
    [row] = await select(service.database, "select seen_rev, lease from dream")
    assert row == (0, "second")


async def test_ten_thousand_mounts_without_changes_cost_little(service: Service, alice: Caller) -> None:
    """One query finds that there is nothing to do."""
    await CHOOSE.call(service, alice, {"mode": "propose"})
    await run_sql(
        service.database,
        b"""with made as (
              insert into scope (tenant_id, kind, key, rev)
              select (select min(tenant_id) from tenant), 'user', 'u' || n, 5 from generate_series(1, 10000) as n
              returning scope_id, tenant_id)
            insert into dream (scope_id, tenant_id, mode) select scope_id, tenant_id, 'propose' from made""",
    )
    started = asyncio.get_running_loop().time()

    assert await dream_where_due(service, datetime.now(UTC) + HOUR) == []
    assert asyncio.get_running_loop().time() - started < 5


async def test_a_dream_that_fails_ends_no_other_one(
    service: Service, caller_of: CallerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mount is not looked at again before somebody changes it; the next mount has its dream."""
    read = dreaming.read_state
    failed: list[str] = []

    async def fails_once(*given: Any) -> MountState:
        if not failed:
            failed.append("first")
            raise ValueError
        return await read(*given)

    monkeypatch.setattr(dreaming, "read_state", fails_once)
    for user in ("alice", "bob"):
        caller = await caller_of(user)
        await write_each(service, caller, DIRT)
        await live(service, caller, 20)
        await CHOOSE.call(service, caller, {"mode": "propose"})

    done = await dream_where_due(service, datetime.now(UTC) + HOUR)

    assert len(done) == 2
    assert await select(service.database, "select count(*) from proposal") == [(1,)]
    assert await select(
        service.database, "select count(*) from dream where lease is null and seen_rev > 0"
    ) == [(2,)]


async def test_a_dream_whose_lease_is_lost_ends_and_writes_nothing(service: Service, alice: Caller) -> None:
    """Its model has not answered yet; the job goes on with the next mount."""
    is_asked = asyncio.Event()

    async def never(_: object, __: object) -> ModelResponse:
        is_asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    service.dream_model = ChatModel("function:slow", lambda: (FunctionModel(never), None))
    await write_each(service, alice, DIRT)
    await live(service, alice, 20)
    await CHOOSE.call(service, alice, {"mode": "propose"})
    lines = "- Tom keeps the keys. (2026-01-02)\n- Tom keeps the keys. (2026-03-02)\n"
    await write(service, alice, "user/notes.md", lines)

    times = DreamTimes(lease=timedelta(seconds=0.4))
    running = asyncio.create_task(dream_where_due(service, datetime.now(UTC) + HOUR, times=times))
    await is_asked.wait()
    await run_sql(service.database, b"update dream set lease = 'other'")
    await running

    assert (await LIST.call(service, alice, {})).proposals == []
    assert await select(service.database, "select lease, seen_rev from dream") == [("other", 0)]
