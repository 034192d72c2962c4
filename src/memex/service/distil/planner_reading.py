"""A portion as its planner read it: by rules, or by a model that chooses among the statements of the rules."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memex.errors import LimitExceeded, ModelUnavailable
from memex.service.distil.portion import READ, Portion, choose_portion, load_portion
from memex.service.snapshots import MemoryView
from memex.service.tools.tool_context import ToolContext
from memex.store.conversations.human_messages import read_said_before
from memex.subagent import prompts
from memex.subagent.distil.choices import CONTEXT_CHARS, apply_choices, logged_choices
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import BUILTIN

if TYPE_CHECKING:
    from memex.subagent.model.planner import ModelPlanner

CHOICES = "choices"  # in the log: which statements a model chose, by their spans in the messages
OF_THE_ANSWER = (READ, "shown_sha256")  # parts of what is logged that each answer has its own of


@dataclass(frozen=True, slots=True)
class PortionReading:
    """A portion with the statements that are taken, and what the log says of how they were chosen."""

    portion: Portion
    config: Mapping[str, Any]

    @property
    def planner(self) -> str:
        """`builtin`, or the model's name."""
        return str(self.config["planner"])


async def load_reading(work: ToolContext, config: Mapping[str, Any]) -> PortionReading:
    """Return what a call has read, by what the log says of it; a model is not asked again.

    Raises:
        MessagesErased: its messages are not stored any more, or others have taken their place.
    """
    portion = await load_portion(work, config[READ])
    messages = apply_choices(portion.messages, config.get(CHOICES) or {})
    kept = {name: value for name, value in config.items() if name not in OF_THE_ANSWER}
    return PortionReading(replace(portion, messages=tuple(messages)), kept)


async def read_portion(
    work: ToolContext,
    conversation_id: str | None,
    since: datetime | None,
    project: str | None,
    *,
    is_again: bool,
    is_by_rules: bool,
) -> PortionReading:
    """Return the next messages that have not been distilled, read by the planner of memory_remember.

    Args:
        work: the context of the call.
        conversation_id: as of `choose_portion`.
        since: likewise.
        project: the project that the conversations are about, if any.
        is_again: likewise.
        is_by_rules: no model is asked.

    Raises:
        ConversationNotFound: the user has no such conversation.
    """
    model = None if is_by_rules else _model(work)
    count = len if model is None else model.count_readable
    portion = await choose_portion(work, conversation_id, since, is_again=is_again, count_readable=count)
    if model is None or not any(message.statements for message in portion.messages):
        return PortionReading(portion, {"planner": BUILTIN})
    return await _ask(work, portion, project, model)


def _model(work: ToolContext) -> "ModelPlanner | None":
    """Return the planner that asks a model, if memory_remember has one."""
    if not work.planners.remember.is_slow:
        return None
    from memex.subagent.model.planner import ModelPlanner  # noqa: PLC0415  # loaded by whoever has a model

    return work.planners.remember if isinstance(work.planners.remember, ModelPlanner) else None


async def _ask(
    work: ToolContext, portion: Portion, project: str | None, model: "ModelPlanner"
) -> PortionReading:
    """Return a portion with the statements that a model chose; if it fails, with all that the rules found."""
    from memex.subagent.model.choosing import ShownMessage  # noqa: PLC0415  # as above

    said_before = await _said_before(work, portion)
    messages = [ShownMessage(message, said_before.get(message.said.place)) for message in portion.messages]
    version = prompts.load("distil", work.prompts_dir).version
    config = {"planner": model.name, "prompt": f"distil-{version}"} | model.config
    async with work.snapshots.narrowed(project).begin(MemoryView(), "fresh") as snapshots:
        tools = MemoryTools(snapshots.open, work.call, spending=work.spending, conceals_queries=True)
        try:
            choices = await model.choose_statements(messages, project, tools)
        except (ModelUnavailable, LimitExceeded) as error:
            return PortionReading(portion, config | {"planner": BUILTIN, "failure": model.failed(error)})
    chosen = replace(portion, messages=tuple(apply_choices(portion.messages, choices)))
    return PortionReading(chosen, config | {CHOICES: logged_choices(choices)})


async def _said_before(work: ToolContext, portion: Portion) -> dict[tuple[str, int], str]:
    scope = work.access.conversations
    if scope is None:
        return {}
    places = [one.said.place for one in portion.messages if one.statements]
    async with work.database.transaction(work.access.for_conversations()) as connection:
        return await read_said_before(connection, scope, places, max_chars=CONTEXT_CHARS)
