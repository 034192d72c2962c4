"""The places and the pack of work, for the user whose sessions tell of it, and for nobody else."""

from typing import Annotated

from fastapi import Body, Header, Query

from memex.http.routers import RouterPair
from memex.http.routes.work.standing import AS_ADMIN, AsOf
from memex.service.work.labels import LabelLinkArguments, LabelLinkResult, LabelsResult
from memex.service.work.packing import PackResult
from memex.service.work.reading import ReadFromResult, ReadingsResult
from memex.service.work.sessions import (
    MAX_HINT_CHARS,
    MAX_SESSIONS,
    HintArguments,
    ResolveResult,
    WorkSessionsResult,
)
from memex.subagent.work.resuming.pack import PackBudget

PAIR = RouterPair("", "work", as_admin=", as a user's agent", admin_description=AS_ADMIN)

_MANY = {304: {"description": "If-None-Match names the pack as it is."}}

Hint = Annotated[str | None, Query(max_length=MAX_HINT_CHARS)]
Files = Annotated[list[str] | None, Query(description="Paths that the work changes.", max_length=100)]
Project = Annotated[str | None, Query(description="The slug of a project, or a label.")]
Label = Annotated[
    str | None,
    Query(
        description="What identifies the place of sessions; see /v1/work/labels. Beside `cwd` or `repository`, "
        "what the client found for its folder: the pack is of its project, and of no other place."
    ),
]
Session = Annotated[str | None, Query(description="The id of one session, which is a conversation.")]
Budget = Annotated[PackBudget, Query(description="micro: 1,000 bytes, normal: 2,200, full: 3,600.")]
KnownHash = Annotated[str | None, Query(description="The hash of the pack that is known.", max_length=100)]
IfNoneMatch = Annotated[str | None, Header(description="The ETag that is known: the hash of the pack.")]
Limit = Annotated[int, Query(ge=1, le=MAX_SESSIONS)]


@PAIR.operation(
    "work_context",
    summary="Show the pack of a session that begins",
    responses=_MANY,
)
def read_pack(
    project: Project = None,
    label: Label = None,
    session: Session = None,
    budget: Budget = "auto",
    known_hash: KnownHash = None,
    cwd: Hint = None,
    repository: Hint = None,
    branch: Hint = None,
    title: Hint = None,
    files: Files = None,
    words: Hint = None,
    hint: Hint = None,
    as_of: AsOf = None,
    if_none_match: IfNoneMatch = None,
) -> PackResult:
    """Return where work stands in a few lines, each with its source; several lanes are named and none is chosen."""


@PAIR.operation("work_sessions", summary="List sessions of work")
def list_work_sessions(project: Project = None, limit: Limit = 50) -> WorkSessionsResult:
    """Return sessions with label, folder, branch and last turn, the newest first."""


@PAIR.operation("work_resolve", summary="Find the lane that hints mean")
def resolve_work(
    body: Annotated[HintArguments, Body(examples=[{"words": "job queue", "files": ["src/queue.py"]}])],
) -> ResolveResult:
    """Return the one lane that hints mean, or all that they may mean; nothing is chosen and nothing is written."""


@PAIR.operation("work_labels", summary="List the labels of sessions")
def list_labels() -> LabelsResult:
    """Return the labels of the user's sessions, and the project that each belongs to."""


@PAIR.operation("work_link", summary="Link a label to a project")
def link_label(
    body: Annotated[
        LabelLinkArguments, Body(examples=[{"label": "remote:github.com/acme/apollo", "project": "apollo"}])
    ],
) -> LabelLinkResult:
    """Say which project the sessions of a label belong to; without a project the link is taken away."""


@PAIR.operation("work_readings", summary="List the projects that one reads from")
def list_reads(slug: str) -> ReadingsResult:
    """Return the projects whose decisions and constraints are told beside the work of this one."""


@PAIR.operation("work_read_from", summary="Let a project read from another one")
def add_read(slug: str, other: str) -> ReadFromResult:
    """Tell decisions and constraints of the other project beside the work of this one, to members of both."""


@PAIR.operation("work_stop_reading", summary="Let a project read from another one no more")
def remove_read(slug: str, other: str) -> ReadFromResult:
    """Tell nothing of the other project any more."""
