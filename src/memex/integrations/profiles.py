"""What every adapter needs: the tools of a profile, and running a model's call of one."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from memex.service.compat import ALIASES
from memex.service.definitions import Definition, Profile, define
from memex.service.service import TOOLS
from memex.toolcalls import Outcome, Runner, run


@cache
def definitions(profile: Profile = "agent") -> tuple[Definition, ...]:
    """Return the tools of a profile, in an order that is always the same."""
    return tuple(define(profile))


@cache
def arguments_of(profile: Profile = "agent") -> Mapping[str, tuple[str, ...]]:
    """Return the tools of a profile by name, each with the arguments that a model may fill in."""
    return {tool.name: tuple(tool.parameters["properties"]) for tool in definitions(profile)}


def is_ours(tool: str) -> bool:
    """Return whether a tool is Memex's, of this profile or another."""
    return tool in TOOLS or tool in ALIASES


async def answer(
    memory: Runner,
    tool: str,
    arguments: Mapping[str, Any] | str,
    *,
    tool_call_id: str | None,
    profile: Profile,
) -> Outcome:
    """Run a model's call of a tool of a profile; an error of Memex is an answer too."""
    return await run(
        memory, tool, arguments, tool_call_id=tool_call_id or None, allowed=arguments_of(profile)
    )
