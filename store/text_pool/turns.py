"""The order of work: tenants take turns, and so do the users of a tenant among themselves. Pure."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
Owner = tuple[int, str]  # a tenant and one of its users


@dataclass(slots=True)
class Turns(Generic[T]):
    """Tasks that wait, and how many tasks of each owner are under way.

    The next task is one of the tenant with the fewest tasks under way; of several such tenants, one of the tenant
    whose last turn is longest ago. In the same way a user of the tenant is chosen. The tasks of one user are done
    in their order.

    Attributes:
        most: so many tasks of one user are under way at most, so that those of others need not wait for them.
    """

    most: int
    _waiting: dict[Owner, deque[T]] = field(default_factory=dict)
    _running: Counter[Owner] = field(default_factory=Counter)
    _last_turn: dict[int | Owner, int] = field(default_factory=dict)
    _turn: int = 0

    def add(self, owner: Owner, task: T) -> None:
        """Let a task wait for its turn."""
        self._waiting.setdefault(owner, deque()).append(task)

    def take(self) -> tuple[Owner, T] | None:
        """Return the next task with its owner, which is under way from now on; None if none may begin."""
        free = [owner for owner in self._waiting if self._running[owner] < self.most]
        if not free:
            return None
        tenant = min({owner[0] for owner in free}, key=self._rank_of_tenant)
        owner = min((owner for owner in free if owner[0] == tenant), key=self._rank_of_user)
        self._turn += 1
        self._last_turn[tenant] = self._last_turn[owner] = self._turn
        self._running[owner] += 1
        task = self._waiting[owner].popleft()
        if not self._waiting[owner]:
            del self._waiting[owner]
        return owner, task

    def end(self, owner: Owner) -> None:
        """Say that a task of an owner is no longer under way."""
        self._running[owner] -= 1
        if not self._running[owner]:
            del self._running[owner]
        if not self._running and not self._waiting:
            self._last_turn.clear()  # nobody waits for a turn: who had one does not matter

    def drain(self) -> Iterable[T]:
        """Return all tasks that wait, which are forgotten."""
        waiting = [task for tasks in self._waiting.values() for task in tasks]
        self._waiting.clear()
        return waiting

    def _rank_of_tenant(self, tenant: int) -> tuple[int, int]:
        running = sum(count for owner, count in self._running.items() if owner[0] == tenant)
        return running, self._last_turn.get(tenant, 0)

    def _rank_of_user(self, owner: Owner) -> tuple[int, int]:
        return self._running[owner], self._last_turn.get(owner, 0)
