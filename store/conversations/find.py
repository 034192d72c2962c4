"""Find messages: exact BM25 over the user's conversations, by the engine that searches files, and vectors."""

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memex.store.access import Scope
from memex.store.conversations.filters import MessageFilters
from memex.store.conversations.records import Conversation, Message, MessageHit, RankedMessage, SourceName
from memex.store.conversations.vectors import NEAR_CHUNKS, nearest_messages
from memex.store.database import Connection, Statement, row, rows, tuples
from memex.store.records import QueryVector
from memex.store.search import lexical, series
from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import Query, term_scores
from memex.store.search.find import MAX_HITS, check_query
from memex.store.search.lexical import ScopeView
from memex.store.search.postings import ScoredChunks, to_chunk_ids
from memex.store.search.rank import VECTOR_WEIGHT, blend, to_nearness
from memex.store.search.snippet import snippet

MIN_LOOKED_AT = 50  # chunks, the best, that are looked at first; a filter may take most of them away
MAX_GROWTH = 8  # times as many chunks are looked at in all, step by step until enough of them pass
MARGIN = 1.5  # times as many as would do if the same share of them passed
MAX_RESCORED = 15  # messages, the best, that may borrow words from those beside them
MAX_NEAR_WORDS = 3
MAX_MISSING_WORDS = 5  # of a query, for which the spelling is compared
NEAR_PLACES = [sign * distance for distance in series.SHARE_BY_DISTANCE for sign in (-1, 1)]
MIN_PREFIX_CHARS = 2


@dataclass(frozen=True, slots=True)
class Searched:
    """A report of what a search looked through: why there is no hit, or not the expected one.

    Attributes:
        chunks: how many passages there are.
        words: in how many passages each word of the query stands, by the word as it was written.
        near: for words that stand nowhere, those of the index that are spelled like them.
        unfiltered: how many passages would score without the filters; None if there were none.
    """

    chunks: int
    words: dict[str, int] = field(default_factory=dict)
    near: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unfiltered: int | None = None


async def find_messages(
    connection: Connection,
    scope: Scope,
    text: str,
    filters: MessageFilters,
    *,
    limit: int,
    vector: QueryVector | None = None,
    weight: float = VECTOR_WEIGHT,
) -> list[MessageHit]:
    """Return the messages whose best passage scores highest, at most `limit`.

    With a vector, scores of words and nearness of vectors are blended, as for files.

    A short message borrows words from those beside it, as a file of a series does: an answer often lacks the words
    of the question.

    The query has up to 10,000 characters, `limit` is 1 to 100, and `weight` is that of the message nearest to the
    vector, where the best by words has the weight 1.

    Raises:
        ValidationFailed: an empty or too long query.
    """
    view, ranked = await rank_messages(
        connection, scope, text, filters, limit=limit, vector=vector, weight=weight
    )
    return await _hits(connection, view, ranked)


async def rank_messages(
    connection: Connection,
    scope: Scope,
    text: str,
    filters: MessageFilters,
    *,
    limit: int,
    vector: QueryVector | None = None,
    weight: float = VECTOR_WEIGHT,
) -> tuple[ScopeView, list[RankedMessage]]:
    """Return the conversations as a query sees them, and where its best messages stand; see `find_messages`."""
    check_query(text)
    limit = min(limit, MAX_HITS)
    _, [view] = await lexical.open_views(connection, [scope], text, ranges=_ranges(scope, filters))
    scored = view.scored
    if filters.conversation_id is not None:
        of_it = await row(
            connection,
            "conversations/chunk_of_conversation",
            scope_id=scope.scope_id,
            conversation_id=filters.conversation_id,
        )
        scored = scored.among(to_chunk_ids(of_it["chunk_ids"] if of_it else b""))
    best = await _best(connection, scope, scored, filters, limit)
    rescored = await _with_neighbours(connection, view, best[:MAX_RESCORED], filters)
    by_id = {message.message_id: message for message in best} | {
        message.message_id: message for message in rescored
    }
    if vector is not None:
        near = await nearest_messages(connection, scope, vector, filters, limit=max(NEAR_CHUNKS, 3 * limit))
        ordered = _blend(by_id, near, weight)
    else:
        ordered = sorted(by_id.values(), key=lambda message: message.order)
    return view, ordered[:limit]


