"""Token states in Postgres: kept by the text that they were made of, as vectors are, and compared here."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from memex.store.database import Connection, Database, Rows, batch, rows
from memex.store.records import QueryVector
from memex.store.search import series
from memex.store.search.hybrid import late_interaction, statement_states
from memex.store.search.hybrid.fusion import COMPARED_BY_WORDS, Key, RankedFile, key_of
from memex.store.search.lexical import ScopeView
from memex.store.search.vectors import NearChunk
from memex.store.sql import sql

if TYPE_CHECKING:
    from numpy import int32
    from numpy.typing import NDArray

COMPARED_BY_VECTORS = 60  # chunks, the nearest; more brought nothing
# Of what the pieces of a neighbour in a series are worth, in hundredths: an answer rarely repeats the question.
NEIGHBOUR_SHARE = 80
TRIMMED_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class StateSize:
    """The size of a model's token states: of how many texts, with how many word pieces."""

    model: str
    texts: int
    pieces: int
    size_bytes: int


async def compare(
    connection: Connection,
    views: Sequence[ScopeView],
    vector: QueryVector,
    by_words: Sequence[RankedFile],
    near: Sequence[NearChunk],
) -> list[NearChunk]:
    """Return the nearest chunks, and then the best by words, with how similar each is piece by piece.

    Of both lists the first 60 chunks are compared, if they have states of the model; others stay as they are. A
    short file in a numbered series borrows from the one before and the one after, as it does by words.

    Args:
        connection: in the snapshot of the search.
        views: the scopes searched.
        vector: of the query, with its token states.
        by_words: the files by words, best first.
        near: the chunks by vectors, nearest first.
    """
    states = vector.states
    if states is None or not len(states):
        return list(near)
    known = set(map(key_of, near))
    scored = sorted((chunk for file in by_words for chunk in file.chunks), key=lambda chunk: chunk.order)
    added = [
        NearChunk(None, chunk.path, chunk.span, chunk.scope, chunk.chunk_id, chunk.file_id, chunk.added)
        for chunk in scored[:COMPARED_BY_WORDS]
        if key_of(chunk) not in known
    ]
    wanted = {*map(key_of, near[:COMPARED_BY_VECTORS]), *map(key_of, scored[:COMPARED_BY_WORDS])}
    every = [*near, *added]
    compared = [chunk for chunk in every if key_of(chunk) in wanted]
    read = await _read(connection, views, vector, compared)
    found = await asyncio.to_thread(_compare, states, read, compared)
    return [
        chunk if (similar := found.get(key_of(chunk))) is None else replace(chunk, interaction=similar)
        for chunk in every
    ]


async def add(
    connection: Connection, scope_id: int, model: str, dimensions: int, signs: Sequence[tuple[bytes, bytes]]
) -> None:
    """Store the token states of texts that still stand in a scope.

    Args:
        connection: in maintenance.
        scope_id: the scope of the texts.
        model: the name of the embedder.
        dimensions: of a state.
        signs: the digest of each text and its signs, from `late_interaction.pack_signs`.
    """
    await connection.execute(
        sql("tokens/state_add"),
        {
            "scope_id": scope_id,
            "model": model,
            "dimensions": dimensions,
            "sha256s": [sha256 for sha256, _ in signs],
            "signs": [packed for _, packed in signs],
        },
    )


async def drop(database: Database, model: str) -> int:
    """Remove every token state of a model, and return of how many texts there were any."""
    dropped = 0
    while True:
        async with database.maintenance() as connection:
            cursor = await connection.execute(
                sql("tokens/state_drop"), {"model": model, "limit": TRIMMED_AT_ONCE}
            )
            await connection.execute(sql("tokens/progress_forget"), {"model": model})
            is_more = await statement_states.drop(connection, model)
        dropped += cursor.rowcount
        if cursor.rowcount < TRIMMED_AT_ONCE and not is_more:
            return dropped


async def sizes(connection: Connection) -> list[StateSize]:
    """Return what is kept of each model. For maintenance."""
    return [StateSize(**record) for record in await rows(connection, "tokens/state_sizes")]


async def _read(
    connection: Connection, views: Sequence[ScopeView], vector: QueryVector, chunks: Sequence[NearChunk]
) -> dict[int, Rows]:
    """Return the states of chunks, and of the files beside them in a series, by scope."""
    assert vector.states is not None  # noqa: S101  # compare() has none otherwise
    by_scope = {
        view.scope.scope_id: [chunk for chunk in chunks if chunk.scope == view.scope] for view in views
    }
    asked = {view.scope.scope_id: view for view in views if by_scope[view.scope.scope_id]}
    found = await batch(
        connection,
        *(
            (
                "tokens/state_read",
                {
                    "scope_id": scope_id,
                    "model": vector.model,
                    "dimensions": vector.states.shape[1],
                    "chunk_ids": [chunk.chunk_id for chunk in by_scope[scope_id]],
                    "paths": _beside(by_scope[scope_id]) if view.has_series else [],
                },
            )
            for scope_id, view in asked.items()
        ),
        binary=True,
    )
    return dict(zip(asked, found, strict=True))


def _beside(chunks: Sequence[NearChunk]) -> list[str]:
    return sorted({path for chunk in chunks for path in series.neighbours(chunk.relative_path, 1).values()})


def _compare(
    states: "NDArray[Any]", read: Mapping[int, Rows], chunks: Sequence[NearChunk]
) -> dict[Key, float]:
    """Return MaxSim of the chunks that have states."""
    records = [
        (scope_id, record) for scope_id, of_scope in read.items() for record in of_scope if record["signs"]
    ]
    if not records:
        return {}
    best = late_interaction.best_by_piece(states, [record["signs"] for _, record in records])
    own = {
        (scope_id, record["chunk_id"]): at
        for at, (scope_id, record) in enumerate(records)
        if record["path"] is None
    }
    beside = {
        (scope_id, record["path"]): at
        for at, (scope_id, record) in enumerate(records)
        if record["path"] is not None and record["length"] < series.MAX_SHORT_LEXEMES
    }
    compared = [chunk for chunk in chunks if key_of(chunk) in own]
    rows_of = [_with_neighbours(best, records, own[key_of(chunk)], chunk, beside) for chunk in compared]
    similar = late_interaction.similarity(np.stack(rows_of), states.shape[1]) if rows_of else ()
    return {key_of(chunk): float(value) for chunk, value in zip(compared, similar, strict=True)}


def _with_neighbours(
    best: "NDArray[int32]",
    records: Sequence[tuple[int, Mapping[str, Any]]],
    at: int,
    chunk: NearChunk,
    beside: Mapping[tuple[int, str], int],
) -> "NDArray[int32]":
    """Return how similar each piece of the question is to a chunk, or to what it borrows from its neighbours."""
    row: NDArray[int32] = best[at]
    scope_id, record = records[at]
    if not beside or not record["is_alone"] or record["length"] >= series.MAX_SHORT_LEXEMES:
        return row
    for path in series.neighbours(chunk.relative_path, 1).values():
        other = beside.get((scope_id, path))
        if other is not None:
            row = np.maximum(row, best[other].astype(np.int64) * NEIGHBOUR_SHARE // 100)
    return row
