"""Search: exact BM25, fused with a vector search if the query has an embedding; hits are grouped by file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, TypedDict, Unpack

from memex.errors import ValidationFailed
from memex.store.access import Access, Scope
from memex.store.database import Connection, Statement, batch
from memex.store.entry_path import FOLDER, is_entry_at
from memex.store.markdown import tag_key
from memex.store.paths import Prefix, parse
from memex.store.records import FilePassages, Hit, Match, NearSpan, Passage, QueryVector, maker
from memex.store.search import lexical, neighbours, vectors
from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import Query, named_tfs, score_counts, term_scores
from memex.store.search.dates import DateRange
from memex.store.search.hybrid import token_states
from memex.store.search.hybrid.fusion import (
    FUSED_FILES,
    RankedFile,
    by_similarity,
    fuse,
    group_by_file,
    is_embedded,
    key_of,
)
from memex.store.search.hybrid.recorded_vectors import find_recorded_chunks
from memex.store.search.lexical import (
    ChunkDetail,
    Filters,
    PastMoment,
    ScopeView,
    ScoredChunk,
    Shown,
)
from memex.store.search.snippet import snippet
from memex.store.search.vectors import NearChunk

MAX_QUERY_CHARS = 10_000
MAX_HITS = 100
NEAREST_CHUNKS = 120  # that are fused: twice as many as are compared piece by piece
MAX_PASSAGES = 24  # of a file that is looked at because another leads to it
MORE_SPANS = 3  # further spans of one file, besides its best
OVERSAMPLING = (
    3  # chunks that are fetched for each wanted file; if they fall into too few files, a second fetch
)
CHARS_A_LEXEME = (
    5  # of a chunk, or more: so a first fetch gets enough chunks for what is read, in most memories
)
MIN_FETCHED = 60  # chunks of the first fetch at least: neighbours in a series may raise a lower rank
MIN_FETCHED_AGAIN = 2_000  # chunks of the second fetch at least; no chunk of a lower rank is found
NOTHING_SHOWN = Shown()

_make_passage = maker(Passage)


class SearchOptions(TypedDict, total=False):
    """Arguments of `search` and `rank`."""

    project: str | None
    prefix: Prefix | None
    past: PastMoment | None
    vector: QueryVector | None
    near: Sequence[NearSpan] | None
    dated: DateRange | None
    languages: Sequence[str]
    least_similarity: float | None
    entries: bool
    about: str | None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, best first, and the weighted query, with which other passages can be scored too.

    `near` holds the chunks of the vector search that were fused with those of BM25. The log keeps them, because
    nobody can compute them again later. It is empty while too few texts are embedded, and None when the search used
    words alone. `is_of_days` says that the search was narrowed to the days that the query names. `ranking` is what
    the hits are the first of. `entries` are the best entries of the journal, where they were asked for beside them.
    """

    hits: tuple[Hit, ...]
    query: Query
    near: tuple[NearSpan, ...] | None = None
    is_of_days: bool = False
    ranking: "Ranking | None" = field(default=None, compare=False)
    entries: tuple[Hit, ...] = ()


def check_query(text: str) -> None:
    """Raise ValidationFailed for an empty query, and for one of over 10,000 characters."""
    if not text.strip():
        raise ValidationFailed("The query is empty.", hint="Say in a few words what to look for.")
    if len(text) > MAX_QUERY_CHARS:
        raise ValidationFailed(f"The query has {len(text):,} characters, over {MAX_QUERY_CHARS:,}.")


