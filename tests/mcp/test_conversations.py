"""Conversations over MCP: the tools of the profile, and threads as resources."""

import httpx2
from mcp.types import TextContent, TextResourceContents
from tests.http.conftest import KeyOf
from tests.kit.http_service import Served
from tests.kit.mcp_results import result_of
from tests.mcp.conftest import Connect

from memex.subagent.context.assembly import NOTHING_SENTENCE

LINES = (
    '{"kind": "chatgpt"}\n'
    '{"id": "c1", "title": "Tea", "messages": ['
    '{"id": "1", "role": "user", "text": "How hot for oolong?", "said_at": "2026-02-03T07:00:00Z"},'
    '{"id": "2", "role": "assistant", "text": "Ninety degrees.", "parent": "1"}]}\n'
)


def put(served: Served, key_of: KeyOf) -> str:
    """Put a conversation in for alice; return its id."""
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice', tenant='home')}"}
    answer = httpx2.post(f"{served.url}/v1/conversations", content=LINES, headers=headers)
    assert answer.is_success, answer.text
    return str(answer.json()["conversations"][0]["id"])


async def test_an_agent_finds_and_reads_what_was_said(
    connect: Connect, served: Served, key_of: KeyOf
) -> None:
    """It gets passages with the references by which they are cited, and a thread around one of them."""
    conversation_id = put(served, key_of)
    async with connect("conversations", bound_to="alice") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("conversation_find", {"query": "oolong"})
        thread = await client.call_tool("conversation_read", {"reference": f"{conversation_id}#2"})
        listed = await client.call_tool("conversation_list", {})
        [resource] = (await client.read_resource(f"memex://conversations/{conversation_id}/2")).contents
        templates = (await client.list_resource_templates()).resource_templates

    assert [name for name in names if name.startswith("conversation")] == [
        "conversation_find",
        "conversation_read",
        "conversation_list",
    ]
    [text] = found.content
    assert isinstance(text, TextContent)
    assert text.text == (
        f"[conversations/{conversation_id}#1] Tea, user, 2026-02-03T07:00:00+00:00\nHow hot for oolong?"
    )
    assert result_of(found)["hits"][0]["message"]["number"] == 1
    assert [one["number"] for one in result_of(thread)["messages"]] == [1, 2]
    assert listed.structured_content is not None
    assert listed.structured_content["conversations"][0]["first_words"] == "How hot for oolong?"
    assert isinstance(resource, TextResourceContents)
    assert "Ninety degrees." in resource.text
    assert "memex://conversations/{id}" in [one.uri_template for one in templates]


async def test_conversations_of_others_are_not_there(connect: Connect, served: Served, key_of: KeyOf) -> None:
    """Nor for the other profiles: an agent with the two tools reads no conversation."""
    conversation_id = put(served, key_of)
    async with connect("conversations", bound_to="bob") as bob:
        found = await bob.call_tool("conversation_find", {"query": "oolong"})
        refused = await bob.call_tool("conversation_read", {"reference": conversation_id})
    async with connect("agent", bound_to="alice") as agent:
        names = [tool.name for tool in (await agent.list_tools()).tools]

    assert result_of(found)["hits"] == []
    assert result_of(found)["guidance"]
    assert refused.is_error
    assert not [name for name in names if name.startswith("conversation")]


async def test_the_host_includes_conversations_in_contexts(
    connect: Connect, served: Served, key_of: KeyOf
) -> None:
    """A header of the connection does, and no argument: a model is neither told of it, nor may it send it."""
    put(served, key_of)
    asked = {"query": "How hot for oolong?"}
    async with connect(bound_to="alice", include="conversations") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = await client.call_tool("memory_context", asked)
        refused = await client.call_tool("memory_context", asked | {"include": []})
    async with connect(bound_to="alice") as client:
        plain = await client.call_tool("memory_context", asked)

    assert "include" not in tools["memory_context"].input_schema["properties"]
    [text] = found.content
    assert isinstance(text, TextContent)
    assert "] user · 2026-02-03 · Tea\nHow hot for oolong?" in text.text
    assert refused.is_error
    [nothing] = plain.content
    assert isinstance(nothing, TextContent)
    assert NOTHING_SENTENCE in nothing.text
    assert "How hot for oolong?" not in nothing.text


def test_a_header_that_includes_something_unknown_is_refused(served: Served, key_of: KeyOf) -> None:
    """The answer says what there is."""
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice', tenant='home')}"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = httpx2.post(f"{served.url}/mcp", json=message, headers=headers | {"Memex-Include": "dreams"})

    assert answer.status_code == 422
    assert answer.json()["code"] == "VALIDATION_ERROR"
    assert "conversations" in answer.text
