"""The moments at which a call reads memory: now, or in the past, as a time or the state of an earlier answer."""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, WrapValidator

from memex.errors import DiskLow, StoreUnavailable, ValidationFailed
from memex.store.access import Access, Scope
from memex.store.database import Connection, Database, Rows, Statement
from memex.store.log.call import Call
from memex.store.memory import Memory
from memex.store.past.memory import check_mounts, open_past
from memex.store.records import QueryVector
from memex.store.snapshot.reads import NO_READS, Reads
from memex.store.sql import sql
from memex.store.waiting.failures import takes_no_row
from memex.subagent.memory_tools import MemorySnapshot

HINT = (
    "Send a day, such as 2026-11-22, a time with its zone, such as 2026-11-22T09:30:00Z, or the state of an "
    'earlier answer, such as {"user": 12, "shared": 3}.'
)

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?(?P<zone>[Zz]|[+-]\d\d:\d\d)?", re.ASCII)


def _parse_as_of(value: Any, check: Callable[[Any], Any]) -> Any:
    """Return a time as text, or a state, which may come as JSON in a text: some surfaces have nothing but text."""
    try:
        is_json = isinstance(value, str) and value.lstrip().startswith("{")
        return check(json.loads(value) if is_json else value)
    except (ValueError, RecursionError):  # pydantic's errors are ValueErrors
        raise ValueError("neither a time nor a state, which counts the changes of each mount") from None


AsOf = Annotated[
    str | dict[str, Annotated[int, Field(ge=0, lt=1 << 62)]],
    WrapValidator(_parse_as_of),
    Field(
        description="Memory as it stood at this time (RFC 3339), at the end of this day (UTC), or in the `state` "
        "that an earlier answer returned."
    ),
]


def as_of_in(arguments: object) -> AsOf | None:
    """Return the moment that the arguments of a call name, None for now."""
    as_of: AsOf | None = getattr(arguments, "as_of", None)
    return as_of


def parse_time(text: str) -> datetime:
    """Return the time that a text names, of a day its end in UTC.

    Raises:
        ValidationFailed: it is neither a day nor a time of RFC 3339, or the time has no zone.
    """
    if _DAY.fullmatch(text):
        text += "T23:59:59.999999Z"
    match = _RFC_3339.fullmatch(text)
    if match is not None and match["zone"] is None:
        raise ValidationFailed(f"as_of {text} has no zone.", hint=HINT)
    try:
        if match is None:
            raise ValueError("no time")
        return datetime.fromisoformat(text.upper())
    except ValueError:
        raise ValidationFailed(f"as_of {text[:100]!r} is no time.", hint=HINT) from None


@dataclass(frozen=True, slots=True)
class MemoryView:
    """Options of reading memory in a call.

    Attributes:
        as_of: the moment, where the call names one.
        now: the clock from which times such as `last week` count in queries; without one they are only words.
        vectors: the vectors of queries, for the present memory; the past is searched by words alone.
    """

    as_of: AsOf | None = None
    now: datetime | None = None
    vectors: Mapping[str, QueryVector] | None = None


# held: one snapshot for the whole call, in a transaction that lasts as long.
# pinned: a transaction for each operation; all operations see the moment at which the first one looked.
# fresh: a transaction for each operation, which sees memory as it stands then.
Consistency = Literal["held", "pinned", "fresh"]


class CallSnapshots(Protocol):
    """The snapshots of one call.

    Attributes:
        state: the number of changes of each mount that the first snapshot saw; None before there is one. That of a
            snapshot that is held is filled by `note_state`.
        connection: the connection of the transaction, if one is held for the whole call.
        held: the memory that all operations see, if it is one; reads of it can be made ahead.
        found: the rows of the statements that `Snapshots.begin` was given, if it ran them.
    """

    state: dict[str, int] | None
    connection: Connection | None
    held: Memory | None
    found: Sequence[Rows]

    def open(self) -> AbstractAsyncContextManager[MemorySnapshot]:
        """The snapshot of the next operation."""

    async def note_state(self) -> None:
        """Fill `state`, before it is logged. It comes with what was read first, and nobody waits for it alone."""


class Snapshots(Protocol):
    """Opens memory for a call: memory itself, or for a replay the log with the states that the call saw."""

    def narrowed(self, project: str | None) -> "Snapshots":
        """Return the same for what a search in a project covers, and no more; see `Access.narrowed`."""

    def begin(
        self,
        view: MemoryView,
        consistency: Consistency,
        ahead: Reads = NO_READS,
        statements: Sequence[Statement] = (),
    ) -> AbstractAsyncContextManager[CallSnapshots]:
        """The snapshots of a call, which end with the block.

        One that is held makes some reads as it begins, and runs statements on what is no memory, such as the log.
        """


