"""Tool definitions: what each API's schemas allow, and that what a model fills in is taken."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.kit import json_schema

from memex.service.service import TOOLS
from memex.service.tools.definitions import (
    FORMATS,
    PROFILES,
    Format,
    Profile,
    ToolDefinition,
    define,
    define_all,
)
from memex.toolcalls import AGENT_ARGUMENTS

# https://platform.openai.com/docs/guides/structured-outputs, "Supported schemas".
KEYWORDS = {
    "string": {"pattern", "format"},
    "number": {"multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"},
    "integer": {"multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"},
    "boolean": set[str](),
    "null": set[str](),
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
}
ANY_KIND = {"type", "description", "enum", "const"}
MAX_DEPTH = 5
MAX_PROPERTIES = 100
MAX_NAME_CHARS = 64
DEFINITIONS = {definition.name: definition for definition in define("files")} | {
    f"{definition.name}, agent": definition for definition in define("agent")
}
every_definition = pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=DEFINITIONS)


def faults(schema: dict[str, Any], where: str = "$", depth: int = 1) -> Iterator[str]:
    """Yield what OpenAI's strict mode does not take in a schema."""
    if depth > MAX_DEPTH:
        yield f"{where} is nested deeper than {MAX_DEPTH}"
    if "anyOf" in schema:
        if where == "$" or set(schema) - {"anyOf", "description"}:
            yield f"{where} has anyOf at the root, or beside other words"
        for number, kind in enumerate(schema["anyOf"]):
            yield from faults(kind, f"{where}|{number}", depth)
        return
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not set(kinds) <= set(KEYWORDS):
        yield f"{where} has the type {kinds}"
        return
    known = ANY_KIND.union(*(KEYWORDS[kind] for kind in kinds))
    if unknown := set(schema) - known:
        yield f"{where} has {unknown}"
    if "null" in kinds and "enum" in schema and None not in schema["enum"]:
        yield f"{where} may be null, which its enum denies"
    if "object" in kinds:
        if schema.get("additionalProperties") is not False:
            yield f"{where} takes other properties"
        if schema.get("required") != list(schema["properties"]):
            yield f"{where} does not require all properties"
        for name, below in schema["properties"].items():
            yield from faults(below, f"{where}.{name}", depth + 1)
    if "array" in kinds:
        yield from faults(schema["items"], f"{where}[]", depth + 1)


@every_definition
def test_the_strict_schema_keeps_to_openais_rules(definition: ToolDefinition) -> None:
    """Every property required, no others, and only words that strict mode knows."""
    assert list(faults(definition.strict)) == []
    assert definition.strict["type"] == "object"
    assert len(definition.strict["properties"]) <= MAX_PROPERTIES
    assert len(definition.name) <= MAX_NAME_CHARS


def test_the_checker_finds_faults() -> None:
    """What strict mode refuses, so that the test before this one means something."""
    for schema in (
        {"type": "string"} | {"default": "x"},
        {"type": "string", "maxLength": 5},
        {"type": "object", "properties": {}, "required": []},
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": [],
            "additionalProperties": False,
        },
        {"anyOf": [{"type": "string"}]},
        {"type": ["string", "null"], "enum": ["a"]},
        {"type": "array", "items": {"oneOf": []}},
    ):
        assert list(faults(schema))


@every_definition
def test_every_schema_is_one(definition: ToolDefinition) -> None:
    """By the draft that MCP and Anthropic name; and it says of each property what it is."""
    for schema in (definition.parameters, definition.strict, definition.output_schema):
        json_schema.check(schema)
    assert all(
        "type" in part or "anyOf" in part or "enum" in part
        for part in definition.parameters["properties"].values()
    )
    assert definition.parameters["additionalProperties"] is False
    assert set(definition.parameters["required"]) <= set(definition.parameters["properties"])


@every_definition
@given(data=st.data())
def test_what_a_model_fills_in_is_taken(definition: ToolDefinition, data: st.DataObject) -> None:
    """Any value under the strict schema, null where it may be, passes the loose schema and the tool's own check.

    Beyond what schemas say stand what is no path or time, and a text that Postgres cannot hold.
    """
    filled = {
        name: data.draw(_values(name, part), name) for name, part in definition.strict["properties"].items()
    }
    assume(definition.name != "memory_remember" or filled["text"] is not None or filled["outdated"])
    json_schema.validate(filled, definition.strict)
    json_schema.validate(_without_null(filled), definition.parameters)

    parsed = TOOLS[definition.name].parse(filled)

    assert all(getattr(parsed, name) is not None for name, value in filled.items() if value is not None)


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(part) for name, part in value.items() if part is not None}
    return [_without_null(part) for part in value] if isinstance(value, list) else value


def _values(name: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return st.one_of([_of_kind(name, kind, schema) for kind in kinds])


def _of_kind(name: str, kind: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    match kind:
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(schema.get("minimum"), schema.get("maximum"))
        case "number":
            return st.floats(schema.get("minimum"), schema.get("maximum"))
        case "array" if name == "span":
            return st.tuples(st.integers(0, 50), st.integers(51, 99)).map(list)
        case "array" if name == "edits":
            return st.lists(_values("edit", schema["items"]), min_size=1, max_size=3)
        case "object":
            return st.fixed_dictionaries(
                {one: _values(one, part) for one, part in schema["properties"].items()}
            )
        case "array":
            return st.lists(st.sampled_from(["tea", "work"]), max_size=schema.get("maxItems"), unique=True)
    if name == "as_of":
        return st.sampled_from(["2026-11-22T09:30:00Z", '{"user": 3}'])
    if name in ("path", "to", "prefix"):
        return st.sampled_from(["user/a.md", "shared/b.md", "projects/apollo/c.md"])
    if name == "project":
        return st.sampled_from(["apollo", "zeus-2"])
    text = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    return st.text(text, min_size=1, max_size=40).filter(str.strip)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("form", FORMATS)
def test_the_same_tools_come_in_the_same_bytes(profile: Profile, form: Format) -> None:
    """So that a provider can keep them in its cache; each format names them alike, in the same order."""
    first, again = ([one.rendered(form) for one in define(profile)] for _ in range(2))
    names = [tool["function"]["name"] if form == "openai" else tool["name"] for tool in first]

    assert json.dumps(first) == json.dumps(again)
    assert names == list(AGENT_ARGUMENTS if profile == "agent" else TOOLS)


def test_an_agent_is_told_what_a_model_fills_in_and_a_host_of_the_rest() -> None:
    """The host's arguments stand in the full definitions alone."""
    told = {one.name: tuple(one.parameters["properties"]) for one in define("agent")}
    whole = {tool["name"]: set(tool["input_schema"]["properties"]) for tool in define_all()}

    assert told == AGENT_ARGUMENTS
    assert {"dry_run", "wait"} <= whole["memory_remember"]
    assert {"max_hops", "as_of", "known_hash"} <= whole["memory_context"]
    assert set(whole) == set(TOOLS)


def test_what_writes_says_so() -> None:
    """By the hints of MCP: an agent's own tools destroy nothing, and remembering twice is remembering once."""
    hints = {one.name: one.rendered("mcp")["annotations"] for one in define("files")}

    assert {name for name, hint in hints.items() if not hint["readOnlyHint"]} == {
        *("memory_remember", "memory_write", "memory_patch", "memory_move", "memory_delete"),
        *("memory_write_many", "memory_restore"),
    }
    assert not hints["memory_remember"]["destructiveHint"]
    assert hints["memory_remember"]["idempotentHint"]
    assert hints["memory_delete"]["destructiveHint"]
    assert all(hint["openWorldHint"] is False for hint in hints.values())
