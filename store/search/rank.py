"""One ranking of two: the scores of words, and the distances of vectors. Pure."""

import math
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

# The value of the nearest by vectors, where the best by words has the value 1; see docs/decisions/0009.
VECTOR_WEIGHT = 0.4
LEAST_SIMILARITY = 0.35  # of what stands beside the memory: a passage that is farther says nothing of a query


class Comparable(Protocol):
    """A value that can be put in order."""

    def __lt__(self, other: Any, /) -> bool:
        """Return whether this value comes first."""
        ...


Key = TypeVar("Key", bound=Comparable)


def blend(
    scores: Mapping[Key, int], nearness: Mapping[Key, float], *, weight: float = VECTOR_WEIGHT
) -> list[tuple[Key, float]]:
    """Merge scores of words and nearness of vectors into one ranking; best first, ties by key.

    The value of a key is `score / highest score + weight * nearness`; a key that a mapping lacks counts 0 there.
    Source: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023. They find
    such a sum better than reciprocal rank fusion, and so do our measurements.

    Args:
        scores: the scores by words, above 0.
        nearness: the nearness by vectors, from `to_nearness`.
        weight: the value of the nearest key.
    """
    top = max(scores.values(), default=1)
    values = {key: score / top for key, score in scores.items()}
    for key, near in nearness.items():
        values[key] = values.get(key, 0.0) + weight * near
    return sorted(values.items(), key=lambda item: (-item[1], item[0]))


def to_nearness(distances: Mapping[Key, float], *, near_enough: float = math.inf) -> dict[Key, float]:
    """Return distances scaled to nearness: 1 for the nearest key, 0 for the farthest of several.

    Where no key is at `near_enough` or nearer, none has the nearness 1: the nearest may be far too.
    """
    near, far = min([*distances.values(), near_enough]), max(distances.values(), default=0.0)
    return {key: (far - one) / (far - near) if far > near else 1.0 for key, one in distances.items()}
