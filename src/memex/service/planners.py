"""The planners of the two tools that ask one."""

from dataclasses import dataclass
from decimal import Decimal

from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ChatModel
from memex.subagent.planner import Planner


@dataclass(frozen=True, slots=True)
class Planners:
    """The planners of the two tools.

    Attributes:
        context: the planner of memory_context.
        remember: the planner of memory_remember.
        daily_usd: US dollars that each tenant may spend in a day; None for no limit.
        chats: the models that the planners ask.
    """

    context: Planner
    remember: Planner
    daily_usd: Decimal | None = None
    chats: tuple[ChatModel, ...] = ()


def builtin_planners() -> Planners:
    """Return the built-in planner for both tools; it sends nothing to other services."""
    planner = BuiltinPlanner(Analyzer())
    return Planners(planner, planner)
