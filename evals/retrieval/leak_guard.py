"""The leak guard: a ranker that sees only paths must find no more than chance does. Pure.

The ranker orders every file of a collection by BM25 over the lexemes of its path; ties are ordered by path. What
chance finds is computed by giving random places to folders and to the files in them: the order within a folder is
content, and the order of the folders is not.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from memex.evals.metrics import recall
from memex.evals.retrieval.runs import LeakGuardResult
from memex.evals.retrieval.suites import Collection, Question
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import rank, weigh

CUTOFF = 10
RANDOM_ORDERS = 1_000
SEED = 11
LEVEL = 0.01  # of seven parts one would fall outside a 95 % interval by chance every third time


def check_leaks(collections: Sequence[Collection]) -> LeakGuardResult:
    """Return what the paths of these collections give away about their questions."""
    observed = list(chain.from_iterable(_recall_by_paths(collection) for collection in collections))
    drawn = np.concatenate([_recall_by_chance(collection, at) for at, collection in enumerate(collections)])
    value, draws = float(np.mean(observed)), drawn.mean(axis=0)
    chance = float(draws.mean())
    low, high = np.quantile(draws, (0.025, 0.975))
    # One draw more, so that p is never 0: the ranker's own result is one of those that chance could give.
    as_far = int((np.abs(draws - chance) >= abs(value - chance) - 1e-12).sum())
    p = (as_far + 1) / (len(draws) + 1)
    return LeakGuardResult(
        observed=value, chance=chance, low=float(low), high=float(high), p=p, is_at_chance=p >= LEVEL
    )


def _recall_by_paths(collection: Collection) -> list[float]:
    """Return the recall of each question, in a ranking by paths."""
    analyzer = Analyzer()
    paths = sorted(collection.files)
    documents = [(path, Counter(analyzer.lexemes(path)), len(analyzer.lexemes(path))) for path in paths]
    frequency = Counter(chain.from_iterable(tfs for _, tfs, _ in documents))
    total = sum(length for _, _, length in documents)
    found = []
    for question in collection.questions:
        query = weigh(analyzer.lexemes(question.text), n=len(paths), total_length=total, df=frequency)
        scored = [path for path, _ in rank(query, documents)]
        known = set(scored)
        ranked = [*scored, *(path for path in paths if path not in known)]
        found.append(_question_recall(question, {path: at for at, path in enumerate(ranked, start=1)}))
    return found


def _question_recall(question: Question, ranks: dict[str, int]) -> float:
    return recall([ranks.get(path) for path in question.relevant], CUTOFF)


def _recall_by_chance(collection: Collection, seed: int) -> NDArray[np.float64]:
    """Return the recall of each question under `RANDOM_ORDERS` random orders, as (questions, draws)."""
    random = np.random.default_rng([SEED, seed])
    paths = sorted(collection.files)
    at = {path: number for number, path in enumerate(paths)}
    folders, home = np.unique([path.rpartition("/")[0] for path in paths], return_inverse=True)
    is_first = np.zeros((RANDOM_ORDERS, len(paths)), dtype=bool)
    for draw in is_first:
        order = np.lexsort((random.random(len(paths)), random.permutation(len(folders))[home]))
        draw[order[:CUTOFF]] = True
    wanted = [[at[path] for path in question.relevant if path in at] for question in collection.questions]
    sizes = [len(question.relevant) for question in collection.questions]
    return np.array([is_first[:, ids].sum(axis=1) / size for ids, size in zip(wanted, sizes, strict=True)])
