"""Claude's own memory tool. Memex keeps the files of the tool."""

import asyncio
import sys

from anthropic import AsyncAnthropic

from memex import Memex
from memex.integrations.anthropic_memory import MemoryTool


async def main(said: str) -> None:
    """Answer one message of the user alice."""
    async with Memex() as memex, AsyncAnthropic() as client:
        runner = client.beta.messages.tool_runner(
            model="claude-sonnet-4-5",
            max_tokens=2_000,
            messages=[{"role": "user", "content": said}],
            tools=[MemoryTool(memex.for_user("alice", actor="claude"))],
        )
        message = await runner.until_done()
        print("".join(block.text for block in message.content if block.type == "text"))


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
