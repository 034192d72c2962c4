"""Exact BM25 over the scopes that a caller searches: statistics summed, scores merged, hits grouped by file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from memex.errors import ValidationFailed
from memex.store.access import Access, Scope
from memex.store.analyzer import Analyzer
from memex.store.bm25 import Query, score, term_score, weigh
from memex.store.database import Connection, batch
from memex.store.index import tag_key
from memex.store.paths import Prefix, parse
from memex.store.records import Hit, Match, Passage, Passages, Span
from memex.store.snippet import snippet

MAX_QUERY_CHARS = 10_000
MAX_HITS = 100
MAX_PASSAGES = 24  # of a file that is looked at because another leads to it
MORE_SPANS = 3  # of one file, beside its best
OVERSAMPLING = (
    3  # chunks fetched for each file wanted; more are fetched once when they fall into too few files
)
DEEPEST = 2_000  # chunks that this second look takes at least; what ranks below them is not found


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that scored."""

    score: int
    path: str  # virtual
    span: Span
    scope: Scope
    chunk_id: int
    file_id: int

    @property
    def order(self) -> tuple[int, str, int]:
        """Best first; ties by path, then by place."""
        return -self.score, self.path, self.span[0]


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a search, best first, with the query as it was weighed: other passages score by it too."""

    hits: tuple[Hit, ...]
    query: Query


async def search(
    connection: Connection,
    access: Access,
    analyzer: Analyzer,
    text: str,
    *,
    limit: int,
    project: str | None = None,
    prefix: Prefix | None = None,
    tags: Sequence[str] = (),
    passages: int = 0,
) -> Found:
    """Return the files whose best chunk scores highest for `text`, at most `limit`.

    Args:
        connection: in a snapshot transaction, so that statistics and postings are of one moment.
        access: whose scopes are searched; row-level security holds the same line.
        analyzer: makes the query's lexemes as it made the chunks'.
        text: up to 10,000 characters; words combine by OR.
        limit: 1 to 100 files.
        project: searched beside user/ and shared/ instead of all of the user's projects.
        prefix: only files below it; the statistics stay those of the scopes.
        tags: only files that bear all of them, without case.
        passages: of each file that come with their texts, at most; a hit that has them needs no snippet.

    Raises:
        ValidationFailed: an empty or too long query, or a prefix in a project that is not searched.
        ProjectNotFound: the project, or the prefix's, is none of the user's.
    """
    if not text.strip():
        raise ValidationFailed("The query is empty.", hint="Say in a few words what to look for.")
    if len(text) > MAX_QUERY_CHARS:
        raise ValidationFailed(f"The query has {len(text):,} characters, over {MAX_QUERY_CHARS:,}.")
    scopes = access.searched(project)
    if prefix and prefix.project and not any(is_within(scope, prefix) for scope in scopes):
        access.scope_at(f"projects/{prefix.project}")
        raise ValidationFailed(
            f"projects/{prefix.project}/ is not among the scopes of this search.",
            hint="Name it as project: a search without one covers the user's first 20 projects.",
        )
    words = {token.lexeme: text[token.start : token.end] for token in reversed(analyzer.tokens(text))}
    lexemes = analyzer.lexemes(text)
    totals, *counted = await batch(
        connection,
        ("search_totals", {"scope_ids": [scope.scope_id for scope in scopes]}),
        *(
            ("lexeme_frequency", {"scope_id": scope.scope_id, "lexemes": list(dict.fromkeys(lexemes))})
            for scope in scopes
        ),
    )
    frequency: dict[str, int] = {}
    for record in (record for found in counted for record in found):
        frequency[record["lexeme"]] = frequency.get(record["lexeme"], 0) + record["df"]
    query = weigh(
        lexemes,
        n=sum(record["n"] for record in totals),
        total_length=sum(record["total_length"] for record in totals),
        df=frequency,
    )
    holding = [
        scope for scope, found in zip(scopes, counted, strict=True) if found and is_within(scope, prefix)
    ]
    if not query.lexemes or not holding:
        return Found((), query)
    files = await _best_files(connection, holding, query, limit=limit, prefix=prefix, tags=tags)
    return Found(tuple(await _hits(connection, analyzer, query, words, files, passages)), query)


async def passages(
    connection: Connection, access: Access, query: Query, paths: Sequence[str]
) -> list[Passages]:
    """Return the first `MAX_PASSAGES` passages of each file that stands, scored by a query, in their order.

    Their texts are left out: most of them will not be wanted.
    """
    by_scope: dict[Scope, list[str]] = {}
    for path in dict.fromkeys(paths):
        parsed = parse(path)
        by_scope.setdefault(access.scope_of(parsed), []).append(parsed.relative)
    common = {"lexemes": list(query.lexemes), "limit": MAX_PASSAGES}
    read = await batch(
        connection,
        *(
            ("chunk_of_file", common | {"scope_id": scope.scope_id, "paths": mine})
            for scope, mine in by_scope.items()
        ),
    )
    found = []
    for scope, records in zip(by_scope, read, strict=True):
        for _, group in groupby(records, key=lambda record: record["path"]):
            chunks = list(group)
            found.append(
                Passages(
                    path=scope.virtual(chunks[0]["path"]),
                    version=chunks[0]["version"],
                    size_chars=chunks[0]["size_chars"],
                    body_start=chunks[0]["start_char"],
                    passages=tuple(_passage(query, record) for record in chunks),
                )
            )
    return found


def _passage(query: Query, record: dict[str, Any]) -> Passage:
    tfs = {lexeme: tf for lexeme, tf in zip(query.lexemes, record["tfs"], strict=True) if tf}
    return Passage(
        span=(record["start_char"], record["end_char"]),
        heading=tuple(record["heading_path"]),
        score=score(query, tfs, record["length"]),
        text=record.get("text"),
    )


async def _best_files(
    connection: Connection,
    scopes: Sequence[Scope],
    query: Query,
    *,
    limit: int,
    prefix: Prefix | None,
    tags: Sequence[str],
) -> list[list[Candidate]]:
    """Return the candidates of the best files, grouped, each group and its members best first."""
    parameters: dict[str, Any] = {
        "lexemes": list(query.lexemes),
        "weights": [float(weight) for weight in query.weights],
        "c2": query.c2,
        "c3": query.c3,
        "removed": [],
    }
    name = "chunk_score"
    if tags or (prefix and prefix.relative):
        name = "chunk_score_filtered"
        parameters["prefix"] = prefix.relative if prefix else ""
        parameters["tags"] = sorted(map(tag_key, tags))
    groups: list[list[Candidate]] = []
    for fetched in (limit * OVERSAMPLING, max(limit * OVERSAMPLING * 16, DEEPEST)):
        parameters["limit"] = fetched
        statements = [(name, parameters | {"scope_id": scope.scope_id}) for scope in scopes]
        found = await batch(connection, *statements)
        candidates = sorted(
            (
                Candidate(
                    score=record["score"],
                    path=scope.virtual(record["path"]),
                    span=(record["start_char"], record["end_char"]),
                    scope=scope,
                    chunk_id=record["chunk_id"],
                    file_id=record["file_id"],
                )
                for scope, records in zip(scopes, found, strict=True)
                for record in records
            ),
            key=lambda candidate: candidate.order,
        )
        # Ties come along, so a scope that gave fewer has no more; of the others every chunk at least as good as
        # the last is here, and files are complete down to the best of those last scores.
        cut = max(
            (min(r["score"] for r in records) for records in found if len(records) >= fetched), default=0
        )
        by_path: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            by_path.setdefault(candidate.path, []).append(candidate)
        groups = [group for group in by_path.values() if group[0].score >= cut]
        if len(groups) >= limit or cut == 0:
            break
    return groups[:limit]


async def _hits(
    connection: Connection,
    analyzer: Analyzer,
    query: Query,
    words: dict[str, str],
    files: Sequence[Sequence[Candidate]],
    passages: int,
) -> Iterable[Hit]:
    by_scope: dict[int, list[int]] = {}
    for chunks in files:
        ids = by_scope.setdefault(chunks[0].scope.scope_id, [])
        ids += [chunk.chunk_id for chunk in chunks[: max(passages, 1)]]
    read = await batch(
        connection,
        *(
            ("chunk_read", {"scope_id": scope_id, "chunk_ids": ids, "lexemes": list(query.lexemes)})
            for scope_id, ids in by_scope.items()
        ),
    )
    details = {
        (scope_id, record["chunk_id"]): record
        for scope_id, records in zip(by_scope, read, strict=True)
        for record in records
    }
    weights = dict(zip(query.lexemes, query.weights, strict=True))
    hits = []
    for rank, (best, *others) in enumerate(files, start=1):
        detail = details[best.scope.scope_id, best.chunk_id]
        terms = {
            lexeme: term_score(weights[lexeme], tf, detail["length"], query.c2, query.c3)
            for lexeme, tf in zip(query.lexemes, detail["tfs"], strict=True)
            if tf
        }
        ordered = dict(sorted(terms.items(), key=lambda term: (-term[1], term[0])))
        hits.append(
            Hit(
                path=best.path,
                version=detail["version"],
                title=detail["title"],
                heading=tuple(detail["heading_path"]),
                span=best.span,
                snippet="" if passages else snippet(detail["text"], query.lexemes, analyzer),
                score=best.score,
                reason=_reason(ordered, words, len(query.lexemes)),
                match=Match(mode="bm25", bm25_rank=rank, terms=ordered, score=best.score),
                more_spans=tuple(other.span for other in others[:MORE_SPANS]),
                file=_file(query, details, [best, *others][:passages]) if passages else None,
            )
        )
    return hits


def _file(
    query: Query, details: dict[tuple[int, int], dict[str, Any]], chunks: Sequence[Candidate]
) -> Passages:
    read = [details[chunk.scope.scope_id, chunk.chunk_id] for chunk in chunks]
    return Passages(
        path=chunks[0].path,
        version=read[0]["version"],
        size_chars=read[0]["size_chars"],
        body_start=read[0]["body_start"],
        passages=tuple(_passage(query, record) for record in read),
    )


def _reason(terms: dict[str, int], words: dict[str, str], wanted: int) -> str:
    named = ", ".join(words.get(lexeme, lexeme) for lexeme in list(terms)[:5])
    return f"holds {len(terms)} of {wanted} known words of the query: {named}"


def is_within(scope: Scope, prefix: Prefix | None) -> bool:
    """Tell whether a prefix can match files of a scope."""
    if prefix is None or prefix.mount is None:
        return True
    if prefix.mount == "project":
        return scope.is_project if prefix.project is None else scope.mount == f"projects/{prefix.project}"
    return scope.mount == prefix.mount
