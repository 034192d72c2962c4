"""Late interaction: a question compared with a text word piece by word piece, in whole numbers. Pure.

    MaxSim = mean over the question's pieces of the highest similarity to any piece of the text

Source: Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized Late Interaction",
SIGIR 2020. Of a text only the signs of its states are kept, a bit a dimension. The question's states are rounded to
16-bit integers; a sum of so many of them, with any signs, stays below 2^24, which a float32 holds exactly. So the
scores do not depend on the order of the sums, nor on the number of threads.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STATE_SCALE = (1 << 15) - 1  # what 1 is in the states of a question
MAX_DIMENSIONS = 4_096  # |state| <= 1, so the sum of its numbers is below 32767 * 64 < 2^24
BLOCK_PIECES = 256  # of texts, unpacked at once: 400 KB with 384 dimensions, which a core keeps near


def pack_signs(states: "NDArray[np.float32]") -> bytes:
    """Return the signs of states (p, d): d / 8 bytes for each word piece; a number above 0 is a bit of 1."""
    return np.packbits(states > 0, axis=1).tobytes()


def round_states(states: "NDArray[np.float32]") -> NDArray[np.int16]:
    """Return a question's states (m, d), each scaled to the length `STATE_SCALE` and rounded; rows of zeros go.

    Raises:
        ValueError: the states have more dimensions than whole numbers can be summed exactly.
    """
    if states.shape[1] > MAX_DIMENSIONS:
        raise ValueError(f"{states.shape[1]:,} dimensions, over {MAX_DIMENSIONS:,}")
    wide = states.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    kept = lengths > 0
    rounded: NDArray[np.int16] = np.rint(wide[kept] / lengths[kept, None] * STATE_SCALE).astype(np.int16)
    return rounded


def best_by_piece(question: NDArray[np.int16], texts: Sequence[bytes]) -> NDArray[np.int32]:
    """Return how similar each piece of a question is to the most similar piece of each text.

    Args:
        question: (m, d), as `round_states` returns them.
        texts: the signs of n texts, as `pack_signs` returns them; none of them empty.

    Returns:
        The similarities (n, m), each the sum of a piece's numbers with the signs of the other.
    """
    width = question.shape[1] // 8
    counts = np.array([len(text) // width for text in texts])
    sums = _set_bits(question, np.frombuffer(b"".join(texts), np.uint8).reshape(-1, width))
    return _signed(question, np.maximum.reduceat(sums, np.cumsum(counts) - counts, axis=0))


def similarities(question: NDArray[np.int16], signs: bytes) -> NDArray[np.int32]:
    """Return how similar each piece of a text is to each piece of a question: (pieces of the text, m)."""
    bits = np.frombuffer(signs, np.uint8).reshape(-1, question.shape[1] // 8)
    return _signed(question, _set_bits(question, bits))


def _set_bits(question: NDArray[np.int16], signs: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the sum of each piece's numbers where a piece of texts has a bit of 1: (pieces of texts, m)."""
    columns = np.ascontiguousarray(question.T, np.float32)
    sums = np.empty((len(signs), len(question)), np.float32)
    block = np.empty(
        (BLOCK_PIECES, question.shape[1]), np.float32
    )  # one for all: new memory costs more than sums
    for start in range(0, len(signs), BLOCK_PIECES):
        packed = signs[start : start + BLOCK_PIECES]
        bits = block[: len(packed)]
        bits[...] = np.unpackbits(packed, axis=1)
        np.matmul(bits, columns, out=sums[start : start + len(packed)])
    return sums


def _signed(question: NDArray[np.int16], sums: NDArray[np.float32]) -> NDArray[np.int32]:
    """Return sums over the bits of 1 as sums with +1 and -1: twice as much, less the sum of all numbers."""
    signed: NDArray[np.int32] = 2 * sums.astype(np.int32) - question.sum(axis=1, dtype=np.int32)
    return signed


def similarity(best: NDArray[np.int32], dimensions: int) -> NDArray[np.float64]:
    """Return MaxSim (n,) from -1 to 1, of similarities (n, m) as `best_by_piece` returns them."""
    total = best.sum(axis=1, dtype=np.int64)
    scaled: NDArray[np.float64] = total / (best.shape[1] * STATE_SCALE * math.sqrt(dimensions))
    return scaled
