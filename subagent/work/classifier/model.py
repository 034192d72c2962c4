"""The kind of a clause about work, by a linear model of ten classes: nine kinds, and nothing. Pure.

The weights are a multinomial logistic regression, fitted by `memex.evals.work.fit` to turns of independent writers.
`clause_kinds.npz` beside this module holds the features that matter, and a weight of each class for each of them.
A page of 54 cues in its place loses 6 to 18 points of F-measure on seven of the nine kinds (decision 45). All
arithmetic is of integers, so every machine finds the same.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from math import isqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memex.subagent.work.classifier.clauses import Clause
from memex.subagent.work.classifier.features import ClauseFeatures, clause_features, parts_of
from memex.subagent.work.records import HUMAN_KINDS, WorkKind

KINDS: tuple[WorkKind, ...] = (
    "objective",
    "decision",
    "constraint",
    "pending",
    "done",
    "blocker",
    "definition_of_done",
    "user_request",
    "completion_claim",
)
CLASSES = len(KINDS) + 1  # the last one is nothing
BIAS = "bias"
GROUP_NORMS = (3, 3, 2, 2, 2, 2, 3)  # of `ClauseFeatures.groups`
PARTS_NORM = 3
UNIT = 1_000  # the value of a feature of the form
SCALE = 10  # a weight of 1 in the file is a tenth
# Four words or more in quotation marks.
_QUOTATION = re.compile(r"[\"“„«](?:[^\s\"“”„«»]++ ++){3}[^\"“”„«»]*+[\"“”»]")
# Of the words of a clause, one half must be known, or its language counts as unknown.
_KNOWN_PARTS = 2


@dataclass(frozen=True, slots=True)
class ClauseModel:
    """The weights of the classes by feature.

    Attributes:
        places: the row of each feature in `weights`.
        weights: (features, CLASSES) int64, in parts of `SCALE`.
        least: for each kind, by how much its score must exceed that of nothing.
        common: the words that stand as they are in patterns.
    """

    places: Mapping[str, int]
    weights: NDArray[np.int64]
    least: tuple[int, ...]
    common: frozenset[str]

    def kind_of(self, clause: Clause, *, allowed: frozenset[WorkKind]) -> tuple[WorkKind | None, int]:
        """Return the kind of a clause, and by how much its score exceeds that of nothing; None if it has none.

        Of several kinds it is the one that exceeds its bound by most.

        Args:
            clause: the clause.
            allowed: the kinds that its author and its form leave.
        """
        scores = self.scores(clause_features(clause, self.common)) if allowed else None
        if scores is None:
            return None, 0
        best: tuple[int, WorkKind | None, int] = (-1, None, 0)
        for kind, score, least in zip(KINDS, scores, self.least, strict=False):
            margin = score - scores[-1]
            if kind in allowed and margin - least > best[0]:
                best = margin - least, kind, margin
        return best[1], best[2]

    def scores(self, features: ClauseFeatures) -> list[int] | None:
        """Return the score of each class, in parts of `UNIT * SCALE`; None if most words are unknown."""
        known = sum(f"w {word}" in self.places for word in features.words)
        if known * _KNOWN_PARTS < len(features.words):
            return None
        rows, values = list[int](), list[int]()
        for value, group in valued(features):
            found = [self.places[feature] for feature in group if feature in self.places]
            rows += found
            values += [value] * len(found)
        scores: list[int] = (np.array(values, dtype=np.int64) @ self.weights[rows]).tolist()
        return scores

    def save(self, path: Path) -> None:
        """Write the model to a file that `read_model` reads; its weights have to fit one byte each."""
        np.savez_compressed(
            path,
            features=_packed(self.places),
            weights=self.weights.astype(np.int8),
            least=np.array(self.least, dtype=np.int32),
            common=_packed(sorted(self.common)),
        )


def valued(features: ClauseFeatures) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the features by groups, with the value of each feature of the group in parts of `UNIT`."""
    yield UNIT, (BIAS,)
    yield UNIT, features.form
    parts = [part for word in features.words for part in parts_of(word)]
    for norm, group in zip((*GROUP_NORMS, PARTS_NORM), (*features.groups, parts), strict=True):
        if group:
            yield _group_value(norm, len(group)), group


@cache
def _group_value(norm: int, count: int) -> int:
    """Return the value of each feature of a group: long groups weigh what short ones do."""
    return isqrt(norm * norm * UNIT * UNIT // count)


def allowed_kinds(clause: Clause) -> frozenset[WorkKind]:
    """Return what a clause may be: agents set no goals, and a question or a condition settles nothing.

    A clause that holds the sentence of somebody else in quotation marks may be nothing.
    """
    if _QUOTATION.search(clause.text):
        return frozenset()
    allowed = frozenset(KINDS)
    if clause.who == "agent":
        allowed -= HUMAN_KINDS
    if clause.is_question:
        allowed &= {"user_request", "objective"}
    if clause.is_unreal:
        allowed &= {"user_request", "constraint"}
    return allowed


@cache
def load_model() -> ClauseModel:
    """Return the model of the file beside this module."""
    with as_file(files("memex.subagent.work.classifier") / "clause_kinds.npz") as path:
        return read_model(path)


def read_model(path: Path) -> ClauseModel:
    """Return the model of a file that `ClauseModel.save` wrote."""
    with np.load(path) as arrays:
        return ClauseModel(
            {name: place for place, name in enumerate(_unpacked(arrays["features"]))},
            arrays["weights"].astype(np.int64),
            tuple(arrays["least"].tolist()),
            frozenset(_unpacked(arrays["common"])),
        )


def _packed(names: Iterable[str]) -> NDArray[np.uint8]:
    """Return names, a line each, as bytes: an array of strings would take four bytes a character."""
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


def _unpacked(names: NDArray[np.uint8]) -> list[str]:
    return names.tobytes().decode().split("\n")
