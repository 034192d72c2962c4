"""Where work took place, and the pack of it: for the user whose sessions say so, and for nobody else."""

from typing import Annotated, Any

from fastapi import Body, Header, Query, Response

from memex.http.callers import HeaderCaller, HeaderToolCallId, ServiceDependency
from memex.http.routers import RouterPair
from memex.http.routes.files import matches_etag
from memex.http.routes.work.standing import AS_ADMIN, AsOf
from memex.service.work import labels, packing, reading, sessions
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

PAIR = RouterPair("", "work")
router, admin_router = PAIR.agent, PAIR.admin

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


@PAIR.route(
    "GET",
    "/work/pack",
    summary="Show the pack of a session that begins",
    admin_summary="Show the pack of a session that begins, as a user's agent",
    admin_description=AS_ADMIN,
    response_model=PackResult,
    responses=_MANY,
)
async def read_pack(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
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
    as_of: AsOf = None,
    if_none_match: IfNoneMatch = None,
) -> Any:
    """Return where work stands in a few lines, each with its source; several lanes are named and none is chosen."""
    given = {
        "project": project,
        "label": label,
        "session": session,
        "budget": budget,
        "known_hash": known_hash,
        "cwd": cwd,
        "repository": repository,
        "branch": branch,
        "title": title,
        "files": files,
        "words": words,
        "as_of": as_of,
    }
    made = await packing.pack(service, caller, given, tool_call_id=tool_call_id)
    headers = {"ETag": f'"{made.hash}"', "Vary": "Authorization, Memex-User, Memex-Project"}
    if if_none_match is not None and matches_etag(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(made.model_dump_json(), media_type="application/json", headers=headers)


@PAIR.route(
    "GET",
    "/work/sessions",
    summary="List sessions of work",
    admin_summary="List sessions of work, as a user's agent",
    admin_description=AS_ADMIN,
)
async def list_work_sessions(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    project: Project = None,
    limit: Limit = 50,
) -> WorkSessionsResult:
    """Return sessions with label, folder, branch and last turn, the newest first."""
    given = {"project": project, "limit": limit}
    return await sessions.list_work_sessions(service, caller, given, tool_call_id=tool_call_id)


@PAIR.route(
    "POST",
    "/work/resolve",
    summary="Find the lane that hints mean",
    admin_summary="Find the lane that hints mean, as a user's agent",
    admin_description=AS_ADMIN,
)
async def resolve_work(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    body: Annotated[HintArguments, Body(examples=[{"words": "job queue", "files": ["src/queue.py"]}])],
) -> ResolveResult:
    """Return the one lane that hints mean, or all that they may mean; nothing is chosen and nothing is written."""
    given = body.model_dump(exclude_none=True)
    return await sessions.resolve_work(service, caller, given, tool_call_id=tool_call_id)


@PAIR.route(
    "GET",
    "/work/labels",
    summary="List the labels of sessions",
    admin_summary="List the labels of sessions, as a user's agent",
    admin_description=AS_ADMIN,
)
async def list_labels(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: HeaderToolCallId
) -> LabelsResult:
    """Return the labels of the user's sessions, and the project that each belongs to."""
    return await labels.list_labels(service, caller, tool_call_id=tool_call_id)


@PAIR.route(
    "POST",
    "/work/labels",
    summary="Link a label to a project",
    admin_summary="Link a label to a project, as a user's agent",
    admin_description=AS_ADMIN,
)
async def link_label(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    body: Annotated[
        LabelLinkArguments, Body(examples=[{"label": "remote:github.com/acme/apollo", "project": "apollo"}])
    ],
) -> LabelLinkResult:
    """Say which project the sessions of a label belong to; without a project the link is taken away."""
    given = body.model_dump(exclude_none=True)
    return await labels.link(service, caller, given, tool_call_id=tool_call_id)


@PAIR.route(
    "GET",
    "/projects/{slug}/reads",
    summary="List the projects that one reads from",
    admin_summary="List the projects that one reads from, as a user's agent",
    admin_description=AS_ADMIN,
)
async def list_reads(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: HeaderToolCallId, slug: str
) -> ReadingsResult:
    """Return the projects whose decisions and constraints are told beside the work of this one."""
    return await reading.list_read_from(service, caller, {"project": slug}, tool_call_id=tool_call_id)


@PAIR.route(
    "PUT",
    "/projects/{slug}/reads/{other}",
    summary="Let a project read from another one",
    admin_summary="Let a project read from another one, as a user's agent",
    admin_description=AS_ADMIN,
)
async def add_read(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: HeaderToolCallId, slug: str, other: str
) -> ReadFromResult:
    """Tell decisions and constraints of the other project beside the work of this one, to members of both."""
    given = {"project": slug, "other": other}
    return await reading.read_from(service, caller, given, tool_call_id=tool_call_id)


@PAIR.route(
    "DELETE",
    "/projects/{slug}/reads/{other}",
    summary="Let a project read from another one no more",
    admin_summary="Let a project read from another one no more, as a user's agent",
    admin_description=AS_ADMIN,
)
async def remove_read(
    service: ServiceDependency, caller: HeaderCaller, tool_call_id: HeaderToolCallId, slug: str, other: str
) -> ReadFromResult:
    """Tell nothing of the other project any more."""
    given = {"project": slug, "other": other, "remove": True}
    return await reading.read_from(service, caller, given, tool_call_id=tool_call_id)
