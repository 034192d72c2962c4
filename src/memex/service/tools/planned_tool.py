"""A tool whose answer a planner finds, and what is logged of the planning."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from memex.errors import ModelUnavailable, ValidationFailed
from memex.service.tools.tool import Arguments, Tool
from memex.service.tools.tool_context import ToolContext
from memex.subagent import prompts
from memex.subagent.context.recall import RecalledContext
from memex.subagent.planner import Planner, RememberPlan

A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class PlannedTool(Tool[A]):
    """A tool whose answer a planner finds. What a model reads about it stands in `prompts/`."""

    prompt: str
    answer: Callable[[ToolContext, A], Awaitable[dict[str, Any]]]
    is_reading: bool

    @property
    def is_read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.is_reading

    async def run(self, work: ToolContext, arguments: A) -> dict[str, Any]:
        """Answer a call by way of a planner, and log it."""
        return await self.answer(work, arguments)

    def description(self, prompts_dir: Path | None = None) -> str:
        """Return what it does, for a model; the prompts of a directory go before ours."""
        return prompts.load(self.prompt, prompts_dir).tool

    def input_schema(self, prompts_dir: Path | None = None) -> dict[str, Any]:
        """Return the JSON Schema of its arguments, with the prompt's words for those that a model sees.

        Raises:
            ValidationFailed: the prompt of the directory speaks of an argument that there is not.
        """
        schema = self.arguments.model_json_schema()
        schema.pop("description", None)
        for name, told in prompts.load(self.prompt, prompts_dir).arguments.items():
            if name not in schema["properties"]:
                raise ValidationFailed(
                    f"The prompt {self.prompt}.md speaks of an argument {name}, which {self.name} has not.",
                    hint=f"The arguments are: {', '.join(schema['properties'])}.",
                )
            schema["properties"][name]["description"] = told
        return schema


def degraded_code(failure: str | None) -> str | None:
    """Return the code of an answer that a model should have planned and did not."""
    return None if failure is None else ModelUnavailable.code


def planning_record(
    work: ToolContext, planner: Planner, plan: RecalledContext | RememberPlan, prompt: str
) -> dict[str, Any]:
    """Return what is logged beside the arguments: who planned, and the version of the words in the schema.

    Where a model should have planned, also which, how it was asked, what it might use, and why it did not.
    """
    version = prompts.load(prompt, work.prompts_dir).version
    beside = {"planner": plan.planner, "prompt": f"{prompt}-{version}"} | planner.config
    return beside if plan.failure is None else beside | {"failure": plan.failure}
