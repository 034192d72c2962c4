"""An agent loop over Chat Completions. The model may remember and recall in several calls at once."""

import asyncio
import sys

from openai import AsyncOpenAI

from memex import Memex
from memex.integrations.openai import run_tool_calls, tools


async def main(said: str) -> None:
    """Answer one message of the user alice."""
    async with Memex() as memex, AsyncOpenAI() as client:
        memory = memex.for_user("alice", actor="openai-agent")
        messages = [
            {"role": "system", "content": (await memory.prompt_block()).text},
            {"role": "user", "content": said},
        ]
        while True:
            response = await client.chat.completions.create(
                model="gpt-5-mini", messages=messages, tools=tools()
            )
            messages.append(response.choices[0].message)
            answered = await run_tool_calls(response, memory)
            if not answered.messages:
                break
            messages += answered.messages
        print(response.choices[0].message.content)


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
