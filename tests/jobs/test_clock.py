"""What the clock starts: it begins with the last day of the log, and goes on after a process that was killed."""

import pytest
from tests.kit.memory import write
from tests.kit.rows import select, until

from memex.jobs.clock import DREAM, SUM, clock_queue
from memex.jobs.worker import open_app, running_workers
from memex.service.service import Caller, Service

# The statement is tested on both servers beside the store.
pytestmark = pytest.mark.embedded_only


@pytest.mark.slow
async def test_workers_sum_what_the_log_holds(conninfo: str, service: Service, alice: Caller) -> None:
    """Two replicas at once: each call is counted once."""
    for number in range(3):
        await write(service, alice, f"user/{number}.md", "Oolong.")
    queues = [clock_queue(service) for _ in range(2)]

    async with running_workers(conninfo, *queues):
        await until(service.database, "select count(*) > 0 from log_hour")

    assert await select(service.database, "select tool, status, calls from log_hour") == [
        ("memory_write", "committed", 3)
    ]


async def test_any_task_frees_those_of_killed_processes(service: Service, conninfo: str) -> None:
    """A task holds its lock until then, and none of its later jobs can begin."""
    app = open_app(conninfo, clock_queue(service))
    async with app.open_async():
        await app.tasks[SUM].defer_async(timestamp=0)
        await select(
            service.database,
            "insert into procrastinate_workers (last_heartbeat) values ('-infinity') returning id",
        )
        await select(
            service.database,
            "update procrastinate_jobs set status = 'doing', worker_id = (select id from procrastinate_workers)"
            " returning id",
        )
        await app.tasks[SUM].defer_async(timestamp=300)

        await app.tasks[DREAM].func(timestamp=0)

    assert await select(service.database, "select task_name, status::text from procrastinate_jobs") == [
        (SUM, "todo"),
        (SUM, "todo"),
    ]
