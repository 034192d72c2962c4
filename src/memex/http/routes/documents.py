"""Documents: files of a client's folder, compared, sent, found, read and removed."""

from typing import Annotated, Any

from fastapi import Path, Query

from memex.http.routers import RouterPair
from memex.service.documents.pushing import (
    FinishArguments,
    FinishResult,
    ManifestResult,
    PutDocumentsResult,
    RemoveRootResult,
)
from memex.service.documents.reading import (
    FindDocumentsArguments,
    FindDocumentsResult,
    ListDocumentsResult,
    RootsResult,
)
from memex.service.documents.results import DocumentTextResult
from memex.service.documents.watching import (
    RequestSyncArguments,
    RequestSyncResult,
    WatchArguments,
    WatchResult,
)

PAIR = RouterPair("/documents", "documents")

NDJSON = "application/x-ndjson"
DIGEST = "9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab"


def _lines(example: str) -> dict[str, Any]:
    content = {NDJSON: {"schema": {"type": "string"}, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


Root = Annotated[str, Query(description="The name of the folder, such as `repo`.")]
Project = Annotated[
    str | None,
    Query(description="The project that the folder belongs to; without it the user's own documents."),
]
SomeProject = Annotated[
    str | None, Query(description="Only this project; by default all that the user may read.")
]
Sync = Annotated[
    int | None, Query(description="The number of the sync, as the first page of it was answered.")
]


@PAIR.operation(
    "document_manifest",
    summary="Compare a folder with its documents",
    admin_description="Compare for the user in Memex-User, or for a project.",
    openapi_extra=_lines(f'{{"path": "docs/a.md", "sha256": "{DIGEST}"}}\n'),
)
def compare_documents(
    root: Root,
    project: Project = None,
    client: Annotated[str | None, Query(description="Who syncs, such as a random id of the process.")] = None,
    sync: Sync = None,
    after: Annotated[str | None, Query(description="The page holds the paths behind this one.")] = None,
    until: Annotated[
        str | None, Query(description="The last path of the page, if more pages follow.")
    ] = None,
) -> ManifestResult:
    """Return which files of a folder are wanted, and which documents are gone. The first page begins a sync.

    The body is JSON lines, a file a line with `path` and `sha256`, ascending by path: at most 50,000 lines and
    8 MiB. A longer manifest comes in pages; without `after` and `until` the page is the whole folder.
    """


@PAIR.operation(
    "document_put",
    summary="Send documents",
    admin_description="Store documents for the user in Memex-User, or for a project.",
    openapi_extra=_lines(f'{{"path": "docs/a.md", "sha256": "{DIGEST}", "text": "# Tea\\n"}}\n'),
)
def put_documents(
    root: Root,
    project: Project = None,
    sync: Sync = None,
    prune: Annotated[bool, Query(description="Also if more than half of the documents are gone.")] = False,
) -> PutDocumentsResult:
    """Store files, each whole with its index, and all of a request or none. The same again changes nothing.

    The body is JSON lines, a file a line, at most 1,000 files and 8 MiB: `path` and `sha256` with `text`, or with
    `renamed_from`, or `path` with `is_removed`. A text that does not fit its digest, or holds a secret, is refused
    alone, and `files` of the answer says so.
    """


@PAIR.operation(
    "document_finish",
    summary="Finish a sync of documents",
    admin_description="Finish a sync for the user in Memex-User, or for a project.",
)
def finish_documents(body: FinishArguments) -> FinishResult:
    """Remove the documents that the manifest of a sync lacked, at most 1,000 in a call; then the root is complete.

    If more than half of the documents are gone, nothing is removed without `prune`.
    """


@PAIR.operation(
    "document_watch",
    summary="Say that a folder is watched",
    admin_description="Say it of a root of the user in Memex-User, or of a project.",
)
def watch_documents(body: WatchArguments) -> WatchResult:
    """Say that a client watches a root, and learn when somebody last asked for a sync.

    A client asks again after `next_in_s` seconds, and counts as gone 30 seconds after its last request.
    """


@PAIR.operation(
    "document_request_sync",
    summary="Ask for a sync of documents",
    admin_description="Ask for the user in Memex-User, or for a project.",
)
def request_document_sync(body: RequestSyncArguments) -> RequestSyncResult:
    """Ask the clients that watch the roots of a project for a sync; without a project, those of the user's own.

    They begin within seconds; `completed_at` of a root says when a sync last ended.
    """


@PAIR.operation(
    "document_list",
    summary="List documents",
    admin_description="Return documents of the user in Memex-User, and of projects.",
)
def list_documents(
    project: SomeProject = None,
    root: Annotated[str | None, Query(description="Only this root.")] = None,
    prefix: Annotated[str | None, Query(description="Only paths that begin so.")] = None,
    tag: Annotated[str | None, Query(description="Only documents with this tag.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    cursor: str | None = None,
) -> ListDocumentsResult:
    """Return documents by root and path, without their texts."""


@PAIR.operation(
    "document_roots",
    summary="List roots of documents",
    admin_description="Return the roots of the user in Memex-User, and of projects.",
)
def list_document_roots(project: SomeProject = None) -> RootsResult:
    """Return the folders that are mirrored: their state, what they hold, and what the client left out."""


@PAIR.operation(
    "document_remove",
    summary="Remove a root of documents",
    admin_description="Remove a root of the user in Memex-User, or of a project.",
)
def remove_document_root(
    root: Annotated[str, Path(description="The name of the folder.")],
    project: Project = None,
    dry_run: Annotated[bool, Query(description="Count the documents, and remove nothing.")] = False,
) -> RemoveRootResult:
    """Remove a root with all its documents and all that is derived of them. The files on the client stay."""


@PAIR.operation(
    "document_read",
    summary="Read a document",
    admin_description="Return a document of the user in Memex-User, or of a project.",
)
def read_document(
    root: Root, path: Annotated[str, Query(description="The path within the root.")], project: Project = None
) -> DocumentTextResult:
    """Return a document with its text, as it was pushed last."""


@PAIR.operation(
    "document_find",
    summary="Find documents",
    admin_description="Search the documents of the user in Memex-User, and of projects.",
)
def find_documents(body: FindDocumentsArguments) -> FindDocumentsResult:
    """Return the best passage of each document that fits a query, by words."""
