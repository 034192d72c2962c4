"""The time that a test may take: one that takes longer fails, unless it is marked as slow.

The limit is meant for a quiet machine. On a slow or busy one it is longer by as much as the machine takes
longer for a fixed piece of work, measured when the tests start and again before a test fails.
"""

import os
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from statistics import median

import pytest

LIMIT_S = 5.0
WORK = 400_000
# How long `work` takes on a quiet machine with two cores, such as a small virtual one.
QUIET_S = 0.04
MEASURED_TIMES = 5
# What other machines on the same host may take away for some seconds, which nothing here measures.
# A run of the tests must not fail for that: the limit is there to find a test that takes far too long.
NOISE = 4.0


def work() -> int:
    """Return the sum of the first numbers: a fixed piece of work for the processor."""
    total = 0
    for number in range(WORK):
        total += number
    return total


def slowness() -> float:
    """Return how many times longer a test may take on this machine now than on a quiet one; at least 1.

    It is the product of how slowly this process runs and of how many wait for a core: a test has processes of
    its own that wait too, and each worker beside it takes its share.
    """
    times_s = []
    for _ in range(MEASURED_TIMES):
        started = time.perf_counter()
        work()
        times_s.append(time.perf_counter() - started)
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)  # who waits for a core, over the last minute
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0"))
    sharing = 1 + workers / (os.cpu_count() or 1)
    return max(1.0, median(times_s) / QUIET_S) * max(sharing, waiting)


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A plugin of pytest that fails a test which runs longer than `limit_s` and is not marked as slow."""

    limit_s: float = LIMIT_S
    slowness: float = field(default_factory=slowness)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Run a test, and fail it if it took too long."""
        started = time.perf_counter()
        yield
        took_s = time.perf_counter() - started
        if took_s <= self.limit_s or item.get_closest_marker("slow"):
            return
        allowed_s = self.limit_s * max(self.slowness, slowness()) * NOISE
        if took_s > allowed_s:
            pytest.fail(
                f"The test took {took_s:.1f} s, and {allowed_s:.1f} s are allowed on this machine now. Make it"
                " faster; or, if it tests none of the promises, mark it with @pytest.mark.slow.",
                pytrace=False,
            )
