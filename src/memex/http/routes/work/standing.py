"""The state of work, for the user whose sessions tell of it, and for nobody else."""

from datetime import date
from typing import Annotated

from fastapi import Path, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict

from memex.http.routers import RouterPair
from memex.service.work.health import WorkHealthResult, WorkPolicyResult, WorkRepairedResult
from memex.service.work.provenance import WorkProvenanceResult
from memex.service.work.results import (
    WorkChangesResult,
    WorkCheckResult,
    WorkMarkResult,
    WorkRebuildResult,
    WorkResult,
)
from memex.subagent.work.records import MarkAction

AS_ADMIN = "For an administrator who acts as the agent of the user in Memex-User (Memex-Role: agent) alone."
PAIR = RouterPair("", "work", as_admin=", as a user's agent", admin_description=AS_ADMIN)
_BY_SLUG = {"slug": "project"}

Slug = Annotated[str, Path(description="The slug of a project, or the label that sessions have.")]
Project = Annotated[str | None, Query(description="The slug of a project, or the label that sessions have.")]
Session = Annotated[str | None, Query(description="The id of one session, which is a conversation.")]
AsOf = Annotated[AwareDatetime | None, Query(description="Where the work stood at this moment.")]
Since = Annotated[AwareDatetime | None, Query(description="A moment; or name a `state`.")]
State = Annotated[str | None, Query(description="The `state` of an earlier answer.")]
ItemId = Annotated[str, Path(description="The id of an item of work.")]


class MarkBody(BaseModel):
    """A decision about an item.

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


class RepairBody(BaseModel):
    """The items to put away, of those that the health of the work proposes; `undo` takes it back."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"items": ["7k2m9x4q1c"]}]})

    items: list[str]
    undo: bool = False
    project: str | None = None
    session: str | None = None


class PolicyBody(BaseModel):
    """A rule to add to the policies of a project, or of all the user's work; `remove` takes it out."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"rule": "Archive after 30 days", "project": "apollo"}]},
    )

    rule: str
    project: str | None = None
    remove: bool = False


@PAIR.operation("work_show", summary="Show where work stands")
def show_work(project: Project = None, session: Session = None, as_of: AsOf = None) -> WorkResult:
    """Return what is wanted, open, in the way and done in a project or in one session, each with its source."""


@PAIR.operation("work_check", summary="Check whether work is done")
def check_work(project: Project = None, session: Session = None) -> WorkCheckResult:
    """Return whether the work is done and what proves it, or the reasons why not."""


@PAIR.operation("work_changes", summary="Show what changed in work")
def show_work_changes(
    project: Project = None, session: Session = None, since: Since = None, state: State = None
) -> WorkChangesResult:
    """Return what was opened, ended and decided since a moment, or since the `state` of an earlier answer."""


@PAIR.operation("work_mark", summary="Decide about an item of work")
def mark_work(item_id: ItemId, body: MarkBody) -> WorkMarkResult:
    """Note what a person decided about an item: whether it is open, how packs name it, whether memory keeps it."""


@PAIR.operation("work_provenance", summary="Show where an item of work comes from")
def show_work_provenance(
    item_id: ItemId, project: Project = None, session: Session = None
) -> WorkProvenanceResult:
    """Return each text that says the item, with its span, and each decision about it, with its call."""


@PAIR.operation("work_health", summary="Show the health of work")
def show_work_health(project: Project = None, session: Session = None) -> WorkHealthResult:
    """Return what is there twice, rests, contradicts or is not met, what would repair it, and the policies."""


@PAIR.operation("work_repair", summary="Put away what the health of work proposes")
def repair_work(body: RepairBody) -> WorkRepairedResult:
    """Archive items that rest, or that another item says too; with `undo`, open them again."""


@PAIR.operation("work_policy", summary="Set a policy of work")
def set_work_policy(body: PolicyBody) -> WorkPolicyResult:
    """Add a rule to the file of policies, or take it out."""


@PAIR.operation("work_rebuild", summary="Read all sessions anew")
def rebuild_work() -> WorkRebuildResult:
    """Make all that is derived of the user's sessions anew. The same messages give the same."""


@PAIR.operation(
    "work_show",
    at=("GET", "/projects/{slug}/work"),
    names=_BY_SLUG,
    summary="Show where the work of a project stands",
)
def show_project_work(slug: Slug, as_of: AsOf = None) -> WorkResult:
    """Return what is wanted, open, in the way and done in a project."""


@PAIR.operation(
    "work_check",
    at=("GET", "/projects/{slug}/work/check"),
    names=_BY_SLUG,
    summary="Check whether the work of a project is done",
)
def check_project_work(slug: Slug) -> WorkCheckResult:
    """Return whether the work is done and what proves it, or the reasons why not."""


@PAIR.operation(
    "work_changes",
    at=("GET", "/projects/{slug}/work/changes"),
    names=_BY_SLUG,
    summary="Show what changed in the work of a project",
)
def show_project_work_changes(slug: Slug, since: Since = None, state: State = None) -> WorkChangesResult:
    """Return what was opened, ended and decided since a moment, or since the `state` of an earlier answer."""
