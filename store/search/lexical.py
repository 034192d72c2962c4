"""Exact BM25 over scopes at one moment: the postings, corrected by chunks that the postings lack or still hold."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Protocol

from memex.store.access import Scope
from memex.store.database import Connection, Rows, batch
from memex.store.records import Span
from memex.store.search import pruning, series
from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import Query, term_score, weigh
from memex.store.search.pruning import Filters, Postings

MAX_RESCORED_FILES = 15  # files, the best, whose neighbours in a series are looked at


@dataclass(frozen=True, slots=True)
class RemovedChunk:
    """A chunk that a search must not see; `tfs` are those of the query's lexemes at least."""

    chunk_id: int
    length: int
    tfs: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChunkDetail:
    """What a hit shows of a chunk: the chunk's text and its file, as `search/chunk_read` returns them.

    `tfs` says how often each lexeme of the query stands in the chunk, in the order of the query. `body_start` is
    where the file's text without front matter begins.
    """

    chunk_id: int
    heading_path: Sequence[str]
    length: int
    start_char: int
    end_char: int
    version: int
    title: str
    size_chars: int
    dated: date | None
    body_start: int
    text: str
    tfs: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class AddedChunk:
    """A chunk that a search must see though the postings lack it.

    Attributes:
        chunk_id: as it is stored; below 0 for one of a past revision.
        file_id: the id of its file.
        path: the path of the file, relative to the scope.
        span: in the file.
        length: in lexemes.
        tfs: how often each lexeme occurs, at least for those of the query.
        tag_keys: the tags of the file, as they are compared.
        dated: the day that the file is of, None when it says none.
        detail: what a hit shows, for a chunk that is not stored.
    """

    chunk_id: int
    file_id: int
    path: str
    span: Span
    length: int
    tfs: Mapping[str, int]
    tag_keys: tuple[str, ...] = ()
    dated: date | None = None
    detail: ChunkDetail | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """How a scope that a search sees differs from its postings; `n` and `total_length` correct the totals."""

    removed: tuple[RemovedChunk, ...] = ()
    added: tuple[AddedChunk, ...] = ()
    n: int = 0
    total_length: int = 0


class PastMoment(Protocol):
    """A moment in the past."""

    async def delta(self, connection: Connection, scope: Scope, lexemes: Sequence[str]) -> Delta:
        """Return how a scope differed then from what stands now: `removed` are chunks that stand now."""


@dataclass(frozen=True, slots=True)
class ScopeView:
    """A scope as one search sees it: the query in its language, the postings, added chunks and hidden chunks."""

    scope: Scope
    query: Query
    postings: Postings
    added: tuple[AddedChunk, ...]
    hidden: frozenset[int]


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """A chunk with its score, and the scores that it borrows from its neighbours in a series, by lexeme."""

    score: int
    path: str  # virtual
    span: Span
    scope: Scope
    chunk_id: int
    file_id: int
    length: int
    borrowed: Mapping[str, int] = field(default_factory=dict)
    added: AddedChunk | None = None

    @property
    def order(self) -> tuple[int, str, int]:
        """Best first; ties by path, then by place."""
        return -self.score, self.path, self.span[0]

    @property
    def relative_path(self) -> str:
        """The path below its mount."""
        return self.path.removeprefix(f"{self.scope.mount}/")


@dataclass(frozen=True, slots=True)
class BestChunks:
    """The best chunks, best first. Files are complete down to the score `cut`; at 0 there are no more."""

    candidates: tuple[ScoredChunk, ...]
    cut: int


