"""Runs the statements of one snapshot. What is known to be needed is read ahead: many with one round trip."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from psycopg import AsyncCursor
from psycopg.pq import PipelineStatus
from psycopg.rows import RowFactory, dict_row, tuple_row

from memex.store.database import Connection, Statement
from memex.store.sql import sql

# Their rows are tuples, in the order of the columns: a context reads hundreds, and a dict costs more than its row.
AS_TUPLES = frozenset(
    {
        "search/chunk_of_file",
        "memory/link_near",
        "memory/link_back",
        "memory/revision_span",
        "memory/entry_beside",
        "past/revision_span",
        "past/entry_beside",
    }
)

SnapshotRows = list[Any]  # tuples of the statements in `AS_TUPLES`, and dicts of the others


class SnapshotReader:
    """Runs the statements of one snapshot, in which a statement gives the same rows whenever it is run."""

    def __init__(self, connection: Connection) -> None:
        """Make one over a connection in a snapshot transaction, if anything shall be read ahead."""
        self._connection = connection
        self._ahead: list[tuple[Statement, AsyncCursor[Any]]] = []
        self._fetched: dict[int, SnapshotRows] = {}  # by the place of what was read ahead

    async def read_ahead(self, statements: Iterable[Statement]) -> None:
        """Send statements whose rows are asked for later: they come with the next rows that are waited for."""
        new = [statement for statement in statements if self._place(statement) is None]
        self._ahead += zip(new, await self._send(new), strict=True)

    async def rows(self, *statements: Statement) -> list[SnapshotRows]:
        """Return the rows of statements; those that were not read ahead take one round trip."""
        places = [self._place(statement) for statement in statements]
        wanted = [one for one, place in zip(statements, places, strict=True) if place is None]
        sent = iter(await self._send(wanted))
        return [
            await next(sent).fetchall() if place is None else await self._fetch_ahead(place)
            for place in places
        ]

    async def _fetch_ahead(self, place: int) -> SnapshotRows:
        if place not in self._fetched:
            self._fetched[place] = await self._ahead[place][1].fetchall()
        return self._fetched[place]

    async def _send(self, statements: Sequence[Statement]) -> list[AsyncCursor[Any]]:
        """Send several statements with one round trip, and return their cursors."""
        if not statements:
            return []
        connection = self._connection
        # A pipeline inside another one would wait for what was sent before it.
        is_pipeline = connection.pgconn.pipeline_status != PipelineStatus.OFF
        async with nullcontext() if is_pipeline else connection.pipeline():
            cursors: list[AsyncCursor[Any]] = []
            for name, parameters in statements:
                factory: RowFactory[Any] = tuple_row if name in AS_TUPLES else dict_row
                cursors.append(await connection.cursor(row_factory=factory).execute(sql(name), parameters))
        return cursors

    def _place(self, statement: Statement) -> int | None:
        return next((place for place, (known, _) in enumerate(self._ahead) if known == statement), None)
