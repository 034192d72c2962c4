"""The tools: what there is, and running one, for agents and for admins."""

import pathlib
from functools import cache
from typing import Annotated, Any

from fastapi import Body, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field

from memex.http.answers import json_answer
from memex.http.callers import (
    KeyHolder,
    RequestContext,
    RouteRole,
    ServiceDependency,
    ToolRoute,
    check_user_header,
    resolve,
)
from memex.http.routers import RouterPair
from memex.service.service import BY_NAME, check_role
from memex.service.tools.aliases import ALIASES, translate
from memex.service.tools.definitions import Format, Profile, define, define_all
from memex.toolcalls import result_text

PLAIN = "text/plain"
PAIR = RouterPair("/tools", "tools")


ToolName = Annotated[str, Path(description="Of the tool.", json_schema_extra={"enum": [*BY_NAME, *ALIASES]})]


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


class ToolList(BaseModel):
    """The tools, in a fixed order, each as the API of that format takes it."""

    format: Format
    profile: Profile | None
    tools: list[dict[str, Any]]


@cache
def _listed(form: Format, profile: Profile | None, prompts_dir: pathlib.Path | None) -> ToolList:
    if profile is None and form == "json-schema":
        return ToolList(format=form, profile=None, tools=define_all(prompts_dir))
    chosen = profile or "agent"
    tools = [definition.rendered(form) for definition in define(chosen, prompts_dir)]
    return ToolList(format=form, profile=chosen, tools=tools)


@PAIR.agent.get("", summary="List the tools")
async def list_tools(
    service: ServiceDependency,
    holder: KeyHolder,
    format: Annotated[Format, Query(description="For which API they are described.")] = "json-schema",  # noqa: A002  # the query's name
    profile: Annotated[
        Profile | None,
        Query(
            description="agent: an agent's two tools with what a model fills in; files: all tools. "
            "By default agent; for json-schema all tools with every argument that a host may send."
        ),
    ] = None,
) -> ToolList:
    """Return tools as a model is told of them, ready to be passed to the API that `format` names."""
    check_role(holder, "agent")
    return _listed(format, profile, service.prompts_dir)


@PAIR.route(
    "POST",
    "/{tool}/execute",
    summary="Run a tool",
    admin_summary="Run a tool as an admin",
    admin_description="Run a tool over shared/, any project, and user/ of the user whom the context names.",
    response_model=dict[str, Any],
    responses={200: {"content": {PLAIN: {"schema": {"type": "string"}}}}},
    route_class_override=ToolRoute,
)
async def execute(
    request: Request,
    tool: ToolName,
    call: Annotated[ToolCall, Body(openapi_examples=EXAMPLES)],
    service: ServiceDependency,
    holder: KeyHolder,
    role: RouteRole,
) -> Response:
    """Run a tool for the user whom the context, or the key itself, names.

    With `Accept: text/plain` the answer is the text for the model, which a budget holds for.
    """
    caller = await resolve(service, holder, call.context, role=role, action=tool, from_cache=True)
    check_user_header(request, caller)
    result = await service.execute(caller, tool, call.arguments, tool_call_id=call.context.tool_call_id)
    accepted = request.headers.get("accept", "")
    if PLAIN in accepted and "json" not in accepted:  # some clients name both by default
        name, _ = translate(tool, {})
        return PlainTextResponse(result_text(name, result))
    return json_answer(result)
