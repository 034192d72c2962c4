"""The reads of one snapshot. What is known to be needed is read ahead: many statements with one round trip."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memex.store.database import Connection, Rows, Statement, batch
from memex.store.search.bm25 import Query


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads of memory that are known before their turn; see the methods of `Memory` of these names.

    Attributes:
        state: whether the state of all scopes is wanted.
        pinned: the limit of the pinned files, 0 for none.
        series: names of series, each list with its limit.
        passages: paths whose passages a query scores.
        near: virtual paths with the parts of their texts, for their links.
        back: virtual paths, for the links that lead to them.
        files: virtual paths of files that are read whole.
        texts: virtual paths of files of which spans are read, each with the size, in characters, above which its
            text is left where it is.
    """

    state: bool = False
    pinned: int = 0
    series: Sequence[tuple[Sequence[str], int]] = ()
    passages: Sequence[tuple[Query, Sequence[str]]] = ()
    near: Mapping[str, str] = field(default_factory=dict)
    back: Sequence[str] = ()
    files: Sequence[str] = ()
    texts: Mapping[str, int] = field(default_factory=dict)


NO_READS = Reads()


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
