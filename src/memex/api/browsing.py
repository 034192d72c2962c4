"""A memory as a person looks through it, from Python: `await memory.browse("user/notes/", kind="tasks")`."""

from datetime import datetime

from memex.api.protocol import MemexApi
from memex.call_context import CallContext
from memex.service.search.changes import ChangesResult
from memex.service.vaults.browsing import BrowseResult, FileKind


class BrowsableMemory:
    """The part of `UserMemory` that looks through mounts and folders."""

    def __init__(self, api: MemexApi, context: CallContext) -> None:
        self._api = api
        self._context = context

    async def browse(
        self,
        prefix: str = "",
        *,
        kind: FileKind | None = None,
        tag: str | None = None,
        actor: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        pinned: bool = False,
        limit: int = 100,
        cursor: str | None = None,
        tool_call_id: str | None = None,
    ) -> BrowseResult:
        """Return mounts and folders with the number of their files, and the files that pass all filters.

        `kind` is that of the statements in a file that `remember` writes, or `other` for all other files.
        `actor` is who wrote the newest version. `since` and `until` have a zone.
        """
        given = {
            "prefix": prefix,
            "kind": kind,
            "tag": tag,
            "actor": actor,
            "since": since,
            "until": until,
            "pinned": pinned,
            "limit": limit,
            "cursor": cursor,
        }
        return BrowseResult.model_validate(await self._api.browse(self._context.under(tool_call_id), given))

    async def changes(
        self, *, limit: int = 50, until: datetime | None = None, tool_call_id: str | None = None
    ) -> ChangesResult:
        """Return the newest changes of all mounts, the newest first; `as_of` takes the time of one."""
        found = await self._api.changes(self._context.under(tool_call_id), limit=limit, until=until)
        return ChangesResult.model_validate(found)
