"""A tool that asks a planner for its answer, and what is logged of the planning."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memex.errors import ModelUnavailable, ValidationFailed
from memex.service.tools.tool import A, CallTool
from memex.service.tools.tool_context import ToolContext
from memex.subagent import prompts
from memex.subagent.context.recall import RecalledContext
from memex.subagent.planner import Planner, RememberPlan


@dataclass(frozen=True, slots=True)
class PlannedTool(CallTool[A]):
    """A tool that asks a planner for its answer; `prompt` names the one in `prompts/` that tells models of it."""

    prompt: str

    def description(self, prompts_dir: Path | None = None) -> str:
        """Return the description for a model. Prompts in `prompts_dir` replace those of Memex."""
        return prompts.load(self.prompt, prompts_dir).tool

    def input_schema(self, prompts_dir: Path | None = None) -> dict[str, Any]:
        """Return the JSON Schema of the arguments, with the descriptions of the prompt.

        Raises:
            ValidationFailed: the prompt in `prompts_dir` describes an argument that does not exist.
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
    """Return the code of an answer that the built-in planner gave because a model failed, None if none failed."""
    return None if failure is None else ModelUnavailable.code


def planning_record(
    work: ToolContext, planner: Planner, plan: RecalledContext | RememberPlan, prompt: str
) -> dict[str, Any]:
    """Return what `CallAnswer.config` logs of the planning: the planner and the version of the prompt.

    If a chat model plans, the config also names the model, its mode, its limits and the reason of a failure.
    """
    version = prompts.load(prompt, work.prompts_dir).version
    config = {"planner": plan.planner, "prompt": f"{prompt}-{version}"} | planner.config
    return config if plan.failure is None else config | {"failure": plan.failure}
