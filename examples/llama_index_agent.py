"""An agent of LlamaIndex with the memory tools."""

import asyncio
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.google_genai import GoogleGenAI

from memex import Memex
from memex.integrations.llama_index import memory_tools


async def main(said: str) -> None:
    """Answer one message of the user alice."""
    async with Memex() as memex:
        memory = memex.for_user("alice", actor="llama-index-agent")
        agent = FunctionAgent(
            llm=GoogleGenAI(model="gemini-2.5-flash", max_tokens=8_192, context_window=1_000_000),
            tools=memory_tools(memory),
            system_prompt=(await memory.prompt_block()).text,
            streaming=False,
        )
        print(await agent.run(said))


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
