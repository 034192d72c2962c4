"""memory_changes: the newest changes of memory, so that a person can go back to one."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import Arguments, ResultPart, ToolResult
from memex.store.browse.changes import list_changes
from memex.store.memory import Memory


class ChangesArguments(Arguments):
    """The most changes to list, and the time before which they were made."""

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


async def _show_changes(call: OperationCall, arguments: ChangesArguments) -> LoggedAnswer[ChangesResult]:
    """Return the newest changes of what the caller reads, and log the call."""
    async with call.database.transaction(call.access, snapshot=True) as connection:
        state = await Memory(connection, call.access).state(call.access.scopes)
        found = await list_changes(connection, call.access, limit=arguments.limit, until=arguments.until)
    result = ChangesResult(
        changes=[ChangeResult.taken_from(change, at=change.made_at.isoformat()) for change in found]
    )
    logged = {"changes": [f"{change.mount} {change.rev}" for change in found]}
    return LoggedAnswer(result, logged, state)


CHANGES = LoggedOperation("memory_changes", ChangesArguments, ChangesResult, _show_changes)
