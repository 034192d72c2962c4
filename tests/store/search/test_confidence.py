"""How sure a search is: more evidence never gives less, and each score lies in one band."""

from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.confidence import (
    BANDS,
    BY_ALL,
    BY_WORDS,
    LEAST,
    band_of,
    best_line,
    is_below,
    score_of,
)

SHARES = st.floats(0, 1)
SIMILARITIES = st.none() | st.floats(-1, 1)


@given(SHARES, SHARES, SIMILARITIES)
def test_more_words_never_give_less(one: float, other: float, similar: float | None) -> None:
    """Beside the same MaxSim, or without one; the score stays between 0 and 1."""
    low, high = sorted((one, other))

    assert 0 <= score_of(low, similar) <= score_of(high, similar) <= 1
    assert not is_below(band_of(score_of(high, similar)), band_of(score_of(low, similar)))


@given(SHARES, st.floats(-1, 1), st.floats(-1, 1))
def test_more_likeness_never_gives_less(share: float, one: float, other: float) -> None:
    """Beside the same share."""
    low, high = sorted((one, other))

    assert score_of(share, low) <= score_of(share, high)


LINES = st.lists(st.tuples(SHARES, SIMILARITIES))
PASSAGES = st.integers(0, 1_000_000)


@given(LINES, st.tuples(SHARES, SIMILARITIES), PASSAGES)
def test_a_context_is_as_sure_as_its_best_line(
    found: list[tuple[float, float | None]], other: tuple[float, float | None], passages: int
) -> None:
    """One more line never makes it less sure; without lines it is not sure at all."""
    best = best_line(found, passages)

    assert best.score == max((best_line([one], passages).score for one in found), default=0.0)
    assert best.band == band_of(best.score)
    assert best_line([*found, other], passages).score >= best.score


@given(LINES, PASSAGES, PASSAGES)
def test_the_same_line_says_less_in_a_larger_memory(
    found: list[tuple[float, float | None]], one: int, other: int
) -> None:
    """Of more passages one fits better by chance."""
    few, many = sorted((one, other))

    assert best_line(found, few).score >= best_line(found, many).score


def test_a_short_question_is_refused_less_easily() -> None:
    """But only where memory holds a word of it."""
    shared, foreign = (0.3, 0.2), (0.0, 0.2)
    bands = [[best_line([one], 1, words=words).band for words in (2, 5, 9)] for one in (shared, foreign)]

    assert bands == [["weak", "none", "none"], ["none", "none", "none"]]


def test_a_line_that_was_compared_is_judged_by_meaning_alone() -> None:
    """Words that it shares with a question do not make up for another meaning."""
    assert best_line([(1.0, -1.0)], 100).band == "none"
    assert best_line([(1.0, None)], 100).band == "strong"
    assert best_line([(0.0, 1.0)], 100).band == "strong"
    assert best_line([(0.0, None)], 1).band == "none"


def test_bands_begin_where_they_say() -> None:
    """The points of both lines are the edges of the bands."""
    assert [band_of(LEAST.get(band, 0.0)) for band in BANDS] == list(BANDS)
    assert [score for _, score in BY_WORDS] == [score for _, score in BY_ALL]
    assert [band_of(score_of(share, None)) for share, _ in BY_WORDS] == [*BANDS, "strong"]
    assert [band_of(score_of(share - 0.001, None)) for share, _ in BY_WORDS[1:4]] == list(BANDS[:3])
