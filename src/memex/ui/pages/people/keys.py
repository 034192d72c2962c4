"""The keys of a tenant: made, shown this once, and revoked."""

from typing import Annotated, get_args

from fastapi import Path, Response

from memex.errors import ValidationFailed
from memex.store.access import Role
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/people/keys")

KEYS_PAGE = "/ui/people/keys"


@router.get("")
async def show_keys(page: Page) -> Response:
    """Return the list of keys, never with a secret."""
    return await _render(page)


@router.post("")
async def make_key(page: Page) -> Response:
    """Make a key, and answer with its secret. It is in this answer alone: no address and no log holds it."""
    user, label = page.form.get("user", "").strip() or None, page.form.get("label", "").strip() or None
    made = await page.call("key_create", {"role": _role_of(page), "user": user, "label": label})
    return await _render(page, made=made)


@router.post("/{key_id}/revoke")
async def revoke_key(page: Page, key_id: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> Response:
    """Revoke a key, at once and for ever."""
    await page.call("key_revoke", {"key_id": key_id})
    return page.redirect(KEYS_PAGE, notice="key-revoked")


async def _render(page: PageRequest, made: dict[str, object] | None = None) -> Response:
    listed = await page.call("key_list")
    newest = sorted(listed["keys"], key=lambda key: -key["id"])
    return page.render(
        "people_keys.html",
        valid=[key for key in newest if key["revoked_at"] is None],
        revoked=[key for key in newest if key["revoked_at"] is not None],
        made=made,
        for_user=page.request.query_params.get("user", ""),
    )


def _role_of(page: PageRequest) -> str:
    role = page.form.get("role", "")
    if role not in get_args(Role):
        raise ValidationFailed("The form names no role.", hint="Choose agent or administrator.")
    return role