async def find_near_messages(
    connection: Connection,
    scope: Scope,
    text: str,
    filters: MessageFilters,
    *,
    limit: int,
    vector: QueryVector,
    min_similarity: float | None = None,
) -> list[MessageHit]:
    """Return the messages whose texts lie nearest to a vector, whatever their words, nearest first.

    The words of `text` are shown in the results. Messages of a cosine similarity below `min_similarity` are left
    out.
    """
    _, [view] = await lexical.open_views(connection, [scope], text)
    near = await nearest_messages(connection, scope, vector, filters, limit=max(NEAR_CHUNKS, 3 * limit))
    least = -1.0 if min_similarity is None else min_similarity
    kept = [message for message in near if (message.similarity or 0.0) >= least]
    return await _hits(connection, view, kept[:limit])


async def describe_search(
    connection: Connection, scope: Scope, text: str, filters: MessageFilters
) -> Searched:
    """Return what a search for `text` looks through; see `find_messages`."""
    query, [view] = await lexical.open_views(connection, [scope], text)
    analyzer = analyzer_of(scope.language)
    total = await row(connection, "search/search_totals", scope_ids=[scope.scope_id])
    words: dict[str, str] = {}
    for token in analyzer.tokens(text):
        words.setdefault(token.lexeme, text[token.start : token.end])
    counted = await rows(
        connection, "search/lexeme_frequency", scope_ids=[scope.scope_id], lexemes=list(words)
    )
    df = {record["lexeme"]: record["df"] for record in counted}
    missing = [lexeme for lexeme in words if lexeme not in query.lexemes][:MAX_MISSING_WORDS]
    near = {words[lexeme]: await _near_words(connection, scope, lexeme) for lexeme in missing}
    return Searched(
        chunks=total["n"] if total else 0,
        words={words[lexeme]: max(df.get(lexeme, 0), lexeme in query.lexemes) for lexeme in words},
        near={word: spellings for word, spellings in near.items() if spellings},
        unfiltered=len(view.scored) if filters.are_set else None,
    )


def _ranges(scope: Scope, filters: MessageFilters) -> Statement | None:
    """Return the statement for the chunks of the time that is looked at; None where no time is said."""
    if filters.since is None and filters.until is None:
        return None
    bounds = {"scope_id": scope.scope_id, "since": filters.since, "until": filters.until}
    return "conversations/chunk_range", bounds


def _blend(
    by_words: Mapping[int, RankedMessage], near: Sequence[RankedMessage], weight: float
) -> list[RankedMessage]:
    """Return the messages of both lists, best first, ties in the order of import."""
    by_vectors = {message.message_id: message for message in near}
    distances = {message.message_id: message.distance for message in near if message.distance is not None}
    scores = {message_id: message.score for message_id, message in by_words.items()}
    ordered = []
    for message_id, _ in blend(scores, to_nearness(distances), weight=weight):
        one = by_words.get(message_id)
        if one is None:
            ordered.append(by_vectors[message_id])
        else:
            ordered.append(replace(one, distance=distances.get(message_id)))
    return ordered


async def _best(
    connection: Connection, scope: Scope, scored: ScoredChunks, filters: MessageFilters, limit: int
) -> list[RankedMessage]:
    """Return the best messages that pass the filters, at least `limit` if there are so many, best first."""
    wanted, some_more, looked_at = limit + MAX_RESCORED, max(MIN_LOOKED_AT, 3 * limit), 0
    found: list[RankedMessage] = []
    while len(scored):
        some = scored.best(some_more)
        scored = scored.below(int(some.scores.min()))
        looked_at += len(some)
        passing = await tuples(
            connection,
            "conversations/chunk_best",
            scope_id=scope.scope_id,
            chunk_ids=some.chunk_ids.tolist(),
            scores=some.scores.tolist(),
            **filters.parameters(),
        )
        found += sorted((RankedMessage(*columns) for columns in passing), key=lambda one: one.order)
        best: dict[int, RankedMessage] = {}
        for message in found:
            best.setdefault(message.message_id, message)
        if len(best) >= wanted or not len(scored):
            return list(best.values())
        growth = min(MAX_GROWTH, MARGIN * wanted / max(1, len(best)))
        some_more = math.ceil(looked_at * (growth - 1))
    return []


