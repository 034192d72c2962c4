"""Late interaction in whole numbers: equal to a plain double loop, in any order."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.hybrid import late_interaction
from memex.store.search.hybrid.late_interaction import STATE_SCALE


def states(seed: int, pieces: int, dimensions: int) -> "np.typing.NDArray[np.float32]":
    """Return random states (pieces, dimensions)."""
    return np.random.default_rng(seed).standard_normal((pieces, dimensions)).astype(np.float32)


@given(
    seed=st.integers(0, 2**32),
    asked=st.integers(1, 5),
    counts=st.lists(st.integers(1, 7), min_size=1, max_size=5),
    width=st.integers(1, 48),
)
def test_signs_score_as_a_double_loop_does(seed: int, asked: int, counts: list[int], width: int) -> None:
    """Every similarity, and the mean, in numbers of Python."""
    question = late_interaction.round_states(states(seed, asked, 8 * width))
    texts = [states(seed + at, count, 8 * width) for at, count in enumerate(counts, start=1)]

    packed = [*map(late_interaction.pack_signs, texts)]
    best = late_interaction.best_by_piece(question, packed)
    similar = late_interaction.similarity(best, 8 * width)

    for at, text in enumerate(texts):
        sums = [
            [sum(int(q) if t > 0 else -int(q) for q, t in zip(piece, other, strict=True)) for other in text]
            for piece in question
        ]
        assert best[at].tolist() == [max(of_piece) for of_piece in sums]
        total = sum(max(of_piece) for of_piece in sums)
        assert similar[at] == total / (asked * STATE_SCALE * math.sqrt(8 * width))


def test_sums_are_exact_in_any_order() -> None:
    """The largest sum that states can have, and texts in another order or in several blocks: the same numbers."""
    question = late_interaction.round_states(np.ones((2, late_interaction.MAX_DIMENSIONS), np.float32))
    largest = [late_interaction.pack_signs(np.ones((1, question.shape[1]), np.float32))]
    assert late_interaction.best_by_piece(question, largest).max() == 512 * late_interaction.MAX_DIMENSIONS

    small = late_interaction.round_states(states(1, 9, 384))
    texts = [late_interaction.pack_signs(states(at, 150, 384)) for at in range(2, 90)]
    best = late_interaction.best_by_piece(small, texts)
    backwards = late_interaction.best_by_piece(small[::-1], texts[::-1])

    assert sum(map(len, texts)) // 48 > late_interaction.BLOCK_PIECES
    assert (backwards[::-1, ::-1] == best).all()


def test_a_state_of_zeros_asks_nothing() -> None:
    """Rows without a direction go; what is left is scaled."""
    rounded = late_interaction.round_states(np.array([[0, 0, 0, 0], [0, 0, 3, -4]], np.float32))

    assert rounded.tolist() == [[0, 0, round(0.6 * STATE_SCALE), -round(0.8 * STATE_SCALE)]]
