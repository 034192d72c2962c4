"""Ask where work stands: all of it, whether it is done, and what changed since a moment or a state."""

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, Field

from memex.errors import ValidationFailed
from memex.service.call import Caller
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import Arguments, StorableText
from memex.service.work.loading import load_work
from memex.service.work.results import (
    WorkChangesResult,
    WorkCheckResult,
    WorkResult,
    changes_result,
    check_result,
    work_result,
)
from memex.subagent.work.changes import changes
from memex.subagent.work.completion import check

_STATE = re.compile(r"(\d{1,20})-[0-9a-f]{12}")
_Project = Annotated[StorableText | None, Field(min_length=1, max_length=1_000)]
_Session = Annotated[StorableText | None, Field(min_length=1, max_length=100)]


class WorkCheckArguments(Arguments):
    """The work to check: that of `project`, or of one `session` of it."""

    project: _Project = None
    session: _Session = None


class WorkArguments(WorkCheckArguments):
    """The work to show: that of `project` (a slug, or the label of sessions), or of one `session` of it (an id)."""

    as_of: Annotated[AwareDatetime | None, Field(strict=False)] = None


class WorkChangesArguments(WorkCheckArguments):
    """The work whose changes are asked for, `since` a time, or since the `state` of an answer."""

    since: Annotated[AwareDatetime | None, Field(strict=False)] = None
    state: Annotated[str | None, Field(max_length=40)] = None


async def _show(call: OperationCall, arguments: WorkArguments) -> LoggedAnswer[WorkResult]:
    """Return where work stands, and log that it was asked.

    Raises:
        ValidationFailed: neither a project nor a session is named.
        ProjectNotFound: no project and no session of the user has this name.
        ConversationNotFound: the user has no such session.
    """
    project, session = place_of(call.caller, arguments.project, arguments.session)
    until = arguments.as_of
    work = await load_work(
        call.service, call.caller, project=project, session=session, until=until, reads=True
    )
    result = work_result(work)
    logged = {"state": result.state, "open": len(result.open), "blockers": len(result.blockers)}
    return LoggedAnswer(result, logged)


async def _check_completion(
    call: OperationCall, arguments: WorkCheckArguments
) -> LoggedAnswer[WorkCheckResult]:
    """Return whether work is done, with what proves it or the reasons why not; raises as `show`."""
    project, session = place_of(call.caller, arguments.project, arguments.session)
    work = await load_work(call.service, call.caller, project=project, session=session)
    result = check_result(work, check(work.state, work.said, work.events))
    logged = {"state": result.state, "done": result.done, "reasons": list(result.reasons)}
    return LoggedAnswer(result, logged)


async def _show_changes(
    call: OperationCall, arguments: WorkChangesArguments
) -> LoggedAnswer[WorkChangesResult]:
    """Return what changed in work since a moment or a state; raises as `show`."""
    project, session = place_of(call.caller, arguments.project, arguments.session)
    since = _moment(arguments.since, arguments.state)
    work = await load_work(call.service, call.caller, project=project, session=session)
    changed = changes(work.at(since), work.state)
    result = changes_result(work, since.isoformat(), changed)
    logged = {"state": result.state, "is_changed": result.is_changed}
    return LoggedAnswer(result, logged)


def place_of(caller: Caller, project: str | None, session: str | None) -> tuple[str | None, str | None]:
    """Return the project and the session that are meant; the project of the context where none is named."""
    if session is None and project is None:
        project = caller.access.project
    if session is None and project is None:
        raise ValidationFailed(
            "Neither a project nor a session is named.",
            hint="Name a `project` by its slug or label, or a `session` by its id.",
        )
    return project, session


def _moment(since: datetime | None, state: str | None) -> datetime:
    """Return the moment of a time or of a state."""
    if (since is None) == (state is None):
        raise ValidationFailed(
            "Name either a time or a state.", hint="since: a time; state: the `state` of an earlier answer."
        )
    if since is not None:
        return since
    if named := _STATE.fullmatch(state or ""):
        with suppress(ValueError, OverflowError, OSError):
            return datetime.fromtimestamp(int(named[1]) / 1_000_000, UTC)
    raise ValidationFailed(
        "The state is malformed.", hint="Send the `state` of an earlier answer as it came."
    )


SHOW = LoggedOperation("work_show", WorkArguments, WorkResult, _show)
CHECK = LoggedOperation("work_check", WorkCheckArguments, WorkCheckResult, _check_completion)
CHANGES = LoggedOperation("work_changes", WorkChangesArguments, WorkChangesResult, _show_changes)
