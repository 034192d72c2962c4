"""On how much a property is tried: on few and small inputs, or on many and large ones in `make test-all`."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")

settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("thorough", max_examples=1_000, deadline=None)
settings.load_profile("quick")


def is_thorough() -> bool:
    """Return whether this run tries as much as it can, as `make test-all` does."""
    return settings().max_examples >= 1_000


def scaled(size: int) -> int:
    """Return the size of a hostile text: a quarter in a run that is not thorough."""
    return size if is_thorough() else size // 4


def sampled(items: Sequence[T], every: int) -> Sequence[T]:
    """Return each item in a thorough run, and otherwise one of `every`."""
    return items if is_thorough() else items[::every]


def costly() -> int:
    """Return the number for a property of which one input takes seconds."""
    return max(1, settings().max_examples // 20)
