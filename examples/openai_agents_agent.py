"""An agent of the OpenAI Agents SDK with the memory tools."""

import asyncio
import sys

from agents import Agent, Runner

from memex import Memex
from memex.integrations.openai_agents import memory_tools


async def main(said: str) -> None:
    """Answer one message of the user alice."""
    async with Memex() as memex:
        memory = memex.for_user("alice", actor="openai-agents-agent")
        agent = Agent(
            name="Assistant",
            model="gpt-5-mini",
            instructions=(await memory.prompt_block()).text,
            tools=memory_tools(memory),
        )
        result = await Runner.run(agent, said)
        print(result.final_output)


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
