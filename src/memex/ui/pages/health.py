"""The page of the service's health: what is wrong and what to do, and the figures of the tenant."""

import json
from collections import defaultdict
from datetime import datetime
from typing import Any

from fastapi import Response

from memex.service.health.sizes import format_size
from memex.ui.page import Page, page_router

router = page_router("/health")


@router.get("")
async def show_health(page: Page) -> Response:
    """Return the page; without a database, the page of that error loads itself again."""
    health = await page.call("health_show")
    return page.render(
        "health.html",
        block="state",
        health=health,
        problems=[check for check in health["checks"] if check["state"] == "problem"],
        notes=[check for check in health["checks"] if check["state"] == "note"],
        times=_times_of(health["calls"]["hours"]),
        hours=[hour for hour in reversed(health["calls"]["hours"]) if hour["calls"]],
        days=_by_day(health["spending"]["spent"]),
        tables=[table | {"size": format_size(table["size_bytes"])} for table in health["disk"]["tables"]],
        database_size=format_size(health["disk"]["database_bytes"]),
        free_size=None if health["disk"]["free_bytes"] is None else format_size(health["disk"]["free_bytes"]),
    )


def _times_of(hours: list[dict[str, Any]]) -> dict[str, str]:
    """Return what a script draws of the hours, as JSON: how many calls there were, and how long they took."""
    times = [datetime.fromisoformat(hour["hour"]).timestamp() for hour in hours]

    def drawn(**lines: str) -> str:
        named = [
            {"label": label.replace("_", " "), "values": [hour[measure] for hour in hours]}
            for label, measure in lines.items()
        ]
        return json.dumps({"times": times, "lines": named})

    return {
        "calls": drawn(calls="calls", failed="failed"),
        "durations": drawn(half_of_the_calls="p50_ms", nineteen_of_twenty="p95_ms"),
    }


def _by_day(spent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the sums of all models by day, the newest day first."""
    sums: defaultdict[str, dict[str, Any]] = defaultdict(
        lambda: {"requests": 0, "input_tokens": 0, "output_tokens": 0, "usd": 0.0}
    )
    for budget in spent:
        for measure in (found := sums[budget["day"]]):
            found[measure] += budget[measure]
    return [{"day": day} | found for day, found in sums.items()]
