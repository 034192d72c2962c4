"""States of single statements in Postgres, each embedded by itself, and how similar each is to a question.

A passage of a file of statements holds ten of them, and each colors what the model says of the others: see
`docs/decisions/0051-statements-by-meaning.md`.
"""

import asyncio
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memex.store.access import Access
from memex.store.database import Connection, batch, rows
from memex.store.records import QueryVector
from memex.store.search.hybrid import late_interaction
from memex.store.search.vectors import UnembeddedFile
from memex.store.sql import sql

SIMILARITY_SCALE = 10_000  # what a MaxSim of 1 is: the log keeps whole numbers
TRIMMED_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class RecordedSimilarities:
    """The result of a comparison: the digest of what was asked for, and the similarity of each statement."""

    asked: str
    similar: Sequence[int | None]


class StatementReader:
    """A reader of how similar statements are to questions, for one caller and within one transaction.

    `recorded` is what a comparison found once. The next one gives it back if it is asked for the same statements:
    a replay does that.
    """

    def __init__(self, connection: Connection, access: Access, vectors: Mapping[str, QueryVector]) -> None:
        self._connection = connection
        self._access = access
        self._vectors = vectors
        self.recorded: RecordedSimilarities | None = None

    async def similarities(self, query: str, digests: Sequence[bytes]) -> list[int | None]:
        """Return the MaxSim of each statement with a question, in ten-thousandths; None for one without states.

        Args:
            query: the question; one whose token states are not known is similar to none.
            digests: of the statements, as they were embedded.
        """
        if self.recorded is not None and self.recorded.asked == digest_of(digests):
            return list(self.recorded.similar)
        vector = self._vectors.get(query)
        if vector is None or vector.states is None or not len(vector.states):
            return [None] * len(digests)
        signs = await read(
            self._connection,
            [scope.scope_id for scope in self._access.scopes],
            vector.model,
            vector.states.shape[1],
            set(digests),
        )
        if not signs:
            return [None] * len(digests)
        found = await asyncio.to_thread(_compare, vector.states, signs)
        return [found.get(digest) for digest in digests]


def digest_of(digests: Sequence[bytes]) -> str:
    """Return by what the log knows which statements were compared: 16 hexadecimal digits."""
    return hashlib.sha256(b"".join(digests)).hexdigest()[:16]


async def read(
    connection: Connection,
    scope_ids: Sequence[int],
    model: str,
    dimensions: int,
    digests: Collection[bytes],
) -> dict[bytes, bytes]:
    """Return the signs of those statements that have any, by their digests."""
    wanted = {
        "scope_ids": list(scope_ids),
        "model": model,
        "dimensions": dimensions,
        "statement_sha256s": sorted(digests),
    }
    [found] = await batch(connection, ("tokens/statement_read", wanted), binary=True)
    return {bytes(record["statement_sha256"]): bytes(record["signs"]) for record in found}


async def add(
    connection: Connection,
    scope_id: int,
    model: str,
    dimensions: int,
    signs: Sequence[tuple[bytes, bytes, bytes]],
) -> None:
    """Store the states of statements of texts that still stand in a scope.

    Args:
        connection: in maintenance.
        scope_id: the scope of the texts.
        model: the name of the embedder.
        dimensions: of a state.
        signs: the digest of each statement, that of the text that it stands in, and its signs, from
            `late_interaction.pack_signs`.
    """
    await connection.execute(
        sql("tokens/statement_add"),
        {
            "scope_id": scope_id,
            "model": model,
            "dimensions": dimensions,
            "statement_sha256s": [statement for statement, _, _ in signs],
            "text_sha256s": [text for _, text, _ in signs],
            "signs": [packed for _, _, packed in signs],
        },
    )


async def missing(
    connection: Connection, scope_id: int, model: str, names: Sequence[str], *, after: int, limit: int
) -> tuple[list[UnembeddedFile], int | None]:
    """Return files with texts that have token states, but no statement with states; see `vectors.missing`.

    Args:
        connection: in maintenance.
        scope_id: the scope.
        model: the name of the embedder.
        names: the series of the files of statements, such as `notes`.
        after: the chunk that the last call came to; 0 at first.
        limit: the number of chunks.

    Returns:
        The files with the digests of those texts, and the last chunk that was looked at; None when there was none.
    """
    found = await rows(
        connection,
        "tokens/statement_missing",
        scope_id=scope_id,
        model=model,
        names=list(names),
        after=after,
        limit=limit,
    )
    files = [
        UnembeddedFile(
            record["file_id"],
            record["version"],
            record["path"],
            record["content"],
            frozenset(map(bytes, record["sha256s"])),
        )
        for record in found
    ]
    return files, max((record["last_chunk_id"] for record in found), default=None)


async def drop(connection: Connection, model: str) -> bool:
    """Remove states of statements of a model; tell whether there may be more of them."""
    cursor = await connection.execute(
        sql("tokens/statement_drop"), {"model": model, "limit": TRIMMED_AT_ONCE}
    )
    return cursor.rowcount == TRIMMED_AT_ONCE


def _compare(states: Any, signs: Mapping[bytes, bytes]) -> dict[bytes, int]:
    """Return the MaxSim of statements, in ten-thousandths."""
    held = {digest: packed for digest, packed in signs.items() if packed}
    if not held:
        return {}
    best = late_interaction.best_by_piece(states, list(held.values()))
    similar = late_interaction.similarity(best, states.shape[1])
    return {digest: round(float(one) * SIMILARITY_SCALE) for digest, one in zip(held, similar, strict=True)}
