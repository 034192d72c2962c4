"""memory_changes: the newest changes of memory, so that a person can go back to one."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, Field

from memex.service.call import Caller
from memex.service.service import Service
from memex.service.tools.tool import Arguments, ResultPart, Tool, ToolResult
from memex.store.browse.changes import list_changes
from memex.store.log.call import CallAnswer
from memex.store.memory import Memory

CHANGES = "memory_changes"


class ChangesArguments(Arguments):
    """How many changes, and before which time."""

    limit: Annotated[int, Field(ge=1, le=500)] = 50
    until: Annotated[AwareDatetime | None, Field(strict=False)] = None


class ChangeResult(ResultPart):
    """A commit: the change number `rev` of a mount. `path` is the first of the `files` that it wrote.

    `as_of` with the time `at` shows memory as it was right after the change.
    """

    mount: str
    rev: int
    at: str
    actor: str
    files: int
    path: str


class ChangesResult(ToolResult):
    """The newest changes of all mounts, the newest first."""

    changes: list[ChangeResult]


async def show_changes(
    service: Service,
    caller: Caller,
    *,
    limit: int = 50,
    until: datetime | str | None = None,
    tool_call_id: str | None = None,
) -> ChangesResult:
    """Return the newest changes of what the caller reads, and log the call.

    Raises:
        ValidationFailed: an argument is wrong.
    """
    given: dict[str, Any] = {
        "limit": limit,
        "until": until.isoformat() if isinstance(until, datetime) else until,
    }
    named = {name: value for name, value in given.items() if value is not None}
    async with service.recorder.recorded(caller, CHANGES, named, tool_call_id=tool_call_id) as log:
        arguments = _TOOL.parse(given)
        async with service.database.transaction(caller.access, snapshot=True) as connection:
            state = await Memory(connection, caller.access).state(caller.access.scopes)
            found = await list_changes(
                connection, caller.access, limit=arguments.limit, until=arguments.until
            )
        result = ChangesResult(
            changes=[
                ChangeResult(
                    mount=one.mount,
                    rev=one.rev,
                    at=one.made_at.isoformat(),
                    actor=one.actor,
                    files=one.files,
                    path=one.path,
                )
                for one in found
            ]
        )
        logged = {"changes": [f"{one.mount} {one.rev}" for one in found]}
        await log.add("answered", CallAnswer(result.body(), arguments.canonical(), logged), state=state)
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


_TOOL = Tool(CHANGES, ChangesArguments, ChangesResult)
