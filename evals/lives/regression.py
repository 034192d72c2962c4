"""Logistic regression over sparse features."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

LEAST_COUNT = 3  # texts in which a feature stands, or it is left out

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FeatureMatrix:
    """The features of texts: a row for each text, a column for each name."""

    names: Sequence[str]
    rows: sparse.csr_matrix

    @classmethod
    def of(cls, texts: Sequence[Mapping[str, float]]) -> "FeatureMatrix":
        """Return the matrix of texts, of features that stand in at least `LEAST_COUNT` of them."""
        counts = Counter(feature for features in texts for feature in features)
        names = sorted(feature for feature, count in counts.items() if count >= LEAST_COUNT)
        places = {feature: place for place, feature in enumerate(names)}
        cells = [
            (row, place, value)
            for row, features in enumerate(texts)
            for feature, value in features.items()
            if (place := places.get(feature)) is not None
        ]
        rows, columns, values = zip(*cells, strict=True)
        return cls(names, sparse.csr_matrix((values, (rows, columns)), shape=(len(texts), len(names))))


def fit(
    rows: sparse.csr_matrix,
    wanted: Floats,
    *,
    penalty: float,
    steps: int,
) -> Floats:
    """Return the weights of a logistic regression, a row for each feature and a column for each class.

    Args:
        rows: the features of the texts.
        wanted: 1 where a text is of a class, else 0; a row for each text, which is of one class.
        penalty: on the squares of the weights.
        steps: of the search, at most.
    """
    shape = (rows.shape[1], wanted.shape[1])

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        scores = rows @ weights
        scores -= scores.max(axis=1, keepdims=True)
        likelihood = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        value, expected = -(likelihood * wanted).sum(), np.exp(likelihood)
        gradient = rows.T @ (expected - wanted) + penalty * weights
        return float(value + penalty / 2 * (weights**2).sum()), np.asarray(gradient).ravel()

    start = np.zeros(shape).ravel()
    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x).reshape(shape)
