"""The queue whose only job has a chat model read what was said lately in sessions, for where work stands."""

import time
from contextlib import suppress
from dataclasses import dataclass

import procrastinate
import structlog
from procrastinate.exceptions import AlreadyEnqueued

from memex.jobs.worker import JobQueue, periodic_queue
from memex.service.service import Service
from memex.service.work.model_reading import read_recent

QUEUE = "work"
READ = "read_sessions"
READ_TIMES = "*/2 * * * *"  # cron: every two minutes
FIRST_PAUSE_S = 120.0  # after the model could not be asked; then 240, 480 …
LONGEST_PAUSE_S = 3_600.0

_log = structlog.get_logger("memex.jobs")


@dataclass(slots=True)
class ModelPause:
    """The time, by `time.monotonic`, until which a model that could not be asked is left alone."""

    until_s: float = 0.0
    length_s: float = 0.0

    @property
    def is_over(self) -> bool:
        """Return whether the model may be asked again."""
        return time.monotonic() >= self.until_s

    def note(self, failure: str | None) -> None:
        """Begin a pause after a failure, each twice as long as the last; a success ends this."""
        self.length_s = min(max(FIRST_PAUSE_S, 2 * self.length_s), LONGEST_PAUSE_S) if failure else 0.0
        self.until_s = time.monotonic() + self.length_s


def work_queue(service: Service) -> JobQueue:
    """Return the queue that has the model of a service read sessions of all tenants, one process at a time."""
    pause = ModelPause()

    async def read(_: int) -> None:
        if not pause.is_over:
            return
        failure = await read_recent(service)
        pause.note(failure)
        if failure is not None:
            _log.warning("work_model_left_alone", failure=failure, seconds=pause.length_s)

    async def begin(app: procrastinate.App) -> None:
        with suppress(AlreadyEnqueued):
            await app.configure_task(READ, queue=QUEUE, queueing_lock=READ, lock=READ).defer_async(
                timestamp=int(time.time())
            )

    return periodic_queue(QUEUE, READ, READ_TIMES, read, begin)
