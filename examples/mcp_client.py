"""An MCP client of a running Memex: what an agent's program does with the two tools, and with the notes."""

import asyncio
import os
import sys
import uuid

import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp import Client


async def main(said: str) -> None:
    """Remember what alice said, and show what is recalled of it."""
    url, key = os.environ["MEMEX_URL"], os.environ["MEMEX_API_KEY"]
    headers = {"Authorization": f"Bearer {key}", "Memex-User": "alice"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        print(*[tool.name for tool in (await client.list_tools()).tools])

        # The id by which your model's API names the call: sent twice under it, it is done once.
        tool_call_id = f"call_{uuid.uuid4().hex}"
        for _ in range(2):
            done = await client.call_tool(
                "memory_remember", {"text": said}, meta={"memex/toolCallId": tool_call_id}
            )
            print(done.content[0].text)

        found = await client.call_tool("memory_context", {"query": "Which tea do I prefer?", "budget": 2_000})
        print(found.content[0].text)  # for the model
        print([f"{source['path']}@{source['version']}" for source in found.structured_content["sources"]])

        for resource in (await client.list_resources()).resources:
            print(resource.uri)


asyncio.run(main(" ".join(sys.argv[1:]) or "I prefer oolong tea."))
