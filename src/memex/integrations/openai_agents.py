"""Memory as tools of the OpenAI Agents SDK.

agent = Agent(name="Assistant", tools=memory_tools(memex.for_user("alice")))
"""

from functools import partial
from typing import Any

from memex.api.memex import UserMemory
from memex.integrations.extras import required_extra
from memex.integrations.profiles import answer, definitions
from memex.service.tools.definitions import Profile

with required_extra("openai-agents"):
    from agents import FunctionTool, Tool
    from agents.tool_context import ToolContext


def memory_tools(memory: UserMemory, *, profile: Profile = "agent") -> list[Tool]:
    """Return the tools of a profile over one user's memory, with strict schemas.

    A refusal of Memex is the tool's output, with its code and what to do next; the run goes on.
    """
    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.strict,
            on_invoke_tool=partial(_run, memory, profile, tool.name),
        )
        for tool in definitions(profile)
    ]


async def _run(
    memory: UserMemory, profile: Profile, tool: str, context: ToolContext[Any], arguments: str
) -> str:
    outcome = await answer(memory, tool, arguments, tool_call_id=context.tool_call_id, profile=profile)
    return outcome.text
