"""Every way to a user's memory, driven as its own library drives it.

A surface is opened for one user and answers tool calls: `await call(tool, arguments, tool_call_id)`. Where a
library runs the tools for a model, a scripted model makes the call, and what it is shown is the answer.
"""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from tests.integrations.conftest import Home
from tests.integrations.scripts import ANTHROPIC, CHAT, GEMINI, RESPONSES, Wire
from tests.kit.mcp_results import result_of
from tests.kit.model_server import ModelServer, serving

from memex import Memex
from memex.api.memex import UserMemory
from memex.errors import MemexError
from memex.toolcalls import ToolCallOutcome, error_text, result_text


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call was answered with: the text that a model reads, and the result where the surface gives it."""

    text: str
    result: Mapping[str, Any] | None = None


Call = Callable[[str, Mapping[str, Any], str], Awaitable[Answer]]
RunAgent = Callable[[ModelServer, UserMemory], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Surface:
    """A surface by its name: how it is opened for a user, and whether it passes the tool call id to the log."""

    name: str
    open: Callable[[Home, str], AbstractAsyncContextManager[Call]]
    passes_ids: bool = True


@asynccontextmanager
async def http(home: Home, user: str) -> AsyncIterator[Call]:
    """Requests as any language makes them."""
    headers = {"Authorization": f"Bearer {home.key}"}
    async with httpx2.AsyncClient(base_url=home.url, headers=headers, timeout=30) as client:

        async def call(tool: str, arguments: Mapping[str, Any], tool_call_id: str) -> Answer:
            context = {"userId": user, "toolCallId": tool_call_id}
            body = {"context": context, "arguments": dict(arguments)}
            answer = await client.post(f"/v1/tools/{tool}/execute", json=body)
            if answer.is_success:
                return Answer(result_text(tool, answer.json()), answer.json())
            return Answer(json.dumps({"error": answer.json()}))

        yield call


async def _executed(memory: UserMemory, tool: str, arguments: Mapping[str, Any], tool_call_id: str) -> Answer:
    try:
        result = await memory.execute(tool, arguments, tool_call_id=tool_call_id)
    except MemexError as error:
        return Answer(error_text(error))
    return Answer(result_text(tool, result), result)


@asynccontextmanager
async def python_here(home: Home, user: str) -> AsyncIterator[Call]:
    """`Memex` in this process, over the same database."""
    async with Memex(database_url=home.database_url) as memex:
        memory = memex.for_user(user)
        yield lambda tool, arguments, tool_call_id: _executed(memory, tool, arguments, tool_call_id)


@asynccontextmanager
async def python_remote(home: Home, user: str) -> AsyncIterator[Call]:
    """`Memex` over HTTP, with a key that is bound to its user."""
    async with Memex(url=home.url, api_key=home.bound_key(user)) as memex:
        memory = memex.for_user()
        yield lambda tool, arguments, tool_call_id: _executed(memory, tool, arguments, tool_call_id)


async def _called(client: Any, tool: str, arguments: Mapping[str, Any], tool_call_id: str) -> Answer:
    """Call a tool of an MCP server, whose client says under which id."""
    done = await client.call_tool(tool, dict(arguments), meta={"memex/toolCallId": tool_call_id})
    return Answer(done.content[0].text, None if done.is_error else result_of(done))


@asynccontextmanager
async def mcp_http(home: Home, user: str) -> AsyncIterator[Call]:
    """The SDK's client of the streamable HTTP server; a header names the user."""
    from mcp.client.streamable_http import streamable_http_client

    from mcp import Client

    headers = {"Authorization": f"Bearer {home.key}", "Memex-User": user}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as requests,
        Client(streamable_http_client(f"{home.url}/mcp", http_client=requests)) as client,
    ):
        yield lambda tool, arguments, tool_call_id: _called(client, tool, arguments, tool_call_id)


@asynccontextmanager
async def mcp_stdio(home: Home, user: str) -> AsyncIterator[Call]:
    """The SDK's client of `memex mcp`, which asks the service with a key that is bound to its user."""
    from mcp import Client, StdioServerParameters

    environment = {"MEMEX_URL": home.url, "MEMEX_API_KEY": home.bound_key(user)}
    command = ["-c", "from memex.cli.main import main; main()", "mcp"]
    async with Client(StdioServerParameters(command=sys.executable, args=command, env=environment)) as client:
        yield lambda tool, arguments, tool_call_id: _called(client, tool, arguments, tool_call_id)


def agent_surface(name: str, wire: Wire, run: RunAgent, *, passes_ids: bool = True) -> Surface:
    """Return the surface of a library that runs an agent against a scripted model."""

    @asynccontextmanager
    async def opened(home: Home, user: str) -> AsyncIterator[Call]:
        async with Memex(url=home.url, api_key=home.key) as memex:
            memory = memex.for_user(user, actor=name)

            async def call(tool: str, arguments: Mapping[str, Any], tool_call_id: str) -> Answer:
                with serving() as model:
                    model.play(wire.calls((tool_call_id, tool, arguments)), wire.says("done"))
                    ran = await run(model, memory)
                    [text] = wire.results(model.requests[-1])
                result = ran.result if isinstance(ran, ToolCallOutcome) else None
                return Answer(text, result)

            yield call

    return Surface(name, opened, passes_ids)


async def openai_chat(model: ModelServer, memory: UserMemory) -> ToolCallOutcome:
    """Run the loop of Chat Completions."""
    from openai import AsyncOpenAI

    from memex.integrations.openai import run_tool_calls, tools

    async with AsyncOpenAI(base_url=model.url, api_key="-", max_retries=0) as client:
        messages: list[Any] = [{"role": "user", "content": "Go on."}]
        response = await client.chat.completions.create(model="m", messages=messages, tools=tools())
        answered = await run_tool_calls(response, memory)
        messages += [response.choices[0].message, *answered.messages]
        await client.chat.completions.create(model="m", messages=messages, tools=tools())
    *_, outcome = answered.outcomes.values()
    return outcome