async def search(
    connection: Connection,
    access: Access,
    text: str,
    *,
    limit: int,
    tags: Sequence[str] = (),
    passages: int = 0,
    chars: int | None = None,
    beside: int = 0,
    ranked: "Ranking | None" = None,
    **options: Unpack[SearchOptions],
) -> SearchResult:
    """Return the files whose best chunk scores highest for `text`, at most `limit`.

    Args:
        connection: a connection in a snapshot transaction, so that statistics and postings are of one moment.
        access: the scopes to search; row-level security enforces the same scopes.
        text: the query, up to 10,000 characters; words combine by OR.
        limit: 1 to 100 files.
        project: search this project with user/ and shared/, instead of all projects of the user.
        prefix: only files below this path; the statistics stay those of the scopes.
        tags: only files that bear all of these tags, without case.
        passages: the highest number of passages of each file with their texts; a hit with passages has no
            snippet, and does not say why it was found.
        chars: no more files than hold so many characters in these passages, the last one whole; None for all.
        beside: so many entries of the journal are found too, by words and apart from the hits, which `entries` are
            left out of.
        ranked: a ranking of this search in this snapshot, of as many files or fewer, if one is known.
        past: search the scopes at this moment instead of now.
        vector: the vector of the text, to find the nearest files too; of the past only unchanged files.
        near: the recorded result of a vector search (a `SearchResult.near`), used instead of `vector` in a replay.
        dated: the days named in the query. If any file of these days matches, files of other days are left out.
        languages: the languages in which the words are stemmed, before those of the scopes.
        least_similarity: rank by vectors alone, and leave out what is less similar; a cosine, from -1 to 1.
        entries: whether entries of the journal are looked at.
        about: of the entries, those alone that were told about this project or about none.

    Raises:
        ValidationFailed: an empty or too long query, or a prefix in a project that is not searched.
        ProjectNotFound: the user has no such project, as `project` or in the prefix.
    """
    shown = Shown(limit, max(passages, 1), chars)
    ranking = ranked
    if ranking is None or ranking.near is None:
        ranking = await rank(
            connection,
            access,
            text,
            limit=limit,
            tags=tags,
            shown=shown,
            beside=beside,
            ranked=ranked,
            **options,
        )
    files = ranking.files[:limit]
    if chars is not None:
        files = files[: _files_within([file.chunks for file in files], passages, chars)]
    hits = await read_hits(connection, ranking, text, [*files, *ranking.entries], passages)
    pages = len(hits) - len(ranking.entries)
    is_of_days = ranking.filters.dated is not None
    return SearchResult(
        tuple(hits[:pages]),
        ranking.query,
        ranking.near,
        is_of_days,
        ranking,
        tuple(hits[pages:]),
    )


@dataclass(frozen=True, slots=True)
class Ranking:
    """The files that a search found, best first, before what a hit shows of them is read.

    Attributes:
        query: as it is weighed over the scopes.
        all_views: the scopes of the search.
        views: those of them that the prefix allows.
        filters: which files are looked at.
        files: of both lists, if vectors are used; else by words, at most as many as were asked for.
        near: see `SearchResult`.
        entries: the best entries of the journal, by words, where they were asked for beside the files.
    """

    query: Query
    all_views: Sequence[ScopeView]
    views: Sequence[ScopeView]
    filters: Filters
    files: Sequence[RankedFile]
    near: tuple[NearSpan, ...] | None
    entries: Sequence[RankedFile] = ()


