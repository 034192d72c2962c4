"""A memory as a person looks through it: mounts, folders, and files by filters."""

from typing import Annotated

from fastapi import Query
from pydantic import AwareDatetime

from memex.http.callers import HeaderCaller, HeaderToolCallId, ServiceDependency
from memex.http.routers import RouterPair
from memex.service.vaults.browsing import BrowseResult, browse

PAIR = RouterPair("", "files")
router, admin_router = PAIR.agent, PAIR.admin

Prefix = Annotated[str, Query(description="How the paths begin, such as user/notes/.")]
Tag = Annotated[str | None, Query(description="Only files with this tag, in whatever case.")]
Actor = Annotated[
    str | None,
    Query(description="Only files whose newest version this actor wrote, or that came by this channel."),
]
Since = Annotated[AwareDatetime | None, Query(description="Only files that changed at this time or later.")]
Until = Annotated[AwareDatetime | None, Query(description="Only files that changed before this time.")]
Pinned = Annotated[bool, Query(description="Only pinned files.")]


@PAIR.route(
    "GET",
    "/folders",
    summary="Look through folders and files",
    admin_summary="Look through folders and files, as an admin",
    admin_description="Return what the user in Memex-User sees; without a user, shared/ and all projects.",
)
async def show_folders(
    service: ServiceDependency,
    caller: HeaderCaller,
    tool_call_id: HeaderToolCallId,
    prefix: Prefix = "",
    tag: Tag = None,
    actor: Actor = None,
    since: Since = None,
    until: Until = None,
    pinned: Pinned = False,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    cursor: str | None = None,
) -> BrowseResult:
    """Return the mounts and the folders right below a prefix with their counts, and the files that pass filters."""
    given = {
        "prefix": prefix,
        "tag": tag,
        "actor": actor,
        "since": since,
        "until": until,
        "pinned": pinned,
        "limit": limit,
        "cursor": cursor,
    }
    return await browse(service, caller, given, tool_call_id=tool_call_id)
