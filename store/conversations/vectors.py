"""Vectors of messages: which texts have none yet, which lie nearest to a query, and how many there are."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.store.access import Scope
from memex.store.citations.syntax import message_reference
from memex.store.conversations.filters import MessageFilters
from memex.store.conversations.indexing import indexed_text
from memex.store.conversations.records import RankedMessage
from memex.store.database import Connection, row, rows
from memex.store.records import QueryVector
from memex.store.search import vector_indexes, vectors
from memex.store.search.vectors import UnembeddedChunk

NEAR_CHUNKS = 200  # the nearest that are blended with those that words find


@dataclass(frozen=True, slots=True)
class VectorCoverage:
    """The number of passages in a user's conversations, and how many of them a model has embedded."""

    model: str
    passages: int
    embedded: int


async def missing_messages(
    connection: Connection, scope_id: int, model: str, *, limit: int, since: datetime | None
) -> list[UnembeddedChunk]:
    """Return chunks whose texts have no vector of a model, those of the newest conversations first.

    A conversation that has got another title since its import gives other texts than those that were indexed; their
    vectors stand for the older ones.

    `model` is the name of the embedder.
    """
    found = await rows(
        connection,
        "conversations/vector_missing",
        scope_id=scope_id,
        model=model,
        limit=limit,
        since=since,
    )
    return [
        UnembeddedChunk(
            record["chunk_id"],
            bytes(record["sha256"]),
            message_reference(record["conversation_id"], record["number"]),
            indexed_text(record["title"], record["role"], record["said_at"], record["text"]),
        )
        for record in found
    ]


async def have_vectors(connection: Connection, scopes: Sequence[Scope], model: str) -> bool:
    """Return whether anything of some scopes was embedded by a model."""
    for scope in scopes:
        found = await row(connection, "conversations/vector_any", scope_id=scope.scope_id, model=model)
        if found and found["is_embedded"]:
            return True
    return False


async def coverage(connection: Connection, scope: Scope, model: str) -> VectorCoverage:
    """Return how much of a user's conversations a model has embedded."""
    found = await row(connection, "conversations/vector_coverage", scope_id=scope.scope_id, model=model)
    return VectorCoverage(model, **found) if found else VectorCoverage(model, 0, 0)


async def stored_vector(
    connection: Connection, scope: Scope, model: str, conversation_id: str, number: int
) -> QueryVector | None:
    """Return the vector of the first passage of a message; None if it was not embedded by the model."""
    found = await row(
        connection,
        "conversations/vector_of_message",
        scope_id=scope.scope_id,
        model=model,
        conversation_id=conversation_id,
        number=number,
    )
    return QueryVector(model, json.loads(found["vector"])) if found else None


async def nearest_messages(
    connection: Connection, scope: Scope, vector: QueryVector, filters: MessageFilters, *, limit: int
) -> list[RankedMessage]:
    """Return the best chunk of each message whose text lies near to a vector, nearest first.

    Every vector of the scope is measured, but where it has an approximate index and no filter is set.
    """
    dimensions = len(vector.values)
    parameters: dict[str, Any] = filters.parameters() | {
        "model": vector.model,
        "vector": vectors.to_literal(vector.values),
        "dimensions": dimensions,
        "limit": limit,
    }
    indexed = set()
    if not filters.are_set:
        indexed = await vector_indexes.indexed_scopes(connection, [scope], vector.model, dimensions)
    if indexed:
        await vector_indexes.settle_index(connection, limit)
        statement = vector_indexes.index_statement(
            "conversations/vector_near_hnsw", scope.scope_id, vector.model, dimensions
        )
        found = await (await connection.execute(statement, parameters)).fetchall()
    else:
        found = await rows(connection, "conversations/vector_near", scope_id=scope.scope_id, **parameters)
    best: dict[int, RankedMessage] = {}
    for record in sorted(found, key=lambda one: (one["distance"], one["message_id"], one["start_char"])):
        if not math.isnan(record["distance"]):  # as to a vector of zeros
            place = {"start": record["start_char"], "end": record["end_char"]}
            columns = {name: value for name, value in record.items() if not name.endswith("_char")}
            best.setdefault(record["message_id"], RankedMessage(score=0, **columns, **place))
    return list(best.values())
