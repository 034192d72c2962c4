"""Rankings made one. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar


class Comparable(Protocol):
    """What can be put in order."""

    def __lt__(self, other: Any, /) -> bool:
        """Whether it comes first."""
        ...


Key = TypeVar("Key", bound=Comparable)


def fuse(rankings: Sequence[tuple[float, Sequence[Key]]], *, k: int = 60) -> list[tuple[Key, float]]:
    """Merge weighted rankings of the same things by reciprocal rank; best first, ties by key.

    A thing that a ranking lacks gets nothing from it, and one that it holds twice counts where it stands first.
    Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods", SIGIR 2009; k = 60 is theirs, the weights are ours.

    Args:
        rankings: each with its weight, from 0 up, and its things best first.
        k: how little the first ranks stand out.
    """
    scores: defaultdict[Key, float] = defaultdict(float)
    for weight, ranking in rankings:
        for rank, key in enumerate(dict.fromkeys(ranking), start=1):
            scores[key] += weight / (k + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
