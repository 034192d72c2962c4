"""Vectors by hashed trigrams of letters: no model, the same everywhere, and weak. For tests and offline trials."""

import asyncio
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from memex.subagent.embedders.interface import MAX_CHARS, EmbeddedText, InputType, to_unit_length
from memex.subagent.embedders.names import HASH, HASH_DIMENSIONS

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Texts that share trigrams of letters lie near; of meaning it knows nothing."""

    gives_states = False

    def __init__(self, dimensions: int = HASH_DIMENSIONS) -> None:
        self.dimensions: int | None = dimensions
        self.name = HASH.format(dimensions=dimensions)
        self._width = dimensions

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:  # noqa: ARG002
        """Return texts as `Embedder.embed` does; it never fails."""
        return list(map(EmbeddedText, await asyncio.to_thread(self._embed, texts)))

    async def close(self) -> None:
        """Hold nothing."""

    def _embed(self, texts: Sequence[str]) -> "NDArray[float32]":
        vectors = np.zeros((len(texts), self._width), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for trigram, count in _trigrams(text[:MAX_CHARS]).items():
                digest = zlib.crc32(trigram.encode())
                row[digest // 2 % self._width] += np.sqrt(count) * (1 if digest % 2 else -1)
        return to_unit_length(vectors)


def _trigrams(text: str) -> Counter[str]:
    words = (f" {word} " for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return Counter(word[at : at + 3] for word in words for at in range(len(word) - 2))
