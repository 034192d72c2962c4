"""The watch over the event loop."""

import asyncio
import time

from memex.http.loop_watch import watching_loop
from memex.metrics import Metrics


def _numbers(metrics: Metrics) -> dict[str, float]:
    exposed = metrics.exposition({})[0].decode()
    lines = [line.rpartition(" ") for line in exposed.splitlines() if line.startswith("memex_loop")]
    return {name: float(value) for name, _, value in lines}


async def test_a_stall_of_the_loop_is_counted() -> None:
    """With its length: while a callback runs, nobody is answered."""
    metrics = Metrics()
    with watching_loop(metrics):
        await asyncio.sleep(0)
        time.sleep(0.3)  # noqa: ASYNC251  # the stall
        for _ in range(3):
            await asyncio.sleep(0)

    found = _numbers(metrics)
    assert found["memex_loop_stalls_total"] >= 1
    assert found["memex_loop_stalled_seconds_total"] > 0.1
    assert found['memex_loop_longest_stall_seconds{worker="0"}'] > 0.1
