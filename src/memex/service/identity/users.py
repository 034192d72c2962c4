"""The users of a tenant, as an admin of it sees them."""

from pydantic import BaseModel, ConfigDict

from memex.service.service import Caller, Service
from memex.service.tools.tool import from_cursor, to_cursor
from memex.store.identity import tenants
from memex.store.identity.tenants import User

MAX_USERS = 1_000  # of one page


class UserResult(BaseModel):
    """A user for whom a call was made that may write.

    `last_call_at` is the time of the newest call in the log, by an agent or by an administrator for this user; null
    if the log holds none any more.
    """

    model_config = ConfigDict(frozen=True)

    user: str
    files: int
    created_at: str
    last_call_at: str | None


class UsersResult(BaseModel):
    """The tenant's users by id; `next_cursor` is null after the last."""

    model_config = ConfigDict(frozen=True)

    users: list[UserResult]
    next_cursor: str | None


async def list_users(
    service: Service, caller: Caller, *, limit: int = 100, cursor: str | None = None
) -> UsersResult:
    """Return a page of the tenant's users; raises Forbidden for agents."""
    after = from_cursor(cursor, str)[0] if cursor is not None else ""
    found = await service.administer(
        caller,
        "user_list",
        {"limit": limit},
        lambda connection, access: tenants.list_users(connection, access, limit=limit + 1, after=after),
    )
    page = found[:limit]
    next_cursor = to_cursor(page[-1].user_id) if len(found) > limit else None
    return UsersResult(users=[_render(user) for user in page], next_cursor=next_cursor)


def _render(user: User) -> UserResult:
    return UserResult(
        user=user.user_id,
        files=user.files,
        created_at=user.created_at.isoformat(),
        last_call_at=user.last_call_at.isoformat() if user.last_call_at else None,
    )
