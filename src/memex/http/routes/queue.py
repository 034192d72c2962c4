"""The queue: calls of memory_remember that were not waited for, until they are done."""

from typing import Annotated

from fastapi import Query

from memex.http.routers import RouterPair, operation
from memex.service.log.queue import QueueResult, RetryResult

PAIR = RouterPair("/queue", "queue")

Limit = Annotated[int, Query(ge=1, le=500)]


@PAIR.operation(
    "queue_list",
    summary="List the user's queued calls",
    admin_summary="List queued calls as an admin",
    admin_description="Return the queued calls of the user in Memex-User; without a user, of the whole tenant.",
)
def list_queue(limit: Limit = 100, cursor: str | None = None) -> QueueResult:
    """Return the user's calls that are in the queue, or were given up there, the oldest first."""


@operation(PAIR.admin, "queue_retry_all", summary="Try all calls again")
def retry_all() -> RetryResult:
    """Put all calls that were given up back into the queue, in the order in which they were accepted.

    Those of the user in Memex-User, or without one those of all users; none if none was given up.
    """


@operation(PAIR.admin, "queue_retry", summary="Try a call again")
def retry(tool_call_id: str) -> RetryResult:
    """Put a call that was given up back into the queue, for five more attempts.

    That of the user in Memex-User, or without one those of all users who have one under this id.
    """
