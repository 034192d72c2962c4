"""The queue whose only job dreams over the mounts that have changed enough, and proposes what may be tidied."""

from datetime import UTC, datetime

from memex.jobs.worker import JobQueue, periodic_queue
from memex.service.dreams.night import dream_where_due
from memex.service.service import Service

QUEUE = "dreams"
DREAM = "dream_where_due"
DREAM_TIMES = "*/10 * * * *"  # cron: every ten minutes


def dream_queue(service: Service) -> JobQueue:
    """Return the queue that dreams; a mount is dreamt over by one process at a time, as its lease says."""

    async def dream(_: object) -> None:
        await dream_where_due(service, datetime.now(UTC))

    async def begin(_: object) -> None:
        """Nothing: a service that starts has other things to do."""

    return periodic_queue(QUEUE, DREAM, DREAM_TIMES, dream, begin)
