"""An MCP server over memory: its tools, its files as resources, and its prompt block as a prompt.

What a call comes to is the tool's result, in the few words that a model needs. Clients hand a model structured
content, where there is some, and drop the text. So a tool whose text says less than its result has none: the whole
result is in `_meta`, for programs. Any other tool answers with the same JSON in both places. An error of Memex is a
result too, marked as one, with its code: only faults of the protocol are errors of the protocol.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from mcp.server import Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp import MCPError, types
from memex import distribution, toolcalls
from memex.errors import MemexError, NotFound, Refused, ValidationFailed, error_document
from memex.logging import frames
from memex.mcp.connection import McpConnection, run_tool
from memex.mcp.resources import (
    CONVERSATION_TEMPLATES,
    CONVERSATIONS,
    MARKDOWN,
    PLAIN,
    TEMPLATES,
    WORK,
    WORK_TEMPLATES,
    path_of,
    to_resource,
)
from memex.mcp.tools import McpProfile, build_listing
from memex.mcp.work_tools import CONTEXT, WORK_ALIASES, WORK_PROMPT, RunTool, run_in_own_project, work_prompt
from memex.remote import new_tool_call_id
from memex.service.conversations import reading
from memex.service.tools.aliases import translate
from memex.service.tools.prompt_block import PROMPT
from memex.store.paths import check_id
from memex.subagent import prompts

Context = ServerRequestContext[Any, Any]
ConnectionOf = Callable[[Context], McpConnection]

# Where a client says under which id its model made a call, in `_meta` of the call: ours, and that of Claude Code.
TOOL_CALL_ID = "memex/toolCallId"
TOOL_CALL_IDS = (TOOL_CALL_ID, "claudecode/toolUseId")
ERROR = "memex/error"
RESULT = "memex/result"  # the whole result, where the model reads a text that says less
MEMORY_PROMPT = "memory"
PAGE = 200  # resources
FRESH_MS = 300_000  # how long a client may keep the list of tools, which changes with the version of Memex
RESOURCE_NOT_FOUND = -32002  # until 2025-11-25
NEVER = {"code": "INTERNAL", "hint": "This is a bug: report it with the request id."}


def new_server(
    profile: McpProfile, connection_of: ConnectionOf, prompts_dir: Path | None = None
) -> "Server[Any]":
    """Return the server of a profile.

    Args:
        profile: chooses the tools of the server.
        connection_of: whose memory a request is for; made from the connection, never from what a model says.
        prompts_dir: a directory with prompts that replace those of Memex.
    """
    told = build_listing(profile, prompts_dir)

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(told.tools))

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        name, arguments = translate(params.name, dict(params.arguments or {}))
        if profile == "work":
            name, arguments = translate(name, arguments, aliases=WORK_ALIASES)
        if name not in told.allowed:
            raise _unknown_tool(params.name, told.allowed)
        try:
            tool_call_id = _tool_call_id(context.meta)
            connection = _acting(connection_of(context), context)
        except MemexError as error:
            return _failed(error, None)
        called = connection.context.under(tool_call_id)
        if params.name in WORK_ALIASES and profile == "work":  # the log has the name that was called
            called = replace(called, actor=f"{called.actor or 'mcp'}:{params.name}")
        execute: RunTool = partial(run_tool, connection, called)
        if profile == "work":
            execute = partial(run_in_own_project, execute, connection.api, called)
        outcome = await toolcalls.run(execute, name, arguments, allowed=told.allowed)
        if outcome.error is not None:
            return _failed(outcome.error, tool_call_id)
        result = outcome.result
        meta: dict[str, Any] = {TOOL_CALL_ID: tool_call_id}
        if result is not None and name == CONTEXT.name != params.name:
            result = result | {"pack_hash": result["hash"]}  # its name where the other names are from
        elif toolcalls.has_text(name):
            result, meta = None, meta | {RESULT: result}
        return types.CallToolResult(content=[_text(outcome.text)], structured_content=result, _meta=meta)

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        asked = {"limit": PAGE, "cursor": params.cursor if params else None}
        connection = _acting(connection_of(context), context)
        page = await connection.api.execute(connection.context, "memory_list", asked)
        return types.ListResourcesResult(
            resources=[to_resource(file) for file in page["files"]], next_cursor=page["next_cursor"]
        )

    async def list_templates(
        _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        own = {"conversations": CONVERSATION_TEMPLATES, "work": WORK_TEMPLATES}.get(profile, ())
        return types.ListResourceTemplatesResult(resource_templates=[*TEMPLATES, *own])

    async def read_resource(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        path, mime_type = path_of(str(params.uri)), PLAIN
        connection = _acting(connection_of(context), context)
        api, called = connection.api, connection.context
        if profile == "conversations" and path.startswith(CONVERSATIONS):
            reference = path.removeprefix(CONVERSATIONS).replace("/", "#")
            found = await api.call(called, "conversation_read", {"reference": reference})
            text = toolcalls.result_text(reading.READ.name, found)
        elif profile == "work" and path.startswith(WORK):
            found = await api.call(called, "work_context", {"project": path.removeprefix(WORK)})
            text = toolcalls.result_text(CONTEXT.name, found)
        else:
            found = await api.execute(called, "memory_read", {"path": path})
            text, mime_type = found["content"], MARKDOWN
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=mime_type, text=text)]
        )

    async def list_prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_PROMPT, *([WORK_PROMPT] if profile == "work" else [])])

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given, connection = params.arguments or {}, _acting(connection_of(context), context)
        if profile == "work" and params.name == WORK_PROMPT.name:
            prompt, text = WORK_PROMPT, await work_prompt(connection.api, connection.context, given)
        elif params.name != MEMORY_PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name[:100]!r}.")
        elif unknown := set(given) - {"project", "who"}:
            raise ValidationFailed(f"The prompt has no argument {min(unknown)[:100]}.")
        else:
            who = given.get("who", "0")
            if not (who.isdecimal() and len(who) < 6):
                raise ValidationFailed("The argument who is a number of characters.")
            names = "project" if profile == "project" else None
            asked = {"project": given.get("project"), "profile": names, "who": int(who)}
            block = await connection.api.call(connection.context, "prompt_block", asked)
            prompt, text = _PROMPT, block["text"]
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=_text(text))]
        )

    fresh = CacheHint(ttl_ms=FRESH_MS, scope="public")
    server: Server[Any] = Server(
        "memex",
        title="Memex",
        version=distribution.version(),
        instructions=_instructions(profile, prompts_dir),
        cache_hints={"tools/list": fresh, "resources/templates/list": fresh, "prompts/list": fresh},
        get_tool_input_schema=lambda _: None,  # no argument of ours is also sent as a header
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
    # In place of the SDK's own spans, which hold what a caller made up: the service has spans of its own.
    server.middleware[:] = [_translated_errors]
    return server


def _instructions(profile: McpProfile, prompts_dir: Path | None) -> str:
    """Return how to use the tools of a profile."""
    text = prompts.load_text("project") if profile == "project" else prompts.load_text(PROMPT, prompts_dir)
    return text.body


def refused_result(params: Mapping[str, Any], error: MemexError) -> dict[str, Any]:
    """Return the result of a call of a tool that is refused before a server has seen it."""
    try:
        tool_call_id: str | None = _tool_call_id(params.get("_meta"))
    except (MemexError, AttributeError):
        tool_call_id = None
    return _failed(error, tool_call_id).model_dump(mode="json", by_alias=True, exclude_none=True)


_PROMPT = types.Prompt(
    name=MEMORY_PROMPT,
    title="Memory",
    description="How to use the memory, the pinned notes, and the list of files: for the beginning of a session.",
    arguments=[
        types.PromptArgument(name="project", description="List this project's files.", required=False),
        types.PromptArgument(
            name="who",
            description="Begin with lines that say who the user is, or what the project is: so many characters.",
            required=False,
        ),
    ],
)


async def _translated_errors(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Answer a request, or raise an error of the protocol that says no more than its caller may know."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except MemexError as error:
        raise MCPError(_code(error, ctx), error.message, _error_content(error)) from error
    except Exception as error:  # noqa: BLE001  # here a request ends
        structlog.get_logger("memex.mcp").error(
            "request_failed", error=type(error).__name__, where=frames(error)
        )
        raise MCPError(types.INTERNAL_ERROR, "Memex failed.", dict(NEVER)) from None


def _acting(connection: McpConnection, context: Context) -> McpConnection:
    """Return the connection with the client's name as the actor, where it names none."""
    client = context.session.client_params
    if connection.context.actor is not None or client is None:
        return connection
    try:
        actor = check_id(client.client_info.name, "actor")
    except ValidationFailed:
        return connection
    return replace(connection, context=replace(connection.context, actor=actor))


