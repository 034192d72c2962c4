"""Memory as tools of LangChain, for `create_agent`, LangGraph's `ToolNode` and any model with `bind_tools`.

agent = create_agent(model, tools=memory_tools(memex.for_user("alice")))
"""

from typing import Any, NoReturn

from pydantic import PrivateAttr

from memex.api.memex import UserMemory
from memex.integrations.extras import required_extra
from memex.integrations.profiles import answer, definitions
from memex.service.tools.definitions import Profile, ToolDefinition

with required_extra("langchain"):
    from langchain_core.tools import BaseTool, ToolException


class LangChainMemoryTool(BaseTool):
    """One tool over one user's memory; a refusal of Memex is a ToolMessage with the status `error`."""

    _memory: UserMemory = PrivateAttr()
    _profile: Profile = PrivateAttr()

    def __init__(self, memory: UserMemory, definition: ToolDefinition, profile: Profile) -> None:
        super().__init__(
            name=definition.name,
            description=definition.description,
            args_schema=definition.parameters,
            handle_tool_error=True,
        )
        self._memory = memory
        self._profile = profile

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[()], dict[str, Any]]:
        return (), {"arguments": tool_input, "call_id": tool_call_id}

    async def _arun(self, arguments: dict[str, Any] | str, call_id: str | None = None) -> str:
        outcome = await answer(
            self._memory, self.name, arguments, tool_call_id=call_id, profile=self._profile
        )
        if outcome.error is not None:
            raise ToolException(outcome.text)
        return outcome.text

    def _run(self, arguments: dict[str, Any] | str, call_id: str | None = None) -> NoReturn:
        raise NotImplementedError("Memory is asked asynchronously: run the agent with ainvoke or astream.")


def memory_tools(memory: UserMemory, *, profile: Profile = "agent") -> list[BaseTool]:
    """Return the tools of a profile over one user's memory."""
    return [LangChainMemoryTool(memory, definition, profile) for definition in definitions(profile)]
