"""The tools of each profile as MCP lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from mcp import types
from memex.service.definitions import Definition, define
from memex.service.revisions import RevertResult
from memex.service.tool import Arguments, Result, Tool
from memex.store.edits import MAX_REASON_CHARS

Profile = Literal["agent", "files", "admin"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

# Words of JSON Schema that only tell people something. A property may bear such a name, but then it is no text.
TOLD = ("title", "description")


class OperationsArguments(Arguments):
    """List the calls made for the user, by agents and admins, the newest first; without a user those of admins."""

    limit: Annotated[int, Field(ge=1, le=500, description="How many at most.")] = 50
    cursor: Annotated[str | None, Field(description="next_cursor of the last answer.")] = None


class OperationArguments(Arguments):
    """Show every attempt at one call: what was asked, answered and written, and what each step saw."""

    tool_call_id: Annotated[str, Field(description="Of the call.")]


class CallsResult(Result):
    """Calls as `GET /v1/operations` answers them; their whole shape would be half of the list of tools."""

    operations: list[dict[str, Any]]
    next_cursor: str | None


class AttemptsResult(Result):
    """The attempts at one call as `GET /v1/operations/{tool_call_id}` answers them, the newest first."""

    attempts: list[dict[str, Any]]


class RevertArguments(Arguments):
    """Undo everything that one call wrote, all or nothing, as new versions."""

    tool_call_id: Annotated[str, Field(description="Of the call to undo.")]
    reason: Annotated[str | None, Field(max_length=MAX_REASON_CHARS, description="Why, for people.")] = None


OPERATIONS = Tool("memory_operations", OperationsArguments, CallsResult)
OPERATION = Tool("memory_operation", OperationArguments, AttemptsResult)
REVERT = Tool("memory_revert", RevertArguments, RevertResult)


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of a profile.

    Attributes:
        tools: in an order that is always the same.
        allowed: the arguments that a model may give, by the tool's name.
    """

    tools: tuple[types.Tool, ...]
    allowed: Mapping[str, tuple[str, ...]]


@cache
def listing(profile: Profile, prompts_dir: Path | None = None) -> Listing:
    """Return the tools of a profile; prompts of a directory go before ours."""
    told = [_listed(one) for one in define("agent" if profile == "agent" else "files", prompts_dir)]
    if profile == "admin":
        told += [
            _admins(OPERATIONS, "List calls", is_read_only=True),
            _admins(OPERATION, "Show a call", is_read_only=True),
            _admins(REVERT, "Undo a call", is_read_only=False),
        ]
    return Listing(tuple(told), {tool.name: tuple(tool.input_schema["properties"]) for tool in told})


def shape(schema: Any) -> Any:
    """Return a JSON Schema without what only people read, so that a list of tools stays small."""
    if isinstance(schema, dict):
        return {
            name: shape(part) for name, part in schema.items() if not (name in TOLD and isinstance(part, str))
        }
    return [shape(part) for part in schema] if isinstance(schema, list) else schema


def _listed(definition: Definition) -> types.Tool:
    rendered = definition.rendered("mcp")
    rendered["annotations"] = {"title": definition.title, **rendered["annotations"]}
    return types.Tool.model_validate(rendered | {"outputSchema": shape(definition.output_schema)})


def _admins(tool: Tool[Any], title: str, *, is_read_only: bool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=title,
        description=tool.description(),
        input_schema=_without_titles(tool.input_schema()),
        output_schema=shape(tool.result.model_json_schema()),
        annotations=types.ToolAnnotations(
            title=title,
            read_only_hint=is_read_only,
            destructive_hint=not is_read_only,
            idempotent_hint=is_read_only,
            open_world_hint=False,
        ),
    )


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
