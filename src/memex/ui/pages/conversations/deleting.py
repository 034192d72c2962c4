"""Deleting conversations: first exactly what would go, then a receipt. Nothing brings them back."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import OperationNotFound
from memex.service.conversations.removing import DELETE
from memex.ui.filters import day_in
from memex.ui.page import Page, PageRequest, page_router

router = page_router("/conversations")

RECEIPT_PAGE = "/ui/conversations/deleted"
ShortQuery = Annotated[str, Query(max_length=200)]


@router.get("/delete")
async def ask_to_delete(
    page: Page,
    conversation_id: Annotated[str, Query(alias="id", max_length=100)] = "",
    source: ShortQuery = "",
    before: ShortQuery = "",
) -> Response:
    """Return what would go: a conversation, or those of a source, or those that ended before a day."""
    asked = {"id": conversation_id, "source": source.strip(), "before": before}
    return _confirmation(page, asked, await _delete(page, asked, is_trial=True))


@router.post("/delete")
async def delete_conversations(page: Page) -> Response:
    """Delete what the page showed, and lead to the receipt; if something else would go now, show that first."""
    asked = {name: page.form.get(name, "") for name in ("id", "source", "before", "with_memory")}
    counted = await _delete(page, asked, is_trial=True)
    if page.form.get("counted") != _amount(counted):
        return _confirmation(page, asked, counted, status=409)
    done = await _delete(page, asked, is_trial=False)
    return page.redirect(RECEIPT_PAGE, id=done["tool_call_id"])


@router.get("/deleted")
async def show_receipt(
    page: Page, call_id: Annotated[str, Query(alias="id", min_length=1, max_length=500)]
) -> Response:
    """Return what a call deleted, as the log has it: without titles."""
    newest = (await page.call("memory_operation", {"tool_call_id": call_id}))["attempts"][0]
    if newest["tool"] != DELETE.name or newest["status"] != "answered":
        raise OperationNotFound("This call deleted no conversation.")
    return page.render(
        "conversations_deleted.html", receipt=newest["response"], deleted_at=newest["started_at"]
    )


async def _delete(page: PageRequest, asked: Mapping[str, str], *, is_trial: bool) -> dict[str, Any]:
    given = {
        "conversations": [asked["id"]] if asked["id"] else None,
        "source": asked["source"] or None,
        "before": day_in(asked["before"]),
        "dry_run": is_trial,
        "with_memory": asked.get("with_memory") == "true",
    }
    return await page.call("conversation_delete", given)


def _confirmation(
    page: PageRequest, asked: Mapping[str, str], counted: Mapping[str, Any], status: int = 200
) -> Response:
    return page.render(
        "conversations_delete.html",
        status=status,
        asked=asked,
        counted=counted,
        amount=_amount(counted),
        has_changed=status == 409,
    )


def _amount(counted: Mapping[str, Any]) -> str:
    """Return how much a receipt or a trial names, to compare it with another one."""
    named = [str(counted[name]) for name in ("conversations", "messages", "text_bytes")]
    return "-".join([*named, str(len(counted["statements"]))])
