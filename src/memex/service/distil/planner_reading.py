"""A portion as a call has read it, with what the log says of that."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memex.service.distil.portion import READ, Portion, load_portion
from memex.service.tools.tool_context import ToolContext
from memex.subagent.distil.choices import apply_choices

CHOICES = "choices"  # in the log of earlier versions: which statements a model chose, by their spans
OF_THE_ANSWER = (READ, "shown_sha256")  # parts of what is logged that each answer has its own of


@dataclass(frozen=True, slots=True)
class PortionReading:
    """A portion with the statements that are taken, and what the log says of how they were chosen."""

    portion: Portion
    config: Mapping[str, Any]

    @property
    def planner(self) -> str:
        """`builtin`, or the model that chose in an earlier version."""
        return str(self.config["planner"])


async def load_reading(work: ToolContext, config: Mapping[str, Any]) -> PortionReading:
    """Return what a call has read, by what the log says of it.

    Raises:
        MessagesErased: its messages are not stored any more, or others have taken their place.
    """
    portion = await load_portion(work, config[READ])
    messages = apply_choices(portion.messages, config.get(CHOICES) or {})
    kept = {name: value for name, value in config.items() if name not in OF_THE_ANSWER}
    return PortionReading(replace(portion, messages=tuple(messages)), kept)
