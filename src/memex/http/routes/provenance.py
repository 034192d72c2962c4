"""Where text came from and where it went: who wrote the lines of a file, and which calls saw a version of it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from memex.http.callers import (
    HeaderToolCallId,
    KeyedRoute,
    ServiceDependency,
    admin_by_headers,
    agent_by_headers,
)
from memex.http.routes.files import PathQuery
from memex.service.log.blame import BlameResult, blame
from memex.service.log.exposure import CallsThatSaw, RevisionsSeen, calls_that_saw, revisions_seen
from memex.service.service import Caller
from memex.service.tools.tool import MAX_VERSION

router = APIRouter(prefix="/v1", tags=["operations"], route_class=KeyedRoute)
admin_router = APIRouter(prefix="/v1/admin", tags=["admin"], route_class=KeyedRoute)

Agent = Annotated[Caller, Depends(agent_by_headers)]
Admin = Annotated[Caller, Depends(admin_by_headers)]
Limit = Annotated[int, Query(ge=1, le=500)]
Version = Annotated[int, Query(ge=1, le=MAX_VERSION, description="A version of the path.")]
ToolCallId = Annotated[str, Query(description="The call that saw them.")]


@router.get("/blame", summary="Show who wrote each line")
async def show_blame(
    service: ServiceDependency,
    caller: Agent,
    own_id: HeaderToolCallId,
    path: PathQuery,
    version: Version | None = None,
) -> BlameResult:
    """Return the lines of a file, each with the revision that put it there, and the calls that made those."""
    return await blame(service, caller, path, version, tool_call_id=own_id)


@router.get("/seen/calls", summary="List the calls that saw a version")
async def list_calls_that_saw(
    service: ServiceDependency,
    caller: Agent,
    path: PathQuery,
    version: Version,
    limit: Limit = 50,
    cursor: str | None = None,
) -> CallsThatSaw:
    """Return the user's calls that saw a version of a file, the newest first: how, and what they wrote."""
    return await calls_that_saw(service, caller, path, version, limit=limit, cursor=cursor)


@router.get("/seen/revisions", summary="List what a call saw")
async def list_revisions_seen(
    service: ServiceDependency, caller: Agent, tool_call_id: ToolCallId
) -> RevisionsSeen:
    """Return the versions of files that one of the user's calls saw, how, and what it wrote."""
    return await revisions_seen(service, caller, tool_call_id)


@admin_router.get("/blame", summary="Show who wrote each line, as an admin")
async def show_blame_as_admin(
    service: ServiceDependency,
    caller: Admin,
    own_id: HeaderToolCallId,
    path: PathQuery,
    version: Version | None = None,
) -> BlameResult:
    """Return the lines of a file of the user in Memex-User, or of shared/ or a project."""
    return await blame(service, caller, path, version, tool_call_id=own_id)


@admin_router.get("/seen/calls", summary="List the calls that saw a version, as an admin")
async def list_calls_that_saw_as_admin(
    service: ServiceDependency,
    caller: Admin,
    path: PathQuery,
    version: Version,
    limit: Limit = 50,
    cursor: str | None = None,
) -> CallsThatSaw:
    """Return the calls of the user in Memex-User that saw it; without one everybody's, of shared/ and projects."""
    return await calls_that_saw(service, caller, path, version, limit=limit, cursor=cursor)


@admin_router.get("/seen/revisions", summary="List what a call saw, as an admin")
async def list_revisions_seen_as_admin(
    service: ServiceDependency, caller: Admin, tool_call_id: ToolCallId
) -> RevisionsSeen:
    """Return what a call saw that was made for the user in Memex-User, or by an admin for none."""
    return await revisions_seen(service, caller, tool_call_id)
