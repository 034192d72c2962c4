"""The projects that a project reads from: their decisions and constraints are told beside its own work."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from memex.errors import ValidationFailed
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import Arguments, ReadAnswer, ResultPart, StorableText, ToolResult
from memex.store.work.readings import MAX_READINGS, add_reading, list_readings, remove_reading

_Slug = Annotated[StorableText, Field(min_length=1, max_length=200)]


class ReadingsArguments(Arguments):
    """The project whose list is asked for."""

    project: _Slug


class ReadFromArguments(Arguments):
    """Let `project` read from `other`; with `remove`, no more."""

    project: _Slug
    other: _Slug
    remove: bool = False


class ReadingResult(ResultPart):
    """A project that is read from, and since when."""

    project: str
    since: str


class ReadingsResult(ReadAnswer):
    """The projects that one reads from, of those that the caller is a member of, in the order of time."""

    project: str
    reads_from: list[ReadingResult]


class ReadFromResult(ToolResult):
    """Two projects, and whether one reads from the other now; `changed` is false if it was so before."""

    project: str
    other: str
    reads: bool
    changed: bool


async def _list_read_from(call: OperationCall, arguments: ReadingsArguments) -> LoggedAnswer[ReadingsResult]:
    """Return the projects that one reads from, and log that it was asked.

    Raises:
        ProjectNotFound: the user is not a member of such a project.
    """
    scope = call.access.scope_at(f"projects/{arguments.project}")
    async with call.database.transaction(call.access) as connection:
        found = await list_readings(connection, call.access, scope)
    result = ReadingsResult(
        project=arguments.project,
        reads_from=[
            ReadingResult(project=read.mount.removeprefix("projects/"), since=at.isoformat())
            for read, at in found
        ],
    )
    logged = {"reads_from": [read.project for read in result.reads_from]}
    return LoggedAnswer(result, logged)


async def _read_from(call: OperationCall, arguments: ReadFromArguments) -> LoggedAnswer[ReadFromResult]:
    """Let a project read from another one, or no more.

    It holds for everybody who is a member of both. Nothing is read through a third project.

    Raises:
        ProjectNotFound: the user is not a member of both projects.
        ValidationFailed: both are the same, or the project reads from too many.
    """
    access = call.access
    scope, other = (access.scope_at(f"projects/{slug}") for slug in (arguments.project, arguments.other))
    if scope == other:
        raise ValidationFailed("A project does not read from itself.", hint="Name another project.")
    async with call.database.transaction(access) as connection:
        if arguments.remove:
            changed = await remove_reading(connection, scope, other)
        else:
            changed = await add_reading(connection, access, scope, other, datetime.now(UTC))
        listed = await list_readings(connection, access, scope)
        reads = any(read == other for read, _ in listed)
        if not reads and not arguments.remove:
            raise ValidationFailed(
                f"A project reads from at most {MAX_READINGS} others.", hint="Take one away: --remove."
            )
        result = ReadFromResult(
            project=arguments.project, other=arguments.other, reads=reads, changed=changed
        )
        await call.commit(connection, result, arguments)
    return LoggedAnswer(result, None)


READ_FROM = LoggedOperation("work_read_from", ReadFromArguments, ReadFromResult, _read_from, role="agent")
READINGS = LoggedOperation("work_readings", ReadingsArguments, ReadingsResult, _list_read_from, role="agent")
