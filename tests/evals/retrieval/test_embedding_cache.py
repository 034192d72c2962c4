"""Embeddings are kept between runs: a text is embedded once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memex.evals.retrieval.embedding_cache import cached
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import EmbeddedText, InputType, embed_texts


class Counting(HashEmbedder):
    """An embedder with token states, two a text, that counts the texts which it was given."""

    texts = 0
    gives_states = True

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return each text with the states of its halves."""
        self.texts += len(texts)
        halves = [self._embed([text[: len(text) // 2], text[len(text) // 2 :]]) for text in texts]
        return [EmbeddedText(*one) for one in zip(self._embed(texts), halves, strict=True)]


async def test_a_second_run_embeds_nothing(tmp_path: Path) -> None:
    """Vectors come back as they were, states of questions too, and those of documents as their signs."""
    texts = ["Oolong is brewed at ninety degrees.", "Tomatoes want sun."]
    first, second = Counting(), Counting()
    made: dict[str, list[list[EmbeddedText]]] = {"document": [], "query": []}

    for embedder in (first, second):
        cache = cached(embedder, tmp_path / "embeddings")
        for kind in ("document", "query"):
            made[kind].append(await embed_texts(cache, texts, kind))
        await cache.close()

    assert (first.texts, second.texts) == (4, 0)
    for before, after in zip(*made["query"], strict=True):
        assert np.array_equal(before.vector, after.vector)
        assert np.array_equal(states(before), states(after))
    for before, after in zip(*made["document"], strict=True):
        assert np.array_equal(before.vector, after.vector)
        assert np.array_equal(states(before) > 0, states(after) > 0)


async def test_an_embedder_without_states_stays_one(tmp_path: Path) -> None:
    """Equal texts are asked for once, and nothing claims to have states."""
    cache = cached(HashEmbedder(), tmp_path)

    made = await cache.embed(["tea", "tea"])

    assert not cache.gives_states
    assert np.array_equal(made[0].vector, made[1].vector)
    await cache.close()


def states(text: EmbeddedText) -> Any:
    """Return the states of a text, which has some."""
    assert text.states is not None
    return text.states
