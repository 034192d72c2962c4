"""Exact BM25 over scopes at one moment: the postings, corrected by chunks that the postings lack or still hold."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, NamedTuple, Protocol

from memex.store.access import Scope
from memex.store.database import Connection, Statement, batch, tuples
from memex.store.entry_path import is_entry
from memex.store.records import Span, maker
from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import MAX_QUERY_LEXEMES, Query, most_score, named_tfs, term_scores, weigh
from memex.store.search.dates import DateRange
from memex.store.search.postings import Postings, ScoredChunks, to_chunk_ids, to_ranges

FEW_FILES = 200  # that pass a filter, and whose chunks are listed before any chunk is scored
TRIED = 4  # times as many chunks as are wanted are looked at, where many files pass
MORE = 8  # times as many the next time, if too few of them passed


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters of the files that are looked at; the weights of words do not depend on them.

    Attributes:
        prefix: the beginning of the path within the scope.
        tag_keys: the file must bear all of these tags, in the form in which tags are compared; sorted.
        dated: the days, from the first to the last, one of which the file is of.
        undated: with `dated`, whether files of no day are looked at too.
        entries: whether entries of the journal are looked at.
        about: of the entries, those alone that were told about this project or about none.
    """

    prefix: str = ""
    tag_keys: tuple[str, ...] = ()
    dated: DateRange | None = None
    undated: bool = True
    entries: bool = True
    about: str | None = None

    def allows_day(self, day: date | None) -> bool:
        """Tell whether a file of a day, or of none, is looked at."""
        if self.dated is None:
            return True
        return self.undated if day is None else self.dated.first <= day <= self.dated.last

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of a statement that filters."""
        return {
            "prefix": self.prefix,
            "tags": list(self.tag_keys),
            "dated_from": self.dated.first if self.dated else None,
            "dated_to": self.dated.last if self.dated else None,
            "undated": self.undated,
            "entries": self.entries,
            "about": self.about,
        }

    def allows_entry(self, path: str, about: str | None) -> bool:
        """Tell whether a file is looked at; all but entries are. `about` is the project of an entry, if any."""
        if not is_entry(path):
            return True
        return self.entries and (about is None or self.about is None or about == self.about)


NO_FILTERS = Filters()
NO_LEXEMES: Mapping[str, int] = {}


class ChunkDetail(NamedTuple):  # as `ScoredChunk`
    """The parts of a hit that come from a chunk: its text and its file, as `search/chunk_read` returns them.

    `tfs` says how often each lexeme of the query stands in the chunk, where it does. `body_start` is where the
    file's text without front matter begins.
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
    tags: Sequence[str]
    updated_at: datetime
    body_start: int
    text: str
    tfs: Mapping[str, int] = NO_LEXEMES


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
        about: the project that an entry of the journal was told about, if any.
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
    about: str | None = None
    detail: ChunkDetail | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    """The difference between a scope at a past moment and now.

    Attributes:
        removed: the ids of the chunks that stand now and did not stand then.
        added: the chunks that stood then and do not stand now.
        n: what the number of chunks then was above that of now.
        total_length: likewise for their length, in lexemes.
    """

    removed: frozenset[int] = frozenset()
    added: tuple[AddedChunk, ...] = ()
    n: int = 0
    total_length: int = 0


class PastMoment(Protocol):
    """A moment in the past."""

    async def delta(self, connection: Connection, scope: Scope, lexemes: Sequence[str]) -> Delta:
        """Return how a scope differed then from what stands now."""


@dataclass(frozen=True, slots=True)
class ScopeView:
    """A scope as one search sees it.

    Attributes:
        scope: the scope.
        query: the part of the query that is in the scope's language.
        scored: the chunks of its postings that score.
        passing: for each filter that few files pass, the ids of their chunks.
        added: chunks of the past, which no posting knows.
        hidden: the ids of the chunks that stand now and that the search must not see.
        has_series: whether short files stand in a numbered series.
        postings: those of the query's lexemes.
    """

    scope: Scope
    query: Query
    scored: ScoredChunks
    passing: Mapping[Filters, Any]
    added: tuple[AddedChunk, ...]
    hidden: frozenset[int]
    has_series: bool
    postings: Postings

    def candidates(self, filters: Filters) -> ScoredChunks:
        """Return the chunks of the postings that can pass a filter; where many files pass, all that score."""
        passing = self.passing.get(filters)
        return self.scored if passing is None else self.scored.among(passing)

    def is_any_found(self, filters: Filters) -> bool:
        """Tell whether a chunk of a file that passes a filter scores; few files pass the filter."""
        return bool(len(self.candidates(filters)) or _score_added(self, filters))


