"""A moment in the past, as an argument names it: a time, or a state that an earlier answer returned."""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, Protocol, runtime_checkable

from pydantic import Field, WrapValidator

from memex.errors import ValidationFailed
from memex.store.access import Access
from memex.store.database import Connection, Database
from memex.store.memory import Memory
from memex.store.past.memory import check_mounts, open_past
from memex.store.records import QueryVector
from memex.subagent.memory_tools import MemorySnapshot

HINT = (
    "Send a time with its zone, such as 2026-11-22T09:30:00Z, or the state of an earlier answer, "
    'such as {"user": 12, "shared": 3}.'
)

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?(?P<zone>[Zz]|[+-]\d\d:\d\d)?", re.ASCII)


def _parse_as_of(value: Any, check: Callable[[Any], Any]) -> Any:
    """Return a time as text, or a state, which may come as JSON in a text: some doors have nothing but text."""
    try:
        is_json = isinstance(value, str) and value.lstrip().startswith("{")
        return check(json.loads(value) if is_json else value)
    except (ValueError, RecursionError):  # pydantic's errors are ValueErrors
        raise ValueError("neither a time nor a state, which counts the changes of each mount") from None


AsOf = Annotated[
    str | dict[str, Annotated[int, Field(ge=0, lt=1 << 62)]],
    WrapValidator(_parse_as_of),
    Field(
        description="Memory as it stood at this time (RFC 3339), or in the `state` that an earlier answer returned."
    ),
]


@runtime_checkable
class HasAsOf(Protocol):
    """Arguments that may name a moment."""

    as_of: AsOf | None


def parse_time(text: str) -> datetime:
    """Return the time that a text names.

    Raises:
        ValidationFailed: it is no time of RFC 3339, or has no zone.
    """
    match = _RFC_3339.fullmatch(text)
    if match is not None and match["zone"] is None:
        raise ValidationFailed(f"as_of {text} has no zone.", hint=HINT)
    try:
        if match is None:
            raise ValueError("no time")
        return datetime.fromisoformat(text.upper())
    except ValueError:
        raise ValidationFailed(f"as_of {text[:100]!r} is no time.", hint=HINT) from None


async def memory_at(
    connection: Connection,
    access: Access,
    as_of: AsOf | None,
    *,
    now: datetime | None = None,
    whole: Access | None = None,
    vectors: Mapping[str, QueryVector] | None = None,
    is_present: bool = False,
) -> Memory:
    """Return memory as it stood at a moment, by default now.

    Args:
        connection: in a snapshot transaction begun for `access`.
        access: whose scopes are read.
        as_of: the moment.
        now: the clock from which times such as `last week` count in queries; with a time in `as_of`, that one.
        whole: the access that a state may name mounts of, where `access` is a part of it.
        vectors: of queries, for now; the past is searched by words alone.
        is_present: as for `open_past`, of a state.

    Raises:
        ValidationFailed: a bad time, or a state with a mount or a number of changes that there is not.
        ProjectNotFound: a state with a project that is none of the user's.
    """
    if as_of is None:
        return Memory(connection, access, vectors, now)
    if isinstance(as_of, str):
        time = parse_time(as_of)
        return await open_past(connection, access, time, now=time)
    check_mounts(whole or access, as_of)
    return await open_past(connection, access, as_of, now=now, is_present=is_present)


class PinnedSnapshot:
    """The moment at which an operation of a call first looked: all later ones see that too, whatever is written.

    While nothing is, they read memory as it stands now; after that they read the past, searched by words alone.
    """

    def __init__(self, database: Database, access: Access, *, whole: Access, now: datetime) -> None:
        """Make one that has not looked yet.

        Args:
            database: that is read, each time in a transaction of its own.
            access: whose scopes are read.
            whole: the access that the caller has, of which `access` may be a part.
            now: the clock from which times in queries count.
        """
        self._database = database
        self._access = access
        self._whole = whole
        self._now = now
        self.state: dict[str, int] | None = None

    @asynccontextmanager
    async def open(
        self, as_of: AsOf | None = None, vectors: Mapping[str, QueryVector] | None = None
    ) -> AsyncIterator[MemorySnapshot]:
        """A snapshot that shows the moment.

        Args:
            as_of: the moment, where the call names one.
            vectors: of queries, for as long as nothing is written.
        """
        async with self._database.transaction(self._access, snapshot=True) as connection:
            memory = await memory_at(
                connection, self._access, as_of, now=self._now, whole=self._whole, vectors=vectors
            )
            state = await memory.state(self._access.scopes)
            if self.state is None:
                self.state = state
            elif state != self.state:
                memory = await memory_at(
                    connection,
                    self._access,
                    dict(self.state),
                    now=self._now,
                    whole=self._whole,
                    is_present=as_of is None,
                )
            yield MemorySnapshot(memory, self.state)
