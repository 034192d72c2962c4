"""An agent of LangChain with the memory tools."""

import asyncio
import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from memex import Memex
from memex.integrations.langchain import memory_tools


async def main(said: str) -> None:
    """Answer one message of the user alice."""
    async with Memex() as memex:
        memory = memex.for_user("alice", actor="langchain-agent")
        agent = create_agent(
            ChatOpenAI(model="gpt-5-mini"),
            tools=memory_tools(memory),
            system_prompt=(await memory.prompt_block()).text,
        )
        state = await agent.ainvoke({"messages": [{"role": "user", "content": said}]})
        print(state["messages"][-1].content)


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea. What else do you know of me?"))
