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


async def _watch(metrics: Metrics) -> None:
    """Wake up again and again, and count by how much the loop was late."""
    loop = asyncio.get_running_loop()
    while True:
        due_s = loop.time() + EVERY_S
        await asyncio.sleep(EVERY_S)
        late_s = loop.time() - due_s
        if late_s > STALL_S:
            metrics.add_stall(late_s)
            if late_s >= LOGGED_S:
                _log.warning("event_loop_stalled", seconds=round(late_s, 3))


@contextmanager
def watching_loop(metrics: Metrics) -> Iterator[None]:
    """Watch the running loop while the block runs."""
    watch = asyncio.create_task(_watch(metrics))
    try:
        yield
    finally:
        watch.cancel()
