"""Embeddings in Postgres: kept by the text that they were made of, and compared inside one scope.

The vectors of several models, of whatever dimensions, stand side by side; a model is named by its embedder. What is
to be embedded is found by comparing chunks with vectors, so whatever was lost on the way is found again.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memex.store import markdown
from memex.store.access import Scope
from memex.store.database import Connection, Database, Rows, Statement, batch, row, rows, rows_as
from memex.store.markdown import tag_key
from memex.store.paths import Prefix
from memex.store.records import Span
from memex.store.search import chunks, vector_indexes
from memex.store.search.lexical import AddedChunk
from memex.store.sql import sql

if TYPE_CHECKING:
    from numpy import ndarray

SORTED_TEXTS = 2  # for each chunk that is asked for
TRIMMED_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class NearChunk:
    """A chunk by how near its text lies to what was asked.

    `distance` is the cosine distance of the whole text, from 0 to 2; None if it is not among the nearest.
    `interaction` is its MaxSim, from -1 to 1; None if the texts were not compared piece by piece.
    """

    distance: float | None
    path: str  # virtual
    span: Span
    scope: Scope
    chunk_id: int
    file_id: int
    added: AddedChunk | None = None  # of a past revision, which is not stored
    interaction: float | None = None

    @property
    def order(self) -> tuple[float, str, int]:
        """Nearest first; ties by path, then by place."""
        return math.inf if self.distance is None else self.distance, self.path, self.span[0]

    @property
    def relative_path(self) -> str:
        """The path below its mount."""
        return self.path.removeprefix(f"{self.scope.mount}/")

    @property
    def is_embedded(self) -> bool:
        """Return whether its nearness is known; False for a compared chunk of which nothing was made yet."""
        return self.distance is not None or self.interaction is not None


@dataclass(frozen=True, slots=True)
class UnembeddedFile:
    """A file that stands in a scope, and the digests of those of its chunks' texts that have no vector."""

    file_id: int
    version: int
    path: str
    content: str
    sha256s: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class UnembeddedChunk:
    """A passage beside memory whose text has no vector; `sha256` is the digest of the text as it was indexed."""

    chunk_id: int
    sha256: bytes
    reference: str
    text: str


