"""Memory from Python: the same tools, in this process or over HTTP, with typed results.

async with Memex() as memex:  # or Memex(url="http://127.0.0.1:8630", api_key="mx_…")
    memory = memex.for_user("alice", actor="support-bot")
    await memory.remember("I prefer oolong tea.")
    print((await memory.context("Which tea?")).context)
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, Unpack

from memex.api.browsing import BrowsableMemory
from memex.api.conversations import Conversations
from memex.api.dreams import Dreams
from memex.api.erasures import Erasures
from memex.api.local import OwnedMemex, with_database
from memex.api.protocol import MemexApi
from memex.api.remote import RemoteMemex
from memex.api.removed import Removed
from memex.api.review import Review
from memex.api.search import Search
from memex.api.user_calls import AsOf, operation, tool
from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.http_client import TIMEOUT_S
from memex.service.log.call_list import CallQuery
from memex.service.log.operations import OperationResult, OperationsResult
from memex.service.log.replay.counterfactual import ChangedResult, ReplayChanges
from memex.service.log.replay.replay import ReplayResult
from memex.service.log.revert_all import RevertAllResult
from memex.service.search.links import LinksResult
from memex.service.tools.context import DEFAULT_BUDGET, ContextResult
from memex.service.tools.file_edits import PatchResult, PlacedResult, WriteResult
from memex.service.tools.files import FindResult, ListResult, ReadResult
from memex.service.tools.remember_answer import RememberResult
from memex.service.tools.revisions import DiffResult, HistoryResult, RevertResult
from memex.service.tools.write_many import WriteManyResult
from memex.settings import Band, FindMode, Include, read_settings
from memex.toolcalls import including
from memex.wiring import running_service


class Memex:
    """A Memex in this process, or with a `url` one over HTTP.

    One in this process starts with the first call, and ends with `close` or `async with`.

    Args:
        url: of a running service, such as `http://127.0.0.1:8630`; by default MEMEX_URL, or else none.
        api_key: for that service; by default MEMEX_API_KEY.
        timeout_s: seconds that one request over HTTP may take.
        database_url: a Postgres ≥ 15; by default DATABASE_URL, or else the embedded one.
        data_dir: where the embedded Postgres keeps its data; by default MEMEX_DATA_DIR, or else ~/.memex.
        tenant: whose memory it is; made when it is missing. Over HTTP the key says it.

    Raises:
        ValidationFailed: a `url` without a key, or beside a database.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        database_url: str | None = None,
        data_dir: str | Path | None = None,
        tenant: str = "default",
    ) -> None:
        settings = read_settings()
        is_here = database_url is not None or data_dir is not None
        if url is not None and is_here:
            raise ValidationFailed(
                "A Memex is over HTTP or in this process.", hint="Give url, or database_url or data_dir."
            )
        url = url if url is not None or is_here else settings.url
        self._api: OwnedMemex | RemoteMemex
        if url is not None:
            key = api_key or (settings.api_key.get_secret_value() if settings.api_key else "")
            if not key:
                raise ValidationFailed(
                    f"There is no key for {url}.",
                    hint="Give api_key, or set MEMEX_API_KEY; `memex keys create` makes one.",
                )
            self._api = RemoteMemex(url, key, timeout_s=timeout_s)
        else:
            own = with_database(settings, database_url, data_dir)
            start = partial(running_service, own, with_worker=True)
            self._api = OwnedMemex(start, tenant, role="agent", is_tenant_made=True)

    async def __aenter__(self) -> Self:
        """Start; raises StoreUnavailable or SchemaTooNew, whose hint says what to do."""
        await self._api.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End."""
        await self.close()

    async def close(self) -> None:
        """Close the connections, and give the share of the embedded Postgres back."""
        await self._api.close()

    def for_user(
        self,
        user_id: str | None = None,
        *,
        actor: str | None = None,
        project: str | None = None,
        include: Include = None,
    ) -> "UserMemory":
        """Return the memory of one user, as an agent has it.

        Args:
            user_id: yours, 1 to 200 printable characters. It is never taken from a model. None is for a key over
                HTTP that is bound to its user.
            actor: who acts for the user, such as the program's name; kept with what it writes.
            project: the slug of the one that the work is about, by default for each call.
            include: what contexts hold beside memory, such as `["conversations"]`, also through an integration.
        """
        return UserMemory(self._api, CallContext(user_id, actor, project), include=include)


class UserMemory(BrowsableMemory):
    """One user's memory. Every method is one tool call, logged under `tool_call_id`, generated when absent.

    A write with an id is done once: sent again it gives the first answer. With `as_of` a reading method answers
    from memory as it stood then. All raise `MemexError`s with a `code` and a hint.
    """

    def __init__(self, api: MemexApi, context: CallContext, *, include: Include = None) -> None:
        super().__init__(api, context)
        self._include = include
        self.removed = Removed(api, context)  # lines that were taken out of files
        self.erasures = Erasures(api, context)  # words that are erased for good, which no agent's key may do
        self.waiting = Review(api, context)  # what waits for a person, and decisions about it
        self.dreams = Dreams(api, context)  # what may be tidied, as proposals
        self.search = Search(api, context)  # why a search shows a file, or does not
        self.conversations = Conversations(api, context)  # evidence, beside memory

    @tool("memory_remember")
    async def remember(
        self,
        text: str | None = None,
        *,
        outdated: Sequence[str] = (),
        both_hold: Sequence[str] = (),
        project: str | None = None,
        dry_run: bool = False,
        statements: bool = False,
        dry_run_id: str | None = None,
        wait: bool = True,
        said_at: date | str | None = None,
        valid_from: date | str | None = None,
        valid_until: date | str | None = None,
        tool_call_id: str | None = None,
    ) -> RememberResult:
        """File the statements of a text, up to 200,000 characters, in one commit; `dry_run` only shows it.

        With `statements` a dry run lists them. `dry_run_id` writes what that one showed, or raises `PlanChanged`.
        `outdated` takes out stored statements that no longer hold, by the handles that an earlier answer gives in
        its `rivals` and `candidates`; `both_hold` says of such statements that they hold beside the newer one. At
        most 10 handles count. Without any the text is required.
        `said_at` is the day, or the `datetime` with its zone, at which the text was said; by default that is now.
        `valid_from` and `valid_until` are the first and the last day on which it holds; contexts of other days
        leave it out.

        Without `wait` the answer is `queued` at once, and the text is written in the background, by this Memex or
        another one on the same database. The same call again, under its `tool_call_id`, says what became of it.
        """

    @tool("memory_context")
    async def context(
        self,
        query: str,
        *,
        budget: int = DEFAULT_BUDGET,
        project: str | None = None,
        max_hops: int = 1,
        known_hash: str | None = None,
        as_of: AsOf | None = None,
        planner: Literal["builtin"] | None = None,
        min_confidence: Band | None = None,
        include: Include = None,
        tool_call_id: str | None = None,
    ) -> ContextResult:
        """Return what memory holds about a question: verbatim, at most `budget` characters, with its sources."""

    @tool("memory_find")
    async def find(
        self,
        query: str,
        *,
        limit: int = 10,
        project: str | None = None,
        prefix: str | None = None,
        tags: Sequence[str] = (),
        mode: FindMode | None = None,
        min_score: float | None = None,
        as_of: AsOf | None = None,
        include: Include = None,
        tool_call_id: str | None = None,
    ) -> FindResult:
        """Return the files that answer a query best; in mode `vectors`, those of a cosine from `min_score` on."""

    @tool("memory_read")
    async def read(
        self,
        path: str,
        *,
        heading: str | None = None,
        span: tuple[int, int] | None = None,
        version: int | None = None,
        as_of: AsOf | None = None,
        tool_call_id: str | None = None,
    ) -> ReadResult:
        """Return a file, the section under a heading, or a span of it."""

    @tool("memory_list")
    async def list(
        self,
        prefix: str = "",
        *,
        limit: int = 100,
        cursor: str | None = None,
        as_of: AsOf | None = None,
        tool_call_id: str | None = None,
    ) -> ListResult:
        """Return files by path, a page at a time."""

    @tool("memory_write")
    async def write(
        self,
        path: str,
        content: str,
        *,
        reason: str | None = None,
        base_version: int | None = None,
        overwrite: bool = False,
        tool_call_id: str | None = None,
    ) -> WriteResult:
        """Write a whole file: a new one, the successor of `base_version`, or with `overwrite` any."""

    @tool("memory_patch")
    async def patch(
        self,
        path: str,
        operation: Literal["append", "insert", "replace"],
        text: str,
        *,
        heading: str | None = None,
        match: str | None = None,
        reason: str | None = None,
        base_version: int | None = None,
        tool_call_id: str | None = None,
    ) -> PatchResult:
        """Append, insert, or replace text that occurs exactly once."""

    @tool("memory_move")
    async def move(
        self,
        path: str,
        to: str,
        *,
        reason: str | None = None,
        base_version: int | None = None,
        tool_call_id: str | None = None,
    ) -> PlacedResult:
        """Put a file at another path, inside its mount with its history."""

    @tool("memory_delete")
    async def delete(
        self,
        path: str,
        *,
        reason: str | None = None,
        base_version: int | None = None,
        tool_call_id: str | None = None,
    ) -> PlacedResult:
        """Delete a file; its versions stay and can be restored."""

    @tool("memory_write_many")
    async def write_many(
        self, edits: Sequence[Mapping[str, Any]], *, tool_call_id: str | None = None
    ) -> WriteManyResult:
        """Write, patch, move and delete up to 500 files in one commit, or none if one edit does not fit.

        Each edit has a `kind` and the arguments of `write`, `patch`, `move` or `delete`, and sees what the edits
        before it did: `{"kind": "write", "path": "user/tea.md", "content": "Oolong."}`. An error names the edit by
        its index, in `details["member"]`.
        """

    @tool("memory_links")
    async def links(
        self,
        path: str,
        *,
        direction: Literal["out", "in", "both"] = "both",
        depth: int = 1,
        as_of: AsOf | None = None,
        tool_call_id: str | None = None,
    ) -> LinksResult:
        """Return the links from and to a file."""

    @tool("memory_history")
    async def history(
        self, path: str, *, limit: int = 100, cursor: str | None = None, tool_call_id: str | None = None
    ) -> HistoryResult:
        """Return a file's versions, the newest first."""

    @tool("memory_diff")
    async def diff(
        self,
        path: str,
        *,
        from_version: int | None = None,
        to_version: int | None = None,
        tool_call_id: str | None = None,
    ) -> DiffResult:
        """Return what changed between two versions, by default the newest and the one before."""

    @tool("memory_restore")
    async def restore(
        self,
        path: str,
        version: int,
        *,
        reason: str | None = None,
        base_version: int | None = None,
        tool_call_id: str | None = None,
    ) -> PlacedResult:
        """Put an earlier version back as the next one."""

    @operation("memory_revert", reverted="tool_call_id")
    async def revert(
        self, reverted: str, *, reason: str | None = None, tool_call_id: str | None = None
    ) -> RevertResult:
        """Undo everything that the call `reverted` wrote, all or nothing."""

    @operation("memory_revert_all")
    async def revert_all(
        self, *, actor: str, since: datetime, confirm: str | None = None, tool_call_id: str | None = None
    ) -> RevertAllResult:
        """Return what undoing all that an actor wrote since a time would change; with its `confirm`, do it.

        Raises:
            PreviewOutdated: something changed since the preview.
        """

    async def operations(
        self, query: CallQuery | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> OperationsResult:
        """Return the calls that a query asks for, by default all of the user, the newest first."""
        given = (query or CallQuery()).given
        return await self._run(OperationsResult, "memory_operations", **given, limit=limit, cursor=cursor)

    async def operation(self, tool_call_id: str) -> Sequence[OperationResult]:
        """Return the attempts at one call, the newest first, with the operations inside each."""
        found = await self._api.call(self._context, "memory_operation", {"tool_call_id": tool_call_id})
        return [*map(OperationResult.model_validate, found["attempts"])]

    async def replay(
        self, tool_call_id: str, **changed: Unpack[ReplayChanges]
    ) -> ReplayResult | ChangedResult:
        """Run a call again in the state that it saw, offline, and compare it byte for byte; nothing is written.

        With something changed, return the call beside what it would have come to: see `ReplayChange`.
        """
        changes = {name: value for name, value in changed.items() if value is not None}
        result = await self._api.call(
            self._context, "memory_replay", {"tool_call_id": tool_call_id, **changes}
        )
        return (ChangedResult if changes else ReplayResult).model_validate(result)

    async def execute(
        self, tool: str, arguments: Mapping[str, Any], *, tool_call_id: str | None = None
    ) -> dict[str, Any]:
        """Run a tool by its name with arguments as a model gave them, and return its result as JSON."""
        context = self._context.under(tool_call_id)
        return await self._api.execute(context, tool, including(tool, arguments, self._include))
