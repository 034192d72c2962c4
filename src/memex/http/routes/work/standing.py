"""Where work stands: for the user whose sessions say so, and for nobody else."""

from datetime import date
from typing import Annotated

from fastapi import Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict

from memex.http.callers import HeaderCaller, HeaderToolCallId, ServiceDependency
from memex.http.routers import RouterPair
from memex.service.work import asking, deciding, provenance
from memex.service.work.provenance import WorkProvenanceResult
from memex.service.work.results import (
    WorkChangesResult,
    WorkCheckResult,
    WorkMarkResult,
    WorkRebuildResult,
    WorkResult,
)
from memex.subagent.work.records import MarkAction

PAIR = RouterPair("", "work")
router, admin_router = PAIR.agent, PAIR.admin

AS_ADMIN = "For an administrator who acts as the agent of the user in Memex-User (Memex-Role: agent) alone."

Slug = Annotated[str, Path(description="The slug of a project, or the label that sessions have.")]
Project = Annotated[str | None, Query(description="The slug of a project, or the label that sessions have.")]
Session = Annotated[str | None, Query(description="The id of one session, which is a conversation.")]
AsOf = Annotated[AwareDatetime | None, Query(description="Where the work stood at this moment.")]
Since = Annotated[AwareDatetime | None, Query(description="A moment; or name a `state`.")]
State = Annotated[str | None, Query(description="The `state` of an earlier answer.")]
Ask = Annotated[
    bool,
    Query(
        description="First ask the model that reads sessions about messages that it has not read: some of them."
    ),
]
ItemId = Annotated[str, Path(description="The id of an item of work.")]


class MarkBody(BaseModel):
    """What is decided about an item.

    It is `done`, dropped (`drop`) or put away (`archive`), until `restore`. `keep` remembers it in the project's
    memory. `pin` and `unpin`, `leave_out` and `bring_in` say how packs name it. `end` ends it after `ends_on`.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"action": "end", "ends_on": "2026-12-01"}, {"action": "done"}]},
    )

    action: MarkAction
    ends_on: date | None = None
    project: str | None = None
    session: str | None = None


@PAIR.route(
    "GET",
    "/work",
    summary="Show where work stands",
    admin_summary="Show where work stands, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_work(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    project: Project = None,
    session: Session = None,
    as_of: AsOf = None,
) -> WorkResult:
    """Return what is wanted, open, in the way and done in a project or in one session, each with its source."""
    given = {"project": project, "session": session, "as_of": as_of}
    return await asking.show(service, caller, given, tool_call_id=tool_call_id)


@PAIR.route(
    "GET",
    "/work/check",
    summary="Check whether work is done",
    admin_summary="Check whether work is done, as a user's agent",
    admin_description=AS_ADMIN,
)
async def check_work(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    project: Project = None,
    session: Session = None,
) -> WorkCheckResult:
    """Return whether the work is done and what proves it, or the reasons why not."""
    given = {"project": project, "session": session}
    return await asking.check_completion(service, caller, given, tool_call_id=tool_call_id)


@PAIR.route(
    "GET",
    "/work/changes",
    summary="Show what changed in work",
    admin_summary="Show what changed in work, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_work_changes(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    project: Project = None,
    session: Session = None,
    since: Since = None,
    state: State = None,
) -> WorkChangesResult:
    """Return what was opened, ended and decided since a moment, or since the `state` of an earlier answer."""
    given = {"project": project, "session": session, "since": since, "state": state}
    return await asking.show_changes(service, caller, given, tool_call_id=tool_call_id)


@PAIR.route(
    "POST",
    "/work/items/{item_id}",
    summary="Decide about an item of work",
    admin_summary="Decide about an item of work, as a user's agent",
    admin_description=AS_ADMIN,
)
async def mark_work(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    item_id: ItemId,
    body: MarkBody,
) -> WorkMarkResult:
    """Note what a person decided about an item: whether it is open, how packs name it, whether memory keeps it."""
    given = {"id": item_id} | body.model_dump(exclude_none=True)
    return await deciding.mark(service, caller, given, tool_call_id=tool_call_id)


@PAIR.route(
    "GET",
    "/work/items/{item_id}",
    summary="Show where an item of work comes from",
    admin_summary="Show where an item of work comes from, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_work_provenance(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    item_id: ItemId,
    project: Project = None,
    session: Session = None,
) -> WorkProvenanceResult:
    """Return each text that says the item, with its span, and each decision about it, with its call."""
    given = {"id": item_id, "project": project, "session": session}
    return await provenance.show_provenance(service, caller, given, tool_call_id=tool_call_id)


@PAIR.route(
    "POST",
    "/work/rebuild",
    summary="Read all sessions anew",
    admin_summary="Read all sessions anew, as a user's agent",
    admin_description=AS_ADMIN,
)
async def rebuild_work(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: HeaderToolCallId, ask: Ask = False
) -> WorkRebuildResult:
    """Make all that is derived of the user's sessions anew. The same messages give the same.

    `asked` and `left` count messages about which a model has answered in this call, and those that are left.
    """
    return await deciding.rebuild(service, caller, ask=ask, tool_call_id=tool_call_id)


@PAIR.route(
    "GET",
    "/projects/{slug}/work",
    summary="Show where the work of a project stands",
    admin_summary="Show where the work of a project stands, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_project_work(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    slug: Slug,
    as_of: AsOf = None,
) -> WorkResult:
    """Return what is wanted, open, in the way and done in a project."""
    return await asking.show(service, caller, {"project": slug, "as_of": as_of}, tool_call_id=tool_call_id)


@PAIR.route(
    "GET",
    "/projects/{slug}/work/check",
    summary="Check whether the work of a project is done",
    admin_summary="Check whether the work of a project is done, as a user's agent",
    admin_description=AS_ADMIN,
)
async def check_project_work(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: HeaderToolCallId, slug: Slug
) -> WorkCheckResult:
    """Return whether the work is done and what proves it, or the reasons why not."""
    return await asking.check_completion(service, caller, {"project": slug}, tool_call_id=tool_call_id)


@PAIR.route(
    "GET",
    "/projects/{slug}/work/changes",
    summary="Show what changed in the work of a project",
    admin_summary="Show what changed in the work of a project, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_project_work_changes(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    slug: Slug,
    since: Since = None,
    state: State = None,
) -> WorkChangesResult:
    """Return what was opened, ended and decided since a moment, or since the `state` of an earlier answer."""
    given = {"project": slug, "since": since, "state": state}
    return await asking.show_changes(service, caller, given, tool_call_id=tool_call_id)
