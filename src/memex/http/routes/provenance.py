"""The origin and the use of text: who wrote the lines of a file, and which calls saw a version of it."""

from typing import Annotated

from fastapi import Query

from memex.http.routers import RouterPair
from memex.http.routes.files import PathQuery
from memex.service.log.blame import BlameResult
from memex.service.log.exposure import CallsThatSaw, RevisionsSeen
from memex.service.tools.tool import MAX_VERSION

PAIR = RouterPair("", "operations")

Limit = Annotated[int, Query(ge=1, le=500)]
Version = Annotated[int, Query(ge=1, le=MAX_VERSION, description="A version of the path.")]
ToolCallId = Annotated[str, Query(description="The call that saw them.")]


@PAIR.operation(
    "memory_blame",
    summary="Show who wrote each line",
    admin_description="Return the lines of a file of the user in Memex-User, or of shared/ or a project.",
)
def show_blame(path: PathQuery, version: Version | None = None) -> BlameResult:
    """Return the lines of a file, each with the revision that put it there, and the calls that made those."""


@PAIR.operation(
    "seen_calls",
    summary="List the calls that saw a version",
    admin_description="Return the calls of the user in Memex-User; without a user, those of all users.",
)
def list_calls_that_saw(
    path: PathQuery, version: Version | None = None, limit: Limit = 50, cursor: str | None = None
) -> CallsThatSaw:
    """Return the user's calls that saw a version of a file, the newest first: how, and what they wrote.

    Without `version`, that is the newest version.
    """


@PAIR.operation(
    "seen_revisions",
    summary="List what a call saw",
    admin_description="Return what a call saw that was made for the user in Memex-User, or by an admin for none.",
)
def list_revisions_seen(tool_call_id: ToolCallId) -> RevisionsSeen:
    """Return the versions of files that one of the user's calls saw, how, and what it wrote."""
