"""The queue whose only job removes entries of journals that were told too long ago."""

from datetime import UTC, datetime, timedelta

from memex.jobs.worker import JobQueue, periodic_queue
from memex.service.journal.removing import remove_told_before
from memex.service.service import Service

QUEUE = "journal"
REMOVE = "remove_old_entries"
REMOVE_TIMES = "41 * * * *"  # cron: once an hour


def journal_queue(service: Service, *, days: int) -> JobQueue:
    """Return the queue that removes entries of all tenants that were said over `days` days ago."""

    async def remove_old(_: object) -> None:
        await remove_told_before(service, (datetime.now(UTC) - timedelta(days=days)).date())

    return periodic_queue(QUEUE, REMOVE, REMOVE_TIMES, remove_old, begin=remove_old)
