"""A cache of embeddings on this machine, so that runs of the same data do not wait for the model again."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memex.subagent.embedders.interface import (
    EmbeddedText,
    Embedder,
    InputType,
    embed_texts,
)

FOLDER = "embeddings"  # below the folder of the runs

_TABLE = (
    "create table if not exists embedding ("
    " model text, kind text, sha256 blob, vector blob, states blob, primary key (model, kind, sha256)"
    ") without rowid"
)


class CachedEmbedder:
    """An embedder that asks another one only for texts that the cache lacks.

    Of the token states of documents the cache keeps the signs, which is what a database keeps; the states that it
    returns are -1 and 1.
    """

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        """Open the cache in a folder, which is made if it is missing."""
        folder.mkdir(parents=True, exist_ok=True)
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.gives_states = embedder.gives_states
        self._embedder = embedder
        self._cache = sqlite3.connect(folder / "embeddings.sqlite", timeout=60, isolation_level=None)
        self._cache.execute("pragma journal_mode = wal")
        self._cache.execute(_TABLE)

    async def close(self) -> None:
        """Close the cache and the embedder."""
        self._cache.close()
        await self._embedder.close()

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return texts as `Embedder.embed` does."""
        digests = [hashlib.sha256(text.encode()).digest() for text in texts]
        found = {digest: one for digest in digests if (one := self._load(digest, kind)) is not None}
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in found}
        if missing:
            made = await embed_texts(self._embedder, list(missing.values()), kind)
            self._cache.executemany(
                "insert or ignore into embedding values (?, ?, ?, ?, ?)",
                [
                    (self.name, kind, digest, embedded.vector.tobytes(), _packed(embedded, kind))
                    for digest, embedded in zip(missing, made, strict=True)
                ],
            )
            found |= zip(missing, made, strict=True)
        return [found[digest] for digest in digests]

    def _load(self, digest: bytes, kind: InputType) -> EmbeddedText | None:
        row = self._cache.execute(
            "select vector, states from embedding where model = ? and kind = ? and sha256 = ?",
            (self.name, kind, digest),
        ).fetchone()
        if row is None:
            return None
        vector = np.frombuffer(row[0], np.float32)
        if row[1] is None:
            return EmbeddedText(vector)
        if kind == "query":
            return EmbeddedText(vector, np.frombuffer(row[1], np.float32).reshape(-1, len(vector)))
        signs = np.unpackbits(np.frombuffer(row[1], np.uint8).reshape(-1, len(vector) // 8), axis=1)
        return EmbeddedText(vector, signs.astype(np.float32) * 2 - 1)


def cached(embedder: Embedder, folder: Path) -> Embedder:
    """Return the embedder with a cache in this folder before it."""
    return CachedEmbedder(embedder, folder)


def _packed(one: EmbeddedText, kind: InputType) -> bytes | None:
    if one.states is None:
        return None
    return one.states.tobytes() if kind == "query" else np.packbits(one.states > 0, axis=1).tobytes()
