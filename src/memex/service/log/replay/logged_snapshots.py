"""The moments that a logged call saw, opened again: each operation sees what its predecessor in the log saw."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from memex.store.access import Access
from memex.store.database import Connection, Database
from memex.store.log.operations import MODEL_REQUEST
from memex.store.past.memory import PastMemory, check_mounts, open_past
from memex.store.records import NearSpan, Operation, QueryVector
from memex.subagent.memory_tools import MemorySnapshot

State = Mapping[str, int]


def states(operation: Operation) -> list[State]:
    """Return every state that a call and the operations inside it saw, in order."""
    return [one.state for one in (*operation.inner, operation) if one.state]


def access_of(access: Access, operation: Operation) -> Access:
    """Return the access that a call had, as far as it shows in the states that it saw.

    Args:
        access: of who asks for the replay: nothing beyond it is opened.
        operation: the call.

    Raises:
        ProjectNotFound, ValidationFailed: the caller cannot read, or cannot any more, what the call saw.
    """
    who = operation.principal
    mounts = {mount for state in states(operation) for mount in state}
    check_mounts(access, mounts)
    asked = operation.request.get("project")
    named = who.get("project") if asked is None else asked
    # What a state that the call named leaves out was there too, and empty.
    mounts |= {"shared", f"projects/{named}", *(["user"] if who.get("user") else [])}
    is_admins = who.get("role") == "admin"
    return replace(
        access,
        scopes=tuple(
            replace(scope, writable=is_admins or scope.mount != "shared")
            for scope in access.scopes
            if scope.mount in mounts
        ),
        project=named if asked is None and f"projects/{named}" in access.by_mount else None,
    )


def near_spans(logged: Any) -> list[NearSpan] | None:
    """Return what a vector search found, as the log has it."""
    found = (logged or {}).get("near")
    return None if found is None else [NearSpan(path, (start, end), far) for path, start, end, far in found]


class LoggedSnapshots:
    """Gives each operation of a call that is run again the moment of its predecessor in the log.

    Args:
        database: in which the revisions are.
        access: of the call; see `access_of`.
        operation: the call.
        now: the clock from which times in queries count.
        is_present: the call read memory as it stood then; else as of an earlier moment that it named.
        is_held: one transaction is held for the whole call; else each operation has its own, since a model thinks
            between them.
        near_finds: for how many operations what a vector search found is taken from the log; None for all. Beyond
            the first, a call with something changed may ask other things than the log has.
        vectors: of queries, where meaning is searched that the call did not search by.
    """

    def __init__(
        self,
        database: Database,
        access: Access,
        operation: Operation,
        *,
        now: datetime,
        is_present: bool = True,
        is_held: bool = True,
        near_finds: int | None = None,
        vectors: Mapping[str, QueryVector] | None = None,
    ) -> None:
        self._database = database
        self._access = access
        self._now = now
        self._is_present = is_present
        self._is_held = is_held
        self._near_finds = near_finds
        self._vectors = vectors
        self._opened = 0
        self._held: Connection | None = None
        self._memories: dict[tuple[tuple[str, int], ...], PastMemory] = {}
        self._left: Iterator[Operation] = iter(one for one in operation.inner if one.kind != MODEL_REQUEST)
        self._state: State = next(iter(states(operation)), {})
        self.first_state: dict[str, int] | None = None

    @asynccontextmanager
    async def hold(self) -> AsyncIterator["LoggedSnapshots"]:
        """Hold what is held for the whole call."""
        if not self._is_held:
            yield self
            return
        async with self._database.transaction(self._access, snapshot=True) as connection:
            self._held = connection
            yield self

    @asynccontextmanager
    async def open(self) -> AsyncIterator[MemorySnapshot]:
        """The moment of the next operation."""
        logged = next(self._left, None)
        if logged is not None and logged.state is not None:
            self._state = logged.state
        is_near = self._near_finds is None or self._opened < self._near_finds
        near = near_spans(logged.response) if logged is not None and is_near else None
        self._opened += 1
        if self._held is not None:
            yield await self._moment(self._held, near)
            return
        async with self._database.transaction(self._access, snapshot=True) as connection:
            self._memories.clear()
            yield await self._moment(connection, near)

    async def _moment(self, connection: Connection, near: Sequence[NearSpan] | None) -> MemorySnapshot:
        key = tuple(sorted(self._state.items()))
        memory = self._memories.get(key)
        if memory is None:
            memory = await open_past(
                connection,
                self._access,
                dict(self._state),
                now=self._now,
                vectors=self._vectors,
                is_present=self._is_present,
            )
            self._memories[key] = memory
        memory.near = near
        seen = await memory.state(self._access.scopes)
        if self.first_state is None:
            self.first_state = seen
        return MemorySnapshot(memory, seen)
