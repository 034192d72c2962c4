"""A linear model over the features of a sentence, read from a table that people can read too. Pure.

A line of the table is a feature, a tab, and a letter with a weight in tenths for each class that has one.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

SCALE = 10  # a weight of 1 in a table is a tenth
BIAS = "bias"
GROUP_NORM = 3.0  # of the words of a sentence, and of their parts; its form counts as it is
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of the classes, in their order
KNOWN_FROM = 0.5  # of the words of a sentence must have a weight, or its language counts as unknown

_PLACES = {letter: place for place, letter in enumerate(LETTERS)}
_WEIGHT = re.compile(r"([a-zA-Z])(-?\d+)")

FeatureGroups = tuple[Sequence[str], Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class LinearModel:
    """The weights of the classes by feature, each with the place of its class.

    Attributes:
        classes: how many classes there are.
        weights: by feature, as the table has them.
    """

    classes: int
    weights: Mapping[str, str]

    def scores(self, groups: FeatureGroups) -> list[float] | None:
        """Return the score of each class; None if most words are unknown, as in another language.

        Args:
            groups: the words of a sentence, the parts of its words, and its form; see `feature_groups`.
        """
        words = [feature for feature in groups[0] if feature[:2] == "w " and feature[2].isalpha()]
        if sum(feature in self.weights for feature in words) < KNOWN_FROM * len(words):
            return None
        found = [0.0] * self.classes
        for value, feature in _valued(groups):
            if cell := self.weights.get(feature):
                for place, weight in _parse(cell):
                    found[place] += value * weight / SCALE
        return found


def feature_values(groups: FeatureGroups) -> dict[str, float]:
    """Return the value of each feature, the bias among them."""
    return {feature: value for value, feature in _valued(groups)}


def load_model(name: str, classes: int) -> LinearModel:
    """Return the model whose table has this name.

    Args:
        name: of the table, a file beside this module.
        classes: how many classes it has.
    """
    table = (files("memex.subagent.statements.classifier") / f"{name}.tsv").read_text(encoding="utf-8")
    return LinearModel(classes, dict(line.split("\t") for line in table.splitlines()))


@lru_cache(maxsize=16_384)
def _parse(cell: str) -> tuple[tuple[int, int], ...]:
    """Return the places of the classes with their weights; tables are large, and few of their cells are used."""
    return tuple((_PLACES[letter], int(weight)) for letter, weight in _WEIGHT.findall(cell))


def _valued(groups: FeatureGroups) -> list[tuple[float, str]]:
    """Return the features with their values; a group of words weighs the same in a short and a long sentence."""
    words, parts, form = groups
    found = [(1.0, BIAS), *((1.0, feature) for feature in form)]
    for group in (words, parts):
        if group:
            value = GROUP_NORM / math.sqrt(len(group))
            found += [(value, feature) for feature in group]
    return found
