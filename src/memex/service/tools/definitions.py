"""The tools as models are told of them: by profile, and in the format of each provider."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from memex.errors import ValidationFailed
from memex.service.tools.registry import TOOLS, AnyTool
from memex.subagent import prompts
from memex.toolcalls import AGENT_ARGUMENTS

Profile = Literal["agent", "files"]
Format = Literal["openai", "openai-responses", "anthropic", "mcp", "json-schema"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
FORMATS: tuple[Format, ...] = get_args(Format)

INCLUDE = "include"  # what a host includes beside memory: no model is told of it
IDEMPOTENT = ("memory_remember",)  # what is known already is not written again
NON_DESTRUCTIVE = ("memory_remember",)  # adds statements, and replaces those that the text updates
TITLES = {
    "memory_remember": "Remember",
    "memory_context": "Recall",
    "memory_find": "Search notes",
    "memory_read": "Read a note",
    "memory_list": "List notes",
    "memory_write": "Write a note",
    "memory_patch": "Change a note",
    "memory_move": "Move a note",
    "memory_delete": "Delete a note",
    "memory_write_many": "Change many notes",
    "memory_links": "Links of a note",
    "memory_history": "Versions of a note",
    "memory_diff": "Compare versions",
    "memory_restore": "Restore a version",
}
# JSON Schema's words that OpenAI's strict mode knows, https://platform.openai.com/docs/guides/structured-outputs.
STRICT_WORDS = (
    *(
        "type",
        "description",
        "enum",
        "const",
        "anyOf",
        "items",
        "properties",
        "required",
        "additionalProperties",
    ),
    *("pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"),
)


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is told of it.

    Attributes:
        parameters: JSON Schema of an object. In the profile `agent` only what a model fills in.
        strict: the same within OpenAI's strict mode: every property is required, an optional one may be null.
    """

    name: str
    title: str
    description: str
    parameters: dict[str, Any]
    strict: dict[str, Any]
    output_schema: dict[str, Any]
    is_read_only: bool

    def rendered(self, form: Format) -> dict[str, Any]:
        """Return the definition as the API of that name takes it."""
        told = {"name": self.name, "description": self.description}
        function = told | {"strict": True, "parameters": self.strict}
        match form:
            case "openai":
                return {"type": "function", "function": function}
            case "openai-responses":
                return {"type": "function"} | function
            case "anthropic":
                return told | {"input_schema": self.parameters}
            case "mcp":
                return {
                    "name": self.name,
                    "title": self.title,
                    "description": self.description,
                    "inputSchema": self.parameters,
                    "outputSchema": self.output_schema,
                    "annotations": {
                        "readOnlyHint": self.is_read_only,
                        "destructiveHint": not self.is_read_only and self.name not in NON_DESTRUCTIVE,
                        "idempotentHint": self.is_read_only or self.name in IDEMPOTENT,
                        "openWorldHint": False,
                    },
                }
        return told | {
            "input_schema": self.parameters,
            "output_schema": self.output_schema,
            "read_only": self.is_read_only,
        }


def check_prompts(directory: Path) -> None:
    """Refuse a directory of prompts that cannot be used.

    Raises:
        ValidationFailed: naming the variable, and the file with what is wrong in it.
    """
    if not directory.is_dir():
        raise ValidationFailed(
            f"MEMEX_PROMPTS_DIR: there is no folder {directory}.", hint="Correct or unset it."
        )
    try:
        for name in AGENT_ARGUMENTS:
            TOOLS[name].input_schema(directory)
        prompts.load_text("block", directory)
    except ValidationFailed as error:
        raise ValidationFailed(f"MEMEX_PROMPTS_DIR: {error.message}", hint=error.hint) from None


def define(profile: Profile, prompts_dir: Path | None = None) -> list[ToolDefinition]:
    """Return the tools of a profile, in an order that is always the same; prompts of a directory go before ours."""
    names = AGENT_ARGUMENTS if profile == "agent" else TOOLS
    return [_define(TOOLS[name], prompts_dir) for name in names]


def define_all(prompts_dir: Path | None = None) -> list[dict[str, Any]]:
    """Return every tool with all of its arguments, in the format `json-schema`: what a host may send."""
    return [
        definition.rendered("json-schema")
        | {"input_schema": TOOLS[definition.name].input_schema(prompts_dir)}
        for definition in define("files", prompts_dir)
    ]


def _define(tool: AnyTool, prompts_dir: Path | None) -> ToolDefinition:
    schema = tool.input_schema(prompts_dir)
    told = AGENT_ARGUMENTS.get(tool.name) or tuple(name for name in schema["properties"] if name != INCLUDE)
    required = [name for name in told if name in schema.get("required", ())]
    properties = {name: schema["properties"][name] for name in told}
    plain = {name: _plain(part) for name, part in properties.items()}
    return ToolDefinition(
        name=tool.name,
        title=TITLES[tool.name],
        description=tool.description(prompts_dir),
        parameters=_object(plain, required),
        strict=to_strict(_object(properties, required)),
        output_schema=tool.result.model_json_schema(),
        is_read_only=tool.is_read_only,
    )


def to_strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of arguments within OpenAI's strict mode: all required, an optional one may be null."""
    required = schema.get("required", ())
    plain = {name: _strict(_plain(part)) for name, part in schema["properties"].items()}
    strict = {name: part if name in required else _nullable(part) for name, part in plain.items()}
    return _object(strict, list(strict))


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument without what models need not read: titles, defaults, the null of absence."""
    kept = {name: value for name, value in schema.items() if name not in ("title", "default", "anyOf")}
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        return _plain(kinds[0] | kept)
    if isinstance(items := kept.get("items"), dict):
        kept["items"] = _plain(items)
    if isinstance(properties := kept.get("properties"), dict):
        kept["properties"] = {name: _plain(part) for name, part in properties.items()}
    return kept | ({"anyOf": [_plain(kind) for kind in kinds]} if kinds else {})


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what OpenAI's strict mode can say of a schema; of a pair of numbers that it is a list of two."""
    kinds = [
        kind for kind in schema.get("anyOf", ()) if not isinstance(kind.get("additionalProperties"), dict)
    ]
    if len(kinds) == 1:
        schema = {name: value for name, value in schema.items() if name != "anyOf"} | kinds[0]
    strict = {name: value for name, value in schema.items() if name in STRICT_WORDS}
    if "prefixItems" in schema:
        strict["items"] = _strict(schema["prefixItems"][0])
    elif "items" in strict:
        strict["items"] = _strict(strict["items"])
    if "properties" in strict:
        required = strict["required"]
        strict["properties"] = {
            name: _strict(part) if name in required else _nullable(_strict(part))
            for name, part in strict["properties"].items()
        }
        strict["required"] = list(strict["properties"])
    return strict


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    nullable = schema | {"type": [schema["type"], "null"]}
    if "enum" in schema:
        nullable["enum"] = [*schema["enum"], None]
    return nullable
