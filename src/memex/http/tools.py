"""The tools: what there is, and running one, for agents and for admins."""

import pathlib
from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from memex.http.callers import Holder, KeyedRoute, RequestContext, TheService, resolve
from memex.service.service import TOOLS, check_role

router = APIRouter(prefix="/v1/tools", tags=["tools"], route_class=KeyedRoute)
admin_router = APIRouter(prefix="/v1/admin/tools", tags=["admin"], route_class=KeyedRoute)


ToolName = Annotated[str, Path(description="Of the tool.", json_schema_extra={"enum": list(TOOLS)})]


class ToolCall(BaseModel):
    """A call of one tool: `context` says for whom, `arguments` are the tool's own."""

    model_config = ConfigDict(extra="forbid")

    context: RequestContext = Field(default_factory=RequestContext)
    arguments: dict[str, Any] = Field(default_factory=dict)


EXAMPLES: dict[str, Any] = {
    "memory_write": {
        "summary": "memory_write: write a file",
        "value": {
            "context": {"userId": "alice", "actor": "support-bot", "toolCallId": "call_1"},
            "arguments": {"path": "user/profile.md", "content": "# Alice\n\nLikes oolong tea.\n"},
        },
    },
    "memory_find": {
        "summary": "memory_find: search",
        "value": {
            "context": {"userId": "alice"},
            "arguments": {"query": "what tea does she like?", "limit": 5},
        },
    },
    "memory_patch": {
        "summary": "memory_patch: append a line",
        "value": {
            "context": {"userId": "alice"},
            "arguments": {"path": "user/profile.md", "operation": "append", "text": "Works at Apollo."},
        },
    },
}


class ToolDescription(BaseModel):
    """A tool with the JSON Schemas of its arguments and its result."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    read_only: bool


class ToolList(BaseModel):
    """The tools, in a fixed order."""

    format: str
    tools: list[ToolDescription]


@cache
def _described(prompts_dir: pathlib.Path | None) -> list[ToolDescription]:
    return [
        ToolDescription(
            name=tool.name,
            description=tool.description(prompts_dir),
            input_schema=tool.input_schema(prompts_dir),
            output_schema=tool.result.model_json_schema(),
            read_only=tool.is_read_only,
        )
        for tool in TOOLS.values()
    ]


@router.get("", summary="List the tools")
async def list_tools(
    service: TheService,
    holder: Holder,
    format: Annotated[Literal["json-schema"], Query(description="How they are described.")] = "json-schema",  # noqa: A002  # the query's name
) -> ToolList:
    """Return every tool with the schemas of its arguments and result."""
    check_role(holder, "agent")
    return ToolList(format=format, tools=_described(service.prompts_dir))


@router.post("/{tool}/execute", summary="Run a tool")
async def execute(
    tool: ToolName,
    call: Annotated[ToolCall, Body(openapi_examples=EXAMPLES)],
    service: TheService,
    holder: Holder,
) -> dict[str, Any]:
    """Run a tool for the user whom the context, or the key itself, names."""
    caller = await resolve(service, holder, call.context, role="agent", action=tool)
    return await service.execute(caller, tool, call.arguments, tool_call_id=call.context.tool_call_id)


@admin_router.post("/{tool}/execute", summary="Run a tool as an admin")
async def execute_as_admin(
    tool: ToolName,
    call: Annotated[ToolCall, Body(openapi_examples=EXAMPLES)],
    service: TheService,
    holder: Holder,
) -> dict[str, Any]:
    """Run a tool over everything of the tenant: shared/, any project, and user/ of the user that is named."""
    caller = await resolve(service, holder, call.context, role="admin", action=tool)
    return await service.execute(caller, tool, call.arguments, tool_call_id=call.context.tool_call_id)
