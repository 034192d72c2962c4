"""The tools of each profile as MCP lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from mcp import types
from memex.mcp.project_tools import PROJECT_TOOLS
from memex.mcp.work_tools import UNLISTED_TOOLS, WORK_TOOLS
from memex.service.conversations import finding, reading
from memex.service.tools.definitions import Profile, ToolDefinition, define
from memex.service.tools.removed import PUT_BACK, REMOVED
from memex.service.tools.revisions import RevertResult
from memex.service.tools.tool import Arguments, Tool, ToolResult
from memex.store.writes.edits import MAX_REASON_CHARS
from memex.toolcalls import has_text

McpProfile = Literal["agent", "files", "conversations", "work", "project", "admin"]

# Words of JSON Schema that only tell people something. A property may bear such a name, but then it is no text.
DESCRIPTIVE_KEYWORDS = ("title", "description")
NOTICES = ("SecretResult", "HiddenCharacterResult", "HiddenCharactersResult")


class ListCallsArguments(Arguments):
    """List the calls made for the user, by agents and admins, the newest first; without a user those of admins."""

    limit: Annotated[int, Field(ge=1, le=500, description="How many at most.")] = 50
    cursor: Annotated[str | None, Field(description="next_cursor of the last answer.")] = None


class ShowCallArguments(Arguments):
    """Show every attempt at one call: what was asked, answered and written, and what each step saw."""

    tool_call_id: Annotated[str, Field(description="Of the call.")]


class CallsResult(ToolResult):
    """Calls as `GET /v1/operations` answers them; their whole shape would be half of the list of tools."""

    operations: list[dict[str, Any]]
    next_cursor: str | None


class AttemptsResult(ToolResult):
    """The attempts at one call as `GET /v1/operations/{tool_call_id}` answers them, the newest first."""

    attempts: list[dict[str, Any]]


class RevertCallArguments(Arguments):
    """Undo everything that one call wrote, all or nothing, as new versions."""

    tool_call_id: Annotated[str, Field(description="Of the call to undo.")]
    reason: Annotated[str | None, Field(max_length=MAX_REASON_CHARS, description="Why, for people.")] = None


OPERATIONS = Tool("memory_operations", ListCallsArguments, CallsResult)
OPERATION = Tool("memory_operation", ShowCallArguments, AttemptsResult)
REVERT = Tool("memory_revert", RevertCallArguments, RevertResult)
CONVERSATION_TOOLS: Mapping[Tool[Any], str] = {
    finding.FIND: "Find what was said",
    reading.READ: "Read a conversation",
    reading.LIST: "List conversations",
}


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The tools of a profile.

    Attributes:
        tools: in an order that is always the same.
        allowed: the arguments that a model may give, by the tool's name; also of tools that are understood and not
            listed.
    """

    tools: tuple[types.Tool, ...]
    allowed: Mapping[str, tuple[str, ...]]


@cache
def build_listing(profile: McpProfile, prompts_dir: Path | None = None) -> ToolListing:
    """Return the tools of a profile; prompts of a directory go before ours."""
    if profile == "project":
        told = [
            _own_tool(tool, title, is_read_only=effect == "reads", is_destructive=effect == "removes")
            for tool, (title, effect) in PROJECT_TOOLS.items()
        ]
        return ToolListing(
            tuple(told), {tool.name: tuple(tool.arguments.model_fields) for tool in PROJECT_TOOLS}
        )
    own: Profile = "agent" if profile in ("agent", "conversations", "work") else "files"
    told = [_render_definition(definition) for definition in define(own, prompts_dir)]
    if profile == "conversations":
        told += [_own_tool(tool, title, is_read_only=True) for tool, title in CONVERSATION_TOOLS.items()]
    if profile == "work":
        told += [_own_tool(tool, title, is_read_only=True) for tool, title in WORK_TOOLS.items()]
    if profile in ("files", "admin"):
        told += [
            _own_tool(REMOVED, "Removed lines", is_read_only=True),
            _own_tool(PUT_BACK, "Put a line back", is_read_only=False, is_destructive=False),
        ]
    if profile == "admin":
        told += [
            _own_tool(OPERATIONS, "List calls", is_read_only=True),
            _own_tool(OPERATION, "Show a call", is_read_only=True),
            _own_tool(REVERT, "Undo a call", is_read_only=False),
        ]
    allowed = {tool.name: tuple(tool.input_schema["properties"]) for tool in told}
    if profile == "work":
        allowed |= {tool.name: tuple(tool.arguments.model_fields) for tool in UNLISTED_TOOLS}
    return ToolListing(tuple(told), allowed)


def shorten_notices(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the shape of a result where what the service found in the call's texts has no inner shape.

    `secrets` and `hidden_characters` are in each result. OpenAPI has their whole shape.
    """
    shortened: dict[str, Any] = {
        "secrets": {"type": "array"},
        "hidden_characters": {"type": "object"},
    }
    properties = schema.get("properties", {})
    kept = {name: part for name, part in schema.get("$defs", {}).items() if name not in NOTICES}
    changed = schema | {
        "properties": properties | {name: part for name, part in shortened.items() if name in properties}
    }
    return changed | {"$defs": kept} if kept else {name: changed[name] for name in changed if name != "$defs"}


def strip_descriptions(schema: Any) -> Any:
    """Return a JSON Schema without what only people read, so that a list of tools stays small."""
    if isinstance(schema, dict):
        return {
            name: strip_descriptions(part)
            for name, part in schema.items()
            if not (name in DESCRIPTIVE_KEYWORDS and isinstance(part, str))
        }
    return [strip_descriptions(part) for part in schema] if isinstance(schema, list) else schema


def _render_definition(definition: ToolDefinition) -> types.Tool:
    rendered = definition.rendered("mcp")
    rendered["annotations"] = {"title": definition.title, **rendered["annotations"]}
    return types.Tool.model_validate(
        rendered | {"outputSchema": _output_schema(definition.name, definition.output_schema)}
    )


def _own_tool(
    tool: Tool[Any], title: str, *, is_read_only: bool, is_destructive: bool | None = None
) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=title,
        description=tool.description(),
        input_schema=_without_titles(tool.input_schema()),
        output_schema=_output_schema(tool.name, tool.result.model_json_schema()),
        annotations=types.ToolAnnotations(
            title=title,
            read_only_hint=is_read_only,
            destructive_hint=not is_read_only if is_destructive is None else is_destructive,
            idempotent_hint=is_read_only,
            open_world_hint=False,
        ),
    )


def _output_schema(tool: str, schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the structured content of a tool; None if it answers with a text alone."""
    return None if has_text(tool) else strip_descriptions(shorten_notices(schema))


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    properties = {
        name: {word: value for word, value in part.items() if word != "title"}
        for name, part in schema["properties"].items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": schema.get("required", []),
        "additionalProperties": False,
    }
