"""The journal: its months and days, and a day as one page."""

from typing import Annotated, Any

from fastapi import Query, Response

from memex.ui.filters import LongText
from memex.ui.markdown import stored_text
from memex.ui.page import Page, page_router

router = page_router("/memory/journal")

ENTRIES = 100  # on one page


@router.get("")
async def show_journal(
    page: Page,
    month: Annotated[LongText, Query()] = "",
    day: Annotated[LongText, Query()] = "",
    cursor: str | None = None,
) -> Response:
    """Return the months, the days of the chosen month, and what was told on the chosen day."""
    shown = day[:7] or month
    of_month = await page.call("memory_journal", {"month": shown or None})
    found: dict[str, Any] = {"entries": [], "next_cursor": None}
    if day:
        found = await page.call("memory_journal", {"day": day, "limit": ENTRIES, "cursor": cursor})
    return page.render(
        "journal.html",
        months=list(reversed(of_month["months"])),
        month=shown,
        days=list(reversed(of_month["days"])),
        day=day,
        entries=[(entry, stored_text(entry["content"]).body) for entry in found["entries"]],
        next_cursor=found["next_cursor"],
    )
