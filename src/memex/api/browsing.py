"""A memory as a person looks through it, from Python: `await memory.browse("user/notes/", kind="tasks")`."""

from datetime import datetime

from memex.api.documents import Documents
from memex.api.protocol import MemexApi
from memex.api.user_calls import UserCalls, operation
from memex.api.work.work import Work
from memex.call_context import CallContext
from memex.service.journal.reading import JournalResult
from memex.service.search.changes import ChangesResult
from memex.service.search.topics import TopicsResult
from memex.service.tools.prompt_block import PromptBlockResult, PromptProfile
from memex.service.vaults.browsing import BrowseResult, FileKind


class BrowsableMemory(UserCalls):
    """The part of `UserMemory` that looks through mounts and folders, and at work, and that begins a prompt."""

    def __init__(self, api: MemexApi, context: CallContext) -> None:
        super().__init__(api, context)
        self.documents = Documents(api, context)  # files of folders, mirrored beside memory
        self.work = Work(api, context)  # where work stands, as sessions with agents say

    async def catalogue(self, *, max_chars: int = 8_000) -> str:
        """Return a line for each file, at most `max_chars` characters."""
        found = await self._api.call(self._context, "memory_catalogue", {"max_chars": max_chars})
        return str(found["catalogue"])

    @operation("prompt_block")
    async def prompt_block(
        self,
        *,
        budget: int | None = None,
        project: str | None = None,
        profile: PromptProfile | None = None,
        who: int | None = None,
        tool_call_id: str | None = None,
    ) -> PromptBlockResult:
        """Return a text for a system prompt: how to use the memory, what is pinned for all, what there is.

        With `who` it begins with lines, of so many characters at most, that say who the user is.
        """

    @operation("memory_browse")
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

    @operation("memory_changes")
    async def changes(
        self, *, limit: int = 50, until: datetime | None = None, tool_call_id: str | None = None
    ) -> ChangesResult:
        """Return the newest changes of all mounts, the newest first; `as_of` takes the time of one."""

    @operation("memory_journal")
    async def journal(
        self,
        *,
        month: str | None = None,
        day: str | None = None,
        path: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        tool_call_id: str | None = None,
    ) -> JournalResult:
        """Return how many texts that were told each month has, and the days of a month or the entries of a day.

        `month` is such as `2026-11`, `day` such as `2026-11-27`, and `path` that of one entry, which then comes
        with the lines of pages that were made from it.

        Raises:
            FileNotFound: there is no entry at the path.
        """

    @operation("memory_topics")
    async def topics(
        self, project: str | None = None, *, limit: int = 100, tool_call_id: str | None = None
    ) -> TopicsResult:
        """Return the tags of a project, or of all files, with how many files bear each; most files first.

        Raises:
            ProjectNotFound: the user has no such project.
        """
