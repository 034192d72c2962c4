"""Limits on writes that hold over all replicas: each write is counted in the transaction that commits it.

The statement is sent with the last ones of the commit, so it takes no round trip of its own, and its rows are
locked for hardly longer than the commit takes. A write that fails counts nothing.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import psycopg

from memex.errors import RateLimited
from memex.store.database import Connection
from memex.store.sql import sql

REACHED = "MX005"  # the SQLSTATE of the function `count_write`
HINT = "Send the request again after the seconds that Retry-After names."


@dataclass(frozen=True, slots=True)
class WriteRate:
    """A limit on writes, of one holder, and what one call takes of it.

    Attributes:
        name: of the limit, such as `writes-user`.
        holder: whose writes are counted: the user id, the number of the key, or empty for the tenant.
        cost_s: in how many seconds time gives back what the call takes.
        period_s: in how many seconds time fills the whole bucket.
    """

    name: str
    holder: str
    cost_s: float
    period_s: float


async def count(connection: Connection, rates: Sequence[WriteRate]) -> None:
    """Send the statement that counts a write, and fails if a limit is reached; nothing is sent without limits."""
    if rates:
        await connection.execute(
            sql("identity/write_count"), {"rates": json.dumps([asdict(rate) for rate in rates])}
        )


def refusal(error: psycopg.Error) -> RateLimited | None:
    """Return the error for what `count_write` raised; None if another function raised it."""
    if error.sqlstate != REACHED:
        return None
    said = json.loads(error.diag.message_detail or "{}")
    return RateLimited(
        f"The limit {said['name']} is reached, over all replicas of the service.",
        hint=HINT,
        limit=said["name"],
        retry_after_s=math.ceil(said["wait_s"]),
    )
