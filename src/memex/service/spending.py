"""Spending of tenants on models: the limit of a day, and the report."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from pydantic import BaseModel

from memex.service.tools.tool import ResultPart
from memex.store.access import Access
from memex.store.database import Database
from memex.store.log import spend
from memex.store.log.spend import ModelUsage
from memex.subagent.limits import model_unavailable

SPENT = "the tenant's money for the day is spent"


@dataclass(frozen=True, slots=True)
class TenantSpending:
    """The spending of a call's tenant on models in a day (UTC). The database counts for all processes.

    A request that is under way when the limit is reached is finished and paid; the next one is refused.
    """

    database: Database
    access: Access
    day: date
    limit: Decimal | None

    async def check(self) -> None:
        """Refuse another request if the limit of the day is reached; raises ModelUnavailable."""
        if self.limit is None:
            return
        async with self.database.transaction(self.access) as connection:
            spent = await spend.usd_of_day(connection, self.access, self.day)
        if spent >= self.limit:
            raise model_unavailable(SPENT)

    async def add(self, model: str, usage: ModelUsage) -> None:
        """Count what a request used."""
        async with self.database.transaction(self.access) as connection:
            await spend.add(connection, self.access, self.day, model, usage)


class DaySpent(ResultPart):
    """The use of one model on a day (UTC): requests, tokens, and US dollars as far as prices are known."""

    day: str
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    usd: float


class SpendingResult(BaseModel):
    """A tenant's use of models, the newest day first; `daily_usd` is the most that a day may cost."""

    daily_usd: float | None
    spent: list[DaySpent]


async def read_spending(
    database: Database, access: Access, since: date, *, daily_usd: Decimal | None
) -> SpendingResult:
    """Return what a tenant's calls used of models since a day."""
    async with database.transaction(access) as connection:
        found = await spend.list_days(connection, access, since)
    return SpendingResult(
        daily_usd=None if daily_usd is None else float(daily_usd),
        spent=[DaySpent.taken_from(daily_spend, usd=float(daily_spend.usd)) for daily_spend in found],
    )
