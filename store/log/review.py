"""The calls of the log that left something to a person, and what persons decided."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.store.access import Access
from memex.store.database import Connection, row, rows

DECIDE = "review_decide"  # the kind of a call that holds decisions
WINDOW = 10_000  # calls that are looked at, the newest
MAX_CALLS = 1_000  # of those, the calls that are read


@dataclass(frozen=True, slots=True)
class ReviewedCall:
    """A call whose answer may wait for a person, or one that holds decisions."""

    operation_id: int
    tool_call_id: str
    kind: str
    request: dict[str, Any]
    config: dict[str, Any] | None
    response: dict[str, Any] | None
    started_at: datetime

    @property
    def result(self) -> dict[str, Any]:
        """The answer of the call, as the log keeps it."""
        result: dict[str, Any] = (self.response or {}).get("result") or {}
        return result

    @property
    def written_paths(self) -> list[str]:
        """The paths of the files that the call wrote."""
        writes = (self.response or {}).get("writes") or []
        return list(dict.fromkeys(reference.rpartition("@")[0] for reference in writes))

    @property
    def has_flagged_secret(self) -> bool:
        """Return whether the call stored something that looks like a secret."""
        found = (self.config or {}).get("secrets") or []
        return any(record["action"] == "flagged" for record in found)


async def list_reviewed_calls(connection: Connection, access: Access) -> tuple[list[ReviewedCall], bool]:
    """Return the caller's calls that a review begins with, newest first, and whether older ones were left out."""
    given = {"scope_ids": access.visible_logs, "user_id": access.user_id or "", "window": WINDOW}
    found = await rows(connection, "log/operation_review", **given, limit=MAX_CALLS)
    more = await row(connection, "log/operation_review_more", **given)
    return [ReviewedCall(**record) for record in found], len(found) == MAX_CALLS or more is not None
