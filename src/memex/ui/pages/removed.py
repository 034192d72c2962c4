"""The lines that were taken out of memory: the list, and a button for each that puts it back."""

from typing import Annotated

from fastapi import Query, Response

from memex.errors import OperationNotFound, ValidationFailed
from memex.service.tools.removed import PUT_BACK, REMOVED
from memex.store.removed_lines import RemovedState
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/removed")

LINES = 50  # on one page
PATH = "/ui/removed"


@router.get("")
async def show_removed(
    page: Page,
    state: RemovedState | None = None,
    prefix: Annotated[str, Query(max_length=2_000)] = "",
    cursor: str | None = None,
    done: Annotated[str | None, Query(max_length=200)] = None,
    undone: bool = False,
) -> Response:
    """Return the list of lines that are not put back; after one was, also what became of it."""
    asked = {"state": state, "prefix": prefix, "limit": LINES, "cursor": cursor}
    found = await page.execute(REMOVED.name, asked)
    return page.render(
        "removed.html",
        lines=found["lines"],
        next_cursor=found["next_cursor"],
        state=state,
        prefix=prefix,
        outcome=await _outcome(page, done) if done else None,
        undone=undone,
    )


@router.post("/put-back")
async def put_back(page: Page) -> Response:
    """Put a line back, and show the list again."""
    done = await page.execute(PUT_BACK.name, {"id": page.form.get("id", "")})
    return page.redirect(PATH, **_filters(page), done=done["tool_call_id"])


@router.post("/undo")
async def undo(page: Page) -> Response:
    """Take a line out again that was put back."""
    await page.call("memory_revert", {"tool_call_id": page.form.get("done", "")})
    return page.redirect(PATH, **_filters(page), undone="true")


def _filters(page: PageRequest) -> dict[str, str | None]:
    return {"state": page.form.get("state") or None, "prefix": page.form.get("prefix") or None}


async def _outcome(page: PageRequest, tool_call_id: str) -> dict[str, str | int] | None:
    """Return what a call put back where; None if there is no such call of this user."""
    try:
        attempts = (await page.call("memory_operation", {"tool_call_id": tool_call_id}))["attempts"]
    except (OperationNotFound, ValidationFailed):
        return None
    results = (one["response"] for one in attempts if one["tool"] == PUT_BACK.name and one["response"])
    done = next(results, None)
    return None if done is None else done | {"tool_call_id": tool_call_id}