class ScoredChunk(NamedTuple):  # a search makes hundreds, and a dataclass takes three times as long
    """A chunk with its score.

    `borrowed` are the scores that it borrows from its neighbours in a series, by lexeme. `detail` is what a hit
    shows of it, where that was read already.
    """

    score: int
    path: str  # virtual
    span: Span
    scope: Scope
    chunk_id: int
    file_id: int
    length: int
    borrowed: Mapping[str, int] = NO_LEXEMES
    added: AddedChunk | None = None
    detail: ChunkDetail | None = None

    @property
    def order(self) -> tuple[int, str, int]:
        """Best first; ties by path, then by place."""
        return -self.score, self.path, self.span[0]

    @property
    def relative_path(self) -> str:
        """The path below its mount."""
        return self.path.removeprefix(f"{self.scope.mount}/")


_make_chunk, _make_detail = maker(ScoredChunk), maker(ChunkDetail)


@dataclass(frozen=True, slots=True)
class BestChunks:
    """The best chunks, best first. Files are complete down to the score `cut`; at 0 there are no more."""

    candidates: tuple[ScoredChunk, ...]
    cut: int


@dataclass(frozen=True, slots=True)
class Shown:
    """Of which of the best files, and of how many chunks of each, what a hit shows is read at once.

    Attributes:
        files: so many of them.
        chunks: so many of each.
        chars: and so many characters of these chunks, the last file whole; None for all.
    """

    files: int = 0
    chunks: int = 1
    chars: int | None = None


async def open_views(
    connection: Connection,
    scopes: Sequence[Scope],
    text: str,
    past: PastMoment | None = None,
    languages: Sequence[str] = (),
    filters: Iterable[Filters] = (),
    ranges: Statement | None = None,
) -> tuple[Query, list[ScopeView]]:
    """Return a query as it is weighed over scopes, and each scope as this search sees it, in one round trip.

    The statistics are sums over the scopes, each read in its own language. The query is read in those, and in
    `languages` before them. `filters` are those that will be asked for. `ranges` is a statement whose row says
    between which ids, `firsts` and `lasts`, chunks are scored; the statistics are those of all.
    """
    read_in = dict.fromkeys((*languages, *(scope.language for scope in scopes)))
    lexemes = {language: analyzer_of(language).lexemes(text) for language in read_in}
    deltas = {
        scope.scope_id: await past.delta(connection, scope, sorted(set(lexemes[scope.language])))
        if past is not None
        else Delta()
        for scope in scopes
    }
    wanted = list(dict.fromkeys(lexeme for of_language in lexemes.values() for lexeme in of_language))
    if len(wanted) > MAX_QUERY_LEXEMES:
        wanted = await _seldom(connection, wanted, deltas)
    read_lexemes = frozenset(wanted)
    narrowing = [some for some in dict.fromkeys(filters) if some != NO_FILTERS]
    totals, read, *passing = await batch(
        connection,
        ("search/search_totals", {"scope_ids": list(deltas)}),
        ("search/posting_read", {"scope_ids": list(deltas), "lexemes": wanted}),
        *(_passing_statement(list(deltas), some_filters) for some_filters in narrowing),
        *([ranges] if ranges else []),
    )
    among = to_ranges(**passing.pop()[0]) if ranges else None
    total_of = {record["scope_id"]: record for record in totals}
    runs: dict[int, dict[str, bytes]] = {scope_id: {} for scope_id in deltas}
    for record in read:
        runs[record["scope_id"]][record["lexeme"]] = record["entries"]
    few = {
        (one, record["scope_id"]): to_chunk_ids(record["chunk_ids"])
        for one, records in zip(narrowing, passing, strict=True)
        for record in records
    }
    postings: dict[int, Postings] = {}
    df: Counter[str] = Counter()
    for scope in scopes:
        then, mine = deltas[scope.scope_id], frozenset(lexemes[scope.language])
        own = {lexeme: run for lexeme, run in runs[scope.scope_id].items() if lexeme in mine}
        hidden = (*total_of[scope.scope_id]["removed"], *then.removed)
        postings[scope.scope_id] = Postings(own, hidden)
        df.update(postings[scope.scope_id].df)
        df.update(Counter(lexeme for chunk in then.added for lexeme, tf in chunk.tfs.items() if tf))
    repeats: Counter[str] = Counter()
    for of_language in lexemes.values():
        repeats |= Counter(of_language)
    n = sum(record["n"] for record in totals) + sum(delta.n for delta in deltas.values())
    light = frozenset().union(*(analyzer_of(language).light_lexemes for language in lexemes))
    query = weigh(
        repeats.elements(),
        n=n,
        total_length=sum(record["total_length"] for record in totals)
        + sum(delta.total_length for delta in deltas.values()),
        df=df,
        light=light,
    )
    # A question is in one language: the one in which most of its words are known.
    # A word whose postings were not read is a common one, and among the highest weights in no case.
    of_languages = [[lexeme for lexeme in one if lexeme in read_lexemes] for one in lexemes.values()]
    most = min((most_score(query, language, n=n, df=df, light=light) for language in of_languages), default=1)
    query = replace(query, most=most)
    views = []
    for scope in scopes:
        own_query = _restrict(query, frozenset(lexemes[scope.language]))
        views.append(
            ScopeView(
                scope=scope,
                query=own_query,
                scored=postings[scope.scope_id].score(own_query, among),
                passing={
                    some_filters: few[some_filters, scope.scope_id]
                    for some_filters in narrowing
                    if (some_filters, scope.scope_id) in few
                },
                added=deltas[scope.scope_id].added,
                hidden=deltas[scope.scope_id].removed,
                has_series=total_of[scope.scope_id]["has_series"],
                postings=postings[scope.scope_id],
            )
        )
    return query, views


