"""Turns to use the database: fair between tenants and, inside, between users.

A process has as many slots as connections. Whoever finds none free waits in the queue of its user. The next slot
goes to the tenant that has used the least slot time, and there to the user that has. So a caller with 200
connections gets no more than a caller with one, and a slot costs the time for which it was held.

Source: Goyal, Vin and Cheng, "Start-time Fair Queuing", SIGCOMM 1996; inside a tenant the same order holds again.

A write also waits in *lanes*, one for each scope that it locks, one for its tenant, and one for all writes. A lane
bounds how many slots are held by writes that may be waiting for a lock, so a lock that nobody gives back takes a
small part of the slots. A write leaves its lanes as soon as it holds its locks.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

Flow = tuple[Hashable, Hashable]  # a tenant and, inside, a user
Lane = tuple[Hashable, int]  # what is waited for, and how many slots may wait for it
Refusal = Literal["overloaded", "waited", "lane"]

MAX_EXPECTED_S = 2.0  # a call whose slot is further away than this is refused at once
MAX_WAIT_S = 2.2  # and one that has waited as long as this, whatever was expected
REPEAT_WAIT_S = 2.0  # whoever comes back sooner than told waits so long for the next refusal
RETRY_AFTER_S = 2
FIRST_HOLD_S = 0.005  # taken for the time that a slot is held, until some were
HOLD_WEIGHT = 0.05  # of the last hold in the mean
HEAD_START_S = 0.25  # of slot time: a call that has had a slot before is ahead of calls that have not

# What the call of this context may still wait for its first slot. None waits without an end, as everything does
# that is no request to a service: commands, jobs, and calls inside the caller's own process.
_patience_s: ContextVar[float | None] = ContextVar("patience_s", default=None)
_has_begun: ContextVar[bool] = ContextVar("has_begun", default=False)


def expect_turns_soon() -> None:
    """Let the call of this context wait a few seconds at most; see `MAX_EXPECTED_S` and `MAX_WAIT_S`."""
    _patience_s.set(MAX_WAIT_S)
    _has_begun.set(False)


def write_lanes(tenant_id: int, scope_ids: Sequence[int], slots: int, user_slots: int) -> list[Lane]:
    """Return the lanes of a write: few slots wait for one scope, half for a tenant, and one slot for no lock.

    Of the slots that one user may hold, one does not wait for the lock of a scope either.
    """
    few = max(1, min(slots // 5, user_slots - 1))
    return [
        *((("scope", scope_id), few) for scope_id in scope_ids),
        (("tenant", tenant_id), max(1, slots // 2)),
        ("writes", max(1, slots - 1)),
    ]


class NoTurn(Exception):
    """No slot came in time; `reason` says which wait was in vain."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason)
        self.reason: Refusal = reason


@dataclass(eq=False, slots=True)
class Slot:
    """A slot that is held, or waited for."""

    flow: Flow
    lanes: Sequence[Lane]
    has_begun: bool
    began_s: float = 0.0
    charged_s: float = 0.0
    granted: asyncio.Future[None] | None = None


@dataclass(slots=True)
class _Share:
    """The slots that a tenant or a user holds and waits for, and the time used since it was last idle."""

    used_s: float
    running: int = 0
    waiting: deque[Slot] = field(default_factory=deque)

    @property
    def is_idle(self) -> bool:
        return not (self.running or self.waiting)


