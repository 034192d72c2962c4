"""The lines that were taken out of files: a list of them, and putting one back."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from memex.http.callers import ToolRoute
from memex.http.calls import ToolRouteCall
from memex.http.parsing import RequestBody
from memex.http.routers import RouterPair
from memex.service.tools.removed import PUT_BACK, REMOVED, PutBackResult, RemovedResult
from memex.service.tools.tool import example
from memex.store.removed_lines import RemovedState

PAIR = RouterPair("/removed", "files", route_class=ToolRoute, as_admin=" as an admin")

State = Annotated[RemovedState | None, Query(description="Only lines that were taken out so.")]
All = Annotated[bool, Query(description="Also lines that somebody took out by editing the file.")]
PathPrefix = Annotated[str, Query(description="Only paths that begin so.", examples=["user/notes"])]


class PutBackBody(RequestBody):
    """The line to put back."""

    model_config = example(id="0f1e2d3c4b5a")

    id: Annotated[str, Field(description="Of the line, from the list.")]


@PAIR.route(
    "GET",
    "",
    summary="List removed lines",
    admin_description="Return the lines that were taken out of the files of the user in Memex-User, and of all "
    "projects.",
    response_model=RemovedResult,
)
async def removed(
    call: ToolRouteCall,
    state: State = None,
    all: All = False,  # noqa: A002  # the query's name
    prefix: PathPrefix = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: str | None = None,
) -> Response:
    """Return the lines that were taken out of files and are not put back, the newest first.

    By default these are lines that were replaced, closed or forgotten. What was forgotten stays in the history of
    its file until that is erased.
    """
    return await call.answer(REMOVED.name, state=state, all=all, prefix=prefix, limit=limit, cursor=cursor)


@PAIR.route(
    "POST",
    "",
    summary="Put a removed line back",
    admin_description="Put a line back into a file of the user in Memex-User, or of a project.",
    response_model=PutBackResult,
)
async def put_back(call: ToolRouteCall, body: PutBackBody) -> Response:
    """Put a line back under its heading, or under the general heading if that is gone.

    Of a line that was forgotten, the words in the caller's journal can be read again too. The call can be reverted.
    """
    return await call.answer(PUT_BACK.name, id=body.id)