async def _seldom(connection: Connection, lexemes: Sequence[str], deltas: Mapping[int, Delta]) -> list[str]:
    """Return those of many lexemes that can be among the rarest, which alone are weighed; in their order.

    The numbers in the merged postings differ from the true ones by no more than the chunks that a search adds to
    the postings or hides.
    """
    [counted, waiting] = await batch(
        connection,
        ("search/lexeme_frequency", {"scope_ids": list(deltas), "lexemes": list(lexemes)}),
        ("search/unmerged_count", {"scope_ids": list(deltas)}),
    )
    unsure = waiting[0]["unmerged"] + sum(len(delta.removed) + len(delta.added) for delta in deltas.values())
    df = {record["lexeme"]: record["df"] for record in counted}
    sure = sorted(number for number in df.values() if number > unsure)
    most = sure[MAX_QUERY_LEXEMES - 1] if len(sure) >= MAX_QUERY_LEXEMES else float("inf")
    return [lexeme for lexeme in lexemes if df.get(lexeme, 0) <= most + 2 * unsure]


def _passing_statement(scope_ids: Sequence[int], filters: Filters) -> Statement:
    parameters = {"scope_ids": scope_ids, "few": FEW_FILES} | filters.parameters()
    return "search/chunk_passing", parameters


async def best_chunks(
    connection: Connection,
    views: Sequence[ScopeView],
    query: Query,
    *,
    limit: int,
    filters: Filters,
    shown: Shown = Shown(),  # frozen
) -> BestChunks:
    """Return the `limit` chunks of each scope that score highest, and all that tie with the last of them.

    Args:
        connection: in the snapshot of the search.
        views: the scopes searched.
        query: the query over all of them.
        limit: the number of chunks.
        filters: which files are looked at; among those that `open_views` got.
        shown: of which of the chunks the detail is read too.
    """
    by_id = {scope_view.scope.scope_id: scope_view for scope_view in views}
    pools = {scope_id: one.candidates(filters) for scope_id, one in by_id.items()}
    # Of these every chunk passes; of the others the best are looked at, and all where too few of those pass.
    exact = {scope_id for scope_id, one in by_id.items() if filters == NO_FILTERS or filters in one.passing}
    many = TRIED * limit
    tried = {scope_id: pool.best(limit if scope_id in exact else many) for scope_id, pool in pools.items()}
    found = await _locate(connection, by_id, tried, query, filters, shown, limit)
    while again := [
        scope_id
        for scope_id, some in tried.items()
        if scope_id not in exact and len(found[scope_id]) < limit and len(some) < len(pools[scope_id])
    ]:
        many *= MORE
        tried = {scope_id: pools[scope_id].best(many) for scope_id in again}
        found |= await _locate(connection, by_id, tried, query, filters, shown, limit)
    candidates: list[ScoredChunk] = []
    cut = 0
    for view in views:
        mine = [*found[view.scope.scope_id], *_score_added(view, filters)]
        # What is in no posting came without a limit: cut here, a chunk counts alike wherever it is kept.
        # Ties come along, so a scope that gave fewer has no more; of the others every chunk at least as good
        # as the last is here, and files are complete down to the best of those last scores.
        if len(mine) >= limit:
            last = sorted(candidate.score for candidate in mine)[-limit]
            mine = [candidate for candidate in mine if candidate.score >= last]
            cut = max(cut, last)
        candidates += mine
    return BestChunks(tuple(sorted(candidates, key=lambda candidate: candidate.order)), cut)


