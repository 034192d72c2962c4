"""On how much a property is tried: on few and small inputs, or on many and large ones in `make test-all`."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest
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


def in_turn(rows: Iterable[Any], every: int = 3) -> list[Any]:
    """Return the rows of a table as parameters of a test: one of `every` runs always, the others as slow tests."""
    listed = (pytest.param(*row) if isinstance(row, tuple) else pytest.param(row) for row in rows)
    return [
        row if number % every == 0 else row._replace(marks=(pytest.mark.slow,))
        for number, row in enumerate(listed)
    ]


def costly() -> int:
    """Return the number for a property of which one input takes seconds."""
    return max(1, settings().max_examples // 20)
