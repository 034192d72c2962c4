"""The same agent loop over the Responses API."""

import asyncio
import sys

from openai import AsyncOpenAI

from memex import Memex
from memex.integrations.openai import run_tool_calls, tools


async def main(said: str) -> None:
    """Answer one message of the user alice."""
    async with Memex() as memex, AsyncOpenAI() as client:
        memory = memex.for_user("alice", actor="openai-responses-agent")
        block = await memory.prompt_block()
        items = [{"role": "user", "content": said}]
        while True:
            response = await client.responses.create(
                model="gpt-5-mini", instructions=block.text, input=items, tools=tools("responses")
            )
            answered = await run_tool_calls(response, memory)
            if not answered.messages:
                break
            items += [*response.output, *answered.messages]
        print(response.output_text)


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