@dataclass(frozen=True, slots=True)
class EmbeddingStart:
    """A scope that is embedded: how many changes it had seen, its kind and mount, and its user, if it is one's.

    The log of `log_scope_id` holds what was sent to the embedder.
    """

    scope_id: int
    rev: int
    kind: str
    mount: str
    user_id: str | None
    log_scope_id: int


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The progress of a model in embedding all that there is.

    `chunks` and `embedded` count places, of which several may share a text and its vector; `state_texts` texts have
    token states, which take `state_bytes`; `indexes` are those of large scopes; `error` is the last one of the
    `failed_scopes`.
    """

    model: str
    dimensions: int | None
    chunks: int
    embedded: int
    size_bytes: int
    state_texts: int
    state_bytes: int
    indexes: int
    failed_scopes: int
    error: str | None
    failed_at: datetime | None

    @property
    def missing(self) -> int:
        """Chunks whose text has no vector."""
        return self.chunks - self.embedded


@dataclass(frozen=True, slots=True)
class ScopeStatus:
    """The progress of a model in embedding one scope."""

    tenant: str
    kind: str
    key: str
    chunks: int
    embedded: int
    error: str | None
    embedded_at: datetime | None


async def nearest(
    connection: Connection,
    scopes: Sequence[Scope],
    model: str,
    vector: "Sequence[float] | ndarray[Any, Any]",
    *,
    limit: int,
    prefix: Prefix | None = None,
    tags: Sequence[str] = (),
) -> list[NearChunk]:
    """Return the chunks whose texts lie nearest to a vector, nearest first, at most `limit`.

    Every vector of a scope is measured, but where it has an approximate index and no filter is given: filters make
    such an index slower than measuring all, and poorer. Needs a database that has vectors.

    Args:
        connection: in a transaction that may read the scopes.
        scopes: the scopes in which `prefix` can match; row-level security enforces the same scopes.
        model: the name of the embedder that made the vector; vectors of other models or dimensions do not count.
        vector: (d,), of any length above 0.
        limit: the number of chunks; a text in several places counts once for each place.
        prefix: only files below it.
        tags: only files that bear all of them, without case.
    """
    parameters: dict[str, Any] = {
        "model": model,
        "vector": to_literal(vector),
        "dimensions": len(vector),
        "prefix": prefix.relative if prefix else "",
        "tags": sorted(map(tag_key, tags)),
        "limit": limit,
    }
    # A filter leaves out files, so all texts are sorted then; else only some more than are asked for.
    is_filtered = bool(parameters["prefix"] or parameters["tags"])
    bound = None if is_filtered else SORTED_TEXTS * limit
    parameters |= {"bound": bound, "unless_indexed": not is_filtered}
    listed, *measured = await batch(
        connection,
        vector_indexes.list_statement(scopes, model, len(vector)),
        *(_near_statement(scope, parameters) for scope in scopes),
    )
    found = dict(zip(scopes, measured, strict=True))
    indexed = {record["scope_id"] for record in listed}
    approximate = [scope for scope in scopes if not is_filtered and scope.scope_id in indexed]
    if approximate:
        await vector_indexes.settle_index(connection, limit)
        found |= {scope: await _near_hnsw(connection, scope.scope_id, parameters) for scope in approximate}
    # A text that stands nowhere any more gives no chunk. If too many sorted texts are such, all texts are sorted.
    short = [
        scope
        for scope in scopes
        if bound is not None and scope not in approximate and _is_short(found[scope], limit, bound)
    ]
    again = await batch(
        connection, *(_near_statement(scope, parameters | {"bound": None}) for scope in short)
    )
    found |= dict(zip(short, again, strict=True))
    # To a vector of zeros, which an embedder should not make, there is no distance: it comes last, as NaN.
    near = [
        near_chunk(scope, **record)
        for scope, records in found.items()
        for record in records
        if not math.isnan(record["distance"])
    ]
    return sorted(near, key=lambda chunk: chunk.order)[:limit]


async def defer(connection: Connection, scope_ids: Sequence[int], *, has_vectors: bool = True) -> None:
    """Have the new texts of these scopes embedded by a job, once the connection's transaction is committed.

    For every commit that adds or removes chunks. Needs a database that has the queue. Here and below, `has_vectors`
    tells whether the database has vectors; without them, token states alone are made.
    """
    name = "vectors/embedding_later" if has_vectors else "tokens/state_later"
    await connection.execute(sql(name), {"scope_ids": list(scope_ids)})


async def missing(
    connection: Connection,
    scope_id: int,
    model: str,
    *,
    after: int,
    limit: int,
    states: bool = False,
    has_vectors: bool = True,
) -> tuple[list[UnembeddedFile], int | None]:
    """Return files with texts that have no vector of a model, and how far the scope's chunks were looked at.

    Args:
        connection: in maintenance.
        scope_id: the scope whose chunks are compared with its vectors.
        model: the name of the embedder.
        after: the chunk that the last call came to; 0 at first.
        limit: the number of chunks.
        states: a text without token states counts as one without a vector.
        has_vectors: see `defer`.

    Returns:
        The files, and the last chunk that was looked at; None for it when nothing was missing.
    """
    found = await rows_as(
        _missing_file,
        connection,
        "vectors/embedding_missing" if has_vectors else "tokens/state_missing",
        scope_id=scope_id,
        model=model,
        after=after,
        limit=limit,
        states=states,
    )
    files = [file for _, file in found if file is not None]
    return files, max((last_chunk_id for last_chunk_id, _ in found), default=None)


def _missing_file(
    *, last_chunk_id: int, content: str | None, sha256s: Sequence[bytes], **columns: Any
) -> tuple[int, UnembeddedFile | None]:
    """Return how far a scope was looked at and the file, None for one that is gone, from the columns of its row."""
    if content is None:
        return last_chunk_id, None
    return last_chunk_id, UnembeddedFile(content=content, sha256s=frozenset(map(bytes, sha256s)), **columns)


def texts(path: str, content: str) -> dict[bytes, str]:
    """Return the texts that are embedded of a file, by their digest: those that the chunks of it are indexed by.

    Args:
        path: relative to the scope.
        content: the whole file.
    """
    found = texts_by_span(path, content).values()
    return {hashlib.sha256(text.encode()).digest(): text for text in found}


def texts_by_span(path: str, content: str) -> dict[tuple[int, int], str]:
    """Return the texts by which the chunks of a file are indexed, by where the chunks stand."""
    document = markdown.parse(content)
    description = markdown.describe(path, document)
    found = chunks.split(path, content, description, document)
    return {(chunk.start, chunk.end): chunk.indexed_text for chunk in found}


async def add(
    connection: Connection, scope_id: int, model: str, vectors: "Sequence[tuple[bytes, ndarray[Any, Any]]]"
) -> None:
    """Store vectors by the digests of their texts, but of texts that no longer stand in the scope."""
    await connection.execute(
        sql("vectors/embedding_add"),
        {
            "scope_id": scope_id,
            "model": model,
            "sha256s": [sha256 for sha256, _ in vectors],
            "vectors": [to_literal(vector) for _, vector in vectors],
        },
    )


async def trim(connection: Connection, scope_id: int, *, has_vectors: bool) -> bool:
    """Remove vectors and states of what no longer stands in the scope; tell whether there may be more of them."""
    given, is_more = {"scope_id": scope_id, "limit": TRIMMED_AT_ONCE}, False
    for name in ("tokens/state_trim", "tokens/statement_trim", *(["vectors/embedding_trim"] * has_vectors)):
        cursor = await connection.execute(sql(name), given)
        is_more = is_more or cursor.rowcount == TRIMMED_AT_ONCE
    return is_more


async def begin(connection: Connection, scope_id: int) -> EmbeddingStart | None:
    """Return what a scope is as it begins to be embedded; None when there is no such scope."""
    found = await row(connection, "vectors/embedding_begin", scope_id=scope_id)
    if found is None:
        return None
    is_user = found["kind"] in ("user", "conversations", "documents")
    mount = f"projects/{found['key']}" if found["kind"] == "project" else found["kind"]
    user_id = found["key"] if is_user else None
    return EmbeddingStart(scope_id, found["rev"], found["kind"], mount, user_id, found["log_scope_id"])


async def finish(
    connection: Connection, scope_id: int, model: str, rev: int, *, has_vectors: bool = True
) -> None:
    """Note that all that stood in a scope at `rev` is embedded."""
    name = "vectors/embedding_done" if has_vectors else "tokens/progress_done"
    await connection.execute(sql(name), {"scope_id": scope_id, "model": model, "rev": rev})


async def fail(
    connection: Connection, scope_id: int, model: str, error: str, *, has_vectors: bool = True
) -> None:
    """Note what embedding a scope failed with: words of ours, never of a text."""
    name = "vectors/embedding_failed" if has_vectors else "tokens/progress_failed"
    await connection.execute(sql(name), {"scope_id": scope_id, "model": model, "error": error})


async def scopes_behind(
    connection: Connection,
    model: str,
    *,
    failed_before_s: float,
    conversations: bool = False,
    has_vectors: bool = True,
) -> list[int]:
    """Return the scopes that changed since a model last embedded them.

    Args:
        connection: in maintenance.
        model: the name of the embedder.
        failed_before_s: a scope where that failed counts again after so long.
        conversations: also users' conversations.
        has_vectors: see `defer`.
    """
    found = await rows(
        connection,
        "vectors/embedding_behind" if has_vectors else "tokens/progress_behind",
        model=model,
        failed_before_s=failed_before_s,
        conversations=conversations,
    )
    return [record["scope_id"] for record in found]


async def scopes(
    connection: Connection, *, conversations: bool = False, has_vectors: bool = True
) -> list[int]:
    """Return the scopes that have texts, or vectors that may have to go; those of conversations if asked."""
    name = "vectors/embedding_scopes" if has_vectors else "tokens/progress_scopes"
    found = await rows(connection, name, conversations=conversations)
    return [record["scope_id"] for record in found]


async def status(
    connection: Connection, model: str | None, *, conversations: bool = False, has_vectors: bool = True
) -> list[ModelStatus]:
    """Return how far each model is that has vectors, and `model` even without any. For maintenance.

    Conversations count only if asked.
    """
    name = "vectors/embedding_status" if has_vectors else "tokens/state_status"
    found = await rows(connection, name, model=model, conversations=conversations)
    return [ModelStatus(**record) for record in found]


async def scope_status(
    connection: Connection, model: str, *, limit: int, conversations: bool = False
) -> list[ScopeStatus]:
    """Return how far a model is in each scope, those that lack most first. For maintenance.

    Conversations count only if asked.
    """
    found = await rows(
        connection, "vectors/embedding_status_scopes", model=model, limit=limit, conversations=conversations
    )
    return [ScopeStatus(**record) for record in found]


async def job_status(connection: Connection, task: str) -> dict[str, int]:
    """Return how many jobs of a kind wait, run and were given up: todo, doing, failed. For maintenance."""
    found = await rows(connection, "jobs/job_status", task=task)
    return {record["status"]: record["jobs"] for record in found}


async def drop(database: Database, model: str) -> int:
    """Remove every vector of a model, with its indexes, and return how many there were."""
    await vector_indexes.drop_indexes(database, model)
    dropped = 0
    while True:
        async with database.maintenance() as connection:
            cursor = await connection.execute(
                sql("vectors/embedding_drop"), {"model": model, "limit": TRIMMED_AT_ONCE}
            )
            await connection.execute(sql("vectors/embedding_forget"), {"model": model})
        dropped += cursor.rowcount
        if cursor.rowcount < TRIMMED_AT_ONCE:
            return dropped


def _near_statement(scope: Scope, parameters: Mapping[str, Any]) -> Statement:
    """Return the statement that measures all vectors of a scope."""
    return "vectors/embedding_near", {**parameters, "scope_id": scope.scope_id}


def _is_short(records: Rows, limit: int, bound: int) -> bool:
    """Tell whether further texts than the sorted ones may have chunks that are missing."""
    return len(records) < limit and (not records or records[0]["texts"] == bound)


async def _near_hnsw(connection: Connection, scope_id: int, parameters: dict[str, Any]) -> Rows:
    statement = vector_indexes.index_statement(
        "vectors/embedding_near_hnsw", scope_id, parameters["model"], parameters["dimensions"]
    )
    cursor = await connection.execute(statement, parameters)
    return await cursor.fetchall()


def near_chunk(
    scope: Scope,
    *,
    path: str,
    start_char: int,
    end_char: int,
    texts: int | None = None,  # noqa: ARG001  # of the statement, not of the chunk
    **columns: Any,
) -> NearChunk:
    """Return a chunk that is near, from the columns of its row."""
    return NearChunk(path=scope.virtual(path), span=(start_char, end_char), scope=scope, **columns)


def to_literal(vector: "Sequence[float] | ndarray[Any, Any]") -> str:
    """Return a vector as Postgres reads a halfvec."""
    from pgvector import HalfVector  # noqa: PLC0415  # of the extra `vectors`; whoever has a vector has it

    return HalfVector(list(vector)).to_text()
