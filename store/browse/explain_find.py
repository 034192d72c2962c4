"""Reasons why a search shows a file or does not: its rank and its score, by the search's own ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from memex.store.database import Connection
from memex.store.markdown import tag_key
from memex.store.memory import Memory
from memex.store.records import Hit, NearSpan, Revision
from memex.store.search import find, lexical
from memex.store.search.find import Ranking, SearchOptions, is_within
from memex.store.search.hybrid.fusion import RankedFile
from memex.store.search.lexical import Filters, ScopeView, Shown

MAX_RANKED_FILES = 10_000  # a file of a lower rank by words has no rank here
MAX_FILE_CHUNKS = 2_000  # of the file, and of files whose paths begin with its path

FilterName = Literal["project", "prefix", "tags", "days"]
# passage: in the best passage. elsewhere: in another passage of the file. neighbours: in neighbouring files of a
# numbered series alone. absent: not in the file. uncounted: in no file of the search, or one of too many words.
WordPlace = Literal["passage", "elsewhere", "neighbours", "absent", "uncounted"]


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of the query: where in the file it stands, and what it adds to the score."""

    word: str
    lexeme: str
    place: WordPlace
    score: int


@dataclass(frozen=True, slots=True)
class LastHit:
    """The last file that the search shows."""

    path: str
    rank: int
    score: int
    fused: float | None


@dataclass(frozen=True, slots=True)
class FindExplanation:
    """The reasons why a search shows a file, or does not.

    Attributes:
        mode: `bm25` or `hybrid`, as the search was made.
        rank: the place of the file among all that are found, from 1; None if it is not found.
        is_shown: whether the search shows it.
        hit: what the search would show of it, with its score; None if no passage matches. Of a file that a filter
            leaves out, it is what the search without that filter would show, without what neighbours lend.
        words: the words of the query, as the query has them first.
        removed_by: the filters that leave the file out.
        last: the last file that is shown; None if none is.
        near: see `find.SearchResult`.
    """

    revision: Revision
    mode: Literal["bm25", "hybrid"]
    rank: int | None
    is_shown: bool
    hit: Hit | None
    words: tuple[QueryWord, ...]
    removed_by: tuple[FilterName, ...]
    last: LastHit | None
    near: tuple[NearSpan, ...] | None


async def explain_find(
    memory: Memory,
    query: str,
    path: str,
    *,
    limit: int,
    project: str | None = None,
    prefix: str | None = None,
    tags: Sequence[str] = (),
) -> FindExplanation:
    """Return why `Memory.find` with these arguments shows a file, or does not.

    Rank and score are those that the search gives the file as soon as its limit is high enough.

    Raises:
        FileNotFound: nothing stands at the path.
        ValidationFailed, ProjectNotFound: as `find.search`.
    """
    revision = await memory.read(path)
    text, access, options = await memory.search_of(query, project, prefix)
    connection = memory.connection
    path, scope = revision.virtual_path, revision.scope
    of_file = Filters(revision.path)
    ranking = await find.rank(
        connection, access, text, limit=limit, tags=tags, explained=(of_file,), shown=Shown(), **options
    )
    shown = ranking.files[:limit]
    view = next((view for view in ranking.all_views if view.scope == scope), None)
    removed_by = _removed_by(revision, view, tags, options)
    chunks = await _chunks_of_file(connection, ranking, view, path, of_file)
    by_words = await _rank_by_words(connection, ranking, path)
    rank, ranked = _place(ranking, by_words, path, len(shown))
    if ranked is None and chunks:
        ranked = RankedFile(chunks)
    hits = await find.read_hits(connection, ranking, text, [ranked] if ranked else [])
    hit = hits[0] if hits else None
    if ranked is not None:
        removed_by += await _removed_by_days(connection, ranking, ranked)
    words: tuple[QueryWord, ...] = ()
    if view is not None:
        views = {view.scope.scope_id: view}
        details = await find.read_details(connection, views, chunks)
        in_file = {lexeme for detail in details.values() for lexeme, tf in detail.tfs.items() if tf}
        words = _words(text, view, hit, in_file)
    return FindExplanation(
        revision=revision,
        mode="bm25" if ranking.near is None else "hybrid",
        rank=rank,
        is_shown=any(shown_hit.path == path for shown_hit in shown),
        hit=hit,
        words=words,
        removed_by=removed_by,
        last=_last(shown),
        near=ranking.near,
    )


