"""Documents from Python: `memory.documents.find("how is it deployed")`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memex.api.user_calls import UserCalls, operation
from memex.service.documents.pushing import (
    FinishResult,
    ManifestResult,
    PutDocumentsResult,
    RemoveRootResult,
)
from memex.service.documents.reading import FindDocumentsResult, ListDocumentsResult, RootsResult
from memex.service.documents.results import DocumentTextResult
from memex.service.documents.watching import RequestSyncResult, WatchResult


class Documents(UserCalls):
    """The documents of one user, and of the projects that the user is a member of.

    With `project` a method is about the documents of this project, and without it about the user's own.
    """

    @operation("document_manifest", lines="files")
    async def compare(
        self,
        root: str,
        files: Iterable[Mapping[str, Any]],
        *,
        project: str | None = None,
        client: str = "",
        sync: int | None = None,
        after: str | None = None,
        until: str | None = None,
    ) -> ManifestResult:
        """Compare a folder with what is stored; the first page of a manifest begins a sync.

        Args:
            root: the name of the folder.
            files: of the folder, ascending by path, each with `path` and `sha256` (of the text in UTF-8, as hex);
                at most 50,000 in a page.
            project: whose documents they are.
            client: who syncs, such as a random id of the process.
            sync: the number of the sync, for all pages but the first.
            after: the page holds the paths behind this one.
            until: the last path of the page, if more pages follow.

        Raises:
            SyncInProgress: another client is syncing the root.
            SyncSuperseded: a later sync has begun.
            Forbidden: another user owns the root.
        """

    @operation("document_put", lines="files")
    async def put(
        self,
        root: str,
        files: Iterable[Mapping[str, Any]],
        *,
        project: str | None = None,
        sync: int | None = None,
        prune: bool = False,
        tool_call_id: str | None = None,
    ) -> PutDocumentsResult:
        """Store files, each whole with its index, and all of a request or none.

        At most 1,000 files have `path` and `sha256` with `text`, or with `renamed_from`, or `path` with
        `is_removed`; `tags` and `changed_at` if wanted. They may belong to a `sync`. With `prune` they are stored
        also if more than half of the documents are gone.

        Raises:
            MostlyGone: more than half of the documents would go.
            SyncSuperseded: a later sync has begun.
            Forbidden: another user owns the root.
            LimitExceeded: there would be too many documents.
        """

    @operation("document_finish")
    async def finish(
        self,
        root: str,
        sync: int,
        *,
        project: str | None = None,
        prune: bool = False,
        left_out: Mapping[str, int] | None = None,
        examples: Sequence[Mapping[str, str]] = (),
        patterns: Sequence[str] | None = None,
        tool_call_id: str | None = None,
    ) -> FinishResult:
        """Remove what the manifest of a sync lacked, and end the sync; again while `remaining` is above 0.

        `left_out` counts the files that the client left out, by reason, and `examples` are some of them with `path`
        and `reason`. `patterns` say which files the client looks at. All three are only shown.

        Raises:
            MostlyGone: more than half of the documents are gone, and `prune` is not set.
            SyncSuperseded: a later sync has begun.
        """

    @operation("document_watch")
    async def watch(self, root: str, *, project: str | None = None, is_over: bool = False) -> WatchResult:
        """Say that this client watches a root, or no longer does, and return when somebody last asked for a sync.

        A client asks every `next_in_s` seconds, and syncs when `wanted_at` is another time than before.

        Raises:
            DocumentNotFound: there is no such root.
            Forbidden: another user owns the root.
        """

    @operation("document_request_sync")
    async def request_sync(
        self, *, project: str | None = None, tool_call_id: str | None = None
    ) -> RequestSyncResult:
        """Ask the clients that watch the roots of a project for a sync; they begin within seconds.

        Without a project, the clients are asked that watch the user's own roots.
        """

    @operation("document_roots")
    async def roots(self, project: str | None = None) -> RootsResult:
        """Return the roots of a project; without one the user's own, and those of all the user's projects."""

    @operation("document_list")
    async def list(
        self,
        *,
        project: str | None = None,
        root: str | None = None,
        prefix: str = "",
        tag: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        tool_call_id: str | None = None,
    ) -> ListDocumentsResult:
        """Return documents by root and path, without their texts; without a project, all that the user may read."""

    @operation("document_read")
    async def read(
        self, root: str, path: str, *, project: str | None = None, tool_call_id: str | None = None
    ) -> DocumentTextResult:
        """Return a document with its text; raises DocumentNotFound if there is none."""

    @operation("document_find")
    async def find(
        self,
        query: str,
        *,
        project: str | None = None,
        root: str | None = None,
        prefix: str = "",
        tags: Sequence[str] = (),
        limit: int = 10,
        tool_call_id: str | None = None,
    ) -> FindDocumentsResult:
        """Return the best passage of each document that fits a query, by words.

        With `project`, the user's own documents and those of this project are searched; without it those of all
        projects of the user, at most 20.
        """

    @operation("document_remove")
    async def remove(
        self,
        root: str,
        *,
        project: str | None = None,
        dry_run: bool = False,
        tool_call_id: str | None = None,
    ) -> RemoveRootResult:
        """Remove a root with all its documents; the files of the folder stay. `dry_run` only counts.

        Raises:
            DocumentNotFound: there is no such root.
            Forbidden: another user owns the root.
        """
