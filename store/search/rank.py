"""Two rankings made one: by words and by meaning. Pure."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

# What the nearest is worth beside the best by words, which is worth 1; see docs/decisions/0009.
VECTOR_SHARE = 0.4


class Comparable(Protocol):
    """What can be put in order."""

    def __lt__(self, other: Any, /) -> bool:
        """Whether it comes first."""
        ...


Key = TypeVar("Key", bound=Comparable)


def blend(
    scores: Mapping[Key, int], nearness: Mapping[Key, float], *, share: float = VECTOR_SHARE
) -> list[tuple[Key, float]]:
    """Merge what words and vectors say of the same things by relative scores; best first, ties by key.

    The value of a thing is `score / highest score + share * nearness`; what a list lacks gets nothing from it.
    A convex combination of normalised scores, after Bruch, Gai and Ingber, "An Analysis of Fusion Functions for
    Hybrid Retrieval", ACM TOIS 2023, which finds it better than reciprocal rank fusion, as we do.

    Args:
        scores: by words, above 0.
        nearness: by vectors, as `to_nearness` makes it of distances.
        share: what the nearest is worth.
    """
    top = max(scores.values(), default=1)
    values = {key: score / top for key, score in scores.items()}
    for key, near in nearness.items():
        values[key] = values.get(key, 0.0) + share * near
    return sorted(values.items(), key=lambda item: (-item[1], item[0]))


def to_nearness(distances: Mapping[Key, float]) -> dict[Key, float]:
    """Return distances turned and stretched: 1 for the nearest, 0 for the farthest of several."""
    near, far = min(distances.values(), default=0.0), max(distances.values(), default=0.0)
    return {key: (far - one) / (far - near) if far > near else 1.0 for key, one in distances.items()}
