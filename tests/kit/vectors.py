"""Vectors of texts as the rows of one array."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from memex.subagent.embedders.interface import Embedder, InputType

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


async def vectors_of(
    embedder: Embedder, texts: Sequence[str], kind: InputType = "document"
) -> "NDArray[float32]":
    """Return the vectors of some texts: (n, d) float32."""
    return np.stack([text.vector for text in await embedder.embed(texts, kind)])
