"""The queue whose only job deletes conversations that ended too long ago."""

from datetime import UTC, datetime, timedelta

from memex.jobs.worker import JobQueue, periodic_queue
from memex.service.conversations.removing import delete_ended_before
from memex.service.service import Service

QUEUE = "conversations"
DELETE = "delete_old_conversations"
DELETE_TIMES = "23 * * * *"  # cron: once an hour


def conversation_queue(service: Service, *, days: int) -> JobQueue:
    """Return the queue that deletes conversations of all tenants that ended over `days` days ago."""

    async def delete_old(_: object) -> None:
        await delete_ended_before(service, datetime.now(UTC) - timedelta(days=days))

    return periodic_queue(QUEUE, DELETE, DELETE_TIMES, delete_old, begin=delete_old)
