"""A worker takes jobs from a queue.

The worker starts again when the database comes back, and gives back the jobs that it cannot finish.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

import procrastinate
import structlog
from procrastinate import PsycopgConnector
from procrastinate.exceptions import ProcrastinateException
from procrastinate.worker import Worker
from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from memex.store import pooler
from memex.store.pooler import PoolerSetting
from memex.store.sql import sql
from memex.store.waiting.time_limits import socket_limits

SHUTDOWN_S = 2.0  # the time that a running job gets to end by itself
RESTART_S = 5.0
FAILED_KEPT_H = 24 * 7

# Of each transaction of the library. None of its statements is long, and it leaves none waiting.
SETTINGS = (
    b"set local search_path to procrastinate; set local lock_timeout to '5s'; "
    b"set local statement_timeout to '30s'; set local idle_in_transaction_session_timeout to '60s'"
)

_log = structlog.get_logger("memex.jobs")


@dataclass(frozen=True, slots=True)
class JobQueue:
    """A queue of jobs, and how its jobs are done.

    Attributes:
        name: the name of the queue, which its jobs carry.
        at_once: the number of jobs that run at the same time.
        add_tasks: adds to an app the tasks that do the jobs.
        begin: runs each time before the first job.
        poll_s: the longest time that a new job waits; deferring a job sends no notification.
    """

    name: str
    at_once: int
    add_tasks: Callable[[procrastinate.App], None]
    begin: Callable[[procrastinate.App], Awaitable[None]]
    poll_s: float = 1.0


@asynccontextmanager
async def running_workers(
    conninfo: str, *queues: JobQueue, pooler_setting: PoolerSetting = "auto"
) -> AsyncIterator[None]:
    """Take jobs from queues in this process until the end of the block.

    Args:
        conninfo: how to connect to the database; each queue uses two connections of its own.
        queues: the queues; each one has a worker.
        pooler_setting: whether the connections lead through a pooler.
    """
    workers = [_WorkerRun(conninfo, queue, pooler_setting) for queue in queues]
    try:
        yield
    finally:
        await asyncio.gather(*(worker.end() for worker in workers))


class _WorkerRun:
    """A series of workers: when one ends because the database went away, the next one starts.

    A flag asks for the end, in addition to the cancellation. In Python 3.11, the `asyncio.wait_for` that connection
    pools use loses a cancellation that arrives at the same moment as the awaited result.
    """

    def __init__(self, conninfo: str, queue: JobQueue, pooler_setting: PoolerSetting) -> None:
        self._app = open_app(conninfo, queue, pooler_setting)
        self._queue = queue
        self._worker: Worker | None = None
        self._is_ending = False
        self._task = asyncio.create_task(self._run(), name=f"worker of {queue.name}")

    async def end(self) -> None:
        """Give running jobs a moment to end, and then give them back."""
        self._is_ending = True
        if self._worker is not None:
            self._worker.stop()  # type: ignore[no-untyped-call]  # the library's
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while not self._is_ending:
            try:
                await self._app.open_async()
                await self._give_back()
                await self._queue.begin(self._app)
                if not self._is_ending:
                    self._worker = create_worker(self._app, self._queue, wait=True)
                    await self._worker.run()  # type: ignore[no-untyped-call]
            except Exception:  # noqa: BLE001  # nothing else starts the worker again
                _log.warning("worker_failed", queue=self._queue.name, exc_info=True)
            finally:  # also if the end comes during connecting, which would never end by itself
                await self._app.close_async()
            if not self._is_ending:
                await asyncio.sleep(RESTART_S)

    async def _give_back(self) -> None:
        """Put the jobs back that the last worker had when the database went away; they have not failed."""
        if self._worker is not None and self._worker.worker_id is not None:
            await execute(self._app, "jobs/job_give_back", worker=self._worker.worker_id)
            self._worker = None


class _QueuePool(AsyncConnectionPool[AsyncConnection]):
    """A pool whose connections find the library's tables, in a transaction: behind a pooler nothing else lasts."""

    @asynccontextmanager
    async def connection(self, timeout: float | None = None) -> AsyncIterator[AsyncConnection]:  # noqa: ASYNC109  # the library's
        """A connection in a transaction, which is committed at the end."""
        async with super().connection(timeout) as connection, connection.transaction():
            await connection.execute(SETTINGS)
            yield connection


def open_app(conninfo: str, queue: JobQueue, pooler_setting: PoolerSetting = "auto") -> procrastinate.App:
    """Return the app that runs the jobs of a queue. The app is not connected yet."""
    connector = PsycopgConnector(
        conninfo=conninfo,
        pool_factory=_QueuePool,
        configure=partial(pooler.settle, setting=pooler_setting),
        kwargs={"autocommit": True, "application_name": "memex-jobs", **socket_limits(conninfo)},
        min_size=1,
        max_size=2,
        reconnect_timeout=RESTART_S,
    )
    app = procrastinate.App(connector=connector)
    queue.add_tasks(app)
    return app


def create_worker(app: procrastinate.App, queue: JobQueue, *, wait: bool) -> Worker:
    """Return a worker for the jobs of a queue.

    The worker does the jobs that can start now and ends. With `wait`, it also does all later jobs.
    """
    return Worker(
        app=app,
        queues=[queue.name],
        concurrency=queue.at_once,
        wait=wait,
        listen_notify=False,
        fetch_job_polling_interval=queue.poll_s,
        shutdown_graceful_timeout=SHUTDOWN_S,
        delete_jobs="successful",
        install_signal_handlers=False,
    )


async def execute(app: procrastinate.App, statement: str, **parameters: str | int) -> None:
    """Run `queries/{statement}.sql` on a connection that finds the library's tables, as its triggers must."""
    await app.connector.execute_query_async(sql(statement).decode(), **parameters)


def add_periodic(
    app: procrastinate.App, queue: str, name: str, cron: str, work: Callable[[int], Awaitable[object]]
) -> None:
    """Add a task that the clock starts, in one process at a time: it tidies all queues, and then does its work.

    `work` is given the time for which the task was planned, in seconds since 1970.
    """
    lock = f"{queue}:{name}"

    @app.periodic(cron=cron)
    @app.task(name=name, queue=queue, queueing_lock=lock, lock=lock)
    async def run(timestamp: int) -> None:
        await tidy(app)
        await work(timestamp)


async def tidy(app: procrastinate.App) -> None:
    """Put the jobs of killed workers back into their queues, and remove those that were given up a week ago.

    All queues at once: a task that the clock starts holds its lock when its worker is killed, so that its next jobs
    cannot begin, and another task has to free it.
    """
    for job in await app.job_manager.get_stalled_jobs():
        with suppress(ProcrastinateException):  # another worker was faster
            await app.job_manager.retry_job(job)
    await app.job_manager.delete_old_jobs(
        FAILED_KEPT_H, include_failed=True, include_cancelled=True, include_aborted=True
    )
