"""The projects of a tenant and their members, as an admin keeps them."""

from functools import partial

from pydantic import BaseModel

from memex.service.call import Caller
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.store.identity import tenants


class ProjectResult(ResultPart):
    """An open project."""

    slug: str
    files: int
    members: list[str]
    created_at: str


class ProjectsResult(BaseModel):
    """The tenant's open projects by slug."""

    projects: list[ProjectResult]


class OpenedResult(BaseModel):
    """A project that is open now; `created` is false when it was there before, open or closed."""

    slug: str
    created: bool


class ClosedResult(BaseModel):
    """A project that is closed now: nobody can name it; its files stay for the day it is opened again."""

    slug: str
    closed: bool


class MemberResult(BaseModel):
    """A membership as it is now; `changed` is false when it was so before."""

    slug: str
    user: str
    member: bool
    changed: bool


async def list_projects(service: Service, caller: Caller) -> ProjectsResult:
    """Return the tenant's open projects with their members; raises Forbidden for agents."""
    found = await service.administer(caller, "project_list", {}, tenants.list_projects)
    projects = [ProjectResult.taken_from(project, members=list(project.members)) for project in found]
    return ProjectsResult(projects=projects)


async def open_project(service: Service, caller: Caller, slug: str) -> OpenedResult:
    """Make a project, or open a closed one again with its files and without its members; raises as above."""
    work = partial(tenants.open_project, slug=slug)
    created = await service.administer(caller, "project_open", {"slug": slug}, work)
    return OpenedResult(slug=slug, created=created)


async def close_project(service: Service, caller: Caller, slug: str) -> ClosedResult:
    """Close a project: its members go, its files stay; raises as above."""
    work = partial(tenants.close_project, slug=slug)
    await service.administer(caller, "project_close", {"slug": slug}, work)
    return ClosedResult(slug=slug, closed=True)


async def add_member(service: Service, caller: Caller, slug: str, user: str) -> MemberResult:
    """Make a user a member of a project; raises as above."""
    work = partial(tenants.add_member, slug=slug, user_id=user)
    changed = await service.administer(caller, "project_member_add", {"slug": slug, "user": user}, work)
    return MemberResult(slug=slug, user=user, member=True, changed=changed)


async def remove_member(service: Service, caller: Caller, slug: str, user: str) -> MemberResult:
    """End a membership; raises as above."""
    work = partial(tenants.remove_member, slug=slug, user_id=user)
    changed = await service.administer(caller, "project_member_remove", {"slug": slug, "user": user}, work)
    return MemberResult(slug=slug, user=user, member=False, changed=changed)
