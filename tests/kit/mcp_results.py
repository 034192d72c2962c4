"""What an MCP client hands to a model of a result, and what it keeps for a program."""

import json
from typing import Any

from mcp.types import CallToolResult, TextContent


def result_of(result: CallToolResult) -> dict[str, Any]:
    """Return the whole result of a call, for a program: from `_meta`, or the structured content."""
    whole: dict[str, Any] | None = (result.meta or {}).get("memex/result") or result.structured_content
    assert whole is not None
    return whole


def read_by_model(result: CallToolResult) -> str:
    """Return what clients hand to a model: the structured content as JSON where there is some, else the text."""
    if result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))