class FairQueue:
    """The slots of one process, and who waits for them.

    Args:
        slots: how many there are.
        user_slots: how many one user may hold; others wait, even if slots are free.
        clock: says the time in seconds.
    """

    def __init__(self, slots: int, user_slots: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.slots = slots
        self.user_slots = min(user_slots, slots)
        self._clock = clock
        self._free = slots
        self._tenants: dict[Hashable, _Share] = {}
        self._users: dict[Flow, _Share] = {}
        self._lanes: dict[Hashable, int] = {}
        self._told: dict[Flow, float] = {}
        self._waiting = 0
        self._hold_s = FIRST_HOLD_S

    @property
    def waiting(self) -> int:
        """The number of calls that wait for a slot."""
        return self._waiting

    async def take(self, flow: Flow, lanes: Sequence[Lane] = ()) -> Slot:
        """Return a slot, which has to be given back.

        Raises:
            NoTurn: the wait would be too long, or was.
        """
        slot = Slot(flow, lanes, _has_begun.get())
        if self._free and not self._waiting and self._may_run(slot):
            self._grant(slot)
        else:
            await self._wait(slot)
        if _patience_s.get() is not None:
            _has_begun.set(True)
        return slot

    async def look(self, flow: Flow) -> None:
        """Refuse a call that would wait too long for its first slot; raises NoTurn."""
        if _patience_s.get() is not None and self.expected_wait_s(flow) > MAX_EXPECTED_S:
            await self._slow_down(flow)
            raise NoTurn("overloaded")

    def give_back(self, slot: Slot) -> None:
        """Take a slot back, and give it to the next one."""
        held_s = self._clock() - slot.began_s
        self._hold_s += HOLD_WEIGHT * (held_s - self._hold_s)
        self._free += 1
        self.leave_lanes(slot, is_last=True)
        for share in self._shares(slot.flow):
            share.running -= 1
            share.used_s += held_s - slot.charged_s
        self._forget_idle(slot.flow)
        self._hand_out()

    def leave_lanes(self, slot: Slot, *, is_last: bool = False) -> None:
        """Note that the holder of a slot waits for no lock any more."""
        for lane, _ in slot.lanes:
            self._lanes[lane] -= 1
            if not self._lanes[lane]:
                del self._lanes[lane]
        if slot.lanes and not is_last:
            slot.lanes = ()
            self._hand_out()
        slot.lanes = ()

    def expected_wait_s(self, flow: Flow) -> float:
        """Return how long a call of this flow that comes now would probably wait."""
        user = self._users.get(flow)
        ahead = len(user.waiting) if user else 0
        tenants = sum(1 for share in self._tenants.values() if share.waiting)
        users = sum(1 for (tenant, _), share in self._users.items() if tenant == flow[0] and share.waiting)
        turns = min(self._waiting, (ahead + 1) * max(tenants, 1) * max(users, 1))
        return self._hold_s * max(turns / self.slots, ahead / self.user_slots)

    async def _wait(self, slot: Slot) -> None:
        patience_s = MAX_WAIT_S if slot.has_begun else _patience_s.get()
        if not slot.has_begun:
            await self.look(slot.flow)
        began_s = self._clock()
        slot.granted = asyncio.get_running_loop().create_future()
        self._enqueue(slot)
        try:
            async with asyncio.timeout(patience_s):
                await slot.granted
        except BaseException as error:
            if slot.granted.done() and not slot.granted.cancelled():
                self.give_back(slot)  # it came in the moment in which the wait ended
            else:
                self._dequeue(slot)
            if isinstance(error, TimeoutError):
                raise NoTurn("waited" if self._has_room(slot) else "lane") from None
            raise
        if patience_s is not None and not slot.has_begun:
            _patience_s.set(max(0.0, patience_s - (self._clock() - began_s)))

    async def _slow_down(self, flow: Flow) -> None:
        """Refuse at once whoever waited as told before coming back, and let others wait for the refusal.

        Clients that try again at once would else take the time in which the others are answered.
        """
        now_s = self._clock()
        told_s = self._told.get(flow)
        self._told = {
            told_flow: at_s for told_flow, at_s in self._told.items() if now_s - at_s < RETRY_AFTER_S
        }
        self._told[flow] = now_s
        if told_s is not None and now_s - told_s < RETRY_AFTER_S:
            await asyncio.sleep(REPEAT_WAIT_S)

    def _enqueue(self, slot: Slot) -> None:
        tenant, user = self._shares(slot.flow)
        tenant.waiting.append(slot)
        # Calls that have had a slot go first, in their order.
        place = sum(other.has_begun for other in user.waiting) if slot.has_begun else len(user.waiting)
        user.waiting.insert(place, slot)
        self._waiting += 1
        self._hand_out()

    def _dequeue(self, slot: Slot) -> None:
        for share in self._shares(slot.flow):
            share.waiting.remove(slot)
        self._waiting -= 1
        self._forget_idle(slot.flow)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._free and self._waiting and (slot := self._next()) is not None:
            for share in self._shares(slot.flow):
                share.waiting.remove(slot)
            self._waiting -= 1
            self._grant(slot)
            if slot.granted is not None:
                slot.granted.set_result(None)

    def _next(self) -> Slot | None:
        """Return who is next: of the tenant with the least used time, of the user with the least used time."""
        best: Slot | None = None
        best_place = (float("inf"), float("inf"))
        for flow, user in self._users.items():
            if not user.waiting:
                continue
            if (slot := next(filter(self._may_run, user.waiting), None)) is None:
                continue
            head_start_s = HEAD_START_S if slot.has_begun else 0.0
            place = self._tenants[flow[0]].used_s - head_start_s, user.used_s - head_start_s
            if place < best_place:
                best, best_place = slot, place
        return best

    def _may_run(self, slot: Slot) -> bool:
        user = self._users.get(slot.flow)
        has_gone = slot.granted is not None and slot.granted.done()  # cancelled, and not out of its queue yet
        return not has_gone and (user is None or user.running < self.user_slots) and self._has_room(slot)

    def _has_room(self, slot: Slot) -> bool:
        return all(self._lanes.get(lane, 0) < size for lane, size in slot.lanes)

    def _grant(self, slot: Slot) -> None:
        self._free -= 1
        slot.began_s = self._clock()
        slot.charged_s = self._hold_s
        for lane, _ in slot.lanes:
            self._lanes[lane] = self._lanes.get(lane, 0) + 1
        for share in self._shares(slot.flow):
            share.running += 1
            share.used_s += slot.charged_s

    def _shares(self, flow: Flow) -> Iterator[_Share]:
        """Yield the tenant's share and the user's; one that was idle begins level with the one that used least."""
        tenant = self._tenants.get(flow[0])
        if tenant is None:
            least = min((share.used_s for share in self._tenants.values()), default=0.0)
            tenant = self._tenants[flow[0]] = _Share(least)
        yield tenant
        user = self._users.get(flow)
        if user is None:
            of_tenant = (share.used_s for (of, _), share in self._users.items() if of == flow[0])
            user = self._users[flow] = _Share(min(of_tenant, default=0.0))
        yield user

    def _forget_idle(self, flow: Flow) -> None:
        if self._users[flow].is_idle:
            del self._users[flow]
        if self._tenants[flow[0]].is_idle:
            del self._tenants[flow[0]]