async def open_views(
    connection: Connection,
    scopes: Sequence[Scope],
    text: str,
    past: PastMoment | None = None,
    languages: Sequence[str] = (),
) -> tuple[Query, list[ScopeView]]:
    """Return a query as it is weighed over scopes, and each scope as this search sees it.

    The statistics are sums over the scopes, each read in its own language. The query is read in those, and in
    `languages` before them.
    """
    read_in = dict.fromkeys((*languages, *(scope.language for scope in scopes)))
    lexemes = {language: analyzer_of(language).lexemes(text) for language in read_in}
    totals, *read = await batch(
        connection,
        ("search/search_totals", {"scope_ids": [scope.scope_id for scope in scopes]}),
        *(
            (name, {"scope_id": scope.scope_id, "lexemes": list(dict.fromkeys(lexemes[scope.language]))})
            for scope in scopes
            for name in ("search/lexeme_frequency", "search/chunk_pending")
        ),
    )
    deltas, frequencies, hidden = [], [], []
    for place, scope in enumerate(scopes):
        counted, pending = read[2 * place : 2 * place + 2]
        wanted = list(dict.fromkeys(lexemes[scope.language]))
        then = await past.delta(connection, scope, wanted) if past is not None else Delta()
        deltas.append(combine(_pending(pending, wanted), then))
        hidden.append(frozenset(chunk.chunk_id for chunk in then.removed))
        frequencies.append({record["lexeme"]: record["df"] for record in counted})
    df: Counter[str] = Counter()
    for frequency, delta in zip(frequencies, deltas, strict=True):
        df.update(frequency)
        df.subtract(Counter(lexeme for chunk in delta.removed for lexeme, tf in chunk.tfs.items() if tf))
        df.update(Counter(lexeme for chunk in delta.added for lexeme, tf in chunk.tfs.items() if tf))
    repeats: Counter[str] = Counter()
    for of_language in lexemes.values():
        repeats |= Counter(of_language)
    query = weigh(
        repeats.elements(),
        n=sum(record["n"] for record in totals) + sum(delta.n for delta in deltas),
        total_length=sum(record["total_length"] for record in totals)
        + sum(delta.total_length for delta in deltas),
        df=df,
        light=frozenset().union(*(analyzer_of(language).light_lexemes for language in lexemes)),
    )
    return query, [
        ScopeView(
            scope,
            _restrict(query, frozenset(lexemes[scope.language])),
            Postings(scope.scope_id, frequency, [chunk.chunk_id for chunk in delta.removed]),
            delta.added,
            unseen,
        )
        for scope, frequency, delta, unseen in zip(scopes, frequencies, deltas, hidden, strict=True)
    ]


def combine(pending: Delta, past: Delta) -> Delta:
    """Return how a past moment differs from postings that themselves differ from what stands now."""
    gone = {chunk.chunk_id for chunk in past.removed}
    unposted = {chunk.chunk_id for chunk in pending.added}
    return Delta(
        removed=(*pending.removed, *(chunk for chunk in past.removed if chunk.chunk_id not in unposted)),
        added=(*(chunk for chunk in pending.added if chunk.chunk_id not in gone), *past.added),
        n=pending.n + past.n,
        total_length=pending.total_length + past.total_length,
    )


async def best_chunks(
    connection: Connection, views: Sequence[ScopeView], *, limit: int, filters: Filters
) -> BestChunks:
    """Return the `limit` chunks of each scope that score highest, and all that tie with the last of them."""
    by_query: dict[Query, list[ScopeView]] = {}
    for one in views:
        by_query.setdefault(one.query, []).append(one)
    candidates: list[ScoredChunk] = []
    cut = 0
    for query, alike in by_query.items():
        postings = [one.postings for one in alike]
        found = await pruning.best_chunks(connection, query, postings, limit=limit, filters=filters)
        for one, records in zip(alike, found, strict=True):
            mine = [*(_scored_chunk(one.scope, **record) for record in records), *_score_added(one, filters)]
            # What is in no posting came without a limit: cut here, a chunk counts alike wherever it is kept.
            # Ties come along, so a scope that gave fewer has no more; of the others every chunk at least as good
            # as the last is here, and files are complete down to the best of those last scores.
            if len(mine) >= limit:
                last = sorted(candidate.score for candidate in mine)[-limit]
                mine = [candidate for candidate in mine if candidate.score >= last]
                cut = max(cut, last)
            candidates += mine
    return BestChunks(tuple(sorted(candidates, key=lambda candidate: candidate.order)), cut)


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
    for candidate in best[:MAX_RESCORED_FILES]:
        if candidate.length < series.MAX_SHORT_LEXEMES and series.neighbours(candidate.relative_path, 1):
            by_scope.setdefault(candidate.scope.scope_id, []).append(candidate)
    wanted = [one for one in views if one.scope.scope_id in by_scope]
    reach = max(series.SHARE_BY_DISTANCE)
    paths = {scope_id: _series_paths(candidates, 2 * reach) for scope_id, candidates in by_scope.items()}
    read = await batch(
        connection,
        *(
            (
                "search/chunk_alone",
                {
                    "scope_id": one.scope.scope_id,
                    "paths": paths[one.scope.scope_id],
                    "lexemes": list(one.query.lexemes),
                },
            )
            for one in wanted
        ),
    )
    found: list[ScoredChunk] = []
    for one, records in zip(wanted, read, strict=True):
        chunks = _single_chunks(one, records, frozenset(paths[one.scope.scope_id]))
        centres = {candidate.path for candidate in by_scope[one.scope.scope_id]}
        near = {
            path for path in chunks if centres & set(map(one.scope.virtual, _with_neighbours(path, reach)))
        }
        found += (_rescore(one, path, chunks) for path in sorted(near) if _is_allowed(filters, chunks[path]))
    return [candidate for candidate in found if candidate.score > 0]


def _series_paths(candidates: Iterable[ScoredChunk], reach: int) -> list[str]:
    """Return the paths of chunks' files and of the files up to `reach` places before or after them."""
    return sorted({path for one in candidates for path in _with_neighbours(one.relative_path, reach)})


