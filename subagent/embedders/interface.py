"""The interface of every embedder, and the functions that embedders share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from memex.errors import ModelUnavailable

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

InputType = Literal["query", "document"]

# More than this of one text says nothing more about it, and models refuse texts that are too long.
MAX_CHARS = 8_000

STARTING = "starting"  # the reason of an embedder that is not ready yet, and soon will be


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """A text as a model sees it.

    Attributes:
        vector: (d,) float32, of length 1.
        states: (p, d) float32, a row for each word piece; None from a model that gives no token states.
        spans: where the p word pieces stand in the text, in code points; None if that is not known.
    """

    vector: "NDArray[float32]"
    states: "NDArray[float32] | None" = None
    spans: Sequence[tuple[int, int]] | None = None


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

    @property
    def gives_states(self) -> bool:
        """Whether it gives the state of each word piece, by which late interaction compares texts."""
        ...

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return each text as the model sees it.

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


async def embed_texts(
    embedder: Embedder, texts: Sequence[str], kind: InputType = "document"
) -> list[EmbeddedText]:
    """Return each text as the embedder sees it, if that is usable.

    Raises:
        ModelUnavailable: the embedder does not answer, or with something else than a vector of finite numbers and
            of the known width for each text.
    """
    made = await embedder.embed(texts, kind)
    _check(embedder, texts, made)
    return made


def _check(embedder: Embedder, texts: Sequence[str], made: Sequence[EmbeddedText]) -> None:
    import numpy as np  # noqa: PLC0415  # of the extra `vectors`

    reason = ""
    if len(made) != len(texts):
        reason = f"{len(made)} vectors for {len(texts)} texts"
    elif len(widths := {len(embedded.vector) for embedded in made} | {embedder.dimensions} - {None}) > 1:
        reason = f"vectors of {' and '.join(sorted(map(str, widths)))} dimensions"
    elif not all(
        np.isfinite(embedded.vector).all() and (embedded.states is None or np.isfinite(embedded.states).all())
        for embedded in made
    ):
        reason = "vectors that are not of numbers"
    if reason:
        raise ModelUnavailable(
            f"The embedder {embedder.name} gave no usable vectors: {reason}.",
            hint="Check the model, or set another MEMEX_EMBEDDER; search goes on by words.",
            reason=reason,
        )


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
