"""A worker: takes jobs from a queue, comes back when the database does, and gives back what it cannot end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import procrastinate
import structlog
from procrastinate import PsycopgConnector
from procrastinate.exceptions import ProcrastinateException
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memex.store.sql import sql

SHUTDOWN_S = 2.0  # what a running job gets to end by itself
RESTART_S = 5.0
FAILED_KEPT_H = 24 * 7

_log = structlog.get_logger("memex.jobs")


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of jobs, and how its jobs are done.

    Attributes:
        name: by which jobs name it.
        at_once: jobs at a time.
        add_tasks: gives an app the tasks that do the jobs.
        begin: what is done each time before the first job.
        poll_s: how long a new job waits at most: deferring it notifies nobody.
    """

    name: str
    at_once: int
    add_tasks: Callable[[procrastinate.App], None]
    begin: Callable[[procrastinate.App], Awaitable[None]]
    poll_s: float = 1.0


@asynccontextmanager
async def working(conninfo: str, *queues: Queue) -> AsyncIterator[None]:
    """Take jobs from queues in this process until the end of the block.

    Args:
        conninfo: of the database; each queue has two connections of its own.
        queues: each has a worker.
    """
    tasks = [asyncio.create_task(_work(conninfo, queue), name=f"worker of {queue.name}") for queue in queues]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _work(conninfo: str, queue: Queue) -> None:
    """Run a worker for good: one that ends, because the database went away, is followed by another."""
    app = open_app(conninfo, queue)
    while True:
        try:
            async with app.open_async():
                await queue.begin(app)
                await run(app, queue, wait=True)
        except Exception:  # noqa: BLE001  # whatever ends it: nobody else would start it again
            _log.warning("worker_failed", queue=queue.name, exc_info=True)
        await asyncio.sleep(RESTART_S)


def open_app(conninfo: str, queue: Queue) -> procrastinate.App:
    """Return what runs a queue's jobs, not connected yet."""
    connector = PsycopgConnector(
        conninfo=_in_its_schema(conninfo),
        kwargs={"application_name": "memex-jobs"},
        min_size=1,
        max_size=2,
        reconnect_timeout=RESTART_S,
    )
    app = procrastinate.App(connector=connector)
    queue.add_tasks(app)
    return app


async def run(app: procrastinate.App, queue: Queue, *, wait: bool) -> None:
    """Do the jobs of a queue: those that can be begun now, or with `wait` all that ever come."""
    await app.run_worker_async(
        queues=[queue.name],
        concurrency=queue.at_once,
        wait=wait,
        listen_notify=False,
        fetch_job_polling_interval=queue.poll_s,
        shutdown_graceful_timeout=SHUTDOWN_S,
        delete_jobs="successful",
        install_signal_handlers=False,
    )


async def execute(app: procrastinate.App, statement: str, **parameters: str) -> None:
    """Run `queries/{statement}.sql` on a connection that finds the library's tables, as its triggers must."""
    await app.connector.execute_query_async(sql(statement).decode(), **parameters)


async def free_stalled(app: procrastinate.App, queue: str) -> None:
    """Put jobs back into a queue whose worker was killed."""
    for job in await app.job_manager.get_stalled_jobs(queue=queue):
        with suppress(ProcrastinateException):  # another worker was faster
            await app.job_manager.retry_job(job)


async def forget_old(app: procrastinate.App, queue: str) -> None:
    """Remove jobs that were given up a week ago."""
    await app.job_manager.delete_old_jobs(
        FAILED_KEPT_H, queue=queue, include_failed=True, include_cancelled=True, include_aborted=True
    )


def _in_its_schema(conninfo: str) -> str:
    """Return how to connect so that the library finds its tables."""
    given: dict[str, Any] = dict(conninfo_to_dict(conninfo))
    options = " ".join(filter(None, [given.get("options"), "-c search_path=procrastinate"]))
    return make_conninfo(conninfo, options=options)
