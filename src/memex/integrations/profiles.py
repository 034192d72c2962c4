"""Shared parts of every adapter: the tools of a profile, and running a model's call of one."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from memex.api.memex import UserMemory
from memex.errors import ValidationFailed
from memex.integrations.call_order import in_order
from memex.service.service import TOOLS
from memex.service.tools.aliases import ALIASES
from memex.service.tools.definitions import Profile, ToolDefinition, define
from memex.toolcalls import ToolCallOutcome, run


@cache
def definitions(profile: Profile = "agent") -> tuple[ToolDefinition, ...]:
    """Return the tools of a profile, in an order that is always the same."""
    return tuple(define(profile))


@cache
def allowed_arguments(profile: Profile = "agent") -> Mapping[str, tuple[str, ...]]:
    """Return the tools of a profile by name, each with the arguments that a model may fill in."""
    return {tool.name: tuple(tool.parameters["properties"]) for tool in definitions(profile)}


def is_ours(tool: str) -> bool:
    """Return whether a tool is Memex's, of this profile or another, or has a name as if it were."""
    return tool in TOOLS or tool in ALIASES or tool.startswith("memory_")


def check_response(response: object, *kinds: type) -> None:
    """Refuse what is no response of the library; raises ValidationFailed."""
    if not isinstance(response, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ValidationFailed(
            f"The response must be a {names} of the library, and is a {type(response).__name__}.",
            hint=f"Pass what the library returned; make one of a dict by {kinds[0].__name__}.model_validate().",
        )


async def answer(
    memory: UserMemory,
    tool: str,
    arguments: Mapping[str, Any] | str,
    *,
    tool_call_id: str | None,
    profile: Profile,
) -> ToolCallOutcome:
    """Run a model's call of a tool of a profile; an error of Memex is an answer too.

    Of calls that are made at once, those that write are done before those that read.
    """
    execute = partial(memory.execute, tool_call_id=tool_call_id or None)
    async with in_order(memory, reads=tool in _reading(profile)):
        return await run(execute, tool, arguments, allowed=allowed_arguments(profile))


@cache
def _reading(profile: Profile) -> frozenset[str]:
    """Return the tools of a profile that change nothing."""
    return frozenset(tool.name for tool in definitions(profile) if tool.is_read_only)
