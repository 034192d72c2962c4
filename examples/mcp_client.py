"""An MCP client of a running Memex: it calls the two tools and lists the notes, as an agent does."""

import asyncio
import os
import sys
import uuid

import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp import Client


async def main(said: str) -> None:
    """Remember a message of alice, and print what memory recalls."""
    url, key = os.environ["MEMEX_URL"], os.environ["MEMEX_API_KEY"]
    headers = {"Authorization": f"Bearer {key}", "Memex-User": "alice"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        print(*[tool.name for tool in (await client.list_tools()).tools])

        # Use the id that your model's API gives to the call. A call that is sent twice with one id is
        # done once.
        tool_call_id = f"call_{uuid.uuid4().hex}"
        for _ in range(2):
            done = await client.call_tool(
                "memory_remember", {"text": said}, meta={"memex/toolCallId": tool_call_id}
            )
            print(done.content[0].text)

        found = await client.call_tool("memory_context", {"query": "Which tea do I prefer?", "budget": 2_000})
        print(found.content[0].text)  # for the model
        result = found.meta["memex/result"]  # the whole answer, for a program
        print([f"{source['path']}@{source['version']}" for source in result["sources"]])

        for resource in (await client.list_resources()).resources:
            print(resource.uri)


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea."))