def _tool_call_id(meta: Mapping[str, Any] | None) -> str:
    """Return the id of a call: the client's, or a new one. The id of the request counts anew in each connection."""
    for name in TOOL_CALL_IDS:
        given = meta.get(name) if meta else None
        if given is not None and not isinstance(given, str):
            raise ValidationFailed(f"_meta: {name} is no string.")
        if given is not None:
            return given
    return new_tool_call_id()


def _failed(error: MemexError, tool_call_id: str | None) -> types.CallToolResult:
    """Return an error as a result. It has no structured content: clients hold that against the output schema."""
    meta = {TOOL_CALL_ID: tool_call_id} if tool_call_id else {}
    return types.CallToolResult(
        content=[_text(toolcalls.error_text(error))],
        is_error=True,
        _meta={**meta, ERROR: _error_content(error)},
    )


def _unknown_tool(name: str, allowed: Mapping[str, Any]) -> MCPError:
    hint = f"The tools are: {', '.join(allowed)}."
    told = {"code": "UNKNOWN_TOOL", "hint": hint}
    # Most clients show a model the message alone.
    return MCPError(types.INVALID_PARAMS, f"UNKNOWN_TOOL: There is no tool {name[:100]!r}. {hint}", told)


def _code(error: MemexError, context: Context) -> int:
    if isinstance(error, NotFound) and context.method == "resources/read":
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        return types.INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND
    return types.INVALID_PARAMS if isinstance(error, Refused) else types.INTERNAL_ERROR


def _error_content(error: MemexError) -> dict[str, Any]:
    return error_document(error) | {"details": error.details}


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)
