"""An agent loop over Anthropic's Messages API. The model remembers and recalls."""

import asyncio
import sys

from anthropic import AsyncAnthropic

from memex import Memex
from memex.integrations.anthropic import run_tool_use, tools


async def main(said: str) -> None:
    """Answer one message of the user alice."""
    async with Memex() as memex, AsyncAnthropic() as client:
        memory = memex.for_user("alice", actor="anthropic-agent")
        block = await memory.prompt_block()
        messages = [{"role": "user", "content": said}]
        while True:
            message = await client.messages.create(
                model="claude-sonnet-4-5",
                max_tokens=2_000,
                system=block.text,
                messages=messages,
                tools=tools(),
            )
            ran = await run_tool_use(message, memory)
            if not ran.blocks:
                break
            messages.append({"role": "assistant", "content": message.content})
            messages.append({"role": "user", "content": ran.blocks})
        print("".join(block.text for block in message.content if block.type == "text"))


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