async def _chunks_of_file(
    connection: Connection, ranking: Ranking, view: ScopeView | None, path: str, of_file: Filters
) -> tuple[lexical.ScoredChunk, ...]:
    """Return the passages of the file that score, best first, whatever the filters of the search say."""
    if view is None or not view.query.lexemes:
        return ()
    found = await lexical.best_chunks(
        connection, [view], ranking.query, limit=MAX_FILE_CHUNKS, filters=of_file, shown=Shown()
    )
    return tuple(candidate for candidate in found.candidates if candidate.path == path)


async def _rank_by_words(
    connection: Connection, ranking: Ranking, path: str
) -> tuple[int, RankedFile] | None:
    """Return the rank of the file by words, and its chunks; None if it is not among those that are ranked."""
    found = await find.best_files(
        connection, ranking.views, ranking.query, MAX_RANKED_FILES, ranking.filters, Shown()
    )
    for rank, group in enumerate(found, start=1):
        if group[0].path == path:
            return rank, RankedFile(group, bm25_rank=rank)
    return None


def _place(
    ranking: Ranking, by_words: tuple[int, RankedFile] | None, path: str, shown: int
) -> tuple[int | None, RankedFile | None]:
    """Return the rank of the file in the search, and the file as it is ranked there."""
    for rank, file in enumerate(ranking.files, start=1):
        if file.path == path:
            return rank, file
    if by_words is None:
        return None, None
    rank, file = by_words
    if ranking.near is not None:  # only the best of each list are blended
        return None, file
    # Beyond the limit of a search, more files are compared with their neighbours in a series, which may raise one.
    return max(rank, shown + 1), file


def _removed_by(
    revision: Revision,
    view: ScopeView | None,
    tags: Sequence[str],
    options: SearchOptions,
) -> tuple[FilterName, ...]:
    """Return the filters that leave a file out, as far as its path and its tags say so."""
    prefix = options.get("prefix")
    found: list[FilterName] = []
    if view is None:
        found.append("project")
    if prefix is not None and not (
        is_within(revision.scope, prefix) and revision.path.startswith(prefix.relative)
    ):
        found.append("prefix")
    if not set(map(tag_key, tags)) <= set(map(tag_key, revision.tags)):
        found.append("tags")
    return tuple(found)


async def _removed_by_days(
    connection: Connection, ranking: Ranking, ranked: RankedFile
) -> tuple[FilterName, ...]:
    """Return whether the days that the query names leave the file out."""
    best = ranked.chunks[0]
    views = {view.scope.scope_id: view for view in ranking.all_views}
    [detail] = (await find.read_details(connection, views, [best])).values()
    return () if ranking.filters.allows_day(detail.dated) else ("days",)


def _words(text: str, view: ScopeView, hit: Hit | None, in_file: set[str]) -> tuple[QueryWord, ...]:
    """Return the words of the query, in its order, each with where it stands in the file."""
    scores: Mapping[str, int] = hit.match.terms if hit is not None else {}
    borrowed: Mapping[str, int] = hit.match.borrowed if hit is not None else {}
    counted = set(view.query.lexemes)

    def place(lexeme: str) -> WordPlace:
        if lexeme not in counted:
            return "uncounted"
        if lexeme in scores:
            return "passage"
        if lexeme in in_file:
            return "elsewhere"
        return "neighbours" if lexeme in borrowed else "absent"

    words = reversed(find.words_of(text, view.scope.language).items())
    return tuple(
        QueryWord(word, lexeme, place(lexeme), scores.get(lexeme, 0) + borrowed.get(lexeme, 0))
        for lexeme, word in words
    )


def _last(shown: Sequence[RankedFile]) -> LastHit | None:
    if not shown:
        return None
    last = shown[-1]
    return LastHit(last.path, len(shown), last.chunks[0].score, last.fused)
