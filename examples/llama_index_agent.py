"""An agent of LlamaIndex with the memory tools."""

import asyncio
import os
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.ollama import Ollama

from memex import Memex
from memex.integrations.llama_index import memory_tools


async def main(said: str) -> None:
    """Answer one message of alice."""
    llm = Ollama(model="qwen3", base_url=os.environ.get("OLLAMA_HOST", "http://localhost:11434"))
    async with Memex() as memex:
        memory = memex.for_user("alice", actor="llama-index-agent")
        agent = FunctionAgent(
            llm=llm,
            tools=memory_tools(memory),
            system_prompt=(await memory.prompt_block()).text,
            streaming=False,
        )
        print(await agent.run(said))


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
