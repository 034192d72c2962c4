"""An agent of Google's Agent Development Kit with the memory tools."""

import asyncio
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner

from memex import Memex
from memex.integrations.google_adk import memory_tools


async def main(said: str) -> None:
    """Answer one message of the user alice."""
    async with Memex() as memex:
        memory = memex.for_user("alice", actor="google-adk-agent")
        agent = LlmAgent(
            name="assistant",
            model="gemini-2.5-flash",
            instruction=(await memory.prompt_block()).text,
            tools=memory_tools(memory),
        )
        events = await InMemoryRunner(agent=agent).run_debug(said, user_id="alice", quiet=True)
        print(events[-1].content.parts[0].text)


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
