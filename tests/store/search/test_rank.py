"""Words and meaning made one ranking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memex.store.search.rank import blend, to_nearness

keys = st.integers(0, 30)
scores = st.dictionaries(keys, st.integers(1, 1 << 24), max_size=20)
near = st.dictionaries(keys, st.floats(0, 1), max_size=20)


def test_values_are_those_of_the_formula() -> None:
    """By hand: score / highest score, and 0.4 of the nearness."""
    found = blend({"a": 200, "b": 50}, {"b": 1.0, "c": 0.5})

    assert found == [("a", 1.0), ("b", pytest.approx(0.65)), ("c", pytest.approx(0.2))]


def test_ties_are_broken_by_key() -> None:
    """Whatever order the lists come in."""
    assert [key for key, _ in blend({"b": 1, "a": 1}, {})] == ["a", "b"]


def test_distances_are_stretched() -> None:
    """The nearest counts 1 and the farthest 0, whatever range a model's distances have; equal ones all count 1."""
    assert to_nearness({"a": 0.7, "b": 0.8, "c": 0.9}) == pytest.approx({"a": 1.0, "b": 0.5, "c": 0.0})
    assert to_nearness({"a": 0.3, "b": 0.3}) == {"a": 1.0, "b": 1.0}
    assert to_nearness({}) == {}
    assert to_nearness({"a": 0.9, "b": 1.0}, near_enough=0.6) == pytest.approx({"a": 0.25, "b": 0.0})
    assert to_nearness({"a": 0.9}, near_enough=0.6) == {"a": 0.0}
    assert to_nearness({"a": 0.2, "b": 1.0}, near_enough=0.6) == {"a": 1.0, "b": 0.0}


@given(scores, near)
def test_everything_comes_out_once(by_words: dict[int, int], by_meaning: dict[int, float]) -> None:
    """Best first, and nothing else."""
    found = blend(by_words, by_meaning)

    assert sorted(key for key, _ in found) == sorted({*by_words, *by_meaning})
    assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)


@given(scores)
def test_words_alone_stay_as_they_are(by_words: dict[int, int]) -> None:
    """Without vectors, or with a share of nothing, the order is that of the scores."""
    ordered = sorted(by_words, key=lambda key: (-by_words[key], key))

    assert [key for key, _ in blend(by_words, {})] == ordered
    assert [key for key, _ in blend(by_words, dict.fromkeys(by_words, 1.0), weight=0)] == ordered


@given(scores, near, keys)
def test_to_be_nearer_never_harms(by_words: dict[int, int], by_meaning: dict[int, float], moved: int) -> None:
    """A thing that moves nearer keeps its place or gains."""
    before = [key for key, _ in blend({**by_words, moved: 5}, {**by_meaning, moved: 0.2})]
    after = [key for key, _ in blend({**by_words, moved: 5}, {**by_meaning, moved: 0.9})]

    assert after.index(moved) <= before.index(moved)