async def memory_at(
    connection: Connection, access: Access, view: MemoryView, *, whole: Access | None = None
) -> Memory:
    """Return memory as it stood at the moment of a view, by default now.

    With a time in `as_of` of the view, times in queries count from that one. `whole` is the access that a state
    may name mounts of, where `access` is a part of it.

    Raises:
        ValidationFailed: a bad time, or a state with a mount or a number of changes that there is not.
        ProjectNotFound: a state with a project that is none of the user's.
    """
    as_of = view.as_of
    if as_of is None:
        return Memory(connection, access, view.vectors, view.now)
    if isinstance(as_of, str):
        time = parse_time(as_of)
        return await open_past(connection, access, time, now=time)
    check_mounts(whole or access, as_of)
    return await open_past(connection, access, as_of, now=view.now)


class LiveSnapshots:
    """Opens memory for the calls of one caller."""

    def __init__(
        self, database: Database, access: Access, *, call: Call | None = None, whole: Access | None = None
    ) -> None:
        """Make one.

        If the call has asked no model, the log row that it writes into a `held` snapshot does not wait for the
        disk. `whole` is the access of the caller, where `access` is a part of it.
        """
        self._database = database
        self._access = access
        self._call = call
        self._whole = whole or access

    def narrowed(self, project: str | None) -> "LiveSnapshots":
        """Return the same for a part of the caller's scopes; see `Snapshots.narrowed`."""
        narrowed = self._access.narrowed(project)
        return LiveSnapshots(self._database, narrowed, call=self._call, whole=self._whole)

    @asynccontextmanager
    async def begin(
        self,
        view: MemoryView,
        consistency: Consistency,
        ahead: Reads = NO_READS,
        statements: Sequence[Statement] = (),
    ) -> AsyncIterator[CallSnapshots]:
        """The snapshots of a call; see `Snapshots.begin`."""
        if consistency != "held":
            yield _OperationSnapshots(
                self._database, self._access, self._whole, view, is_pinned=consistency == "pinned"
            )
            return
        waits_for_disk = self._call is None or self._call.record.has_asked_model
        is_answered = False
        try:
            async with self._database.transaction(
                self._access, snapshot=True, waits_for_disk=waits_for_disk
            ) as connection:
                memory = await memory_at(connection, self._access, view, whole=self._whole)
                sent = [await connection.execute(sql(name), parameters) for name, parameters in statements]
                await memory.read_ahead(replace(ahead, state=True))
                found = [await cursor.fetchall() for cursor in sent]
                yield _HeldSnapshot(memory, self._access.scopes, connection, found)
                is_answered = True
        except (DiskLow, StoreUnavailable) as error:
            # The row of the log is all that is written here. What was read before it is of one moment, whether the
            # row is stored or not.
            if self._call is None or not is_answered or not takes_no_row(error):
                raise
            self._call.record.is_unlogged = True


class _HeldSnapshot:
    """One snapshot for all operations of a call."""

    def __init__(
        self, memory: Memory, scopes: Sequence[Scope], connection: Connection, found: Sequence[Rows]
    ) -> None:
        self._memory, self._scopes = memory, scopes
        self._seen: dict[str, int] = {}  # one object, which the log of each operation holds
        self.found = found
        self.state: dict[str, int] | None = self._seen
        self.connection: Connection | None = connection
        self.held: Memory | None = memory

    def open(self) -> AbstractAsyncContextManager[MemorySnapshot]:
        """Return the same snapshot each time."""
        return nullcontext(MemorySnapshot(self._memory, self._seen))

    async def note_state(self) -> None:
        """Read the state, which came with what was read first."""
        self._seen.update(await self._memory.state(self._scopes))


class _OperationSnapshots:
    """A snapshot for each operation of a call.

    If the snapshots are pinned, all operations see the moment of the first one. As long as nobody has written
    since, they read the live memory; afterwards they read the past, which is searched by words alone.
    """

    def __init__(
        self, database: Database, access: Access, whole: Access, view: MemoryView, *, is_pinned: bool
    ) -> None:
        self._database = database
        self._access = access
        self._whole = whole
        self._view = view
        self._is_pinned = is_pinned
        self.found: Sequence[Rows] = ()
        self.state: dict[str, int] | None = None
        self.connection: Connection | None = None
        self.held: Memory | None = None

    async def note_state(self) -> None:
        """Do nothing: each operation has read its state."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[MemorySnapshot]:
        """Open a snapshot in a transaction of its own."""
        access, view = self._access, self._view
        async with self._database.transaction(access, snapshot=True) as connection:
            memory = await memory_at(connection, access, view, whole=self._whole)
            state = await memory.state(access.scopes)
            if self.state is None or not self._is_pinned:
                self.state = state
            elif state != self.state:
                is_present = view.as_of is None
                memory = await open_past(connection, access, self.state, now=view.now, is_present=is_present)
            yield MemorySnapshot(memory, self.state)
