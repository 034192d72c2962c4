"""The routes of administrators for projects, their members, quotas, and the list of users."""

from typing import Annotated

from fastapi import Body, Query, Response

from memex.http.callers import HeaderCaller, ServiceDependency
from memex.http.routers import admin_router, handler, operation
from memex.service.identity import users
from memex.service.identity.quotas import QuotaLimits, QuotaResult, QuotasResult
from memex.service.identity.users import UserDetails, UsersResult
from memex.service.projects import administration
from memex.service.projects.administration import ClosedResult, MemberResult, OpenedResult, ProjectsResult
from memex.service.spending import SpendingResult
from memex.store.writes.quota import Kind

router = admin_router("")


@operation(router, "project_list", summary="List projects")
def list_projects() -> ProjectsResult:
    """Return the tenant's open projects with their members."""


@handler(
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
def close_project(slug: str) -> ClosedResult:
    """Close a project: its members go, its files stay."""


@operation(router, "project_member_add", summary="Add a member")
def add_member(slug: str, user: str) -> MemberResult:
    """Make a user a member of a project."""


@operation(router, "project_member_remove", summary="Remove a member")
def remove_member(slug: str, user: str) -> MemberResult:
    """End a membership."""


@operation(router, "user_list", summary="List users")
def list_users(
    limit: Annotated[int, Query(ge=1, le=users.MAX_USERS)] = 100,
    cursor: str | None = None,
    query: Annotated[
        str, Query(max_length=200, description="Only users whose id contains this, in whatever case.")
    ] = "",
) -> UsersResult:
    """Return the tenant's users, a page at a time: how much each stores, and when the last call was made."""


@operation(router, "user_read", summary="Show a user")
def read_user(user: str) -> UserDetails:
    """Return how much a user stores and may store, its projects, and when the last call was made."""


@operation(router, "spending_show", summary="Show what models cost")
def spend(days: Annotated[int, Query(ge=1, le=366)] = 7) -> SpendingResult:
    """Return what the calls of the last days (UTC), today included, used of chat models, by day and model."""


@operation(router, "quota_list", summary="List quotas")
def list_quotas() -> QuotasResult:
    """Return what the tenant stores and may store, and the quotas of its users and projects."""


@operation(router, "quota_set", summary="Set a quota")
def set_quota(
    kind: Annotated[Kind, Query()], limits: Annotated[QuotaLimits, Body()], name: Annotated[str, Query()] = ""
) -> QuotaResult:
    """Set all limits of a user or a project; without a `name` of all that have no limits of their own.

    A limit that the body does not name does not hold any more. The quota of the tenant itself is set on the machine
    of the database alone.
    """
