"""Counts of the newest answers that lacked the part of a model or an embedder."""

from collections.abc import Sequence
from dataclasses import dataclass

from memex.store.database import Connection, rows_as

NEWEST_CALLS = 1_000  # of each tenant in the last hour, so that a busy log is not read whole


@dataclass(frozen=True, slots=True)
class DegradedCount:
    """The answers of a tool among the newest calls, and how many of them bear the code `degraded`."""

    tool: str
    answers: int
    degraded: int


async def count_degraded(connection: Connection, tenant_id: int | None = None) -> Sequence[DegradedCount]:
    """Return the counts of the tools that were called in the last hour, of one tenant or of all together."""
    return await rows_as(
        DegradedCount, connection, "log/degraded_count", tenant_id=tenant_id, most=NEWEST_CALLS
    )
