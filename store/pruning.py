"""The best chunks of scopes by the postings alone: which statement finds them, and what it is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from memex.store.bm25 import Query
from memex.store.database import Connection, Rows, Statement, batch
from memex.store.dates import Range


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of one scope, as a search sees them.

    Attributes:
        scope_id: whose they are.
        df: in how many chunks of the postings each lexeme of the query stands, `removed` ones included.
        removed: the chunks that the postings hold and the search must not see.
    """

    scope_id: int
    df: Mapping[str, int]
    removed: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Filters:
    """Which files are looked at; what a word is worth does not depend on it.

    Attributes:
        prefix: of the path within the scope.
        tag_keys: that the file bears, all of them, in the form in which tags are compared.
        dated: the days, from the first to the last, one of which the file is of.
        undated: with `dated`, whether files of no day are looked at too.
    """

    prefix: str = ""
    tag_keys: Sequence[str] = field(default=())
    dated: Range | None = None
    undated: bool = True

    def __bool__(self) -> bool:
        return bool(self.prefix or self.tag_keys or self.dated)

    def let_day(self, day: date | None) -> bool:
        """Tell whether a file of a day, or of none, is looked at."""
        if self.dated is None:
            return True
        return self.undated if day is None else self.dated.first <= day <= self.dated.last


NO_FILTERS = Filters()


async def best_chunks(
    connection: Connection,
    query: Query,
    scopes: Sequence[Postings],
    *,
    limit: int,
    filters: Filters = NO_FILTERS,
) -> list[Rows]:
    """Return of each scope the `limit` chunks that score highest, and all that tie with the last of them.

    Rows have chunk_id, score (above 0), file_id, start_char, end_char, length and path (within the scope), in no
    order that counts. Pruning only saves work: it leaves out nothing that belongs there.
    """
    return await batch(
        connection, *(statement(query, scope, limit=limit, filters=filters) for scope in scopes)
    )


def statement(query: Query, scope: Postings, *, limit: int, filters: Filters = NO_FILTERS) -> Statement:
    """Return the statement that finds the best chunks of a scope; see `best_chunks`."""
    parameters: dict[str, Any] = {
        "scope_id": scope.scope_id,
        "lexemes": list(query.lexemes),
        "weights": [float(weight) for weight in query.weights],
        "c2": query.c2,
        "c3": query.c3,
        "removed": list(scope.removed),
        "limit": limit,
    }
    if not filters:
        return "chunk_score", parameters
    return "chunk_score_filtered", parameters | {
        "prefix": filters.prefix,
        "tags": sorted(filters.tag_keys),
        "dated_from": filters.dated.first if filters.dated else None,
        "dated_to": filters.dated.last if filters.dated else None,
        "undated": filters.undated,
    }
