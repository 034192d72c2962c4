"""Turns to use the database: who is next, who may not run yet, and who is told that it takes too long."""

import asyncio
from collections.abc import Sequence

import pytest

from memex.store.waiting import fair_queue
from memex.store.waiting.fair_queue import FairQueue, Flow, Lane, NoTurn, Slot, write_lanes

NOISY: Flow = (1, "noisy")
QUIET: Flow = (1, "quiet")
OTHER: Flow = (2, "other")


class Clock:
    """A clock that a test moves."""

    now_s = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now_s


class Line:
    """Calls that wait for a slot of a queue, in tasks."""

    def __init__(self, queue: FairQueue) -> None:
        self._queue = queue
        self.served: list[Flow] = []
        self._tasks: list[asyncio.Task[Slot]] = []

    async def wait(self, *flows: Flow, lanes: Sequence[Lane] = ()) -> None:
        """Let calls wait, one for each flow."""
        for flow in flows:
            self._tasks.append(asyncio.create_task(self._take(flow, lanes)))
        await self.settle()

    async def settle(self) -> None:
        """Let everybody run who can."""
        for _ in range(5):
            await asyncio.sleep(0)

    async def _take(self, flow: Flow, lanes: Sequence[Lane]) -> Slot:
        slot = await self._queue.take(flow, lanes)
        self.served.append(flow)
        return slot

    async def slot(self, place: int) -> Slot:
        """Return the slot of a call, by its place in the line; fail if another call has it."""
        await self.settle()
        assert self._tasks[place].done(), f"Call {place} still waits; served were {self.served}."
        return self._tasks[place].result()

    def end(self) -> None:
        """Let nobody wait any more."""
        for task in self._tasks:
            task.cancel()


async def test_a_quiet_user_is_next_before_the_crowd_of_another() -> None:
    """Who has used less is served first, among the users of a tenant and among tenants."""
    clock = Clock()
    queue = FairQueue(1, 1, clock=clock)
    held = await queue.take(NOISY)
    line = Line(queue)
    await line.wait(NOISY, NOISY, NOISY, QUIET, OTHER)

    for place in (4, 3, 0):
        clock.now_s += 1
        queue.give_back(held)
        held = await line.slot(place)
    line.end()

    assert line.served == [OTHER, QUIET, NOISY]


async def test_tenants_get_the_same_whatever_the_number_of_their_users() -> None:
    """Of forty turns, the tenant with one user gets half."""
    clock = Clock()
    queue = FairQueue(1, 1, clock=clock)
    held = await queue.take(OTHER)
    line = Line(queue)
    await line.wait(*((1, f"user{number}") for number in range(40)), *([OTHER] * 40))
    tasks = {id(task): task for task in line._tasks}

    for _ in range(40):
        clock.now_s += 0.01
        queue.give_back(held)
        await line.settle()
        done = next(task for task in tasks.values() if task.done())
        held = tasks.pop(id(done)).result()
    line.end()

    assert 19 <= line.served.count(OTHER) <= 21


async def test_one_user_leaves_a_slot_to_others() -> None:
    """A user that holds as many slots as one may waits, though slots are free."""
    queue = FairQueue(3, 2)
    line = Line(queue)
    await line.wait(NOISY, NOISY, NOISY)

    assert line.served == [NOISY, NOISY]
    assert queue.waiting == 1
    await line.wait(QUIET)
    assert line.served == [NOISY, NOISY, QUIET]
    queue.give_back(await line.slot(0))
    await line.settle()
    assert line.served.count(NOISY) == 3


async def test_few_slots_wait_for_the_lock_of_one_scope() -> None:
    """Until a write has its locks, no other one waits for the same; reads and other scopes go on."""
    queue = FairQueue(5, 4)
    line = Line(queue)
    await line.wait(NOISY, NOISY, NOISY, lanes=write_lanes(1, [7], 5, 4))
    await line.wait(NOISY, QUIET)
    await line.wait(QUIET, lanes=write_lanes(1, [8], 5, 4))

    assert line.served == [NOISY, NOISY, QUIET, QUIET]
    assert queue.waiting == 2
    queue.leave_lanes(await line.slot(0))
    await line.settle()
    assert line.served.count(NOISY) == 3
    line.end()


async def test_a_call_that_has_begun_goes_before_those_that_have_not() -> None:
    """So calls end, instead of all of them being half done."""
    queue = FairQueue(1, 1)
    line = Line(queue)
    held = await queue.take(QUIET)
    await line.wait(NOISY, NOISY)

    async def go_on() -> None:
        fair_queue.expect_turns_soon()
        fair_queue._has_begun.set(True)
        await line._take((2, "begun"), ())

    begun = asyncio.create_task(go_on())
    await line.settle()
    queue.give_back(held)
    await begun

    assert line.served == [(2, "begun")]
    line.end()


async def test_a_wait_that_would_be_too_long_is_refused() -> None:
    """By how long slots were held, and how many wait; whoever comes for another reason waits all the same."""
    clock = Clock()
    queue = FairQueue(1, 1, clock=clock)
    for _ in range(200):
        slot = await queue.take(NOISY)
        clock.now_s += 1
        queue.give_back(slot)
    held = await queue.take(NOISY)
    line = Line(queue)
    await line.wait(NOISY, NOISY, NOISY)  # of commands and jobs: nobody refuses them

    async def ask(flow: Flow) -> Slot:
        fair_queue.expect_turns_soon()
        return await queue.take(flow)

    with pytest.raises(NoTurn) as refused:
        await asyncio.create_task(ask(NOISY))
    fresh = asyncio.create_task(ask(QUIET))
    await line.settle()
    clock.now_s += 1
    queue.give_back(held)

    assert refused.value.reason == "overloaded"
    assert (await fresh).flow == QUIET
    assert queue.waiting == 3
    line.end()


async def test_who_goes_away_leaves_the_queue() -> None:
    """Also in the moment in which the slot comes: it goes to the next one."""
    queue = FairQueue(1, 1)
    held = await queue.take(QUIET)
    line = Line(queue)
    await line.wait(NOISY, NOISY, OTHER)
    line._tasks[0].cancel()
    await line.settle()

    assert queue.waiting == 2
    queue.give_back(held)
    line._tasks[1].cancel()
    await line.settle()
    queue.give_back(await line.slot(2))
    assert (queue.waiting, queue._free) == (0, 1)
    assert [queue._tenants, queue._users, queue._lanes] == [{}, {}, {}]


def test_a_user_can_read_while_its_writes_wait_for_a_lock() -> None:
    """The slots of a user never wait for the lock of one scope all together, however many slots there are."""
    lanes = dict(write_lanes(1, [7], 50, 3))

    assert lanes["scope", 7] == 2
