"""Watched folders: a client says that it watches a root, and anybody who reads its documents asks for a sync."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from memex.service.call import Caller
from memex.service.documents.pushing import RootArguments, Slug, mount_of
from memex.service.service import Service
from memex.service.tools.tool import Arguments, ReadAnswer, Tool, ToolResult
from memex.store.documents import roots, watches
from memex.store.log.call import CallAnswer

WATCH, REQUEST_SYNC = "document_watch", "document_request_sync"


class WatchArguments(RootArguments):
    """Say that a client watches a root, or with `is_over` that it does no longer."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"root": "repo", "project": "shop"}]})

    is_over: bool = False


class RequestSyncArguments(Arguments):
    """Ask the clients that watch the roots of a project for a sync; without a project, those of the user's own."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"project": "shop"}]})

    project: Slug | None = None


class WatchResult(ReadAnswer):
    """What a watching client is told.

    `wanted_at` is when somebody last asked for a sync: the client syncs when the time is another one than it was
    told before. `next_in_s` says after how many seconds it should ask again; within 30 seconds it must.
    """

    root: str
    project: str | None
    wanted_at: str | None
    next_in_s: Annotated[int, Field(ge=1)]


class RequestSyncResult(ToolResult):
    """Which roots were asked for a sync: `asked` are watched, and `not_watched` only their owners can push."""

    project: str | None
    asked: list[str]
    not_watched: list[str]


async def watch(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> WatchResult:
    """Note that a client watches a root, and say whether a sync is wanted. Nothing is logged but a refusal.

    Raises:
        ValidationFailed: an argument is malformed.
        DocumentNotFound, ProjectNotFound: there is no such root, or project of the user.
        Forbidden: another user owns the root.
    """
    asked = {name: value for name, value in given.items() if value is not None}
    async with service.recorder.recorded(caller, WATCH, asked, tool_call_id=tool_call_id) as log:
        arguments = WATCH_TOOL.parse(asked)
        scope = caller.access.documents_at(arguments.mount)
        if scope is None:
            raise roots.not_found(arguments.root)
        wanted_at = await watches.watch(
            service.database,
            caller.access,
            scope,
            arguments.root,
            now=log.call.request.now,
            is_over=arguments.is_over,
        )
    return WatchResult(
        tool_call_id=log.call.request.tool_call_id,
        root=arguments.root,
        project=arguments.project,
        wanted_at=wanted_at.isoformat() if wanted_at else None,
        next_in_s=watches.POLL_S,
    )


async def request_sync(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> RequestSyncResult:
    """Ask the clients that watch roots for a sync, and log which.

    Raises:
        ValidationFailed: an argument is malformed.
        ProjectNotFound: the user has no such project.
    """
    asked = {name: value for name, value in given.items() if value is not None}
    async with service.recorder.recorded(caller, REQUEST_SYNC, asked, tool_call_id=tool_call_id) as log:
        arguments = REQUEST_SYNC_TOOL.parse(asked)
        scope, now = caller.access.documents_at(mount_of(arguments.project)), log.call.request.now
        found = await watches.request_sync(service.database, caller.access, scope, now=now) if scope else []
        result = RequestSyncResult(
            project=arguments.project,
            asked=[one.name for one in found if one.is_watched(now)],
            not_watched=[one.name for one in found if not one.is_watched(now)],
        )
        await log.add("answered", CallAnswer(result.body(), asked, result.body()))
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


WATCH_TOOL: Tool[WatchArguments] = Tool(WATCH, WatchArguments, WatchResult)
REQUEST_SYNC_TOOL: Tool[RequestSyncArguments] = Tool(REQUEST_SYNC, RequestSyncArguments, RequestSyncResult)
