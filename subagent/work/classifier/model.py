"""Which kind of thing about work a clause says, by a linear model of ten classes: nine kinds, and nothing. Pure.

The weights are a multinomial logistic regression, fitted by `memex.evals.work.fit` to turns of independent writers.
They lie beside this module as a table that can be read: a line for each feature, with a letter for each class and
its weight. All arithmetic is of integers, so every machine finds the same.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from math import isqrt

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
LETTERS = "abcdefghijklmnopqrstuvwxyz"  # of the classes, in their order
BIAS, LEAST, COMMON = "bias", "least", "common"  # the lines of a table that are no features
GROUP_NORMS = (3, 3, 2, 2, 2, 2, 3)  # of `ClauseFeatures.groups`
PARTS_NORM = 3
UNIT = 1_000  # the value of a feature of the form
SCALE = 100  # a weight of 1 in the table is a hundredth
# Four words or more in quotation marks.
_QUOTATION = re.compile(r"[\"“„«](?:[^\s\"“”„«»]++ ++){3}[^\"“”„«»]*+[\"“”»]")
# Of the words of a clause, one half must have a weight, or its language counts as unknown.
_KNOWN_PARTS = 2
_LANE = 48  # bits of a class in a packed sum
_HALF, _MASK = 1 << _LANE - 1, (1 << _LANE) - 1
_SHIFTS = {letter: _LANE * place for place, letter in enumerate(LETTERS[:CLASSES])}
_WEIGHT = re.compile(r"([a-z])(-?\d+)")
_MAX_WORDS = 20_000  # whose sums are kept


@dataclass(frozen=True, slots=True)
class ClauseModel:
    """The weights of the classes by feature.

    The weights of all classes for a feature are packed into one integer, a lane of bits for each class, because one
    addition is faster than ten; see `_unpack`.

    Attributes:
        weights: by feature, as the table has them.
        least: for each kind, by how much its score must exceed that of nothing.
        common: the words that stand as they are in patterns.
    """

    weights: Mapping[str, str]
    least: tuple[int, ...]
    common: frozenset[str]
    _packed: dict[str, int] = field(default_factory=dict)
    _parts: dict[str, tuple[int, int]] = field(default_factory=dict)

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
        known = sum(f"w {word}" in self.weights for word in features.words)
        if known * _KNOWN_PARTS < len(features.words):
            return None
        total = UNIT * (self._sum((BIAS,)) + self._sum(features.form))
        for norm, group in zip(GROUP_NORMS, features.groups, strict=True):
            if group:
                total += group_value(norm, len(group)) * self._sum(group)
        parts = [self._parts_of(word) for word in features.words]
        count = sum(one for one, _ in parts)
        if count:
            total += group_value(PARTS_NORM, count) * sum(weights for _, weights in parts)
        return _unpack(total)

    def _sum(self, features: Iterable[str]) -> int:
        total, packed, weights = 0, self._packed, self.weights
        for feature in features:
            cell = packed.get(feature)
            if cell is None:
                if feature not in weights:
                    continue
                cell = packed[feature] = _pack(weights[feature])
            total += cell
        return total

    def _parts_of(self, word: str) -> tuple[int, int]:
        """Return how many parts a word has, and the sum of their weights."""
        found = self._parts.get(word)
        if found is None:
            parts = list(parts_of(word))
            found = len(parts), self._sum(parts)
            if len(self._parts) < _MAX_WORDS:
                self._parts[word] = found
        return found


@cache
def group_value(norm: int, count: int) -> int:
    """Return the value of each feature of a group in parts of `UNIT`: long groups weigh what short ones do."""
    return isqrt(norm * norm * UNIT * UNIT // count)


def _pack(cell: str) -> int:
    total = 0
    for letter, weight in _WEIGHT.findall(cell):
        total += int(weight) << _SHIFTS[letter]
    return total


def _unpack(total: int) -> list[int]:
    """Return the sums of the classes; a lane whose highest bit is set is below zero, and borrowed from the next."""
    found = []
    for _ in range(CLASSES):
        lane = total & _MASK
        if lane >= _HALF:
            lane -= _MASK + 1
        found.append(lane)
        total = total - lane >> _LANE
    return found


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
    """Return the model of the table beside this module."""
    table = (files("memex.subagent.work.classifier") / "clause_kinds.tsv").read_text(encoding="utf-8")
    return read_model(dict(line.split("\t") for line in table.splitlines()))


def read_model(lines: dict[str, str]) -> ClauseModel:
    """Return the model of a table, whose lines it takes over."""
    least = _unpack(_pack(lines.pop(LEAST)))
    common = frozenset(lines.pop(COMMON).split())
    bounds = tuple(bound * UNIT for bound in least[: len(KINDS)])
    return ClauseModel(lines, bounds, common)
