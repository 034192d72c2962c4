"""The queue whose only job deletes conversations that ended too long ago."""

from datetime import UTC, datetime, timedelta

import procrastinate

from memex.jobs.worker import JobQueue, delete_old_jobs, free_stalled
from memex.service.conversations.removing import delete_ended_before
from memex.service.service import Service

QUEUE = "conversations"
DELETE = "delete_old_conversations"
DELETE_TIMES = "23 * * * *"  # cron: once an hour
POLL_S = 10.0  # nobody waits for it


def conversation_queue(service: Service, *, days: int) -> JobQueue:
    """Return the queue that deletes conversations of all tenants that ended over `days` days ago."""

    async def delete_old() -> None:
        await delete_ended_before(service, datetime.now(UTC) - timedelta(days=days))

    def add_tasks(app: procrastinate.App) -> None:
        @app.periodic(cron=DELETE_TIMES)
        @app.task(name=DELETE, queue=QUEUE, queueing_lock=DELETE, lock=DELETE)
        async def delete(timestamp: int) -> None:  # noqa: ARG001  # the library passes it
            await free_stalled(app, QUEUE)
            await delete_old_jobs(app, QUEUE)
            await delete_old()

    async def begin(_: procrastinate.App) -> None:
        await delete_old()

    return JobQueue(QUEUE, 1, add_tasks, begin, POLL_S)
