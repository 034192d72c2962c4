"""Fusion of rankings."""

from hypothesis import given
from hypothesis import strategies as st

from memex.store.rank import fuse

rankings = st.lists(
    st.tuples(st.floats(min_value=0, max_value=4), st.lists(st.integers(0, 30), unique=True, max_size=20)),
    max_size=4,
)


def test_places_add_up() -> None:
    """By the formula: weight / (60 + rank), summed over the rankings that hold a thing."""
    fused = fuse([(1.0, ["a", "b"]), (0.5, ["b", "c"])])

    assert fused == [("b", 1 / 62 + 0.5 / 61), ("a", 1 / 61), ("c", 0.5 / 62)]


def test_ties_are_broken_by_key() -> None:
    """Whatever order the rankings come in."""
    assert fuse([(1, ["b"]), (1, ["a"])]) == fuse([(1, ["a"]), (1, ["b"])]) == [("a", 1 / 61), ("b", 1 / 61)]


@given(rankings)
def test_everything_that_is_ranked_comes_out_once(given_rankings: list[tuple[float, list[int]]]) -> None:
    """Best first, and nothing else."""
    fused = fuse(given_rankings)

    assert sorted(key for key, _ in fused) == sorted(
        {key for _, ranking in given_rankings for key in ranking}
    )
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


@given(st.lists(st.integers(), unique=True, max_size=30), st.floats(min_value=0.1, max_value=9))
def test_one_ranking_stays_as_it_is(ranking: list[int], weight: float) -> None:
    """Fused with nothing, or with itself."""
    assert [key for key, _ in fuse([(weight, ranking)])] == ranking
    assert [key for key, _ in fuse([(weight, ranking), (weight, ranking)])] == ranking


@given(rankings)
def test_a_ranking_without_weight_moves_nothing(given_rankings: list[tuple[float, list[int]]]) -> None:
    """It only lets its things in, behind all that have a score."""
    fused = fuse([(1.0, ranking) for _, ranking in given_rankings])

    assert fuse([*[(1.0, ranking) for _, ranking in given_rankings], (0.0, [99])]) == sorted(
        [*fused, (99, 0.0)], key=lambda item: (-item[1], item[0])
    )


@given(st.lists(st.integers(), unique=True, min_size=2, max_size=20), st.data())
def test_to_stand_higher_never_harms(ranking: list[int], data: st.DataObject) -> None:
    """A thing that moves up in one ranking keeps its place or gains."""
    other = data.draw(st.permutations(ranking))
    at = data.draw(st.integers(1, len(ranking) - 1))
    higher = [*ranking[: at - 1], ranking[at], ranking[at - 1], *ranking[at + 1 :]]

    def place(key: int, first: list[int]) -> int:
        return [found for found, _ in fuse([(1.0, first), (1.0, other)])].index(key)

    assert place(ranking[at], higher) <= place(ranking[at], ranking)
