"""What an MCP connection was made for: the Memex that answers, and the user whose memory it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.mcp.tools import OPERATION, OPERATIONS, REVERT
from memex.service.conversations import finding, reading


@dataclass(frozen=True, slots=True)
class McpConnection:
    """The Memex of a connection, and for whom it is asked. What a model says cannot change whose memory it is."""

    api: MemexApi
    context: CallContext


async def run_tool(
    api: MemexApi, context: CallContext, tool: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Run a tool of memory, of conversations, or of the operations that only admins have as tools."""
    given = dict(arguments)
    if tool == OPERATIONS.name:
        page = OPERATIONS.parse(given)
        return await api.operations(context, limit=page.limit, cursor=page.cursor)
    if tool == OPERATION.name:
        return {"attempts": await api.operation(context, OPERATION.parse(given).tool_call_id)}
    if tool == REVERT.name:
        undone = REVERT.parse(given)
        return await api.revert(context, undone.tool_call_id, reason=undone.reason)
    if tool == finding.NAME:
        return await api.conversations.find(context, given)
    if tool == reading.READ:
        return await api.conversations.read(context, given)
    if tool == reading.LIST:
        return await api.conversations.list(context, given)
    return await api.execute(context, tool, given)
