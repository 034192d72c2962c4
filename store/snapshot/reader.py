"""Runs the statements of one snapshot. What is known to be needed is read ahead: many with one round trip."""

from collections.abc import Iterable

from memex.store.database import Connection, Rows, Statement, batch


class SnapshotReader:
    """Runs the statements of one snapshot, in which a statement gives the same rows whenever it is run."""

    def __init__(self, connection: Connection) -> None:
        """Make one over a connection in a snapshot transaction, if anything shall be read ahead."""
        self._connection = connection
        self._ahead: list[tuple[Statement, Rows]] = []

    async def read_ahead(self, statements: Iterable[Statement]) -> None:
        """Run statements with one round trip, and keep their rows for `rows`."""
        new = [statement for statement in statements if self._known(statement) is None]
        self._ahead += zip(new, await batch(self._connection, *new), strict=True)

    async def rows(self, *statements: Statement) -> list[Rows]:
        """Return the rows of statements; those that were not read ahead take one round trip."""
        known = [self._known(statement) for statement in statements]
        wanted = [one for one, found in zip(statements, known, strict=True) if found is None]
        read = iter(await batch(self._connection, *wanted))
        return [next(read) if found is None else found for found in known]

    def _known(self, statement: Statement) -> Rows | None:
        return next((rows for known, rows in self._ahead if known == statement), None)
