"""Distilling a conversation: what it would write into memory is shown first, and exactly that is written."""

from collections import Counter
from typing import Any

from fastapi import Response

from memex.errors import PlanChanged
from memex.http.problems import status_of
from memex.service.distil.tool import NAME
from memex.ui.comparison import diff_lines
from memex.ui.page import Page, PageRequest, page_router
from memex.ui.pages.dry_runs import lead_to_written, shown_arguments
from memex.ui.pages.remember import REASONS

router = page_router("/conversations/distil")

ASKED = ("conversation", "project", "again")
OUTCOMES = {
    "added": "is added",
    "superseded": "takes the place of",
    "cited": "is known; the message is added as evidence",
    "duplicate": "is known already",
    "overtaken": "was corrected by a later message",
}
REASONS_OF_MESSAGES = REASONS | {
    "quoted": "words of somebody else",
    "code": "code",
    "pasted": "a pasted letter, log or command",
}


@router.post("")
async def show(page: Page) -> Response:
    """Return what a conversation would write. Nothing is stored but the log of the dry run."""
    asked: dict[str, Any] = {"conversation": page.form.get("id", "")}
    if project := page.form.get("project", "").strip():
        asked["project"] = project
    if page.form.get("again") == "true":
        asked["again"] = True
    return await _shown(page, asked)


@router.post("/write")
async def write(page: Page) -> Response:
    """Write exactly what was shown; if something else would be written by now, show that."""
    dry_run_id = page.form.get("dry_run_id", "")
    asked = await shown_arguments(page, dry_run_id, NAME, ASKED)
    # A form that is sent twice writes once.
    context = page.context.under(f"write-{dry_run_id}"[:200])
    try:
        done = await page.memex.call(context, "conversation_distil", asked | {"dry_run_id": dry_run_id})
    except PlanChanged as error:
        return await _shown(page, asked, changed=error)
    return lead_to_written(page, done, "distilled")


async def _shown(page: PageRequest, asked: dict[str, Any], *, changed: PlanChanged | None = None) -> Response:
    """Make a dry run, and return the page that shows it."""
    shown = await page.call("conversation_distil", asked)
    reasons = Counter(part["reason"] for part in shown["skipped"])
    return page.render(
        "conversations_distil.html",
        status=200 if changed is None else status_of(changed),
        asked=asked,
        shown=shown,
        title=next((conversation.get("title") for conversation in shown["read"]), None),
        messages=sum(conversation["human_messages"] for conversation in shown["read"]),
        has_changed=changed is not None,
        writes=[written | {"lines": diff_lines(written["diff"])} for written in shown["writes"]],
        skipped={REASONS_OF_MESSAGES.get(name, name): count for name, count in reasons.items()},
        outcomes=OUTCOMES,
    )
