"""Memory as a toolset of Pydantic AI.

agent = Agent(model, toolsets=[MemoryToolset(memex.for_user("alice"))])
"""

from typing import Any

from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from memex.api.memex import UserMemory
from memex.integrations.profiles import answer, definitions
from memex.service.tools.definitions import Profile

ANY_OBJECT = SchemaValidator(
    core_schema.dict_schema(core_schema.str_schema())
)  # Memex checks the arguments itself


class MemoryToolset(AbstractToolset[Any]):
    """The tools of a profile over one user's memory.

    A refusal of Memex is a failed tool result that the model reads, and no exception of the run.

    Args:
        memory: whose it is; the model cannot name another.
        profile: agent, the two tools, or files, all of them.
        id: of the toolset; durable execution names its steps after it.
    """

    def __init__(self, memory: UserMemory, *, profile: Profile = "agent", id: str | None = "memex") -> None:  # noqa: A002  # its name there
        self._memory = memory
        self._profile: Profile = profile
        self._id = id

    @property
    def id(self) -> str | None:
        """The id that it was made with."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:  # noqa: ARG002  # theirs
        """Return the tools; writes run one after the other, in the model's order, and then reads."""
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.parameters,
                ),
                max_retries=1,
                args_validator=ANY_OBJECT,
            )
            for tool in definitions(self._profile)
        }

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002  # theirs
    ) -> str:
        """Run a call under the id that the model gave it."""
        outcome = await answer(
            self._memory, name, tool_args, tool_call_id=ctx.tool_call_id, profile=self._profile
        )
        if outcome.error is not None:
            error = outcome.error
            raise ToolFailed(f"{error.code}: {error.message} {error.hint}")
        return outcome.text
