"""What admins keep: projects, their members, quotas, and the list of users."""

from typing import Annotated

from fastapi import Body, Query, Response

from memex.http.callers import HeaderCaller, ServiceDependency
from memex.http.routers import admin_router, operation
from memex.service.identity import quotas, users
from memex.service.identity.quotas import Kind, QuotaLimits, QuotaResult, QuotasResult
from memex.service.identity.users import UserDetails, UsersResult
from memex.service.projects import administration
from memex.service.projects.administration import (
    ClosedResult,
    MemberResult,
    OpenedResult,
    ProjectsResult,
)
from memex.service.spending import SpendingResult

router = admin_router("")


@operation(router, "project_list", summary="List projects")
async def list_projects(service: ServiceDependency, caller: HeaderCaller) -> ProjectsResult:
    """Return the tenant's open projects with their members."""
    return await administration.list_projects(service, caller)


@operation(
    router,
    "project_open",
    summary="Open a project",
    responses={201: {"model": OpenedResult, "description": "The project is new."}},
)
async def open_project(
    service: ServiceDependency, caller: HeaderCaller, slug: str, response: Response
) -> OpenedResult:
    """Make a project, or open a closed one again with its files and without its members."""
    opened = await administration.open_project(service, caller, slug)
    response.status_code = 201 if opened.created else 200
    return opened


@operation(router, "project_close", summary="Close a project")
async def close_project(service: ServiceDependency, caller: HeaderCaller, slug: str) -> ClosedResult:
    """Close a project: its members go, its files stay."""
    return await administration.close_project(service, caller, slug)


@operation(router, "project_member_add", summary="Add a member")
async def add_member(service: ServiceDependency, caller: HeaderCaller, slug: str, user: str) -> MemberResult:
    """Make a user a member of a project."""
    return await administration.add_member(service, caller, slug, user)


@operation(router, "project_member_remove", summary="Remove a member")
async def remove_member(
    service: ServiceDependency, caller: HeaderCaller, slug: str, user: str
) -> MemberResult:
    """End a membership."""
    return await administration.remove_member(service, caller, slug, user)


@operation(router, "user_list", summary="List users")
async def list_users(
    service: ServiceDependency,
    caller: HeaderCaller,
    limit: Annotated[int, Query(ge=1, le=users.MAX_USERS)] = 100,
    cursor: str | None = None,
    query: Annotated[
        str, Query(max_length=200, description="Only users whose id contains this, in whatever case.")
    ] = "",
) -> UsersResult:
    """Return the tenant's users, a page at a time: how much each stores, and when the last call was made."""
    return await users.list_users(service, caller, limit=limit, cursor=cursor, query=query)


@operation(router, "user_read", summary="Show a user")
async def read_user(service: ServiceDependency, caller: HeaderCaller, user: str) -> UserDetails:
    """Return how much a user stores and may store, its projects, and when the last call was made."""
    return await users.read_user(service, caller, user)


@operation(router, "spending_show", summary="Show what models cost")
async def spend(
    service: ServiceDependency, caller: HeaderCaller, days: Annotated[int, Query(ge=1, le=366)] = 7
) -> SpendingResult:
    """Return what the calls of the last days (UTC), today included, used of chat models, by day and model."""
    return await service.spending(caller, days=days)


@operation(router, "quota_list", summary="List quotas")
async def list_quotas(service: ServiceDependency, caller: HeaderCaller) -> QuotasResult:
    """Return what the tenant stores and may store, and the quotas of its users and projects."""
    return await quotas.list_quotas(service, caller)


@operation(router, "quota_set", summary="Set a quota")
async def set_quota(
    service: ServiceDependency,
    caller: HeaderCaller,
    kind: Annotated[Kind, Query()],
    limits: Annotated[QuotaLimits, Body()],
    name: Annotated[str, Query()] = "",
) -> QuotaResult:
    """Set all limits of a user or a project; without a `name` of all that have no limits of their own.

    A limit that the body does not name does not hold any more. The quota of the tenant itself is set on the machine
    of the database alone.
    """
    return await quotas.set_quota(service, caller, kind, name, limits)
