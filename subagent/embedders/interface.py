"""What every embedder is, and what they share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

InputType = Literal["query", "document"]

# More than this of one text says nothing more about it, and models refuse texts that are too long.
MAX_CHARS = 8_000


class Embedder(Protocol):
    """Makes vectors of texts; near in meaning is near by the cosine.

    `name` tells provider, model, dimensions and revision: vectors of one name can be compared, of two never.
    `dimensions` is None until it is known from the first answer.
    """

    @property
    def name(self) -> str:
        """By which vectors are stored and found again."""
        ...

    @property
    def dimensions(self) -> int | None:
        """Of each vector."""
        ...

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> "NDArray[float32]":
        """Return a vector for each text: (n, d) float32, rows of length 1.

        Args:
            texts: of which the first 8,000 characters count; none of them empty.
            kind: a query is somebody's waiting, and is given up earlier.

        Raises:
            ModelUnavailable: the model does not answer, or not with vectors.
        """
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...


def to_unit_length(vectors: "NDArray[Any]") -> "NDArray[float32]":
    """Return rows (n, d) with the length 1. Of a row of zeros the first number becomes 1."""
    import numpy as np  # noqa: PLC0415  # of the extra `vectors`

    found = np.asarray(
        vectors, dtype=np.float64
    )  # in which the square of a float32 neither overflows nor vanishes
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    scaled = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    scaled[lengths[:, 0] == 0, 0] = 1
    rows: NDArray[float32] = scaled.astype(np.float32)
    return rows
