"""The watch over the event loop: it measures for how long the loop does nothing else, which stalls every caller."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from memex.metrics import Metrics

EVERY_S = 0.05  # 20 wake-ups in a second, of some microseconds each
STALL_S = 0.1  # what takes longer is counted
LOGGED_S = 1.0  # and what takes so long is logged

_log = structlog.get_logger("memex.http")


class LoopWatch:
    """Wakes up at fixed times, and counts by how much the loop was late.

    Args:
        metrics: to count in.
        loop: to watch.
    """

    def __init__(self, metrics: Metrics, loop: asyncio.AbstractEventLoop) -> None:
        self._metrics = metrics
        self._loop = loop
        self._due_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to watch."""
        self._due_s = self._loop.time() + EVERY_S
        self._timer = self._loop.call_at(self._due_s, self._look)

    def stop(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        late_s = self._loop.time() - self._due_s
        if late_s > STALL_S:
            self._metrics.add_stall(late_s)
            if late_s >= LOGGED_S:
                _log.warning("event_loop_stalled", seconds=round(late_s, 3))
        self.start()


@contextmanager
def watching_loop(metrics: Metrics) -> Iterator[None]:
    """Watch the running loop while the block runs."""
    watch = LoopWatch(metrics, asyncio.get_running_loop())
    watch.start()
    try:
        yield
    finally:
        watch.stop()
