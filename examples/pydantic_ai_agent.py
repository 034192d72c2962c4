"""An agent of Pydantic AI with the memory toolset."""

import asyncio
import sys

from pydantic_ai import Agent

from memex import Memex
from memex.integrations.pydantic_ai import MemoryToolset


async def main(said: str) -> None:
    """Answer one message of the user alice."""
    async with Memex() as memex:
        memory = memex.for_user("alice", actor="pydantic-ai-agent")
        agent = Agent(
            "openai-chat:gpt-5-mini",
            instructions=(await memory.prompt_block()).text,
            toolsets=[MemoryToolset(memory)],
        )
        result = await agent.run(said)
        print(result.output)


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
