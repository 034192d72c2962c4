"""Who plans, and what a tenant may spend on it."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from memex.store import spend
from memex.store.access import Access
from memex.store.analyzer import Analyzer
from memex.store.database import Database
from memex.store.spend import Usage
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.limits import unavailable
from memex.subagent.models import ChatModel
from memex.subagent.planner import Planner


@dataclass(frozen=True, slots=True)
class Planning:
    """The planners of the two tools.

    Attributes:
        context: of memory_context.
        remember: of memory_remember.
        daily_usd: US dollars that each tenant may cost a day; None for no limit.
        chats: the models that the planners ask.
    """

    context: Planner
    remember: Planner
    daily_usd: Decimal | None = None
    chats: tuple[ChatModel, ...] = ()


def builtin_planning() -> Planning:
    """Return the planning by rules, which sends nothing anywhere."""
    planner = BuiltinPlanner(Analyzer())
    return Planning(planner, planner)


@dataclass(frozen=True, slots=True)
class TenantSpending:
    """What the tenant of a call spends on a day (UTC), in the database: all processes count together.

    A request that is under way when the money runs out is finished and paid; the next one is refused.
    """

    database: Database
    access: Access
    day: date
    limit: Decimal | None

    async def check(self) -> None:
        """Refuse another request when the day's money is spent; raises ModelUnavailable."""
        if self.limit is None:
            return
        async with self.database.transaction(self.access) as connection:
            spent = await spend.spent(connection, self.access, self.day)
        if spent >= self.limit:
            raise unavailable("the tenant's money for the day is spent")

    async def add(self, model: str, usage: Usage) -> None:
        """Count what a request used."""
        async with self.database.transaction(self.access) as connection:
            await spend.add(connection, self.access, self.day, model, usage)
