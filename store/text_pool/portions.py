"""Portions: what is read, stored or sent together, so that no step is long."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def portions(
    items: Iterable[T], size_of: Callable[[T], int], max_size: int, max_items: int | None = None
) -> Iterator[list[T]]:
    """Yield items in portions of at most this size and number, in their order; a larger item is alone in one."""
    portion: list[T] = []
    size = 0
    for item in items:
        more = size_of(item)
        if portion and (len(portion) == max_items or size + more > max_size):
            yield portion
            portion, size = [], 0
        portion.append(item)
        size += more
    if portion:
        yield portion