async def openai_responses(model: ModelServer, memory: UserMemory) -> ToolCallOutcome:
    """Run the loop of the Responses API."""
    from openai import AsyncOpenAI

    from memex.integrations.openai import run_tool_calls, tools

    async with AsyncOpenAI(base_url=model.url, api_key="-", max_retries=0) as client:
        items: list[Any] = [{"role": "user", "content": "Go on."}]
        response = await client.responses.create(model="m", input=items, tools=tools("responses"))
        answered = await run_tool_calls(response, memory)
        await client.responses.create(
            model="m", input=[*items, *response.output, *answered.messages], tools=tools("responses")
        )
    *_, outcome = answered.outcomes.values()
    return outcome


async def pydantic_ai(model: ModelServer, memory: UserMemory) -> None:
    """Run an agent of Pydantic AI."""
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from memex.integrations.pydantic_ai import MemoryToolset

    async with AsyncOpenAI(base_url=model.url, api_key="-", max_retries=0) as client:
        chat = OpenAIChatModel("m", provider=OpenAIProvider(openai_client=client))
        await Agent(chat, toolsets=[MemoryToolset(memory)]).run("Go on.")


async def anthropic(model: ModelServer, memory: UserMemory) -> ToolCallOutcome:
    """Run the loop of the Messages API."""
    from anthropic import AsyncAnthropic

    from memex.integrations.anthropic import run_tool_use, tools

    async with AsyncAnthropic(base_url=model.url.removesuffix("/v1"), api_key="-", max_retries=0) as client:
        messages: list[Any] = [{"role": "user", "content": "Go on."}]
        message = await client.messages.create(model="m", max_tokens=100, messages=messages, tools=tools())
        ran = await run_tool_use(message, memory)
        messages += [
            {"role": "assistant", "content": message.content},
            {"role": "user", "content": ran.blocks},
        ]
        await client.messages.create(model="m", max_tokens=100, messages=messages, tools=tools())
    *_, outcome = ran.outcomes.values()
    return outcome


async def openai_agents(model: ModelServer, memory: UserMemory) -> None:
    """Run an agent of the OpenAI Agents SDK."""
    from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner
    from openai import AsyncOpenAI

    from memex.integrations.openai_agents import memory_tools

    async with AsyncOpenAI(base_url=model.url, api_key="-", max_retries=0) as client:
        chat = OpenAIChatCompletionsModel("m", client)
        agent = Agent(name="Assistant", model=chat, tools=memory_tools(memory))
        await Runner.run(agent, "Go on.", run_config=RunConfig(tracing_disabled=True))


async def langchain(model: ModelServer, memory: UserMemory) -> None:
    """Run an agent of LangChain, which is a graph of LangGraph with its ToolNode."""
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from openai import DefaultAsyncHttpxClient

    from memex.integrations.langchain import memory_tools

    async with DefaultAsyncHttpxClient() as requests:
        chat = ChatOpenAI(model="m", base_url=model.url, api_key="-", http_async_client=requests)
        agent = create_agent(chat, tools=memory_tools(memory))
        await agent.ainvoke({"messages": [{"role": "user", "content": "Go on."}]})


async def llama_index(model: ModelServer, memory: UserMemory) -> None:
    """Run an agent of LlamaIndex."""
    from google.genai.types import HttpOptions
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.llms.google_genai import GoogleGenAI

    from memex.integrations.llama_index import memory_tools

    address = HttpOptions(base_url=model.url.removesuffix("/v1"))
    llm = GoogleGenAI(
        model="gemini-2.5-flash", max_tokens=4_096, context_window=1_000_000, http_options=address
    )
    await FunctionAgent(llm=llm, tools=memory_tools(memory), streaming=False).run("Go on.")
    await llm._client.aio.aclose()


async def google_adk(model: ModelServer, memory: UserMemory) -> None:
    """Run an agent of Google's Agent Development Kit, whose Gemini is asked at the scripted model's address."""
    from google.adk.agents import LlmAgent
    from google.adk.models import Gemini
    from google.adk.runners import InMemoryRunner

    from memex.integrations.google_adk import memory_tools

    gemini = Gemini(model="gemini-2.5-flash", base_url=model.url.removesuffix("/v1"))
    agent = LlmAgent(name="assistant", model=gemini, tools=memory_tools(memory))
    runner = InMemoryRunner(agent=agent)
    await runner.run_debug("Go on.", quiet=True)
    await runner.close()
    await gemini.api_client.aio.aclose()


# The agents, each with how its provider's API carries calls.
AGENTS: dict[str, tuple[Wire, RunAgent]] = {
    "openai-chat": (CHAT, openai_chat),
    "openai-responses": (RESPONSES, openai_responses),
    "pydantic-ai": (CHAT, pydantic_ai),
    "anthropic": (ANTHROPIC, anthropic),
    "openai-agents": (CHAT, openai_agents),
    "langchain": (CHAT, langchain),
    "llama-index": (GEMINI, llama_index),
    "google-adk": (GEMINI, google_adk),
}
SURFACES = [
    Surface("http", http),
    Surface("python-here", python_here),
    Surface("python-remote", python_remote),
    Surface("mcp-http", mcp_http),
    Surface("mcp-stdio", mcp_stdio),
    *(
        agent_surface(name, wire, run, passes_ids=name != "llama-index")
        for name, (wire, run) in AGENTS.items()
    ),
]
