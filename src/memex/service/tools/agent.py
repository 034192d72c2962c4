"""The two tools of an agent, and the prompts that they are told with."""

from pathlib import Path
from typing import Any

from memex.errors import ValidationFailed
from memex.service.tools.context import CONTEXT
from memex.service.tools.planned_tool import PlannedTool
from memex.service.tools.remember import REMEMBER
from memex.subagent import prompts

TOOLS: tuple[PlannedTool[Any], ...] = (REMEMBER, CONTEXT)


def check_prompts(directory: Path) -> None:
    """Refuse a directory of prompts that cannot be used.

    Raises:
        ValidationFailed: naming the variable, and the file with what is wrong in it.
    """
    if not directory.is_dir():
        raise ValidationFailed(
            f"MEMEX_PROMPTS_DIR: there is no folder {directory}.", hint="Correct or unset it."
        )
    try:
        for tool in TOOLS:
            tool.input_schema(directory)
        prompts.load_text("block", directory)
    except ValidationFailed as error:
        raise ValidationFailed(f"MEMEX_PROMPTS_DIR: {error.message}", hint=error.hint) from None
