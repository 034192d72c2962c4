"""The calls of each hour by tool and status, summed from the log, so that a page of a day reads few rows.

The sums are made anew from the log, hour by hour: whoever sums, and how often, the result is the same. So any
number of replicas may do it, and a row that comes late is counted the next time its hour is summed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memex.store.access import Access
from memex.store.database import Connection, Database, rows_as
from memex.store.sql import sql

DAY = timedelta(hours=24)
LATE = timedelta(hours=26)  # so old a call may be when its row comes and is still counted
RECENT = timedelta(hours=2)  # is summed each time
BUCKETS_PER_DOUBLING = 4


@dataclass(frozen=True, slots=True)
class HourlySum:
    """The calls of an hour (UTC) to one tool that ended in one status.

    Attributes:
        buckets: which buckets of the histogram hold calls, ascending.
        counts: how many calls each of these holds.
    """

    hour: datetime
    tool: str
    status: str
    calls: int
    buckets: Sequence[int]
    counts: Sequence[int]


async def sum_hours(database: Database, since: datetime) -> None:
    """Sum the hours of all tenants anew, from the one that holds a time on."""
    hour = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    async with database.maintenance() as connection:
        await connection.execute(sql("log/hour_lock"))
        await connection.execute(sql("log/hour_clear"), {"since": hour})
        await connection.execute(sql("log/hour_sum"), {"since": hour})


async def list_hours(connection: Connection, access: Access, since: datetime) -> Sequence[HourlySum]:
    """Return the sums of a tenant, from the hour that holds a time on. For an admin."""
    hour = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return await rows_as(HourlySum, connection, "log/hour_list", tenant_id=access.tenant_id, since=hour)


def percentile_ms(sums: Iterable[HourlySum], fraction: float) -> float | None:
    """Return how long the calls took of which this fraction was faster, within 19 %; None without calls.

    It is the upper end of the bucket that holds this call.
    """
    counts: dict[int, int] = {}
    for hour in sums:
        for bucket, count in zip(hour.buckets, hour.counts, strict=True):
            counts[bucket] = counts.get(bucket, 0) + count
    wanted, seen = fraction * sum(counts.values()), 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= wanted:
            return float(2 ** (bucket / BUCKETS_PER_DOUBLING))
    return None
