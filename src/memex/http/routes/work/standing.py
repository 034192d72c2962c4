"""Where work stands: for the user whose sessions say so, and for nobody else."""

from datetime import date
from typing import Annotated

from fastapi import Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict

from memex.http.calls import Call
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


@PAIR.operation(
    "work_show",
    summary="Show where work stands",
    admin_summary="Show where work stands, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_work(
    call: Call, project: Project = None, session: Session = None, as_of: AsOf = None
) -> WorkResult:
    """Return what is wanted, open, in the way and done in a project or in one session, each with its source."""
    return await call.run(asking.SHOW.call, project=project, session=session, as_of=as_of)


@PAIR.operation(
    "work_check",
    summary="Check whether work is done",
    admin_summary="Check whether work is done, as a user's agent",
    admin_description=AS_ADMIN,
)
async def check_work(call: Call, project: Project = None, session: Session = None) -> WorkCheckResult:
    """Return whether the work is done and what proves it, or the reasons why not."""
    return await call.run(asking.CHECK.call, project=project, session=session)


@PAIR.operation(
    "work_changes",
    summary="Show what changed in work",
    admin_summary="Show what changed in work, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_work_changes(
    call: Call, project: Project = None, session: Session = None, since: Since = None, state: State = None
) -> WorkChangesResult:
    """Return what was opened, ended and decided since a moment, or since the `state` of an earlier answer."""
    return await call.run(asking.CHANGES.call, project=project, session=session, since=since, state=state)


@PAIR.operation(
    "work_mark",
    summary="Decide about an item of work",
    admin_summary="Decide about an item of work, as a user's agent",
    admin_description=AS_ADMIN,
)
async def mark_work(call: Call, item_id: ItemId, body: MarkBody) -> WorkMarkResult:
    """Note what a person decided about an item: whether it is open, how packs name it, whether memory keeps it."""
    return await call.run(deciding.mark, id=item_id, **body.model_dump(exclude_none=True))


@PAIR.operation(
    "work_provenance",
    summary="Show where an item of work comes from",
    admin_summary="Show where an item of work comes from, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_work_provenance(
    call: Call, item_id: ItemId, project: Project = None, session: Session = None
) -> WorkProvenanceResult:
    """Return each text that says the item, with its span, and each decision about it, with its call."""
    return await call.run(provenance.PROVENANCE.call, id=item_id, project=project, session=session)


@PAIR.operation(
    "work_rebuild",
    summary="Read all sessions anew",
    admin_summary="Read all sessions anew, as a user's agent",
    admin_description=AS_ADMIN,
)
async def rebuild_work(call: Call, ask: Ask = False) -> WorkRebuildResult:
    """Make all that is derived of the user's sessions anew. The same messages give the same.

    `asked` and `left` count messages about which a model has answered in this call, and those that are left.
    """
    return await call.run(deciding.REBUILD.call, ask=ask)


@PAIR.route(
    "GET",
    "/projects/{slug}/work",
    summary="Show where the work of a project stands",
    admin_summary="Show where the work of a project stands, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_project_work(call: Call, slug: Slug, as_of: AsOf = None) -> WorkResult:
    """Return what is wanted, open, in the way and done in a project."""
    return await call.run(asking.SHOW.call, project=slug, as_of=as_of)


@PAIR.route(
    "GET",
    "/projects/{slug}/work/check",
    summary="Check whether the work of a project is done",
    admin_summary="Check whether the work of a project is done, as a user's agent",
    admin_description=AS_ADMIN,
)
async def check_project_work(call: Call, slug: Slug) -> WorkCheckResult:
    """Return whether the work is done and what proves it, or the reasons why not."""
    return await call.run(asking.CHECK.call, project=slug)


@PAIR.route(
    "GET",
    "/projects/{slug}/work/changes",
    summary="Show what changed in the work of a project",
    admin_summary="Show what changed in the work of a project, as a user's agent",
    admin_description=AS_ADMIN,
)
async def show_project_work_changes(
    call: Call, slug: Slug, since: Since = None, state: State = None
) -> WorkChangesResult:
    """Return what was opened, ended and decided since a moment, or since the `state` of an earlier answer."""
    return await call.run(asking.CHANGES.call, project=slug, since=since, state=state)
