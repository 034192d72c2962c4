"""The queue of texts to be remembered: each job carries out one call that was accepted with `wait: false`."""

import asyncio
from datetime import UTC, datetime

import procrastinate
import structlog
from procrastinate import BaseRetryStrategy, RetryDecision

from memex.jobs.worker import JobQueue, delete_old_jobs, free_stalled
from memex.service.log import queue
from memex.service.service import Service
from memex.store.log.queue import recover

QUEUE = "remember"
REMEMBER, SWEEP = "remember", "remember_sweep"
SWEEP_TIMES = "* * * * *"  # cron: every minute
POLL_S = 0.25  # those of one user are done one after the other, and each waits so long for its turn
PAUSE_S = 10  # after an error outside of any call, such as a database that went away

_log = structlog.get_logger("memex.jobs")


class RetryLater(Exception):
    """The call is to be taken up again in some seconds."""

    def __init__(self, pause_s: float) -> None:
        super().__init__(f"again in {pause_s:.0f} s")
        self.pause_s = pause_s


class CallRetryStrategy(BaseRetryStrategy):
    """Another attempt when the call says so: the row of the call counts its tries, and ends them."""

    def get_retry_decision(
        self,
        *,
        exception: BaseException,
        job: procrastinate.jobs.Job,  # noqa: ARG002  # which the library passes
    ) -> RetryDecision:
        """Return when to try again."""
        if isinstance(exception, asyncio.CancelledError):  # the worker ends: another takes it over
            return RetryDecision(retry_at=datetime.now(UTC))
        pause_s = exception.pause_s if isinstance(exception, RetryLater) else PAUSE_S
        return RetryDecision(retry_in={"seconds": round(pause_s) + 1})


def remember_queue(service: Service, *, at_once: int = 1) -> JobQueue:
    """Return the queue whose jobs carry out calls of a service's database, so many at a time."""

    def add_tasks(app: procrastinate.App) -> None:
        @app.task(name=REMEMBER, queue=QUEUE, retry=CallRetryStrategy())
        async def remember(scope_id: int, operation_id: int) -> None:
            pause_s = await queue.carry_out(service, scope_id, operation_id)
            if pause_s is not None:
                raise RetryLater(pause_s)

        @app.periodic(cron=SWEEP_TIMES)
        @app.task(name=SWEEP, queue=QUEUE, queueing_lock=SWEEP, lock=SWEEP)
        async def sweep(timestamp: int) -> None:  # noqa: ARG001  # which the library passes
            await begin(app)

    async def begin(app: procrastinate.App) -> None:
        await free_stalled(app, QUEUE)
        await delete_old_jobs(app, QUEUE)
        async with service.database.maintenance() as connection:
            recovered = await recover(connection)
        if recovered:
            _log.warning("lost_jobs_made_again", queue=QUEUE, jobs=recovered)

    return JobQueue(QUEUE, at_once, add_tasks, begin, POLL_S)
