"""The moments that a logged call saw, opened again: each operation sees what its predecessor in the log saw."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from memex.service.included.sections import OPERATION
from memex.service.snapshots import CallSnapshots, Consistency, MemoryView, parse_time
from memex.store.access import Access
from memex.store.database import Connection, Database, Rows, Statement
from memex.store.log.operations import MODEL_REQUEST
from memex.store.memory import Memory
from memex.store.past.memory import PastMemory, check_mounts, open_past
from memex.store.records import NearSpan, Operation
from memex.store.search.hybrid.statement_states import RecordedSimilarities
from memex.store.snapshot.reads import NO_READS, Reads
from memex.subagent.memory_tools import MemorySnapshot

State = Mapping[str, int]
BESIDE_MEMORY = (MODEL_REQUEST, OPERATION)  # operations inside a call that read no memory


def states(operation: Operation) -> list[State]:
    """Return every state that a call and the operations inside it saw, in order."""
    return [part.state for part in (*operation.inner, operation) if part.state]


def access_of(access: Access, operation: Operation) -> Access:
    """Return the access that a call had, as far as it shows in the states that it saw.

    Nothing beyond `access`, that of the caller of the replay, is opened.

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
        project=named if f"projects/{named}" in access.by_mount else None,
    )


def near_spans(logged: Any) -> list[NearSpan] | None:
    """Return what a vector search found, as the log has it."""
    found = (logged or {}).get("near")
    return (
        None
        if found is None
        else [NearSpan(path, (start, end), *compared) for path, start, end, *compared in found]
    )


def similarities_of(logged: Any) -> RecordedSimilarities | None:
    """Return how similar an operation found statements, as the log has it."""
    if "similar" not in (logged or {}):
        return None
    return RecordedSimilarities(logged["asked"], logged["similar"])


@dataclass(frozen=True, slots=True)
class LoggedSnapshots:
    """Opens memory as a logged call saw it: each operation gets the state of its predecessor in the log.

    Attributes:
        access: the access of the call; see `access_of`.
        is_held: one transaction is held for the whole call; else each operation has its own, since a model thinks
            between them.
        near_finds: for how many operations what a vector search found is taken from the log; None for all. Beyond
            the first, a call with something changed may ask other things than the log has.
    """

    database: Database
    access: Access
    operation: Operation
    is_held: bool
    near_finds: int | None

    def narrowed(self, project: str | None) -> "LoggedSnapshots":  # noqa: ARG002  # as `Snapshots`
        """Return itself: no more than what the call saw is open anyway."""
        return self

    @asynccontextmanager
    async def begin(
        self,
        view: MemoryView,
        consistency: Consistency,
        ahead: Reads = NO_READS,  # noqa: ARG002  # as `Snapshots`
        statements: Sequence[Statement] = (),  # noqa: ARG002
    ) -> AsyncIterator[CallSnapshots]:
        """The snapshots of a call that is run again; whatever it asks for, they show what the log says it saw."""
        snapshots = _LoggedCallSnapshots(self, view)
        if not (self.is_held or consistency == "held"):
            yield snapshots
            return
        async with self.database.transaction(self.access, snapshot=True) as connection:
            snapshots.connection = connection
            yield snapshots


class _LoggedCallSnapshots:
    """Gives each operation of a call the moment of its predecessor in the log."""

    def __init__(self, logged: LoggedSnapshots, view: MemoryView) -> None:
        self._logged = logged
        self._view = view
        self._opened = 0
        self._memories: dict[tuple[tuple[str, int], ...], PastMemory] = {}
        self._left = iter(_seen_by(logged.operation))
        self._state: State = next(iter(states(logged.operation)), {})
        self.state: dict[str, int] | None = None
        self.connection: Connection | None = None
        self.held: Memory | None = None
        self.found: Sequence[Rows] = ()

    async def note_state(self) -> None:
        """Do nothing: each operation has read its state."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[MemorySnapshot]:
        """The moment of the next operation."""
        state, response = next(self._left, (None, None))
        self._state = self._state if state is None else state
        near_finds = self._logged.near_finds
        is_near = near_finds is None or self._opened < near_finds
        found = response if is_near else None
        self._opened += 1
        if self.connection is not None:
            yield await self._moment(self.connection, found)
            return
        async with self._logged.database.transaction(self._logged.access, snapshot=True) as connection:
            self._memories.clear()
            yield await self._moment(connection, found)

    async def _moment(self, connection: Connection, response: dict[str, Any] | None) -> MemorySnapshot:
        view, access = self._view, self._logged.access
        key = tuple(sorted(self._state.items()))
        memory = self._memories.get(key)
        if memory is None:
            memory = await open_past(
                connection,
                access,
                dict(self._state),
                now=parse_time(view.as_of) if isinstance(view.as_of, str) else view.now,
                vectors=view.vectors,
                is_present=view.as_of is None,
            )
            self._memories[key] = memory
        memory.near = near_spans(response)
        memory.statements.recorded = similarities_of(response)
        seen = await memory.state(access.scopes)
        if self.state is None:
            self.state = seen
        return MemorySnapshot(memory, seen)


def _seen_by(operation: Operation) -> list[tuple[State | None, dict[str, Any] | None]]:
    """Return the states and responses of what read memory in a call: the operations inside, or the call itself."""
    if not operation.inner:
        return [(operation.state, (operation.response or {}).get("result"))]
    return [(inner.state, inner.response) for inner in operation.inner if inner.kind not in BESIDE_MEMORY]
