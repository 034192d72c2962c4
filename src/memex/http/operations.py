"""The log: a caller's own calls, and their undoing."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict

from memex.http.callers import HeaderToolCallId, KeyedRoute, TheService, admin_by_headers, agent_by_headers
from memex.service.operations import OperationResult, OperationsResult
from memex.service.revisions import RevertResult
from memex.service.service import Caller

router = APIRouter(prefix="/v1/operations", tags=["operations"], route_class=KeyedRoute)
admin_router = APIRouter(prefix="/v1/admin/operations", tags=["admin"], route_class=KeyedRoute)

Agent = Annotated[Caller, Depends(agent_by_headers)]
Admin = Annotated[Caller, Depends(admin_by_headers)]
Limit = Annotated[int, Query(ge=1, le=500)]


class Attempts(BaseModel):
    """Every attempt at one call, the newest first."""

    attempts: list[OperationResult]


class RevertBody(BaseModel):
    """Why a call is undone."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"reason": "it was a misunderstanding"}]},
    )

    reason: str | None = None


@router.get("", summary="List the user's calls")
async def list_operations(
    service: TheService, caller: Agent, limit: Limit = 50, cursor: str | None = None
) -> OperationsResult:
    """Return the calls made for this user, the newest first."""
    return await service.operations(caller, limit=limit, cursor=cursor)


@router.get("/{tool_call_id:path}", summary="Show a call")
async def read_operation(service: TheService, caller: Agent, tool_call_id: str) -> Attempts:
    """Return every attempt at a call: what was asked, answered, written, and how long it took."""
    return Attempts(attempts=list(await service.operation(caller, tool_call_id)))


@router.post("/{tool_call_id:path}/revert", summary="Undo a call")
async def revert(
    service: TheService,
    caller: Agent,
    own_id: HeaderToolCallId,
    tool_call_id: str,
    body: RevertBody | None = None,
) -> RevertResult:
    """Undo everything that a call wrote, all or nothing, as new versions."""
    reason = body.reason if body else None
    return RevertResult(**await service.revert(caller, tool_call_id, tool_call_id=own_id, reason=reason))


@admin_router.get("", summary="List calls as an admin")
async def list_operations_as_admin(
    service: TheService, caller: Admin, limit: Limit = 50, cursor: str | None = None
) -> OperationsResult:
    """Return the calls of the user in Memex-User, by agents and admins; without one those of admins alone."""
    return await service.operations(caller, limit=limit, cursor=cursor)


@admin_router.get("/{tool_call_id:path}", summary="Show a call as an admin")
async def read_operation_as_admin(service: TheService, caller: Admin, tool_call_id: str) -> Attempts:
    """Return every attempt at a call made for the user in Memex-User, or by an admin for none."""
    return Attempts(attempts=list(await service.operation(caller, tool_call_id)))


@admin_router.post("/{tool_call_id:path}/revert", summary="Undo a call as an admin")
async def revert_as_admin(
    service: TheService,
    caller: Admin,
    own_id: HeaderToolCallId,
    tool_call_id: str,
    body: RevertBody | None = None,
) -> RevertResult:
    """Undo everything that a call made for the user in Memex-User wrote."""
    reason = body.reason if body else None
    return RevertResult(**await service.revert(caller, tool_call_id, tool_call_id=own_id, reason=reason))
