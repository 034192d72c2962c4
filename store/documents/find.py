"""Find documents: exact BM25 over the documents of a user and of projects, by the engine that searches files."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memex.store.access import Scope
from memex.store.database import Connection, rows, tuples
from memex.store.documents.records import (
    DocumentFilters,
    DocumentHit,
    MirroredDocument,
    document_path,
    parse_document_path,
)
from memex.store.documents.vectors import embedded_passages, nearest_passages
from memex.store.records import QueryVector, Reference
from memex.store.search import lexical
from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import Query
from memex.store.search.find import MAX_HITS, check_query
from memex.store.search.hybrid.fusion import certainty_of
from memex.store.search.hybrid.shares import held_share, word_weights
from memex.store.search.lexical import ScopeView
from memex.store.search.rank import LEAST_SIMILARITY, blend, to_nearness

NO_FILTERS = DocumentFilters()
NO_QUERY = Query((), (), 0.0, 0.0)
MIN_LOOKED_AT = 60  # chunks, the best, that are looked at first; a filter may take most of them away
MAX_GROWTH = 8  # times as many chunks are looked at in all, step by step until enough of them pass
DOCUMENT_WEIGHT = (
    2.0  # of the nearest passage by its vector, where the best by words, if certain, has the weight 1
)
SCORE_UNIT = 1_000_000  # a blended score of 1
MARGIN = 1.5  # times as many as would do if the same share of them passed


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A chunk that scored."""

    score: int
    chunk_id: int
    start: int
    end: int
    document_id: int
    path: str  # with mount and root
    view: ScopeView
    similarity: float | None = None

    @property
    def order(self) -> tuple[int, str, int]:
        """Best first; ties by path, then by place."""
        return -self.score, self.path, self.start


async def find_documents(
    connection: Connection,
    scopes: Sequence[Scope],
    text: str,
    filters: DocumentFilters = NO_FILTERS,
    *,
    limit: int,
    passages: int = 1,
    vector: QueryVector | None = None,
) -> tuple[Query, list[DocumentHit]]:
    """Return the query as search weighed it, and the passages that score highest, the best first.

    The query has up to 10,000 characters, and its words combine by OR; `limit` is 1 to 100, and `passages` the
    most of one document. With a vector, scores of words and nearness are blended; words count less, the less of
    the query the best passage holds.

    Raises:
        ValidationFailed: an empty or too long query.
    """
    check_query(text)
    if not scopes:
        return NO_QUERY, []
    limit = min(limit, MAX_HITS)
    query, views = await lexical.open_views(connection, scopes, text)
    found: list[_Ranked] = []
    by_words = [await _best(connection, view, filters, limit, passages) for view in views]
    best = max((record.score for of_view in by_words for record in of_view), default=0)
    certainty = certainty_of(best / max(query.most, 1))
    for view, of_view in zip(views, by_words, strict=True):
        found += (
            of_view
            if vector is None
            else await _blended(connection, view, filters, of_view, vector, certainty)
        )
    ranked = _of_each(sorted(found, key=lambda record: record.order), passages)[:limit]
    weights = {
        language: word_weights(query, analyzer_of(language), text)
        for language in {view.scope.language for view in views}
    }
    return query, await _hits(connection, ranked, weights)


async def read_passages(
    connection: Connection, scopes: Sequence[Scope], references: Sequence[Reference]
) -> dict[Reference, DocumentHit]:
    """Return the passages that still stand there, by their references."""
    by_mount = {scope.mount: scope for scope in scopes}
    places: dict[str, list[tuple[str, str, Reference]]] = {}
    for reference in references:
        named = parse_document_path(reference.path)
        if named is not None and named[0] in by_mount:
            places.setdefault(named[0], []).append((*named[1:], reference))
    found = {}
    for mount, wanted in places.items():
        read = await rows(
            connection,
            "documents/passage_at",
            scope_id=by_mount[mount].scope_id,
            roots=[root for root, _, _ in wanted],
            paths=[path for _, path, _ in wanted],
            versions=[reference.version for _, _, reference in wanted],
            starts=[reference.span[0] for _, _, reference in wanted],
            ends=[reference.span[1] for _, _, reference in wanted],
        )
        for record in read:
            hit = _hit(record, mount)
            found[Reference(hit.document.reference, hit.document.version, hit.span)] = hit
    return found