async def rank(
    connection: Connection,
    access: Access,
    text: str,
    *,
    limit: int,
    project: str | None = None,
    prefix: Prefix | None = None,
    tags: Sequence[str] = (),
    shown: Shown = NOTHING_SHOWN,
    past: PastMoment | None = None,
    vector: QueryVector | None = None,
    near: Sequence[NearSpan] | None = None,
    dated: DateRange | None = None,
    languages: Sequence[str] = (),
    least_similarity: float | None = None,
    entries: bool = True,
    about: str | None = None,
    beside: int = 0,
    explained: Sequence[Filters] = (),
    ranked: Ranking | None = None,
) -> Ranking:
    """Return the ranking of a search; arguments and errors as those of `search`.

    `explained` are filters that `best_chunks` will be asked for besides those of the search. With `ranked`, a
    ranking of this search of another number of files, the postings are not read again.
    """
    check_query(text)
    scopes = access.searched(project)
    if prefix and prefix.project and not any(is_within(scope, prefix) for scope in scopes):
        access.scope_at(f"projects/{prefix.project}")
        raise ValidationFailed(
            f"projects/{prefix.project}/ is not among the scopes of this search.",
            hint="Name it as project: a search without one covers the user's first 20 projects.",
            reason="project_not_searched",
        )
    filters = Filters(
        prefix.relative if prefix else "", tuple(sorted(map(tag_key, tags))), entries=entries, about=about
    )
    of_days = [replace(filters, dated=dated, undated=undated) for undated in (False, True)] if dated else []
    of_entries = Filters(f"{FOLDER}/", about=about)
    asked = (filters, *of_days, *([of_entries] if beside else ()), *explained)
    if ranked is not None:
        query, all_views = ranked.query, ranked.all_views
    else:
        query, all_views = await lexical.open_views(connection, scopes, text, past, languages, filters=asked)
    views = [view for view in all_views if is_within(view.scope, prefix)]
    # Files without a date always stay. The filter is dropped if no dated file matches it.
    if of_days and await _is_any_found(connection, views, query, of_days[0]):
        filters = of_days[1]
    is_fused = vector is not None or near is not None
    files: list[RankedFile] = []
    if least_similarity is None:
        most = max(FUSED_FILES, limit) if is_fused else limit
        by_words = await best_files(
            connection, views, query, most, filters, shown, fused=FUSED_FILES if is_fused else 0
        )
        files = [RankedFile(group, bm25_rank=rank) for rank, group in enumerate(by_words, start=1)]
    compared: Sequence[NearChunk] = ()
    if near is not None:
        compared = await find_recorded_chunks(connection, views, near)
    elif vector is not None:
        wanted = NEAREST_CHUNKS if least_similarity is None else FUSED_FILES * OVERSAMPLING
        compared = await _nearest(connection, views, vector, wanted, prefix, tags, filters)
        if least_similarity is None:
            compared = await token_states.compare(connection, views, vector, files, compared)
            if vector.states is not None and not is_embedded(files, compared):
                compared = ()
        near = [NearSpan(chunk.path, chunk.span, chunk.distance, chunk.interaction) for chunk in compared]
    if least_similarity is not None:
        files = by_similarity(compared, least_similarity)
    elif compared:
        fused = fuse(files, compared, query.most)
        known = {file.path for file in fused}
        files = [*fused, *(file for file in files if file.path not in known)]
    told = await _best_entries(connection, all_views, query, beside, of_entries, shown) if beside else []
    return Ranking(query, all_views, views, filters, files, None if near is None else tuple(near), told)


def passages_statements(access: Access, query: Query, paths: Sequence[str]) -> list[Statement]:
    """Return the statements by which `passages` reads, one for each scope."""
    by_scope: dict[Scope, dict[str, None]] = {}
    for path in paths:
        parsed = parse(path)
        by_scope.setdefault(access.scope_of(parsed), {})[parsed.relative] = None
    common = {"lexemes": list(query.lexemes), "limit": MAX_PASSAGES}
    return [
        ("search/chunk_of_file", common | {"scope_id": scope.scope_id, "paths": list(mine)})
        for scope, mine in by_scope.items()
    ]


def passages(
    access: Access, query: Query, statements: Sequence[Statement], rows: Sequence[list[Any]]
) -> list[FilePassages]:
    """Return the first `MAX_PASSAGES` passages of each file that exists, scored by a query, in their order.

    Their texts are left out, because most of them are not needed.

    Args:
        access: the scopes of the files.
        query: scores the passages.
        statements: those of `passages_statements`.
        rows: the rows of each.
    """
    found = []
    for (_, parameters), records in zip(statements, rows, strict=True):
        scope = access.by_id[parameters["scope_id"]]
        for (path, version, size_chars), group in groupby(records, key=itemgetter(0, 1, 2)):
            # `tfs` is null where no lexeme of the query stands.
            passages = tuple(
                [
                    _make_passage(
                        ((start, end), tuple(heading), score_counts(query, tfs, length) if tfs else 0, None)
                    )
                    for _, _, _, start, end, heading, length, tfs in group
                ]
            )
            found.append(
                FilePassages(scope.virtual(path), version, size_chars, passages[0].span[0], passages)
            )
    return found


