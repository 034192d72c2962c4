"""The measures of a ranking, their intervals, and the tests of a difference."""

import math

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from memex.evals import metrics
from memex.service.evals.figures import PairedDifference

RANKS = st.lists(st.integers(1, 120), min_size=1, max_size=12, unique=True).flatmap(
    lambda found: st.integers(0, 4).map(lambda missing: [*found, *([None] * missing)])
)


def test_measures_of_a_ranking_are_those_worked_out_by_hand() -> None:
    """Of three relevant documents one is first, one is fourth and one is not found."""
    measures = metrics.measure_ranking([4, None, 1])

    assert measures["recall@1"] == pytest.approx(1 / 3)
    assert measures["recall@5"] == pytest.approx(2 / 3)
    assert (measures["any@1"], measures["all@20"]) == (1, 0)
    assert measures["mrr@10"] == 1
    assert measures["ndcg@10"] == pytest.approx((1 + 1 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / 2))
    assert metrics.average_precision([4, None, 1], 10) == pytest.approx((1 + 2 / 4) / 3)


def test_nothing_found_measures_nothing() -> None:
    """Every measure is 0."""
    assert set(metrics.measure_ranking([None, None]).values()) == {0.0}


@given(RANKS)
def test_measures_agree_with_trec_eval(ranks: list[int | None]) -> None:
    """Recall, nDCG and the mean average precision are those of trec_eval's own code."""
    relevant = [f"relevant-{at}" for at in range(len(ranks))]
    place = {rank: relevant[at] for at, rank in enumerate(ranks) if rank is not None}
    ranking = {place.get(rank, f"other-{rank}"): 1_000.0 - rank for rank in range(1, 121)}
    wanted = {"recall_5,10,20,100", "ndcg_cut_10", "map_cut_100"}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": dict.fromkeys(relevant, 1)}, wanted)

    theirs = evaluator.evaluate({"q": ranking})["q"]

    ours = metrics.measure_ranking(ranks)
    for k in (5, 10, 20, 100):
        assert ours[f"recall@{k}"] == pytest.approx(theirs[f"recall_{k}"])
    assert ours["ndcg@10"] == pytest.approx(theirs["ndcg_cut_10"])
    assert metrics.average_precision(ranks, 100) == pytest.approx(theirs["map_cut_100"])


@given(RANKS)
def test_measures_stand_in_their_order(ranks: list[int | None]) -> None:
    """All is at most recall, recall at most any, and none falls with the depth."""
    measures = metrics.measure_ranking(ranks)

    for k in metrics.CUTOFFS:
        assert measures[f"all@{k}"] <= measures[f"recall@{k}"] <= measures[f"any@{k}"] <= 1
    assert measures["recall@1"] <= measures["recall@5"] <= measures["recall@10"] <= measures["recall@20"]
    assert 0 <= measures["ndcg@10"] <= 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_interval_holds_the_mean(values: list[float]) -> None:
    """The mean is the questions' own, and lies within its interval; the same values give the same interval."""
    measured = [{"recall": value} for value in values]

    estimate = metrics.estimate_means(measured)["recall"]

    assert estimate.value == pytest.approx(sum(values) / len(values))
    assert estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9
    assert metrics.estimate_means(measured)["recall"] == estimate


def test_interval_of_a_share_is_that_of_theory() -> None:
    """Half of 400 questions answered: the interval is 1.96 standard errors to either side."""
    estimate = metrics.estimate_means([{"any": float(number % 2)} for number in range(400)])["any"]

    assert estimate.low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.005)
    assert estimate.high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.005)


@pytest.mark.slow
def test_no_difference_is_none() -> None:
    """A run beside itself has gained nothing, lost nothing, and is certain of it."""
    measured = [{"any": float(number % 2), "ndcg": number / 10} for number in range(10)]

    found = metrics.paired_differences(measured, measured)

    assert found["any"] == PairedDifference(0, 0, 0, 1, 0, 0, 1)
    assert found["ndcg"] == PairedDifference(0, 0, 0, 1, 0, 0, None)


def test_difference_is_paired() -> None:
    """Nine questions won and one lost of a hundred: McNemar looks at those ten alone."""
    before = [{"any": float(number < 41)} for number in range(100)]
    after = [{"any": float(1 <= number < 50)} for number in range(100)]

    found = metrics.paired_differences(before, after)["any"]

    assert (found.gained, found.lost) == (9, 1)
    assert found.value == pytest.approx(0.08)
    assert 0 < found.low < found.value < found.high
    assert found.p < 0.05
    assert found.mcnemar == pytest.approx(2 * (10 + 1) / 2**10)


def test_few_questions_prove_nothing() -> None:
    """One question that took longer, or five, is no finding, though every draw of a bootstrap says so; six are."""
    p = {
        count: metrics.paired_differences([{"ms": 10.0}] * count, [{"ms": 12.0}] * count)["ms"].p
        for count in (1, 5, 6)
    }

    assert p == {1: 1.0, 5: 1 / 16, 6: 1 / 32}


def test_difference_of_shares_has_no_mcnemar() -> None:
    """The test is of figures that are 0 or 1."""
    found = metrics.paired_differences([{"recall": 0.5}, {"recall": 0.0}], [{"recall": 1.0}, {"recall": 0.0}])

    assert found["recall"].mcnemar is None
    assert (found["recall"].gained, found["recall"].lost) == (1, 0)
