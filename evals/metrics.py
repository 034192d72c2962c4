"""Measures of rankings and contexts, their intervals, and tests of a difference. Pure.

The ranks of a question's relevant documents describe a ranking: they count from 1, and None stands for a document
that was not found.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memex.service.evals.figures import Estimate, PairedDifference

CUTOFFS = (1, 5, 10, 20)
DEPTH = 100
BOOTSTRAP_SAMPLES = 2_000
SEED = 7
CONFIDENCE = 0.95
EVERYTHING = "all"  # the group of all cases of a run, or of all questions of a part

Ranks = Sequence[int | None]
Floats = NDArray[np.float64]
T = TypeVar("T")


def group_items(items: Iterable[T], groups_of: Callable[[T], Iterable[str]]) -> dict[str, list[T]]:
    """Return the items of each group: first all of them, then the groups with the most items, ties by name."""
    grouped: defaultdict[str, list[T]] = defaultdict(list)
    for item in items:
        for group in dict.fromkeys((EVERYTHING, *groups_of(item))):
            grouped[group].append(item)
    return dict(sorted(grouped.items(), key=lambda pair: (pair[0] != EVERYTHING, -len(pair[1]), pair[0])))


def recall(ranks: Ranks, k: int) -> float:
    """Return the share of the relevant documents that is among the first k."""
    return _within(ranks, k) / len(ranks)


def any_found(ranks: Ranks, k: int) -> float:
    """Return 1 if some relevant document is among the first k."""
    return float(_within(ranks, k) > 0)


def all_found(ranks: Ranks, k: int) -> float:
    """Return 1 if every relevant document is among the first k."""
    return float(_within(ranks, k) == len(ranks))


def reciprocal_rank(ranks: Ranks, k: int) -> float:
    """Return 1 divided by the rank of the first relevant document; 0 if it is not among the first k."""
    first = min((rank for rank in ranks if rank is not None), default=k + 1)
    return 1 / first if first <= k else 0.0


def ndcg(ranks: Ranks, k: int) -> float:
    """Return the normalised discounted cumulative gain at k. Every relevant document has the same gain.

    Source: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002; as trec_eval.
    """
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None and rank <= k)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(len(ranks), k) + 1))


def average_precision(ranks: Ranks, k: int) -> float:
    """Return the mean of the precision at the rank of each relevant document; 0 for documents after the first k."""
    found = sorted(rank for rank in ranks if rank is not None and rank <= k)
    return sum(at / rank for at, rank in enumerate(found, start=1)) / len(ranks)


def measure_ranking(ranks: Ranks) -> dict[str, float]:
    """Return every measure of a ranking, by name."""
    measures = {}
    for k in CUTOFFS:
        measures[f"recall@{k}"] = recall(ranks, k)
        measures[f"any@{k}"] = any_found(ranks, k)
        measures[f"all@{k}"] = all_found(ranks, k)
    measures[f"recall@{DEPTH}"] = recall(ranks, DEPTH)
    measures["mrr@10"] = reciprocal_rank(ranks, 10)
    measures["ndcg@10"] = ndcg(ranks, 10)
    return measures


def estimate_means(measured: Sequence[Mapping[str, float]]) -> dict[str, Estimate]:
    """Return the mean of every measure, with its interval. All questions must have the same measures."""
    if not measured:
        return {}
    names, values = _matrix(measured)
    low, high = _interval(_bootstrap(values))
    means = values.mean(axis=0)
    return {
        name: Estimate(float(means[at]), float(low[at]), float(high[at])) for at, name in enumerate(names)
    }


def paired_differences(
    before: Sequence[Mapping[str, float]], after: Sequence[Mapping[str, float]]
) -> dict[str, PairedDifference]:
    """Return the change of every measure that both runs have. Both hold the same questions in the same order."""
    if not before:
        return {}
    names = [name for name in after[0] if name in before[0]]
    old, new = (np.array([[each[name] for name in names] for each in side]) for side in (before, after))
    change = new - old
    drawn = _bootstrap(change)
    low, high = _interval(drawn)
    # A draw of exactly 0 speaks for both sides: without a difference p is 1. One draw more, so that it is never 0.
    tail = (1 + np.minimum((drawn <= 0).sum(axis=0), (drawn >= 0).sum(axis=0))) / (BOOTSTRAP_SAMPLES + 1)
    found = {}
    for at, name in enumerate(names):
        gained, lost = int((change[:, at] > 0).sum()), int((change[:, at] < 0).sum())
        is_binary = np.isin(np.concatenate([old[:, at], new[:, at]]), (0.0, 1.0)).all()
        found[name] = PairedDifference(
            value=float(change[:, at].mean()),
            low=float(low[at]),
            high=float(high[at]),
            p=min(1.0, max(2 * float(tail[at]), 2.0 ** (1 - gained - lost))),
            gained=gained,
            lost=lost,
            mcnemar=_mcnemar(gained, lost) if is_binary else None,
        )
    return found


def _within(ranks: Ranks, k: int) -> int:
    return sum(rank is not None and rank <= k for rank in ranks)


def _matrix(measured: Sequence[Mapping[str, float]]) -> tuple[list[str], Floats]:
    names = list(measured[0])
    return names, np.array([[measures[name] for name in names] for measures in measured])


def _bootstrap(values: Floats) -> Floats:
    """Return the means of `BOOTSTRAP_SAMPLES` samples of the rows, drawn with replacement."""
    count = len(values)
    times = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), size=BOOTSTRAP_SAMPLES)
    means: Floats = times @ values / count
    return means


def _interval(drawn: Floats) -> tuple[Floats, Floats]:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, (tail, 1 - tail), axis=0)
    return low, high


def _mcnemar(gained: int, lost: int) -> float:
    """Return the probability of a split at least as uneven, if gains and losses are equally likely."""
    from scipy import stats  # noqa: PLC0415  # a second of loading

    return float(stats.binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
