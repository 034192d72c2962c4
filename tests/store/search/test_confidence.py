"""How sure a search is: more evidence never gives less, and each score lies in one band."""

from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.confidence import (
    BANDS,
    BY_ALL,
    BY_WORDS,
    LEAST,
    band_of,
    best_confidence,
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


@given(st.lists(st.tuples(SHARES, SIMILARITIES)))
def test_a_search_is_as_sure_as_its_best_file(found: list[tuple[float, float | None]]) -> None:
    """A search that found nothing has no confidence."""
    best = best_confidence(found)

    assert best.score == max((score_of(*one) for one in found), default=0.0)
    assert best.band == band_of(best.score)


def test_bands_begin_where_they_say() -> None:
    """The points of both lines are the edges of the bands."""
    assert [band_of(LEAST.get(band, 0.0)) for band in BANDS] == list(BANDS)
    assert [score for _, score in BY_WORDS] == [score for _, score in BY_ALL]
    assert [band_of(score_of(share, None)) for share, _ in BY_WORDS] == [*BANDS, "strong"]
    assert [band_of(score_of(share - 0.001, None)) for share, _ in BY_WORDS[1:4]] == list(BANDS[:3])