def _files_within(files: Sequence[Sequence[ScoredChunk]], passages: int, chars: int) -> int:
    """Return how many files it takes until their best passages hold so many characters, or all of them."""
    for count, chunks in enumerate(files, start=1):
        chars -= sum(chunk.span[1] - chunk.span[0] for chunk in chunks[:passages])
        if chars <= 0:
            return count
    return len(files) + 1


async def best_files(
    connection: Connection,
    views: Sequence[ScopeView],
    query: Query,
    limit: int,
    filters: Filters,
    shown: Shown,
    *,
    fused: int = 0,
) -> list[tuple[ScoredChunk, ...]]:
    """Return the candidates of the best files, grouped, each group and its members best first.

    Where what is shown has so many characters alone, no more files than hold them, and `fused`, are looked for.
    """
    holding = [view for view in views if view.query.lexemes]
    groups: list[tuple[ScoredChunk, ...]] = []
    if shown.chars is None:
        first = max(limit * OVERSAMPLING, MIN_FETCHED)
        more = max(first * 16, MIN_FETCHED_AGAIN)
    else:
        in_chars = int(shown.chars / query.mean_length / CHARS_A_LEXEME)
        first = max(min(in_chars, 2 * limit), MIN_FETCHED)
        more = first * 3
    for fetched in sorted({first, more, max(more, MIN_FETCHED_AGAIN)}) if holding else ():
        found = await lexical.best_chunks(
            connection, holding, query, limit=fetched, filters=filters, shown=shown
        )
        groups = group_by_file(found.candidates)
        groups = [group for group in groups if group[0].score >= found.cut]
        if len(groups) >= limit or found.cut == 0:
            break
        is_read = shown.chars is not None and _files_within(groups, shown.chunks, shown.chars) <= len(groups)
        if is_read and len(groups) >= fused:
            break
    rescored = await neighbours.add_neighbours(connection, holding, [group[0] for group in groups], filters)
    if not rescored:
        return groups[:limit]
    details = {key_of(chunk): chunk.detail for group in groups for chunk in group}
    rescored = [candidate._replace(detail=details.get(key_of(candidate))) for candidate in rescored]
    alone = {candidate.path for candidate in rescored}
    others = [candidate for group in groups for candidate in group if candidate.path not in alone]
    return group_by_file(sorted((*others, *rescored), key=lambda candidate: candidate.order))[:limit]


async def _best_entries(
    connection: Connection,
    views: Sequence[ScopeView],
    query: Query,
    limit: int,
    filters: Filters,
    shown: Shown,
) -> list[RankedFile]:
    """Return the entries of the caller's journal whose best chunks score highest, at most `limit`."""
    users = [view for view in views if view.scope.mount == "user" and view.query.lexemes]
    if not users:
        return []
    found = await lexical.best_chunks(
        connection,
        users,
        query,
        limit=limit,
        filters=filters,
        shown=replace(shown, files=limit),
    )
    groups = [group for group in group_by_file(found.candidates) if is_entry_at(group[0].path)]
    return [RankedFile(group, bm25_rank=rank) for rank, group in enumerate(groups[:limit], start=1)]


async def _is_any_found(
    connection: Connection, views: Sequence[ScopeView], query: Query, filters: Filters
) -> bool:
    """Tell whether a file that passes the filters is found; where few files pass, by what was read already."""
    if all(filters in view.passing for view in views):
        return any(view.is_any_found(filters) for view in views)
    return bool(await best_files(connection, views, query, 1, filters, Shown()))


