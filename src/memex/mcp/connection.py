"""The Memex that answers on an MCP connection, and the user whose memory it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.mcp.folders import LocalFolders
from memex.mcp.project_tools import run_project_tool
from memex.mcp.tools import OPERATION, OPERATIONS, REVERT
from memex.mcp.work_tools import run_work_tool
from memex.service.conversations import finding, reading
from memex.settings import Include
from memex.toolcalls import including


@dataclass(frozen=True, slots=True)
class McpConnection:
    """The Memex of a connection, and for whom it is asked. What a model says cannot change whose memory it is.

    `include` is what contexts hold beside memory, as the host says; None for what the service's settings say.
    `folders` are those of this machine, for a program that runs beside the files.
    """

    api: MemexApi
    context: CallContext
    include: Include = None
    folders: LocalFolders | None = None


async def run_tool(
    connection: McpConnection, context: CallContext, tool: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Run a tool of memory, of conversations, of work, of projects, or of the operations that only admins have."""
    api, given = connection.api, including(tool, arguments, connection.include)
    for admin_tool in (OPERATIONS, OPERATION, REVERT):
        if tool == admin_tool.name:
            return await api.call(context, tool, admin_tool.parse(given).model_dump())
    if tool in (finding.FIND.name, reading.READ.name, reading.LIST.name):
        return await api.call(context, tool, given)
    answer = await run_work_tool(api, context, tool, given)
    if answer is None:
        answer = await run_project_tool(api, context, tool, given, connection.folders)
    return answer if answer is not None else await api.execute(context, tool, given)
