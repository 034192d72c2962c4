"""The queue whose only job sums the log by the hour, for the page of health."""

from datetime import UTC, datetime

import procrastinate

from memex.jobs.worker import JobQueue, delete_old_jobs, free_stalled
from memex.store.database import Database
from memex.store.log.hours import LATE, RECENT, sum_hours

QUEUE = "log"
SUM = "sum_log_hours"
SUM_TIMES = "*/5 * * * *"  # cron: every five minutes
POLL_S = 10.0  # nobody waits for it


def log_queue(database: Database) -> JobQueue:
    """Return the queue that sums the log of all tenants: the newest hours, and once an hour the whole last day."""

    def add_tasks(app: procrastinate.App) -> None:
        @app.periodic(cron=SUM_TIMES)
        @app.task(name=SUM, queue=QUEUE, queueing_lock=SUM, lock=SUM)
        async def sum_log(timestamp: int) -> None:  # the library passes it
            await free_stalled(app, QUEUE)
            await delete_old_jobs(app, QUEUE)
            is_first_of_hour = datetime.fromtimestamp(timestamp, UTC).minute == 0
            await sum_hours(database, datetime.now(UTC) - (LATE if is_first_of_hour else RECENT))

    async def begin(_: procrastinate.App) -> None:
        await sum_hours(database, datetime.now(UTC) - LATE)

    return JobQueue(QUEUE, 1, add_tasks, begin, POLL_S)
