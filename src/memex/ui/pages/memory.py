"""The files of a memory: mounts and folders, and a list with filters."""

import re
from typing import Annotated, Any

from fastapi import Query, Response

from memex.errors import InvalidPath, ProjectNotFound, UnknownMount, ValidationFailed
from memex.service.vaults.browsing import KINDS
from memex.ui.filters import ListFilters, LongText, day_in
from memex.ui.page import Page, PageRequest, page_router
from memex.ui.pages.first_minute.connect import OWN_PROGRAM, connect_values

router = page_router("/memory")

FILES = 100  # on one page
TOPICS = 30  # of most files
_JOURNAL_DAY = re.compile(r"(user/journal/\d{4}-\d\d)-\d\d/")
NOTHING: dict[str, Any] = {"mounts": [], "parents": [], "folders": [], "files": [], "next_cursor": None}


class FileListFilters(ListFilters):
    """Filters of the list of files; `folder` is the place that is shown, and no filter."""

    folder: LongText = ""
    kind: LongText = ""
    tag: LongText = ""
    actor: LongText = ""
    since: LongText = ""
    until: LongText = ""
    pinned: LongText = ""

    @property
    def named(self) -> dict[str, str]:
        """The filters by name."""
        return self.model_dump(exclude={"cursor", "folder"})


@router.get("")
async def show_files(page: Page, query: Annotated[FileListFilters, Query()]) -> Response:
    """Return the folders, and the files that pass the filters; each of them is in the address."""
    found = await _browse(page, query)
    entries = sum(month["entries"] for month in (await page.call("memory_journal", {}))["months"])
    found["folders"] = _with_months(found["folders"])
    topics = (await page.call("memory_topics", {"limit": TOPICS}))["topics"]
    return page.render(
        "memory.html",
        block="files",
        found=found,
        topics=[topic for topic in topics if topic["files"]],
        folder=query.folder,
        filters=query.named,
        is_filtered=any(query.named.values()),
        kinds=KINDS,
        holds_files=bool(entries) or any(mount["files"] for mount in found["mounts"]),
        entries=entries,
        **connect_values(page, OWN_PROGRAM, None),
    )


async def _browse(page: PageRequest, query: FileListFilters) -> dict[str, Any]:
    arguments = {
        "prefix": query.folder,
        "kind": query.kind or None,
        "tag": query.tag or None,
        "actor": query.actor or None,
        "since": day_in(query.since),
        "until": day_in(query.until, is_end=True),
        "pinned": query.pinned == "true",
        "limit": FILES,
        "cursor": query.cursor,
    }
    try:
        return await page.call("memory_browse", arguments)
    except (InvalidPath, ProjectNotFound, UnknownMount, ValidationFailed):
        if not page.is_partial:
            raise
        return NOTHING  # who types has not finished the path


def _with_months(folders: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return folders with the days of the journal put together in months."""
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        day = _JOURNAL_DAY.fullmatch(folder["path"])
        path = day[1] if day else folder["path"]
        known = found.setdefault(path, folder | {"path": path, "files": 0})
        known["files"] += folder["files"]
        known["updated_at"] = max(known["updated_at"], folder["updated_at"])
    return list(found.values())
