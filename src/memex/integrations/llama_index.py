"""Memory as tools of LlamaIndex.

agent = FunctionAgent(llm=llm, tools=memory_tools(memex.for_user("alice")))
"""

from dataclasses import dataclass
from typing import Any, NoReturn

from memex.api.memex import UserMemory
from memex.integrations.extras import required_extra
from memex.integrations.profiles import answer, definitions
from memex.service.tools.definitions import Profile, ToolDefinition

with required_extra("llama-index"):
    from llama_index.core.tools import AsyncBaseTool, ToolMetadata, ToolOutput


@dataclass
class _Metadata(ToolMetadata):
    """A tool's name and description, with a schema that is given and not derived from a class."""

    schema: dict[str, Any] | None = None

    def get_parameters_dict(self) -> dict[str, Any]:
        return dict(self.schema or {})


class LlamaIndexMemoryTool(AsyncBaseTool):
    """One tool over one user's memory; a refusal of Memex is an output marked as an error.

    LlamaIndex does not tell a tool the id of its call: each goes to the log under a new one.
    """

    def __init__(self, memory: UserMemory, definition: ToolDefinition, profile: Profile) -> None:
        self._memory = memory
        self._profile: Profile = profile
        self._metadata = _Metadata(
            name=definition.name, description=definition.description, schema=definition.parameters
        )

    @property
    def metadata(self) -> ToolMetadata:
        """The description of the tool for the model."""
        return self._metadata

    async def acall(self, **arguments: Any) -> ToolOutput:  # type: ignore[override]  # the model's, by name
        """Run a call."""
        name = self._metadata.get_name()
        outcome = await answer(self._memory, name, arguments, tool_call_id=None, profile=self._profile)
        return ToolOutput(
            tool_name=name,
            content=outcome.text,
            raw_input=arguments,
            raw_output=outcome.result,
            is_error=outcome.error is not None,
        )

    def call(self, **arguments: Any) -> NoReturn:  # type: ignore[override]  # asynchronous alone
        """Refuse: memory is asked asynchronously."""
        raise NotImplementedError("Memory is asked asynchronously: run the agent, or await acall.")


def memory_tools(memory: UserMemory, *, profile: Profile = "agent") -> list[AsyncBaseTool]:
    """Return the tools of a profile over one user's memory."""
    return [LlamaIndexMemoryTool(memory, definition, profile) for definition in definitions(profile)]
