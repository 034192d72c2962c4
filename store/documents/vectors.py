"""Vectors of documents: which passages have none yet, and which lie nearest to a query."""

import math
from collections.abc import Sequence
from typing import Any

from memex.store.access import Scope
from memex.store.database import Connection, rows, tuples
from memex.store.documents.records import DocumentFilters
from memex.store.markdown import read_summaries
from memex.store.records import QueryVector
from memex.store.search import vectors
from memex.store.search.vectors import UnembeddedChunk

NEAR_CHUNKS = 100  # the nearest of a scope that are blended with those that words find


async def missing_passages(
    connection: Connection, scope_id: int, model: str, *, limit: int
) -> list[UnembeddedChunk]:
    """Return passages of a scope of documents whose texts have no vector of a model. For maintenance."""
    found = await rows(connection, "documents/vector_missing", scope_id=scope_id, model=model, limit=limit)
    return [
        UnembeddedChunk(
            record["chunk_id"],
            bytes(record["sha256"]),
            f"documents/{record['root']}/{record['path']}@{record['version']}",
            "\n".join(
                filter(
                    None, (record["title"], " > ".join(record["heading_path"]), *summaries, record["text"])
                )
            ),
        )
        for record in found
        for summaries in [_summaries(record["beginning"])]
    ]


def _summaries(beginning: str) -> list[str]:
    """Return the summaries in the front matter of a document; a page may hold a mark in their place."""
    return [beginning[start:end] for start, end in read_summaries(beginning)[0]]


async def nearest_passages(
    connection: Connection, scope: Scope, vector: QueryVector, filters: DocumentFilters
) -> list[tuple[float, tuple[Any, ...]]]:
    """Return the cosine similarity of the passages that lie nearest to a vector, and where each stands."""
    if not vector.values:
        return []
    found = await tuples(
        connection,
        "documents/vector_near",
        scope_id=scope.scope_id,
        model=vector.model,
        vector=vectors.to_literal(vector.values),
        dimensions=len(vector.values),
        limit=NEAR_CHUNKS,
        **filters.parameters(),
    )
    return [(1.0 - distance, tuple(place)) for distance, *place in found if not math.isnan(distance)]


async def embedded_passages(
    connection: Connection, scope: Scope, model: str, chunk_ids: Sequence[int]
) -> set[int]:
    """Return those passages whose texts have a vector of a model."""
    found = await tuples(
        connection,
        "documents/chunk_embedded",
        scope_id=scope.scope_id,
        model=model,
        chunk_ids=chunk_ids,
    )
    return {chunk_id for (chunk_id,) in found}