async def _with_neighbours(
    connection: Connection, view: ScopeView, best: Sequence[RankedMessage], filters: MessageFilters
) -> list[RankedMessage]:
    """Return the short ones of the best messages, and of those beside them, with the words that they borrow."""
    reach = max(series.SHARE_BY_DISTANCE)
    short = [message for message in best if message.length < series.MAX_SHORT_LEXEMES and message.on_path]
    if not short:
        return []
    read = await rows(
        connection,
        "conversations/message_near",
        scope_id=view.scope.scope_id,
        message_ids=[message.message_id for message in short],
        conversation_nos=[message.conversation_no for message in short],
        positions=[message.position for message in short],
        reach=2 * reach,
    )
    tfs = view.postings.tfs(record["chunk_id"] for record in read)
    windows: dict[int, dict[int, list[dict[str, Any]]]] = {}
    for record in read:
        counted = record | {"tfs": tfs[record["chunk_id"]]}
        windows.setdefault(record["centre_id"], {}).setdefault(record["distance"], []).append(counted)
    rescored: dict[int, RankedMessage] = {}
    for chunks in windows.values():
        window = {distance: found[0] for distance, found in chunks.items() if len(found) == 1}
        for distance in range(-reach, reach + 1):
            if distance not in window or not filters.allows(window[distance]):
                continue
            if (one := _rescored(view.query, window, distance)) is not None:
                rescored[one.message_id] = one
    return list(rescored.values())


def _rescored(query: Query, window: Mapping[int, Mapping[str, Any]], place: int) -> RankedMessage | None:
    """Return a message of a window with what it borrows from those beside it; None if it has no word of its own."""
    record = window[place]
    own = term_scores(query, record["tfs"], record["length"])
    if not own:
        return None
    around = [
        (distance, term_scores(query, beside["tfs"], beside["length"]))
        for distance in NEAR_PLACES
        if (beside := window.get(place + distance)) and beside["length"] < series.MAX_SHORT_LEXEMES
    ]
    borrowed = series.borrow_scores(own, record["length"], around)
    names = ("chunk_id", "length", "message_id", "conversation_no", "number", "position")
    return RankedMessage(
        score=sum(own.values()) + sum(borrowed.values()),
        start=record["start_char"],
        end=record["end_char"],
        on_path=True,
        borrowed=borrowed,
        **{name: record[name] for name in names},
    )


async def _hits(connection: Connection, view: ScopeView, found: Sequence[RankedMessage]) -> list[MessageHit]:
    if not found:
        return []
    read = await rows(
        connection,
        "conversations/message_show",
        scope_id=view.scope.scope_id,
        message_ids=[message.message_id for message in found],
        chunk_ids=[message.chunk_id for message in found],
    )
    tfs = view.postings.tfs(message.chunk_id for message in found)
    shown = {record["message_id"]: record for record in read}
    analyzer = analyzer_of(view.scope.language)
    hits = []
    for message in found:
        record = shown[message.message_id]
        terms = term_scores(view.query, tfs[message.chunk_id], record["length"])
        hits.append(
            MessageHit(
                conversation=conversation_of(record),
                message=message_of(record),
                span=(message.start, message.end),
                snippet=snippet(record["text"][message.start : message.end], view.query.lexemes, analyzer),
                score=message.score,
                terms=dict(sorted(terms.items(), key=lambda term: (-term[1], term[0]))),
                borrowed=dict(message.borrowed),
                similarity=message.similarity,
            )
        )
    return hits


async def _near_words(connection: Connection, scope: Scope, lexeme: str) -> tuple[str, ...]:
    """Return the lexemes of the index that are spelled like one which stands nowhere."""
    if len(lexeme) <= MIN_PREFIX_CHARS:
        return ()
    read = await rows(
        connection,
        "conversations/lexeme_near",
        scope_id=scope.scope_id,
        prefix=lexeme[:MIN_PREFIX_CHARS],
    )
    return tuple(difflib.get_close_matches(lexeme, [record["lexeme"] for record in read], MAX_NEAR_WORDS))


def conversation_of(record: Mapping[str, Any]) -> Conversation:
    """Return a conversation from the columns of a row."""
    columns = {name: record[name] for name in Conversation.__dataclass_fields__ if name in record}
    columns["source"] = SourceName(record["kind"], record["label"], record["account"])
    # Beside a message, the digest is that of the message.
    columns["sha256"] = bytes(record["sha256"] or b"").hex() if "reader_version" in record else ""
    return Conversation(**columns)


def message_of(record: Mapping[str, Any]) -> Message:
    """Return a message from the columns of a row."""
    columns = {name: record[name] for name in Message.__dataclass_fields__ if name != "provider_id"}
    columns["sha256"] = bytes(record["sha256"]).hex()
    return Message(**columns, provider_id=record["message_provider_id"])
