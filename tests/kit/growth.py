"""How time grows with size: a ratio within one run, which a slow machine changes little."""

import time
from collections.abc import Callable
from typing import Any

from tests.kit.property_budget import scaled

LINEAR = 9  # of four times the size: linear work takes 4 times as long, quadratic 16


def growth(prepare: Callable[[int], Callable[[], Any]], size: int) -> float:
    """Return how many times longer four times the size takes: CPU time, the least of three rounds of each.

    Args:
        prepare: makes the work of a size, which is not timed.
        size: large enough for some milliseconds of work, also of a quarter, which a quick run takes.
    """
    size = scaled(size)

    def least_s(work: Callable[[], Any]) -> float:
        times = []
        for _ in range(3):
            started = time.process_time()
            work()
            times.append(time.process_time() - started)
        return min(times)

    return least_s(prepare(4 * size)) / least_s(prepare(size))
