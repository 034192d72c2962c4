"""The cost of a tenant's requests to models, by day (UTC) and model."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from memex.store.access import Access
from memex.store.database import Connection, row, rows
from memex.store.sql import sql


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The usage by requests to a model; `usd` is None where no price is known.

    `is_estimated` where the answer did not say its tokens, and they were guessed.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: Decimal | None = None
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class DailySpend:
    """The usage of one model by a tenant on a day; `usd` counts what has a known price."""

    day: date
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    usd: Decimal


async def add(connection: Connection, access: Access, day: date, model: str, usage: ModelUsage) -> None:
    """Add what a model used to what its tenant spent on a day."""
    await connection.execute(
        sql("log/spend_add"),
        {
            "tenant_id": access.tenant_id,
            "day": day,
            "model": model,
            "requests": usage.requests,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "usd": usage.usd or Decimal(0),
        },
    )


async def usd_of_day(connection: Connection, access: Access, day: date) -> Decimal:
    """Return what a tenant spent on a day, in US dollars."""
    found = await row(connection, "log/spend_day", tenant_id=access.tenant_id, day=day)
    return Decimal(0) if found is None else Decimal(found["usd"])


async def list_days(connection: Connection, access: Access, since: date) -> list[DailySpend]:
    """Return what a tenant used since a day, by day and model, the newest day first."""
    found = await rows(connection, "log/spend_days", tenant_id=access.tenant_id, since=since)
    return [DailySpend(**record) for record in found]
