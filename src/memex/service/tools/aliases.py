"""Other services' names for what our tools do: the call is ours from here on, and so is the answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_HUMP = re.compile(r"(?<=[a-z0-9])[A-Z]")


@dataclass(frozen=True, slots=True)
class ToolAlias:
    """A tool of ours by another name, and the names of arguments that are not ours; "" for one that ours lacks."""

    tool: str
    arguments: Mapping[str, str]


ALIASES: dict[str, ToolAlias] = {
    "memory_memorize": ToolAlias(
        "memory_remember", {"content": "text", "memory": "text", "fact": "text", "project_id": "project"}
    ),
    "memory_search": ToolAlias(
        "memory_find",
        {
            "q": "query",
            "top_k": "limit",
            "max_results": "limit",
            "path_prefix": "prefix",
            "project_id": "project",
        },
    ),
}


def translate(
    tool: str, arguments: dict[str, Any], *, aliases: Mapping[str, ToolAlias] = ALIASES
) -> tuple[str, dict[str, Any]]:
    """Return a call in our names, where `aliases` has another name for the tool.

    Arguments of an alias may be in camelCase; null means absent, and of two for one, ours counts.
    """
    alias = aliases.get(tool)
    if alias is None:
        return tool, arguments
    ours: dict[str, Any] = {}
    for name, value in arguments.items():
        snake = _HUMP.sub(lambda hump: f"_{hump[0].lower()}", name)
        known = alias.arguments.get(snake, snake)
        if value is not None and known and (known not in ours or name == known):
            ours[known] = value
    return alias.tool, ours