async def _locate(
    connection: Connection,
    views: Mapping[int, ScopeView],
    chunks: Mapping[int, ScoredChunks],
    query: Query,
    filters: Filters,
    shown: Shown,
    limit: int,
) -> dict[int, list[ScoredChunk]]:
    """Return by scope the `limit` best of its chunks whose files pass the filters, and those that tie with them."""
    found: dict[int, list[ScoredChunk]] = {scope_id: [] for scope_id in chunks}
    some = {scope_id: of_scope for scope_id, of_scope in chunks.items() if len(of_scope)}
    if not some:
        return found
    located = await tuples(
        connection,
        "search/chunk_best",
        scope_ids=list(some),
        mounts=[views[scope_id].scope.mount for scope_id in some],
        chunk_ids=[_literal(of_scope.chunk_ids.tolist()) for of_scope in some.values()],
        scores=[_literal(of_scope.scores.tolist()) for of_scope in some.values()],
        lexemes=list(query.lexemes),
        limit=limit,
        shown_files=shown.files,
        shown_chunks=shown.chunks,
        shown_chars=shown.chars,
        **filters.parameters(),
    )
    for scope_id, *columns in located:
        found[scope_id].append(_scored_chunk(views[scope_id].scope, query, *columns))
    return found


def _literal(numbers: Sequence[int]) -> str:
    """Return an array literal: psycopg would make thousands of numbers into an array one by one."""
    return f"{{{','.join(map(str, numbers))}}}"


def added_chunk(
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


def is_allowed(filters: Filters, chunk: AddedChunk) -> bool:
    """Tell whether a chunk is of a file that is looked at."""
    is_named = chunk.path.startswith(filters.prefix) and set(filters.tag_keys) <= set(chunk.tag_keys)
    return is_named and filters.allows_day(chunk.dated) and filters.allows_entry(chunk.path, chunk.about)


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
    query: Query,
    chunk_id: int,
    score: int,
    file_id: int,
    start_char: int,
    end_char: int,
    length: int,
    path: str,
    heading_path: Sequence[str] | None,
    tfs: Sequence[int],
    *head: Any,
) -> ScoredChunk:
    """Return a chunk that scored, from the columns of its row; without headings it has no detail."""
    detail = None
    if heading_path is not None:
        detail = _make_detail(
            (chunk_id, heading_path, length, start_char, end_char, *head, named_tfs(query, tfs))
        )
    span, at = (start_char, end_char), scope.virtual(path)
    return _make_chunk((score, at, span, scope, chunk_id, file_id, length, NO_LEXEMES, None, detail))


def _score_added(one: ScopeView, filters: Filters) -> list[ScoredChunk]:
    """Return the chunks that score though no posting says so."""
    scored = [
        scored_added(one, chunk, term_scores(one.query, chunk.tfs, chunk.length), {})
        for chunk in one.added
        if is_allowed(filters, chunk)
    ]
    return [candidate for candidate in scored if candidate.score > 0]


def scored_added(
    one: ScopeView, chunk: AddedChunk, scores: Mapping[str, int], borrowed: Mapping[str, int]
) -> ScoredChunk:
    """Return a chunk with the scores of its lexemes, and those that it borrows."""
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
