"""The queue: calls of memory_remember that were not waited for, until they are done."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from memex.http.callers import KeyedRoute, ServiceDependency, admin_by_headers, agent_by_headers
from memex.service.log import queue
from memex.service.log.queue import QueueResult, RetryResult
from memex.service.service import Caller

router = APIRouter(prefix="/v1/queue", tags=["queue"], route_class=KeyedRoute)
admin_router = APIRouter(prefix="/v1/admin/queue", tags=["admin"], route_class=KeyedRoute)

Agent = Annotated[Caller, Depends(agent_by_headers)]
Admin = Annotated[Caller, Depends(admin_by_headers)]
Limit = Annotated[int, Query(ge=1, le=500)]


@router.get("", summary="List the user's queued calls")
async def list_queue(
    service: ServiceDependency, caller: Agent, limit: Limit = 100, cursor: str | None = None
) -> QueueResult:
    """Return the user's calls that are in the queue, or were given up there, the oldest first."""
    return await queue.list_queued_calls(service, caller, limit=limit, cursor=cursor)


@admin_router.get("", summary="List queued calls as an admin")
async def list_queue_as_admin(
    service: ServiceDependency, caller: Admin, limit: Limit = 100, cursor: str | None = None
) -> QueueResult:
    """Return the calls of the user in Memex-User, or without one of the whole tenant, as above."""
    return await queue.list_queued_calls(service, caller, limit=limit, cursor=cursor)


@admin_router.post("/{tool_call_id:path}/retry", summary="Try a call again")
async def retry(service: ServiceDependency, caller: Admin, tool_call_id: str) -> RetryResult:
    """Put a call that was given up back into the queue, for five more attempts.

    That of the user in Memex-User, or without one those of all users who have one under this id.
    """
    return await queue.retry_call(service, caller, tool_call_id)
