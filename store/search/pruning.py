"""The best chunks of scopes by their postings: all of a query's, or by MaxScore only those of its rare lexemes.

Source: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from memex.store.database import Connection, Rows, Statement, batch
from memex.store.search.bm25 import K1, Query
from memex.store.search.dates import DateRange

# Measured on scopes of 10,000 and 100,000 chunks, in 0.5 µs of the backend's CPU, the cost of one posting.
CHUNK_COST = 17  # of looking up a chunk and reading some lexemes from it
MIN_POSTINGS = 4_000  # below, there is nothing to be gained
FEW_FILES = 200  # that pass a filter, and whose chunks are listed before the rest is looked at
GAIN = 0.8  # of the cost of reading all: an estimate is no promise
FILTERED_GAIN = 0.4  # likewise, where nobody knows how many of the best pass the filters


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of one scope, as a search sees them.

    Attributes:
        scope_id: the scope of the postings.
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
        prefix: the beginning of the path within the scope.
        tag_keys: the file must bear all of these tags, in the form in which tags are compared.
        dated: the days, from the first to the last, one of which the file is of.
        undated: with `dated`, whether files of no day are looked at too.
    """

    prefix: str = ""
    tag_keys: Sequence[str] = field(default=())
    dated: DateRange | None = None
    undated: bool = True

    def allows_day(self, day: date | None) -> bool:
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
    gain = GAIN if filters == NO_FILTERS else FILTERED_GAIN
    sizes = [choose_rare_count(query, scope.df, limit, gain=gain) for scope in scopes]
    found = await batch(
        connection,
        *(
            pruned_statement(query, scope, size, limit=limit, filters=filters)
            if size
            else exhaustive_statement(query, scope, limit=limit, filters=filters)
            for size, scope in zip(sizes, scopes, strict=True)
        ),
    )
    missed = [place for place, size in enumerate(sizes) if size and not found[place]]
    again = await batch(
        connection,
        *(exhaustive_statement(query, scopes[place], limit=limit, filters=filters) for place in missed),
    )
    for place, records in zip(missed, again, strict=True):
        found[place] = records
    return found


def choose_rare_count(query: Query, df: Mapping[str, int], limit: int, *, gain: float = GAIN) -> int:
    """Return how many of a query's rarest lexemes are best read alone, 0 for none; see `search/chunk_score_pruned`.

    Args:
        query: its lexemes from the rarest on.
        df: how many postings each has.
        limit: the number of chunks that are wanted.
        gain: a split must cost less than this share of reading all.

    The cost of each split is estimated: the postings that it reads, and the chunks that come within reach of the
    `limit`-th best. It is taken to score as an average chunk with one occurrence of the lexeme up to which `limit`
    chunks are counted, and chunks of each lexeme evenly from .8 to 1.4 times as much as the average one of them.
    """
    counts = [df.get(lexeme, 0) for lexeme in query.lexemes]
    if sum(counts) < MIN_POSTINGS:
        return 0
    # What one occurrence in a chunk of average length scores.
    typical = [weight / (1 + K1) for weight in query.weights]
    best, cheapest = 0, gain * sum(counts)
    for size in range(1, len(counts)):
        reached = next((place for place in range(size) if sum(counts[: place + 1]) >= limit), None)
        bound = sum(
            weight for weight, count in zip(query.weights[size:], counts[size:], strict=True) if count
        )
        if reached is None or typical[reached] <= bound:
            continue
        wanted = typical[reached] - bound
        near = sum(
            count * min(1.0, max(0.0, (1.4 - wanted / score) / 0.6))
            for count, score in zip(counts[:size], typical[:size], strict=True)
            if score
        )
        cost = sum(counts[:size]) + CHUNK_COST * max(near, limit)
        if cost < cheapest:
            best, cheapest = size, cost
    return best


def exhaustive_statement(query: Query, scope: Postings, *, limit: int, filters: Filters) -> Statement:
    """Return the statement that reads all postings of a query."""
    return "search/chunk_score", {
        "scope_id": scope.scope_id,
        "lexemes": list(query.lexemes),
        "weights": [float(weight) for weight in query.weights],
        "c2": query.c2,
        "c3": query.c3,
        "removed": list(scope.removed),
        "limit": limit,
        "prefix": filters.prefix,
        "tags": sorted(filters.tag_keys),
        "dated_from": filters.dated.first if filters.dated else None,
        "dated_to": filters.dated.last if filters.dated else None,
        "undated": filters.undated,
        "few": 0 if filters == NO_FILTERS else FEW_FILES,
    }


def pruned_statement(query: Query, scope: Postings, size: int, *, limit: int, filters: Filters) -> Statement:
    """Return the statement that reads the postings of the first `size` lexemes; it gives all rows, or none."""
    # A lexeme that does not stand in this scope adds nothing to any chunk of it.
    common = [
        (lexeme, weight)
        for lexeme, weight in list(zip(query.lexemes, query.weights, strict=True))[size:]
        if scope.df.get(lexeme)
    ]
    rare = replace(query, lexemes=query.lexemes[:size], weights=query.weights[:size])
    name, parameters = exhaustive_statement(rare, scope, limit=limit, filters=filters)
    return f"{name}_pruned", parameters | {
        "tried": limit if filters == NO_FILTERS else 4 * limit,
        "common": [lexeme for lexeme, _ in common],
        "common_weights": [float(weight) for _, weight in common],
        "bound": sum(weight for _, weight in common),
        "most": sum(scope.df.values()) // CHUNK_COST,
    }
