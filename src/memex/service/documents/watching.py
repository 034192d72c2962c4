"""Watched folders: a client says that it watches a root, and anybody who reads its documents asks for a sync."""

from typing import Annotated

from pydantic import Field

from memex.service.documents.pushing import RootArguments, Slug, mount_of, scope_of_root
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import Arguments, ReadAnswer, ToolResult, example
from memex.store.documents import watches


class WatchArguments(RootArguments):
    """Say that a client watches a root, or with `is_over` that it does no longer."""

    model_config = example(root="repo", project="shop")

    is_over: bool = False


class RequestSyncArguments(Arguments):
    """Ask the clients that watch the roots of a project for a sync; without a project, those of the user's own."""

    model_config = example(project="shop")

    project: Slug | None = None


class WatchResult(ReadAnswer):
    """The answer to a watching client.

    `wanted_at` is when somebody last asked for a sync: the client syncs when the time is another one than it was
    told before. `next_in_s` says after how many seconds it should ask again; within 30 seconds it must.
    """

    root: str
    project: str | None
    wanted_at: str | None
    next_in_s: Annotated[int, Field(ge=1)]


class RequestSyncResult(ToolResult):
    """The roots that were asked for a sync: `asked` are watched, only their owners can push `not_watched`."""

    project: str | None
    asked: list[str]
    not_watched: list[str]


async def _watch(call: OperationCall, arguments: WatchArguments) -> LoggedAnswer[WatchResult]:
    """Note that a client watches a root, and say whether a sync is wanted. Nothing is logged but a refusal.

    Raises:
        DocumentNotFound, ProjectNotFound: there is no such root, or project of the user.
        Forbidden: another user owns the root.
    """
    wanted_at = await watches.watch(
        call.database,
        call.access,
        scope_of_root(call.access, arguments),
        arguments.root,
        now=call.now,
        is_over=arguments.is_over,
    )
    result = WatchResult(
        root=arguments.root,
        project=arguments.project,
        wanted_at=wanted_at.isoformat() if wanted_at else None,
        next_in_s=watches.POLL_S,
    )
    return LoggedAnswer(result, None)


async def _request_sync(
    call: OperationCall, arguments: RequestSyncArguments
) -> LoggedAnswer[RequestSyncResult]:
    """Ask the clients that watch roots for a sync, and log which.

    Raises:
        ProjectNotFound: the user has no such project.
    """
    scope, now = call.access.documents_at(mount_of(arguments.project)), call.now
    found = await watches.request_sync(call.database, call.access, scope, now=now) if scope else []
    result = RequestSyncResult(
        project=arguments.project,
        asked=[root.name for root in found if root.is_watched(now)],
        not_watched=[root.name for root in found if not root.is_watched(now)],
    )
    return LoggedAnswer(result, result.body())


WATCH = LoggedOperation("document_watch", WatchArguments, WatchResult, _watch)
REQUEST_SYNC = LoggedOperation(
    "document_request_sync", RequestSyncArguments, RequestSyncResult, _request_sync
)
