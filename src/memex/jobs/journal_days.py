"""The queue whose only job removes entries of journals that were told too long ago."""

from datetime import UTC, datetime, timedelta

import procrastinate

from memex.jobs.worker import JobQueue, delete_old_jobs, free_stalled
from memex.service.journal.removing import remove_told_before
from memex.service.service import Service

QUEUE = "journal"
REMOVE = "remove_old_entries"
REMOVE_TIMES = "41 * * * *"  # cron: once an hour
POLL_S = 10.0  # nobody waits for it


def journal_queue(service: Service, *, days: int) -> JobQueue:
    """Return the queue that removes entries of all tenants that were said over `days` days ago."""

    async def remove_old() -> None:
        await remove_told_before(service, (datetime.now(UTC) - timedelta(days=days)).date())

    def add_tasks(app: procrastinate.App) -> None:
        @app.periodic(cron=REMOVE_TIMES)
        @app.task(name=REMOVE, queue=QUEUE, queueing_lock=REMOVE, lock=REMOVE)
        async def remove(timestamp: int) -> None:  # noqa: ARG001  # the library passes it
            await free_stalled(app, QUEUE)
            await delete_old_jobs(app, QUEUE)
            await remove_old()

    async def begin(_: procrastinate.App) -> None:
        await remove_old()

    return JobQueue(QUEUE, 1, add_tasks, begin, POLL_S)