async def _nearest(
    connection: Connection,
    views: Sequence[ScopeView],
    vector: QueryVector,
    limit: int,
    prefix: Prefix | None,
    tags: Sequence[str],
    filters: Filters,
) -> list[NearChunk]:
    """Return the nearest chunks of the files that are fused; none if the query has token states alone."""
    if not len(vector.values):
        return []
    nearest = await vectors.nearest(
        connection,
        [view.scope for view in views],
        vector.model,
        vector.values,
        limit=limit,
        prefix=prefix,
        tags=tags,
    )
    hidden = {(view.scope.scope_id, chunk_id) for view in views for chunk_id in view.hidden}
    nearest = [chunk for chunk in nearest if key_of(chunk) not in hidden]
    return _chunks_of_best_files(await _filter_by_file(connection, nearest, filters))


def _chunks_of_best_files(near: Sequence[NearChunk]) -> list[NearChunk]:
    """Return the nearest chunks of the files that are fused."""
    kept = set(list(dict.fromkeys(chunk.path for chunk in near))[:FUSED_FILES])
    return [chunk for chunk in near if chunk.path in kept]


async def _filter_by_file(connection: Connection, near: list[NearChunk], filters: Filters) -> list[NearChunk]:
    """Return those of the nearest chunks whose files are of days, and about projects, that are looked at."""
    if not filters.entries:
        near = [chunk for chunk in near if filters.allows_entry(chunk.relative_path, None)]
    if filters.dated is None and filters.about is None:
        return near
    by_scope: dict[int, set[int]] = {}
    for chunk in near:
        by_scope.setdefault(chunk.scope.scope_id, set()).add(chunk.file_id)
    read = await batch(
        connection,
        *(("search/file_dated", {"scope_id": one, "file_ids": sorted(ids)}) for one, ids in by_scope.items()),
    )
    known = {
        (scope_id, record["file_id"]): (record["dated"], record["about"])
        for scope_id, records in zip(by_scope, read, strict=True)
        for record in records
    }
    allowed = []
    for chunk in near:
        dated, about = known.get((chunk.scope.scope_id, chunk.file_id), (None, None))
        if filters.allows_day(dated) and filters.allows_entry(chunk.relative_path, about):
            allowed.append(chunk)
    return allowed


async def read_hits(
    connection: Connection, ranking: Ranking, text: str, files: Sequence[RankedFile], passages: int = 0
) -> list[Hit]:
    """Return what a hit shows of files of a ranking."""
    views = {view.scope.scope_id: view for view in ranking.all_views}
    details = await read_details(
        connection, views, [chunk for file in files for chunk in file.chunks[: max(passages, 1)]]
    )
    # Once a language and not once a hit: a query may be long.
    languages = {file.chunks[0].scope.language for file in files}
    words = {language: words_of(text, language) for language in languages}
    hits = []
    for file in files:
        view = views[file.chunks[0].scope.scope_id]
        words_here = words[view.scope.language]
        hits.append(_hit(file, view, details, words_here, passages, ranking.filters.dated))
    return hits


async def read_details(
    connection: Connection, views: Mapping[int, ScopeView], chunks: Iterable[ScoredChunk]
) -> dict[tuple[int, int], ChunkDetail]:
    """Return what a hit shows of chunks, by scope and chunk."""
    by_scope: dict[int, list[int]] = {}
    details: dict[tuple[int, int], ChunkDetail] = {}
    for chunk in chunks:
        scope_id = chunk.scope.scope_id
        if chunk.added is not None and chunk.added.detail is not None:
            details[scope_id, chunk.chunk_id] = chunk.added.detail._replace(tfs=chunk.added.tfs)
        elif chunk.detail is not None:
            details[scope_id, chunk.chunk_id] = chunk.detail
        else:
            by_scope.setdefault(scope_id, []).append(chunk.chunk_id)
    read = await batch(
        connection,
        *(
            (
                "search/chunk_read",
                {"scope_id": scope_id, "chunk_ids": ids, "lexemes": list(views[scope_id].query.lexemes)},
            )
            for scope_id, ids in by_scope.items()
        ),
    )
    for scope_id, records in zip(by_scope, read, strict=True):
        for record in records:
            tfs = named_tfs(views[scope_id].query, record.pop("tfs"))
            details[scope_id, record["chunk_id"]] = ChunkDetail(**record, tfs=tfs)
    return details