async def _best(
    connection: Connection, view: ScopeView, filters: DocumentFilters, limit: int, passages: int
) -> list[_Ranked]:
    """Return the best chunks of a scope that pass the filters, at least `limit` if there are so many."""
    scored, some_more, looked_at = view.scored, max(MIN_LOOKED_AT, 3 * limit), 0
    best: list[_Ranked] = []
    of_document: dict[int, int] = {}
    while len(scored):
        some = scored.best(some_more)
        scored = scored.below(int(some.scores.min()))
        looked_at += len(some)
        passing = await tuples(
            connection,
            "documents/chunk_best",
            scope_id=view.scope.scope_id,
            chunk_ids=some.chunk_ids.tolist(),
            scores=some.scores.tolist(),
            **filters.parameters(),
        )
        for chunk in sorted(
            (_ranked(view, *columns) for columns in passing), key=lambda passage: passage.order
        ):
            if of_document.get(chunk.document_id, 0) < passages:
                of_document[chunk.document_id] = of_document.get(chunk.document_id, 0) + 1
                best.append(chunk)
        if len(best) >= limit:
            break
        growth = min(MAX_GROWTH, MARGIN * limit / max(1, len(best)))
        some_more = math.ceil(looked_at * (growth - 1))
    return best


async def _blended(
    connection: Connection,
    view: ScopeView,
    filters: DocumentFilters,
    by_words: Sequence[_Ranked],
    vector: QueryVector,
    certainty: float,
) -> list[_Ranked]:
    """Return the chunks that words or the vector find, each with the score that both give it.

    A chunk that has no vector yet counts as near as its words are good: nothing is known of its meaning.
    """
    near = await nearest_passages(connection, view.scope, vector, filters)
    known = {word.chunk_id: word for word in by_words}
    similarity: dict[int, float] = {}
    for similar, (chunk_id, *place) in near:
        similarity[chunk_id] = similar
        known.setdefault(chunk_id, _ranked(view, 0, chunk_id, *place))
    distances = {chunk_id: 1.0 - similar for chunk_id, similar in similarity.items()}
    nearness = to_nearness(distances, near_enough=1.0 - LEAST_SIMILARITY)
    scores = {word.chunk_id: word.score for word in by_words}
    embedded = await embedded_passages(connection, view.scope, vector.model, list(scores.keys() - similarity))
    waiting = scores.keys() - similarity - embedded
    nearness |= {chunk_id: scores[chunk_id] / max(scores.values()) for chunk_id in waiting}
    certainty = certainty or 1.0  # no word scores then
    blended = dict(blend(scores, nearness, weight=DOCUMENT_WEIGHT / certainty))
    return [
        replace(
            one, score=round(blended[chunk_id] * certainty * SCORE_UNIT), similarity=similarity.get(chunk_id)
        )
        for chunk_id, one in known.items()
    ]


def _of_each(ranked: Sequence[_Ranked], passages: int) -> list[_Ranked]:
    """Return at most so many passages of each document, in their order."""
    counted: Counter[str] = Counter()
    kept = []
    for one in ranked:
        counted[one.path] += 1
        if counted[one.path] <= passages:
            kept.append(one)
    return kept


def _ranked(
    view: ScopeView,
    score: int,
    chunk_id: int,
    start: int,
    end: int,
    document_id: int,
    root: str,
    path: str,
) -> _Ranked:
    named = document_path(view.scope.mount, root, path)
    return _Ranked(score, chunk_id, start, end, document_id, named, view)


async def _hits(
    connection: Connection, ranked: Sequence[_Ranked], weights: Mapping[str, Mapping[str, float]]
) -> list[DocumentHit]:
    by_scope: dict[int, list[_Ranked]] = {}
    for chunk in ranked:
        by_scope.setdefault(chunk.view.scope.scope_id, []).append(chunk)
    hits: dict[tuple[int, int], DocumentHit] = {}
    for scope_id, mine in by_scope.items():
        view = mine[0].view
        read = await rows(
            connection,
            "documents/passage_show",
            scope_id=scope_id,
            chunk_ids=[chunk.chunk_id for chunk in mine],
        )
        shown = {record["chunk_id"]: record for record in read}
        tfs = view.postings.tfs(chunk.chunk_id for chunk in mine)
        for chunk in mine:
            hits[scope_id, chunk.chunk_id] = _hit(
                shown[chunk.chunk_id],
                view.scope.mount,
                score=chunk.score,
                share=held_share(weights[view.scope.language], tfs[chunk.chunk_id]),
                similarity=chunk.similarity,
            )
    return [hits[chunk.view.scope.scope_id, chunk.chunk_id] for chunk in ranked]


def _hit(
    record: Mapping[str, Any],
    mount: str,
    *,
    score: int = 0,
    share: int = 0,
    similarity: float | None = None,
) -> DocumentHit:
    return DocumentHit(
        document=document_of(record, mount),
        heading=tuple(record["heading_path"]),
        span=(record["start_char"], record["end_char"]),
        text=record["passage"],
        score=score,
        share=share,
        similarity=similarity,
    )


def document_of(record: Mapping[str, Any], mount: str) -> MirroredDocument:
    """Return a document from its row."""
    own: dict[str, Any] = {"mount": mount, "tags": tuple(record["tags"]), "sha256": bytes(record["sha256"])}
    names = MirroredDocument.__dataclass_fields__
    return MirroredDocument(**own, **{name: record[name] for name in names if name not in own})
