"""The planners of the two tools that ask one."""

from dataclasses import dataclass
from decimal import Decimal

from memex.store.search.analyzer import Analyzer
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ChatModel
from memex.subagent.planner import Planner


@dataclass(frozen=True, slots=True)
class Planners:
    """The planners of the two tools.

    Attributes:
        daily_usd: US dollars that each tenant may spend in a day; None for no limit.
    """

    context: Planner
    remember: Planner
    daily_usd: Decimal | None = None
    chats: tuple[ChatModel, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, each once."""
        return tuple(dict.fromkeys(chat.name for chat in self.chats))

    @property
    def rules(self) -> Planner:
        """The planner by rules, which asks no model."""
        known = (planner for planner in (self.context, self.remember) if not planner.is_slow)
        return next(known, None) or BuiltinPlanner(Analyzer())

    def asking(self, model: str | None, prompt: str | None) -> Planner | None:
        """Return the planner that asks a model; None if no such model is set up.

        Without `model` it is that of memory_context or, if there is none, memory_remember. `prompt` replaces the
        planner's own.

        Raises:
            ValidationFailed: the prompt is malformed.
        """
        found = next(
            (
                planner
                for planner in (self.context, self.remember)
                if planner.is_slow and (model is None or planner.name == model)
            ),
            None,
        )
        if found is None or prompt is None:
            return found
        from memex.subagent.model.planner import ModelPlanner  # noqa: PLC0415  # loaded by whoever has a model

        if not isinstance(found, ModelPlanner):
            return None
        return found.with_prompt(prompts.parse("prompt", prompt))


def builtin_planners(daily_usd: Decimal | None = None) -> Planners:
    """Return the built-in planner for both tools; it sends nothing to other services."""
    planner = BuiltinPlanner(Analyzer())
    return Planners(planner, planner, daily_usd)
