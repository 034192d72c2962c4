"""The queue of what the clock starts: sums of the log, dreams, and the end of what is kept for some days."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import procrastinate
from procrastinate.exceptions import AlreadyEnqueued

from memex.jobs.worker import JobQueue, add_periodic, tidy
from memex.service.conversations.removing import delete_ended_before
from memex.service.dreams.night import dream_where_due
from memex.service.journal.removing import remove_told_before
from memex.service.service import Service
from memex.store.log.hours import LATE, RECENT, sum_hours
from memex.store.log.thinning import thin

QUEUE = "clock"
SUM, DREAM = "sum_log_hours", "dream_where_due"
POLL_S = 10.0  # nobody waits for what the clock starts


@dataclass(frozen=True, slots=True)
class ClockTask:
    """A task that the clock starts, in one process at a time.

    Attributes:
        name: the name of the task.
        cron: when it is done.
        work: does it, given the time for which it was planned, in seconds since 1970.
        is_due_at_start: whether it is also done when a worker starts, as if it was planned for 0.
    """

    name: str
    cron: str
    work: Callable[[int], Awaitable[object]]
    is_due_at_start: bool = True


def clock_queue(
    service: Service, *, conversation_days: int = 0, journal_days: int = 0, thin_days: int = 0
) -> JobQueue:
    """Return the queue of what is done for all tenants at set times.

    Args:
        service: whose database it is.
        conversation_days: conversations that ended longer ago are deleted; 0 keeps all.
        journal_days: entries of journals that were said longer ago are removed; 0 keeps all.
        thin_days: of versions that were made longer ago, only the last texts of a day stay; 0 keeps all.
    """

    async def sum_log(timestamp: int) -> None:
        is_first_of_hour = datetime.fromtimestamp(timestamp, UTC).minute == 0
        await sum_hours(service.database, datetime.now(UTC) - (LATE if is_first_of_hour else RECENT))

    async def dream(_: int) -> None:
        await dream_where_due(service, datetime.now(UTC))

    async def delete_conversations(_: int) -> None:
        await delete_ended_before(service, _days_ago(conversation_days))

    async def remove_entries(_: int) -> None:
        await remove_told_before(service, _days_ago(journal_days).date())

    async def thin_versions(_: int) -> None:
        await thin(service.database, _days_ago(thin_days))

    tasks = [
        ClockTask(SUM, "*/5 * * * *", sum_log),  # the newest hours, and once an hour the whole last day
        ClockTask(
            DREAM, "*/10 * * * *", dream, is_due_at_start=False
        ),  # a service that starts has other work
    ]
    if conversation_days:
        tasks.append(ClockTask("delete_old_conversations", "23 * * * *", delete_conversations))
    if journal_days:
        tasks.append(ClockTask("remove_old_entries", "41 * * * *", remove_entries))
    if thin_days:
        tasks.append(ClockTask("thin_revisions", "23 3 * * *", thin_versions))

    def add_tasks(app: procrastinate.App) -> None:
        for task in tasks:
            add_periodic(app, QUEUE, task.name, task.cron, task.work)

    async def begin(app: procrastinate.App) -> None:
        await tidy(app)
        for task in tasks:
            if task.is_due_at_start:
                with suppress(AlreadyEnqueued):  # by another process
                    await app.tasks[task.name].defer_async(timestamp=0)

    return JobQueue(QUEUE, len(tasks), add_tasks, begin, POLL_S)


def _days_ago(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)
