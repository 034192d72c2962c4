"""Runs the statements of one snapshot. What is known to be needed is read ahead: many with one round trip."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

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
        "memory/file_text",
        "memory/revision_span",
        "past/revision_span",
    }
)

SnapshotRows = list[Any]  # tuples of the statements in `AS_TUPLES`, and dicts of the others


class SnapshotReader:
    """Runs the statements of one snapshot, in which a statement gives the same rows whenever it is run."""

    def __init__(self, connection: Connection) -> None:
        """Make one over a connection in a snapshot transaction, if anything shall be read ahead."""
        self._connection = connection
        self._ahead: list[tuple[Statement, SnapshotRows]] = []

    async def read_ahead(self, statements: Iterable[Statement]) -> None:
        """Run statements with one round trip, and keep their rows for `rows`."""
        new = [statement for statement in statements if self._known(statement) is None]
        self._ahead += zip(new, await self._batch(new), strict=True)

    async def rows(self, *statements: Statement) -> list[SnapshotRows]:
        """Return the rows of statements; those that were not read ahead take one round trip."""
        known = [self._known(statement) for statement in statements]
        wanted = [one for one, found in zip(statements, known, strict=True) if found is None]
        read = iter(await self._batch(wanted))
        return [next(read) if found is None else found for found in known]

    async def _batch(self, statements: Sequence[Statement]) -> list[SnapshotRows]:
        """Run several statements with one round trip, and return the rows of each."""
        if not statements:
            return []
        connection = self._connection
        # A pipeline inside another one would wait for what was sent before it.
        is_pipeline = connection.pgconn.pipeline_status != PipelineStatus.OFF
        async with nullcontext() if is_pipeline else connection.pipeline():
            cursors = []
            for name, parameters in statements:
                factory: RowFactory[Any] = tuple_row if name in AS_TUPLES else dict_row
                cursors.append(await connection.cursor(row_factory=factory).execute(sql(name), parameters))
        return [await cursor.fetchall() for cursor in cursors]

    def _known(self, statement: Statement) -> SnapshotRows | None:
        return next((rows for known, rows in self._ahead if known == statement), None)
