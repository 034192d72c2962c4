"""The users of a tenant, as an admin of it sees them."""

from collections.abc import Sequence

from pydantic import Field

from memex.errors import ValidationFailed
from memex.service.identity.quotas import QuotaResult, read_quota
from memex.service.service import Caller, Service
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.tool import ResultPart
from memex.store.access import Access
from memex.store.database import Connection
from memex.store.identity import tenants
from memex.store.identity.tenants import Project, User
from memex.store.paths import check_id

MAX_USERS = 1_000  # of one page


class UserResult(ResultPart):
    """A user for whom a call was made that may write.

    `bytes` is the size of all files, messages and documents, null until the files were counted. `calls` is the
    number of calls in the log of the user, of which 1,000 at most are counted. `last_call_at` is the time of the
    newest call in the log, by an agent or by an administrator for this user; null if the log holds none any more.
    `looks_like` are the ids of other users that a reader may take for this one, at most ten.
    """

    user: str
    files: int
    bytes: int | None
    calls: int
    created_at: str
    last_call_at: str | None
    looks_like: list[str] = Field(default_factory=list)


class UsersResult(ResultPart):
    """The tenant's users by id; `next_cursor` is null after the last."""

    users: list[UserResult]
    next_cursor: str | None


class UserDetails(ResultPart):
    """A user with its quota and projects; `activity` is null for one who never wrote."""

    user: str
    activity: UserResult | None
    quota: QuotaResult
    projects: list[str]


async def list_users(
    service: Service, caller: Caller, *, limit: int = 100, cursor: str | None = None, query: str = ""
) -> UsersResult:
    """Return a page of the tenant's users, or of those whose id contains a text.

    Raises:
        Forbidden: for agents.
        ValidationFailed: the text holds a NUL, or the cursor is none.
    """
    if "\0" in query:
        raise ValidationFailed("No user id holds a NUL.", hint="Send `query` without that character.")
    after = from_cursor(cursor, str)[0] if cursor is not None else ""

    async def read(connection: Connection, access: Access) -> tuple[Sequence[User], dict[str, list[str]]]:
        listed = await tenants.list_users(connection, access, limit=limit + 1, after=after, query=query)
        return listed, await tenants.ids_like(connection, access, listed[:limit])

    asked = {"limit": limit} | ({"query": query} if query else {})
    found, alike = await service.administer(caller, "user_list", asked, read)
    page = found[:limit]
    next_cursor = to_cursor(page[-1].user_id) if len(found) > limit else None
    return UsersResult(users=[_render(user, alike[user.user_id]) for user in page], next_cursor=next_cursor)


async def read_user(service: Service, caller: Caller, user: str) -> UserDetails:
    """Return what a tenant knows of a user, who need not have written yet.

    Raises:
        Forbidden: the caller is no admin.
        ValidationFailed: there can be no user of this id.
    """
    check_id(user, "user id")

    async def read(connection: Connection, access: Access) -> tuple[list[UserResult], Sequence[Project]]:
        found = await tenants.list_users(connection, access, limit=1, user_id=user)
        alike = await tenants.ids_like(connection, access, found)
        return [_render(user, alike[user.user_id]) for user in found], await tenants.list_projects(
            connection, access
        )

    found, projects = await service.administer(caller, "user_read", {"user": user}, read)
    quota = await read_quota(service, caller.access.tenant_id, "user", user)
    return UserDetails(
        user=user,
        activity=found[0] if found else None,
        quota=quota,
        projects=[project.slug for project in projects if user in project.members],
    )


def _render(user: User, looks_like: list[str]) -> UserResult:
    return UserResult.taken_from(user, user=user.user_id, looks_like=looks_like)
