"""The queue of texts to remember. Each job carries out one call that was accepted with `wait: false`."""

import asyncio
from datetime import UTC, datetime

import procrastinate
import structlog
from procrastinate import BaseRetryStrategy, RetryDecision

from memex.jobs.worker import JobQueue, tidy
from memex.service.log import queue
from memex.service.log.queue import IN_TURN_S, Pause
from memex.service.service import Service
from memex.store.log.queue import LeasedCall, recover

QUEUE = "remember"
REMEMBER, SWEEP = "remember", "remember_sweep"
SWEEP_TIMES = "* * * * *"  # cron: every minute
POLL_S = 0.25  # the calls of one user run one after the other, and each waits this long for its turn
PAUSE_S = 10  # after an error that belongs to no call, such as a lost database

_log = structlog.get_logger("memex.jobs")


class RetryLater(Exception):
    """The call shall be tried again after a pause."""

    def __init__(self, pause: Pause) -> None:
        super().__init__(f"again in {pause.seconds:.0f} s")
        self.pause = pause


class CallRetryStrategy(BaseRetryStrategy):
    """Try a job again whenever the call asks for it. The row of the call counts the attempts and limits them.

    The jobs of a scope share a lock, by which they run in their order. One that fails for long gets a lock of its
    own, so that the others go on: what it says is filed as of its acceptance, whenever that is.
    """

    def get_retry_decision(self, *, exception: BaseException, job: procrastinate.jobs.Job) -> RetryDecision:
        """Return when to try again, and with which lock."""
        if isinstance(exception, asyncio.CancelledError):  # another worker takes the job over
            return RetryDecision(retry_at=datetime.now(UTC))
        if isinstance(exception, RetryLater):
            pause = exception.pause
        else:
            pause = Pause(PAUSE_S, holds_others=job.attempts * PAUSE_S < IN_TURN_S)
        lock = None
        if not pause.holds_others:
            lock = f"{REMEMBER}:{job.task_kwargs['scope_id']}:{job.task_kwargs['operation_id']}"
        return RetryDecision(retry_in={"seconds": round(pause.seconds) + 1}, lock=lock)


def remember_queue(service: Service, *, at_once: int = 1) -> JobQueue:
    """Return the queue whose jobs carry out the queued calls of a service, `at_once` calls at a time."""
    kept: list[LeasedCall] = []  # that were begun when the database went away

    def add_tasks(app: procrastinate.App) -> None:
        @app.task(name=REMEMBER, queue=QUEUE, retry=CallRetryStrategy())
        async def remember(scope_id: int, operation_id: int) -> None:
            pause = await queue.carry_out(service, scope_id, operation_id, kept)
            if pause is not None:
                raise RetryLater(pause)

        @app.periodic(cron=SWEEP_TIMES)
        @app.task(name=SWEEP, queue=QUEUE, queueing_lock=SWEEP, lock=SWEEP)
        async def sweep(timestamp: int) -> None:  # noqa: ARG001  # the library passes it
            await begin(app)

    async def begin(app: procrastinate.App) -> None:
        await queue.give_back(service.database, kept)
        await tidy(app)
        async with service.database.maintenance() as connection:
            recovered = await recover(connection)
        if recovered:
            _log.warning("lost_jobs_made_again", queue=QUEUE, jobs=recovered)

    return JobQueue(QUEUE, at_once, add_tasks, begin, POLL_S)
