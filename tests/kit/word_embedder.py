"""An embedder for tests, which needs no model: a misspelt word is near to the word that is meant."""

from collections.abc import Sequence

from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import EmbeddedText, InputType
from memex.subagent.embedders.names import HASH_DIMENSIONS


class WordEmbedder(HashEmbedder):
    """An embedder whose word pieces are words, each known by its letters alone.

    `embedded` counts how often each text was embedded.
    """

    gives_states = True

    def __init__(self, dimensions: int = HASH_DIMENSIONS) -> None:
        super().__init__(dimensions)
        self.embedded: dict[str, int] = {}

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return each text with a state for each of its words."""
        for text in texts:
            self.embedded[text] = self.embedded.get(text, 0) + 1
        vectors = self._embed(texts)
        return [
            EmbeddedText(vector, self._embed(text.split()))
            for vector, text in zip(vectors, texts, strict=True)
        ]
