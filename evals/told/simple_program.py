"""The simplest program that does the job of memory: keep each text, rank all texts by BM25, fill the budget. Pure.

The program stands beside the service in each table. It uses none of the code of the service, so that a change of
the service does not change the figures that the service is compared with.
"""

import math
from collections import Counter
from collections.abc import Sequence

from memex.evals.told.recall import content_words, document_frequencies

WRAPPER_CHARS = 150  # of the budget, left for a wrapper, because the service needs one
MIN_ROOM_CHARS = 60  # for one more text
K1 = 1.2
B = 0.75


class SimpleProgram:
    """The texts of one user, ranked by BM25 with the idf of Lucene."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._counts = [Counter(content_words(text)) for text in texts]
        self._df = document_frequencies(texts)
        self._mean_words = sum(count.total() for count in self._counts) / len(texts)

    def context(self, question: str, budget: int) -> str:
        """Return the best texts for a question, each with a line end, until the budget is full; the last is cut."""
        weights = [(word, self._idf(word)) for word in content_words(question)]
        scores = [self._score(count, weights) for count in self._counts]
        context = ""
        for at in sorted(range(len(scores)), key=lambda at: -scores[at]):
            room = budget - WRAPPER_CHARS - len(context)
            if room < MIN_ROOM_CHARS:
                break
            context += self._texts[at][:room] + "\n"
        return context

    def _score(self, count: Counter[str], weights: Sequence[tuple[str, float]]) -> float:
        norm = K1 * (1 - B + B * count.total() / self._mean_words)
        return sum(
            idf * count[word] * (K1 + 1) / (count[word] + norm) for word, idf in weights if word in count
        )

    def _idf(self, word: str) -> float:
        df = self._df[word]
        return math.log(1 + (len(self._texts) - df + 0.5) / (df + 0.5))
