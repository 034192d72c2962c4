"""The page of items that wait for a person: the list, decisions about many at once, and their undoing."""

from collections.abc import Iterable
from itertools import chain
from typing import Annotated, Any, get_args

from fastapi import Query, Response

from memex.errors import OperationNotFound, ValidationFailed
from memex.service.review.items import ItemKind
from memex.service.review.waiting import STATEMENT
from memex.store.log.review import DECIDE
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/review")

ITEMS = 50  # on one page
PATH = "/ui/review"
ITEM_FIELD = "item:"  # how the names of the checkboxes begin; the id follows
KINDS: tuple[ItemKind, ...] = get_args(ItemKind)


@router.get("")
async def show_review(
    page: Page,
    kind: ItemKind | None = None,
    cursor: str | None = None,
    decided: Annotated[str | None, Query(max_length=200)] = None,
    left: Annotated[int, Query(ge=0)] = 0,
    undone: bool = False,
) -> Response:
    """Return the list of what waits; after a decision also what became of it.

    `left` counts the ticked statements that the decision did not take out.
    """
    found = await page.call("review_list", {"kind": kind, "limit": ITEMS, "cursor": cursor})
    groups = {group: [item for item in found["items"] if item["kind"] == group] for group in KINDS}
    return page.render(
        "review.html",
        groups={group: items for group, items in groups.items() if items},
        counts=found["counts"],
        total=sum(found["counts"].values()),
        kind=kind,
        next_cursor=found["next_cursor"],
        is_complete=found["is_complete"],
        outcome=await _outcome(page, decided) if decided else None,
        decided=decided,
        left=left,
        undone=undone,
    )


@router.post("/decide")
async def decide_items(page: Page) -> Response:
    """Carry out a decision about one item, or about all that are chosen."""
    kind = page.form.get("kind") or None
    decisions, left = _decisions_of(page)
    if not decisions:
        raise ValidationFailed(
            "No statement was taken out, and nothing else is ticked." if left else "Nothing is chosen.",
            hint="Go back, and press the button beside each statement that is to go."
            if left
            else "Go back, and tick the items that you decide about.",
        )
    done = await page.call("review_decide", {"decisions": decisions})
    return page.redirect(PATH, kind=kind, decided=done["tool_call_id"], left=left or None)


@router.post("/undo")
async def undo_decisions(page: Page) -> Response:
    """Undo the decisions of one call: revert what they wrote, and list again what they kept."""
    items = await _decided_items(page, page.form.get("decided", ""))
    calls = dict.fromkeys(item["tool_call_id"] for item in items if item["undo"] == "revert")
    for call in calls:
        await page.call("memory_revert", {"tool_call_id": call})
    kept = [{"id": item["id"], "decision": "reopen"} for item in items if item["undo"] == "reopen"]
    if kept:
        await page.call("review_decide", {"decisions": kept})
    return page.redirect(PATH, kind=page.form.get("kind") or None, undone="true")


def _decisions_of(page: PageRequest) -> tuple[list[dict[str, str]], int]:
    """Return the decisions of a form: that of the button beside one item, or one about all that are ticked.

    A statement is taken out by its own button alone; the number says how many ticked ones stay for that reason.
    """
    decision, _, only = page.form.get("decision", "").partition(" ")
    if decision not in ("apply", "keep"):
        raise ValidationFailed("The form names no decision.", hint="Load the page again.")
    ticked = [name.removeprefix(ITEM_FIELD) for name in page.form if name.startswith(ITEM_FIELD)]
    stay = {item for item in ticked if decision == "apply" and item.startswith(STATEMENT)}
    chosen = [only] if only else [item for item in ticked if item not in stay]
    return [{"id": item, "decision": decision} for item in chosen], 0 if only else len(stay)


async def _decided_items(page: PageRequest, tool_call_id: str) -> list[dict[str, Any]]:
    """Return what a call decided; raises OperationNotFound if it is no such call of this user."""
    attempts = (await page.call("memory_operation", {"tool_call_id": tool_call_id}))["attempts"]
    results: Iterable[dict[str, Any]] = (
        attempt["response"] or {} for attempt in attempts if attempt["tool"] == DECIDE
    )
    return list(chain.from_iterable(result.get("items", ()) for result in results))


async def _outcome(page: PageRequest, tool_call_id: str) -> dict[str, Any] | None:
    """Return how many items a call decided, and whether that can be undone; None if there is no such call."""
    try:
        items = await _decided_items(page, tool_call_id)
    except (OperationNotFound, ValidationFailed):
        return None
    done = [item for item in items if item["status"] == "done"]
    return {
        "done": len(done),
        "gone": len(items) - len(done),
        "can_undo": any(item["undo"] for item in done),
    }
