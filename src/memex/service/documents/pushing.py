"""Push documents: compare a folder with what is stored, send what is wanted, and remove what is gone."""

from collections import Counter
from typing import Annotated, Literal

from pydantic import Field

from memex.errors import DocumentNotFound, ValidationFailed
from memex.service.conversations.putting import Count, Reason
from memex.service.documents.lines import (
    ROOT_PATTERN,
    check_document_path,
    parse_files,
    parse_manifest,
    to_documents,
)
from memex.service.documents.results import project_of
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.tool import Arguments, ReadAnswer, ResultPart, StorableText, ToolResult, example
from memex.store.access import Access, Scope
from memex.store.documents import roots
from memex.store.documents.put import put_documents
from memex.store.documents.records import RootState
from memex.store.text_pool import offload
from memex.store.writes import statistics

MAX_EXAMPLES = 200
MAX_REASONS = 100

RootName = Annotated[str, Field(pattern=ROOT_PATTERN)]
Slug = Annotated[StorableText, Field(min_length=1, max_length=200)]
SyncNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]


class RootArguments(Arguments):
    """A root of documents: of a project, or without one the user's own."""

    root: RootName
    project: Slug | None = None

    @property
    def mount(self) -> str:
        """The mount of the root: that of the project, or of the user."""
        return mount_of(self.project)


class ManifestArguments(RootArguments):
    """A page of a manifest: the paths behind `after`, and up to `until`."""

    client: Annotated[StorableText, Field(max_length=100)] = ""
    sync: SyncNumber | None = None
    after: Annotated[StorableText | None, Field(max_length=1_000)] = None
    until: Annotated[StorableText | None, Field(max_length=1_000)] = None


class PutArguments(RootArguments):
    """Files of a root, of a sync or between two."""

    sync: SyncNumber | None = None
    prune: bool = False


class LeftOutInput(Arguments):
    """A file that the client left out, and why; its name may be one that no document can have."""

    path: Annotated[StorableText, Field(min_length=1, max_length=1_000)]
    reason: Reason


class FinishArguments(RootArguments):
    """The end of a sync: what the manifest lacked is removed.

    `left_out` counts the files that the client left out, by reason, and `examples` are some of them. `patterns` say
    which files the client looks at. All three are only shown.
    """

    model_config = example(
        root="repo", sync=1, left_out={"secret": 1}, examples=[{"path": ".env", "reason": "secret"}]
    )

    sync: SyncNumber
    prune: bool = False
    left_out: Annotated[dict[Reason, Count], Field(max_length=MAX_REASONS)] = Field(default_factory=dict)
    examples: Annotated[list[LeftOutInput], Field(max_length=MAX_EXAMPLES)] = Field(default_factory=list)
    patterns: Annotated[
        list[Annotated[StorableText, Field(max_length=200)]] | None, Field(max_length=200)
    ] = None


class RemoveRootArguments(RootArguments):
    """A root that is removed with all its documents; a dry run counts them."""

    dry_run: bool = False


class WantedDocument(ResultPart):
    """A file whose text is wanted; `same_as` are paths of the root under which the same text is stored."""

    path: str
    same_as: list[str]


class ManifestResult(ReadAnswer):
    """The difference between a page of a folder's files and what is stored.

    `wanted` are the files whose text is wanted, `gone` the stored paths that the page lacks, `unchanged` counts the
    others of the page, and `stored` the documents of the whole root. `sync` is the number of the sync.
    """

    root: str
    project: str | None
    sync: int
    wanted: list[WantedDocument]
    gone: list[str]
    unchanged: int
    stored: int


class PutDocumentResult(ResultPart):
    """The outcome of a file; `code` and `message` say why it was refused."""

    path: str
    change: Literal["created", "changed", "renamed", "unchanged", "removed", "refused"]
    code: str | None
    message: str | None


class PutDocumentsResult(ToolResult):
    """The outcomes of a request's files, in their order. `stored` counts the documents of the root now."""

    root: str
    project: str | None
    files: list[PutDocumentResult]
    stored: int
    passages_added: int


class FinishResult(ToolResult):
    """The removed documents. While `remaining` is above 0, the same request again removes more."""

    root: str
    project: str | None
    state: RootState
    removed: int
    remaining: int
    documents: int
    passages: int


class RemoveRootResult(ToolResult):
    """The number of documents and passages that were removed, or would be."""

    root: str
    project: str | None
    documents: int
    passages: int
    dry_run: bool


def mount_of(project: str | None) -> str:
    """Return the mount of a project; without one that of the user."""
    return "user" if project is None else f"projects/{project}"


async def _compare(call: OperationCall, arguments: ManifestArguments) -> LoggedAnswer[ManifestResult]:
    """Compare a page of a manifest, a file a line and ascending by path, with what is stored.

    The first page begins a sync. Nothing is logged but a refusal: `document_put` and `document_finish` log what a
    sync changes.

    Raises:
        ValidationFailed: a line is malformed.
        ProjectNotFound: the user has no such project.
        Forbidden: another user owns the root.
        SyncInProgress, SyncSuperseded: another sync of the root is under way, or has begun since.
    """
    for bound in (arguments.after, arguments.until):
        if bound is not None:
            _check_bound(bound)
    files = parse_manifest(call.lines, after=arguments.after, until=arguments.until)
    access, scope = await _opened(call, arguments)
    done = await roots.compare(
        call.database,
        access,
        scope,
        arguments.root,
        files,
        now=call.now,
        **arguments.model_dump(include={"client", "sync", "after", "until"}),
    )
    result = ManifestResult(
        root=arguments.root,
        project=project_of(scope.mount),
        sync=done.sync,
        wanted=list(map(WantedDocument.taken_from, done.wanted)),
        gone=list(done.gone),
        unchanged=done.unchanged,
        stored=done.stored,
    )
    return LoggedAnswer(result, None)


