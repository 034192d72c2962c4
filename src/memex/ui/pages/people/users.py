"""The users of a tenant, and one of them with its quota."""

from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import Forbidden, ValidationFailed
from memex.service.identity.quotas import MAX_LIMIT
from memex.store.identity.tenants import MAX_COUNTED_CALLS
from memex.store.writes.quota import MEASURES
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/people")

USERS = 50  # on one page
USER_PAGE = "/ui/people/user"
UserQuery = Annotated[str, Query(max_length=200)]


@router.get("")
async def show_users(page: Page, query: UserQuery = "", cursor: str | None = None) -> Response:
    """Return the list of users, or of those whose id contains a text."""
    listed = await page.call("user_list", {"limit": USERS, "cursor": cursor, "query": query.strip()})
    return page.render(
        "people.html",
        block="users",
        users=listed["users"],
        next_cursor=listed["next_cursor"],
        query=query,
        counted=MAX_COUNTED_CALLS,
    )


@router.get("/user")
async def show_user(page: Page, user: UserQuery) -> Response:
    """Return the page of one user."""
    shown = await page.call("user_read", {"user": user})
    return page.render(
        "person.html", person=shown, keys=await _keys_of(page, user), counted=MAX_COUNTED_CALLS
    )


@router.post("/quota")
async def set_quota(page: Page) -> Response:
    """Set the limits of a user; an empty field is no limit."""
    user = page.form.get("user", "")
    limits = {measure: limit for measure in MEASURES if (limit := _limit_of(page, measure)) is not None}
    await page.call("quota_set", {"kind": "user", "name": user, **limits})
    return page.redirect(USER_PAGE, user=user, notice="quota-set")


async def _keys_of(page: PageRequest, user: str) -> list[dict[str, Any]] | None:
    """Return the valid keys that are bound to a user; None for an administrator who may not see keys."""
    try:
        listed = await page.call("key_list")
    except Forbidden:
        return None
    return [key for key in listed["keys"] if key["user"] == user and key["revoked_at"] is None]


def _limit_of(page: PageRequest, measure: str) -> int | None:
    given = page.form.get(measure, "").strip().replace(",", "")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 20 and int(given) <= MAX_LIMIT):
        raise ValidationFailed(
            f"{given[:40]!r} is no limit.", hint="Send a whole number, or an empty field for no limit."
        )
    return int(given)
