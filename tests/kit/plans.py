"""Plans of Postgres, as `explain (format json)` gives them."""

from collections.abc import Iterator
from typing import Any


def plan_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return a plan's nodes, from the top down."""
    yield plan
    for child in plan.get("Plans", ()):
        yield from plan_nodes(child)
