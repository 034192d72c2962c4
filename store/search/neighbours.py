"""Short files in a numbered series, scored with their neighbours; `series` says what they borrow."""

from collections.abc import Iterable, Mapping, Sequence

from memex.store.database import Connection, Rows, batch
from memex.store.search import series
from memex.store.search.bm25 import term_scores
from memex.store.search.lexical import (
    AddedChunk,
    Filters,
    ScopeView,
    ScoredChunk,
    added_chunk,
    is_allowed,
    scored_added,
)

MAX_RESCORED_FILES = 15  # files, the best, whose neighbours in a series are looked at


async def add_neighbours(
    connection: Connection, views: Sequence[ScopeView], best: Sequence[ScoredChunk], filters: Filters
) -> list[ScoredChunk]:
    """Return what of the best chunks, or beside them, stands in a numbered series: scored with its neighbours.

    Args:
        connection: in the snapshot of the search.
        views: the scopes searched.
        best: the best chunk of each of the best files; more than 15 are not looked at.
        filters: the filters of the search. A file that they leave out may lend words, and is not returned.
    """
    by_scope: dict[int, list[ScoredChunk]] = {}
    with_series = {view.scope.scope_id for view in views if view.has_series}
    for candidate in best[:MAX_RESCORED_FILES]:
        is_short = candidate.length < series.MAX_SHORT_LEXEMES and candidate.scope.scope_id in with_series
        if is_short and series.neighbours(candidate.relative_path, 1):
            by_scope.setdefault(candidate.scope.scope_id, []).append(candidate)
    wanted = [view for view in views if view.scope.scope_id in by_scope]
    reach = max(series.SHARE_BY_DISTANCE)
    paths = {scope_id: _series_paths(candidates, 2 * reach) for scope_id, candidates in by_scope.items()}
    read = await batch(
        connection,
        *(
            (
                "search/chunk_alone",
                {
                    "scope_id": view.scope.scope_id,
                    "paths": paths[view.scope.scope_id],
                    "lexemes": list(view.query.lexemes),
                },
            )
            for view in wanted
        ),
    )
    found: list[ScoredChunk] = []
    for view, records in zip(wanted, read, strict=True):
        chunks = _single_chunks(view, records, frozenset(paths[view.scope.scope_id]))
        centres = {candidate.path for candidate in by_scope[view.scope.scope_id]}
        near = {
            path for path in chunks if centres & set(map(view.scope.virtual, _with_neighbours(path, reach)))
        }
        found += (_rescore(view, path, chunks) for path in sorted(near) if is_allowed(filters, chunks[path]))
    return [candidate for candidate in found if candidate.score > 0]


def _series_paths(candidates: Iterable[ScoredChunk], reach: int) -> list[str]:
    """Return the paths of chunks' files and of the files up to `reach` places before or after them."""
    return sorted(
        {path for candidate in candidates for path in _with_neighbours(candidate.relative_path, reach)}
    )


def _with_neighbours(path: str, reach: int) -> list[str]:
    return [path, *series.neighbours(path, reach).values()]


def _single_chunks(one: ScopeView, records: Rows, paths: frozenset[str]) -> dict[str, AddedChunk]:
    """Return the only chunks of files, by path: those that stand, corrected by what a past moment saw."""
    found: dict[str, list[AddedChunk]] = {}
    for chunk in (added_chunk(one.query.lexemes, **record) for record in records):
        if chunk.chunk_id not in one.hidden:
            found.setdefault(chunk.path, []).append(chunk)
    for chunk in one.added:
        if chunk.detail is not None and chunk.path in paths:
            found.setdefault(chunk.path, []).append(chunk)
    return {path: chunks[0] for path, chunks in found.items() if len(chunks) == 1}


def _rescore(one: ScopeView, path: str, chunks: Mapping[str, AddedChunk]) -> ScoredChunk:
    chunk = chunks[path]
    own = term_scores(one.query, chunk.tfs, chunk.length)
    around = [
        (distance, term_scores(one.query, chunks[near].tfs, chunks[near].length))
        for distance, near in series.neighbours(path, max(series.SHARE_BY_DISTANCE)).items()
        if near in chunks and chunks[near].length < series.MAX_SHORT_LEXEMES
    ]
    borrowed = series.borrow_scores(own, chunk.length, around) if own else {}
    return scored_added(one, chunk, own, borrowed)
