"""The lines that were taken out of memory: the list, a button that puts one back, and a page that erases it."""

import json
from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import OperationNotFound, PreviewOutdated, ValidationFailed
from memex.service.erasing.erase import ERASE
from memex.service.tools.removed import PUT_BACK, REMOVED
from memex.store.removed_lines import RemovedState
from memex.store.upkeep.words.digests import FILLER
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
        filler=FILLER,
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


@router.get("/erase")
async def ask_to_erase(
    page: Page,
    statement: Annotated[str | None, Query(max_length=100)] = None,
    path: Annotated[str | None, Query(max_length=2_000)] = None,
) -> Response:
    """Return what erasing a removed line or a file would take; without either, a form for words."""
    named = {name: value for name, value in {"statement": statement, "path": path}.items() if value}
    return await _show_erasure(page, named) if named else page.render("erase.html", shown=None)


@router.post("/erase")
async def erase(page: Page) -> Response:
    """Show what erasing the words of a form would take, or erase what was shown, and show the receipt.

    Nothing of this stands in an address: what was typed is to stand nowhere.
    """
    named = {name: page.form[name] for name in ("text", "statement", "path") if page.form.get(name)}
    return await _show_erasure(page, named, confirm=page.form.get("confirm") or None)


async def _show_erasure(page: PageRequest, named: dict[str, str], confirm: str | None = None) -> Response:
    asked: dict[str, Any] = named | {"conversations": page.form.get("conversations") == "true"}
    has_changed = False
    try:
        shown = await page.call(ERASE.name, asked | {"confirm": confirm})
    except PreviewOutdated:
        has_changed = True
        shown = await page.call(ERASE.name, asked)
    return page.render(
        "erase.html",
        shown=shown,
        asked=asked,
        named=named,
        has_changed=has_changed,
        receipt=json.dumps(shown["receipt"], indent=2) if shown["receipt"] else None,
        status=409 if has_changed else 200,
    )


def _filters(page: PageRequest) -> dict[str, str | None]:
    return {"state": page.form.get("state") or None, "prefix": page.form.get("prefix") or None}


async def _outcome(page: PageRequest, tool_call_id: str) -> dict[str, str | int] | None:
    """Return what a call put back where; None if there is no such call of this user."""
    try:
        attempts = (await page.call("memory_operation", {"tool_call_id": tool_call_id}))["attempts"]
    except (OperationNotFound, ValidationFailed):
        return None
    results = (
        attempt["response"]
        for attempt in attempts
        if attempt["tool"] == PUT_BACK.name and attempt["response"]
    )
    done = next(results, None)
    return None if done is None else done | {"tool_call_id": tool_call_id}