def words_of(text: str, language: str) -> dict[str, str]:
    """Return the words of a query by their lexemes, each as it stands there first."""
    tokens = analyzer_of(language).tokens(text)
    return {token.lexeme: text[token.start : token.end] for token in reversed(tokens)}


def _hit(
    file: RankedFile,
    view: ScopeView,
    details: Mapping[tuple[int, int], ChunkDetail],
    words: Mapping[str, str],
    passages: int,
    dated: DateRange | None,
) -> Hit:
    best, *others = file.chunks
    query = view.query
    detail = details[best.scope.scope_id, best.chunk_id]
    ordered: dict[str, int] = {}
    if not passages:  # planners, which get hundreds of files, read nothing of why
        terms = term_scores(query, detail.tfs, detail.length)
        ordered = dict(sorted(terms.items(), key=lambda term: (-term[1], term[0])))
    return Hit(
        path=best.path,
        version=detail.version,
        title=detail.title,
        heading=tuple(detail.heading_path),
        span=best.span,
        text="" if passages else detail.text,
        cut=partial(snippet, wanted=query.lexemes, analyzer=analyzer_of(view.scope.language)),
        score=best.score,
        reason="" if passages else _reason(file, ordered, words, query) + _describe_days(detail.dated, dated),
        match=Match(
            mode=file.mode,
            bm25_rank=file.bm25_rank,
            vector_rank=file.vector_rank,
            terms=ordered,
            borrowed=dict(best.borrowed),
            score=best.score,
            fused=file.fused,
            share=file.share,
            interaction=file.interaction,
        ),
        more_spans=tuple(other.span for other in others[:MORE_SPANS]),
        tags=tuple(detail.tags),
        updated_at=detail.updated_at,
        confidence=file.confidence(query.most),
        file=_file(file, details, passages) if passages else None,
    )


def _file(file: RankedFile, details: Mapping[tuple[int, int], ChunkDetail], passages: int) -> FilePassages:
    chunks = file.chunks[:passages]
    read = [details[chunk.scope.scope_id, chunk.chunk_id] for chunk in chunks]
    return FilePassages(
        path=chunks[0].path,
        version=read[0].version,
        size_chars=read[0].size_chars,
        body_start=read[0].body_start,
        passages=tuple(
            [
                Passage(
                    (detail.start_char, detail.end_char),
                    tuple(detail.heading_path),
                    chunk.score + file.bonus.get(key_of(chunk), 0),
                    detail.text,
                )
                for chunk, detail in zip(chunks, read, strict=True)
            ]
        ),
    )


def _reason(file: RankedFile, terms: Mapping[str, int], words: Mapping[str, str], query: Query) -> str:
    if not terms:
        return (
            f"near in meaning: {file.vector_rank} of the vectors" if file.vector_rank else "near in meaning"
        )
    named = ", ".join(words.get(lexeme, lexeme) for lexeme in list(terms)[:5])
    found = f"holds {len(terms)} of {len(query.lexemes)} known words of the query: {named}"
    borrowed = ", ".join(words.get(lexeme, lexeme) for lexeme in list(file.chunks[0].borrowed)[:5])
    return f"{found}; files beside it: {borrowed}" if borrowed else found


def _describe_days(day: date | None, dated: DateRange | None) -> str:
    """Say in words that a search was narrowed to days."""
    if dated is None:
        return ""
    return f"; dated within {dated}" if day else f"; undated, beside files dated within {dated}"


def is_within(scope: Scope, prefix: Prefix | None) -> bool:
    """Tell whether a prefix can match files of a scope."""
    if prefix is None or prefix.mount is None:
        return True
    if prefix.mount == "project":
        return scope.is_project if prefix.project is None else scope.mount == f"projects/{prefix.project}"
    return scope.mount == prefix.mount
