"""The queue whose only job sums the log by the hour, for the page of health."""

from datetime import UTC, datetime

from memex.jobs.worker import JobQueue, periodic_queue
from memex.store.database import Database
from memex.store.log.hours import LATE, RECENT, sum_hours

QUEUE = "log"
SUM = "sum_log_hours"
SUM_TIMES = "*/5 * * * *"  # cron: every five minutes


def log_queue(database: Database) -> JobQueue:
    """Return the queue that sums the log of all tenants: the newest hours, and once an hour the whole last day."""

    async def sum_log(timestamp: int) -> None:
        is_first_of_hour = datetime.fromtimestamp(timestamp, UTC).minute == 0
        await sum_hours(database, datetime.now(UTC) - (LATE if is_first_of_hour else RECENT))

    async def begin(_: object) -> None:
        await sum_hours(database, datetime.now(UTC) - LATE)

    return periodic_queue(QUEUE, SUM, SUM_TIMES, sum_log, begin)