def _with_neighbours(path: str, reach: int) -> list[str]:
    return [path, *series.neighbours(path, reach).values()]


def term_scores(query: Query, tfs: Mapping[str, int], length: int) -> dict[str, int]:
    """Return what each lexeme of a query scores in a chunk, where it stands there."""
    scores = {
        lexeme: term_score(weight, tfs[lexeme], length, query.c2, query.c3)
        for lexeme, weight in zip(query.lexemes, query.weights, strict=True)
        if tfs.get(lexeme)
    }
    return {lexeme: value for lexeme, value in scores.items() if value}


def _pending(records: Rows, lexemes: Sequence[str]) -> Delta:
    read = [_pending_chunk(lexemes, **record) for record in records]
    return Delta(
        removed=tuple(chunk for chunk in read if isinstance(chunk, RemovedChunk)),
        added=tuple(chunk for chunk in read if isinstance(chunk, AddedChunk)),
    )


def _pending_chunk(
    lexemes: Sequence[str], *, pending: int, chunk_id: int, length: int, tfs: Sequence[int], **columns: Any
) -> RemovedChunk | AddedChunk:
    """Return a chunk that the postings lack, or hold though it is gone, from the columns of its row."""
    if pending < 0:
        return removed_chunk(lexemes, chunk_id=chunk_id, length=length, tfs=tfs)
    return _added_chunk(lexemes, chunk_id=chunk_id, length=length, tfs=tfs, **columns)


def removed_chunk(lexemes: Sequence[str], *, chunk_id: int, length: int, tfs: Sequence[int]) -> RemovedChunk:
    """Return a chunk that a search must not see, from the columns of its row."""
    return RemovedChunk(chunk_id, length, dict(zip(lexemes, tfs, strict=True)))


def _added_chunk(
    lexemes: Sequence[str],
    *,
    start_char: int,
    end_char: int,
    tfs: Sequence[int],
    tag_keys: Sequence[str],
    **columns: Any,
) -> AddedChunk:
    """Return a chunk as a search sees it, from the columns of its row."""
    return AddedChunk(
        span=(start_char, end_char),
        tfs=dict(zip(lexemes, tfs, strict=True)),
        tag_keys=tuple(tag_keys),
        **columns,
    )


def _is_allowed(filters: Filters, chunk: AddedChunk) -> bool:
    is_named = chunk.path.startswith(filters.prefix) and set(filters.tag_keys) <= set(chunk.tag_keys)
    return is_named and filters.allows_day(chunk.dated)


def _restrict(query: Query, lexemes: frozenset[str]) -> Query:
    """Return the part of a query that is in these lexemes."""
    if lexemes.issuperset(query.lexemes):
        return query
    kept = [pair for pair in zip(query.lexemes, query.weights, strict=True) if pair[0] in lexemes]
    return replace(
        query, lexemes=tuple(lexeme for lexeme, _ in kept), weights=tuple(weight for _, weight in kept)
    )


def _scored_chunk(
    scope: Scope,
    *,
    path: str,
    start_char: int,
    end_char: int,
    chunk_id: int,
    file_id: int,
    length: int,
    score: int,
) -> ScoredChunk:
    """Return a chunk that scored, from the columns of its row."""
    return ScoredChunk(score, scope.virtual(path), (start_char, end_char), scope, chunk_id, file_id, length)


def _score_added(one: ScopeView, filters: Filters) -> list[ScoredChunk]:
    """Return the chunks that score though no posting says so."""
    scored = [
        _scored_added(one, chunk, term_scores(one.query, chunk.tfs, chunk.length), {})
        for chunk in one.added
        if _is_allowed(filters, chunk)
    ]
    return [candidate for candidate in scored if candidate.score > 0]


def _scored_added(
    one: ScopeView, chunk: AddedChunk, scores: Mapping[str, int], borrowed: Mapping[str, int]
) -> ScoredChunk:
    return ScoredChunk(
        score=sum(scores.values()) + sum(borrowed.values()),
        path=one.scope.virtual(chunk.path),
        span=chunk.span,
        scope=one.scope,
        chunk_id=chunk.chunk_id,
        file_id=chunk.file_id,
        length=chunk.length,
        borrowed=borrowed,
        added=chunk if chunk.detail is not None else None,
    )


def _single_chunks(one: ScopeView, records: Rows, paths: frozenset[str]) -> dict[str, AddedChunk]:
    """Return the only chunks of files, by path: those that stand, corrected by what a past moment saw."""
    found: dict[str, list[AddedChunk]] = {}
    for chunk in (_added_chunk(one.query.lexemes, **record) for record in records):
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
    return _scored_added(one, chunk, own, borrowed)
