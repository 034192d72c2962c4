"""Whether the service works: the database, the queue, and what models cost."""

from collections import defaultdict
from typing import Any

from fastapi import Response

from memex.ui.page import Page, page_router

router = page_router("/health")

DAYS = 14  # of spending
CALLS = 500  # of the queue that are counted


@router.get("")
async def show_health(page: Page) -> Response:
    """Return the page; without a database, the page of that error loads itself again."""
    spending = await page.memex.spending(page.context, days=DAYS)
    await page.service.check_ready()
    queued = await page.memex.queue(page.context, limit=CALLS)
    calls = queued["calls"]
    return page.render(
        "health.html",
        block="state",
        waiting=[call for call in calls if call["status"] != "quarantined"],
        given_up=sum(call["status"] == "quarantined" for call in calls),
        is_complete=queued["next_cursor"] is None,
        daily_usd=spending["daily_usd"],
        days=_by_day(spending["spent"]),
        shown_days=DAYS,
    )


def _by_day(spent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the sums of all models by day, the newest day first."""
    sums: defaultdict[str, dict[str, Any]] = defaultdict(
        lambda: {"requests": 0, "input_tokens": 0, "output_tokens": 0, "usd": 0.0}
    )
    for one in spent:
        for measure in (found := sums[one["day"]]):
            found[measure] += one[measure]
    return [{"day": day} | found for day, found in sums.items()]
