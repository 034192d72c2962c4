"""Erasing a user for good: what exactly would be removed, the name typed once more, and the receipts."""

from typing import Annotated, Any

from fastapi import Query, Response

from memex.ui.page import Page, PageRequest, page_router

router = page_router("/people")

ERASURES = 50  # on one page
ERASURES_PAGE = "/ui/people/erasures"


@router.get("/erase")
async def ask_to_erase(page: Page, user: Annotated[str, Query(max_length=200)]) -> Response:
    """Return what would be removed with a user, and a form that erases the user."""
    return await _ask(page, user)


@router.post("/erase")
async def erase_user(page: Page) -> Response:
    """Erase a user if the name was typed as it is, and lead to the receipt."""
    user, typed = page.form.get("user", ""), page.form.get("name", "")
    if typed.strip() != user:
        return await _ask(page, user, typed=typed)
    done = await page.call("user_erase", {"user": user})
    return page.redirect(ERASURES_PAGE, receipt=done["receipt"])


@router.get("/erasures")
async def show_erasures(
    page: Page, receipt: Annotated[int | None, Query(ge=1, lt=2**63)] = None, cursor: str | None = None
) -> Response:
    """Return the receipts; the one of an erasure that was made just now stands above the others."""
    listed = await page.call("erasure_list", {"limit": ERASURES, "cursor": cursor})
    shown = next((erasure for erasure in listed["erasures"] if erasure["receipt"] == receipt), None)
    return page.render(
        "people_erasures.html",
        erasures=listed["erasures"],
        next_cursor=listed["next_cursor"],
        shown=shown,
    )


async def _ask(page: PageRequest, user: str, typed: str | None = None) -> Response:
    counted: dict[str, Any] = await page.call("user_erase", {"user": user, "dry_run": True})
    return page.render(
        "person_erase.html", counted=counted, typed=typed, status=200 if typed is None else 422
    )
