"""Logistic regression over sparse features, and its weights as the tables that the classifiers read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from memex.subagent.statements.classifier.linear import BIAS, LETTERS, SCALE

LEAST_COUNT = 3  # texts in which a feature stands, or it is left out
LEAST_WEIGHT = 2  # in tenths: a smaller one is left out of the table
PENALTY = 0.1
STEPS = 300

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FeatureMatrix:
    """The features of texts: a row for each text, a column for each name."""

    names: Sequence[str]
    rows: sparse.csr_matrix

    @classmethod
    def of(cls, texts: Sequence[Mapping[str, float]]) -> "FeatureMatrix":
        """Return the matrix of texts, of features that stand in at least `LEAST_COUNT` of them."""
        counts = Counter(feature for one in texts for feature in one)
        names = sorted(feature for feature, count in counts.items() if count >= LEAST_COUNT)
        places = {feature: place for place, feature in enumerate(names)}
        cells = [
            (row, place, value)
            for row, one in enumerate(texts)
            for feature, value in one.items()
            if (place := places.get(feature)) is not None
        ]
        rows, columns, values = zip(*cells, strict=True)
        return cls(names, sparse.csr_matrix((values, (rows, columns)), shape=(len(texts), len(names))))


def fit(
    rows: sparse.csr_matrix,
    wanted: Floats,
    *,
    is_exclusive: bool,
    penalty: float = PENALTY,
    steps: int = STEPS,
) -> Floats:
    """Return the weights of a logistic regression, a row for each feature and a column for each class.

    Args:
        rows: the features of the texts.
        wanted: 1 where a text is of a class, else 0; a row for each text.
        is_exclusive: a text is of one class; otherwise it may be of several.
        penalty: on the squares of the weights.
        steps: of the search, at most.
    """
    shape = (rows.shape[1], wanted.shape[1])

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        scores = rows @ weights
        if is_exclusive:
            scores -= scores.max(axis=1, keepdims=True)
            likelihood = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
            value, expected = -(likelihood * wanted).sum(), np.exp(likelihood)
        else:
            value = (np.logaddexp(0, scores) - scores * wanted).sum()
            expected = 1 / (1 + np.exp(-scores))
        gradient = rows.T @ (expected - wanted) + penalty * weights
        return float(value + penalty / 2 * (weights**2).sum()), np.asarray(gradient).ravel()

    start = np.zeros(shape).ravel()
    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x).reshape(shape)


def rounded(weights: Floats) -> Floats:
    """Return the weights as a table holds them: in tenths, without the small ones."""
    cells = np.round(weights * SCALE)
    cells[np.abs(cells) < LEAST_WEIGHT] = 0
    return np.asarray(cells / SCALE)


def write_table(name: str, weights: Floats, names: Sequence[str]) -> None:
    """Write the table of a model; features without weight are left out, but for the bias.

    Args:
        name: of the table.
        weights: as `rounded` returns them.
        names: of the features.
    """
    lines = [
        f"{feature}\t{_cells(row)}"
        for feature, row in zip(names, weights, strict=True)
        if row.any() or feature == BIAS
    ]
    path = Path(str(files("memex.subagent.statements.classifier"))) / f"{name}.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cells(row: Floats) -> str:
    return "".join(f"{LETTERS[place]}{round(weight * SCALE)}" for place, weight in enumerate(row) if weight)
