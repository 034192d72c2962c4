"""A memory as a person looks through it: mounts, folders, files by filters, and why a search shows a file."""

from typing import Annotated

from fastapi import Query
from pydantic import AwareDatetime

from memex.http.parsing import RequestBody
from memex.http.routers import RouterPair
from memex.service.journal.reading import JournalResult
from memex.service.search.changes import ChangesResult
from memex.service.search.explanation import ExplainFindResult
from memex.service.search.topics import TopicsResult
from memex.service.snapshots import AsOf
from memex.service.tools.tool import example
from memex.service.vaults.browsing import BrowseResult, FileKind
from memex.settings import SearchMode

PAIR = RouterPair("", "files")

Prefix = Annotated[str, Query(description="How the paths begin, such as user/notes/.")]
Kind = Annotated[
    FileKind | None,
    Query(
        description="Only files of statements of this kind, as memory_remember writes them; `other` for all "
        "other files."
    ),
]
Tag = Annotated[str | None, Query(description="Only files with this tag, in whatever case.")]
Actor = Annotated[
    str | None,
    Query(description="Only files whose newest version this actor wrote, or that came by this channel."),
]
Since = Annotated[AwareDatetime | None, Query(description="Only files that changed at this time or later.")]
Until = Annotated[AwareDatetime | None, Query(description="Only files that changed before this time.")]
Pinned = Annotated[bool, Query(description="Only pinned files.")]


@PAIR.operation(
    "memory_browse",
    summary="Look through folders and files",
    admin_description="Return what the user in Memex-User sees; without a user, shared/ and all projects.",
)
def show_folders(
    prefix: Prefix = "",
    kind: Kind = None,
    tag: Tag = None,
    actor: Actor = None,
    since: Since = None,
    until: Until = None,
    pinned: Pinned = False,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    cursor: str | None = None,
) -> BrowseResult:
    """Return mounts, the folders above and right below a prefix with their counts, and files by filters."""


class ExplainBody(RequestBody):
    """The arguments of a search by memory_find, and the path of a file."""

    model_config = example(query="which tea does she like?", path="user/profile.md")

    query: str
    path: str
    limit: int = 10
    project: str | None = None
    prefix: str | None = None
    tags: list[str] | None = None
    mode: SearchMode | None = None
    as_of: AsOf | None = None


@PAIR.operation(
    "memory_find_explain",
    summary="Say why a search shows a file, or does not",
    admin_description="Explain a search for the user in Memex-User, or of shared/ and all projects.",
)
def explain_find(body: ExplainBody) -> ExplainFindResult:
    """Return rank and score of a file in a search, which words it has and lacks, and which filters leave it out."""


@PAIR.operation(
    "memory_changes",
    summary="List the newest changes",
    admin_description="Return what changed last for the user in Memex-User, or in shared/ and all projects.",
)
def list_changes(
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    until: Annotated[AwareDatetime | None, Query(description="Only changes made before this time.")] = None,
) -> ChangesResult:
    """Return the newest commits to all that the caller reads, the newest first; as_of goes back to one."""


@PAIR.operation(
    "memory_topics",
    summary="List topics",
    admin_description="Return the tags that the user in Memex-User sees, or those of shared/ and projects.",
)
def list_topics(
    project: Annotated[str | None, Query(description="Only the tags of this project.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> TopicsResult:
    """Return the tags of files with how many files bear each, those of most files first."""


@PAIR.operation(
    "memory_journal",
    summary="Look through the journal",
    admin_description="Return what the journal of the user in Memex-User holds.",
)
def show_journal(
    month: Annotated[str | None, Query(description="List the days of this month, such as 2026-11.")] = None,
    day: Annotated[str | None, Query(description="List the entries of this day, such as 2026-11-27.")] = None,
    path: Annotated[
        str | None, Query(description="Read one entry, with the lines of pages that were made from it.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: str | None = None,
) -> JournalResult:
    """Return how many entries each month has, and with month, day or path what stands there.

    An entry is a text as it was told: `told_again` says when the same text was told again.
    """
