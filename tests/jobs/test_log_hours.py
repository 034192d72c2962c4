"""The worker that sums the log by the hour: it begins with the last day, and a second one changes nothing."""

import pytest
from tests.kit.memory import write
from tests.kit.rows import select, until

from memex.jobs.log_hours import log_queue
from memex.jobs.worker import running_workers
from memex.service.service import Caller, Service

# The statement is tested on both servers beside the store.
pytestmark = pytest.mark.embedded_only


async def test_workers_sum_what_the_log_holds(conninfo: str, service: Service, alice: Caller) -> None:
    """Two replicas at once: each call is counted once."""
    for number in range(3):
        await write(service, alice, f"user/{number}.md", "Oolong.")
    queues = [log_queue(service.database) for _ in range(2)]

    async with running_workers(conninfo, *queues):
        await until(service.database, "select count(*) > 0 from log_hour")

    assert await select(service.database, "select tool, status, calls from log_hour") == [
        ("memory_write", "committed", 3)
    ]
