"""The queue whose only job takes the texts of old versions that are not the last of their day."""

from datetime import UTC, datetime, timedelta

from memex.jobs.worker import JobQueue, periodic_queue
from memex.store.database import Database
from memex.store.log.thinning import thin

QUEUE = "thinning"
THIN = "thin_revisions"
THIN_TIMES = "23 3 * * *"  # cron: once a day


def thinning_queue(database: Database, *, days: int) -> JobQueue:
    """Return the queue that thins the versions of all tenants that were made over `days` days ago."""

    async def thin_old(_: object) -> None:
        await thin(database, datetime.now(UTC) - timedelta(days=days))

    return periodic_queue(QUEUE, THIN, THIN_TIMES, thin_old, begin=thin_old)