async def _put(call: OperationCall, arguments: PutArguments) -> LoggedAnswer[PutDocumentsResult]:
    """Store files, a line each (see `FileLine`), and all of a request or none; log how many changed.

    Raises:
        ValidationFailed: a line is malformed.
        ProjectNotFound: the user has no such project.
        Forbidden: another user owns the root.
        SyncSuperseded: a later sync of the root has begun.
        MostlyGone: more than half of the documents are said to be gone.
        LimitExceeded: there would be too many documents, or texts.
    """
    lines = parse_files(call.lines)
    access, scope = await _opened(call, arguments)
    finds_secrets = call.service.policies_of(call.caller).files != "off"
    files = await offload.run(len(call.lines), to_documents, lines, finds_secrets)
    done = await put_documents(
        call.database,
        access,
        scope,
        arguments.root,
        files,
        now=call.now,
        limits=call.service.document_limits,
        sync=arguments.sync,
        prune=arguments.prune,
    )
    result = PutDocumentsResult(
        root=arguments.root,
        project=project_of(scope.mount),
        files=[
            PutDocumentResult(
                path=file.path,
                change=file.change,
                code=file.refusal[0] if file.refusal else None,
                message=file.refusal[1] if file.refusal else None,
            )
            for file in done.files
        ],
        stored=done.stored,
        passages_added=done.passages_added,
    )
    changes = Counter(file.change for file in done.files)
    logged = {"changes": dict(changes), "passages_added": done.passages_added}
    return LoggedAnswer(result, logged if changes.keys() - {"unchanged"} else None)


async def _finish(call: OperationCall, arguments: FinishArguments) -> LoggedAnswer[FinishResult]:
    """End a sync: remove what its manifest lacked, and say that the root is complete.

    Raises:
        DocumentNotFound, ProjectNotFound: there is no such root, or project of the user.
        Forbidden: another user owns the root.
        SyncSuperseded: a later sync of the root has begun.
        MostlyGone: more than half of the documents are gone.
    """
    removal, root = await roots.finish(
        call.database,
        call.access,
        scope_of_root(call.access, arguments),
        arguments.root,
        arguments.sync,
        now=call.now,
        **arguments.model_dump(include={"prune", "left_out", "examples", "patterns"}),
    )
    await statistics.refresh(call.database)
    result = FinishResult(
        root=arguments.root,
        project=arguments.project,
        state=root.state,
        removed=removal.documents,
        remaining=removal.remaining,
        documents=root.documents,
        passages=root.passages,
    )
    return LoggedAnswer(result, result.body())


async def _remove(call: OperationCall, arguments: RemoveRootArguments) -> LoggedAnswer[RemoveRootResult]:
    """Remove a root with all its documents and all that is derived of them.

    Raises:
        DocumentNotFound, ProjectNotFound: there is no such root, or project of the user.
        Forbidden: another user owns the root.
        SyncSuperseded: a sync of the root began meanwhile.
    """
    scope = scope_of_root(call.access, arguments)
    removal = await roots.remove_root(
        call.database, call.access, scope, arguments.root, is_dry_run=arguments.dry_run
    )
    result = RemoveRootResult(
        root=arguments.root,
        project=arguments.project,
        documents=removal.documents,
        passages=removal.passages,
        dry_run=arguments.dry_run,
    )
    return LoggedAnswer(result, result.body())


async def _opened(call: OperationCall, arguments: RootArguments) -> tuple[Access, Scope]:
    """Return an access with the documents of the user or the project, made if there are none yet."""
    access = await call.service.identities.open_documents(call.caller, arguments.mount)
    scope = access.documents_at(arguments.mount)
    if scope is None:  # the project was closed at this moment
        raise DocumentNotFound(f"There are no documents of {arguments.mount}.")
    return access, scope


def scope_of_root(access: Access, arguments: RootArguments) -> Scope:
    """Return the scope that may hold a root; raises DocumentNotFound if there is none."""
    scope = access.documents_at(arguments.mount)
    if scope is None:
        raise roots.not_found(arguments.root)
    return scope


def _check_bound(path: str) -> None:
    try:
        check_document_path(path)
    except ValueError as error:
        raise ValidationFailed(f"after and until are paths: the path {error}.") from None


COMPARE = LoggedOperation("document_manifest", ManifestArguments, ManifestResult, _compare)
PUT = LoggedOperation("document_put", PutArguments, PutDocumentsResult, _put)
FINISH = LoggedOperation(
    "document_finish",
    FinishArguments,
    FinishResult,
    _finish,
    unlogged=frozenset({"examples", "left_out", "patterns"}),
)
REMOVE = LoggedOperation("document_remove", RemoveRootArguments, RemoveRootResult, _remove)
