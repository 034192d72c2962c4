"""How time grows with size: a ratio within one run, which a slow machine changes little."""

import gc
import time
from collections.abc import Callable
from typing import Any

from tests.kit.property_budget import scaled

LINEAR = 9  # of four times the size: linear work takes 4 times as long, quadratic 16
ROUNDS = 3
MOST_ROUNDS = 15  # while it looks worse than linear, which on a busy machine may be for noise alone


def growth(prepare: Callable[[int], Callable[[], Any]], size: int) -> float:
    """Return how many times longer four times the size takes: CPU time, the least of some rounds of each.

    The rounds alternate, so that a moment in which the machine is slow meets both sizes, and there are more of them
    as long as the work looks worse than linear. Nothing collects garbage meanwhile.

    Args:
        prepare: makes the work of a size, which is not timed.
        size: large enough for some milliseconds of work, also of a quarter, which a quick run takes.
    """
    size = scaled(size)
    small, large = prepare(size), prepare(4 * size)
    least_small_s, least_large_s = float("inf"), float("inf")
    for number in range(1, MOST_ROUNDS + 1):
        least_small_s = min(least_small_s, _timed(small))
        least_large_s = min(least_large_s, _timed(large))
        if number >= ROUNDS and least_large_s < LINEAR * least_small_s:
            break
    return least_large_s / least_small_s


def _timed(work: Callable[[], Any]) -> float:
    gc.disable()
    try:
        started = time.process_time()
        work()
        return time.process_time() - started
    finally:
        gc.enable()
