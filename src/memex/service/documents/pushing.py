"""Push documents: compare a folder with what is stored, send what is wanted, and remove what is gone."""

from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from memex.errors import DocumentNotFound, ValidationFailed
from memex.service.call import Caller
from memex.service.documents.lines import (
    ROOT_PATTERN,
    FileLine,
    check_document_path,
    parse_files,
    parse_manifest,
    to_documents,
)
from memex.service.documents.results import project_of
from memex.service.service import Service
from memex.service.tools.tool import Arguments, ReadAnswer, ResultPart, StorableText, Tool, ToolResult
from memex.store.access import Access, Scope
from memex.store.documents import roots
from memex.store.documents.put import put_documents
from memex.store.documents.records import NewDocument, RootState
from memex.store.log.call import CallAnswer
from memex.store.text_pool import offload
from memex.store.writes import statistics

COMPARE, PUT, FINISH, REMOVE = "document_manifest", "document_put", "document_finish", "document_remove"
MAX_EXAMPLES = 200
MAX_REASONS = 100

RootName = Annotated[str, Field(pattern=ROOT_PATTERN)]
Slug = Annotated[StorableText, Field(min_length=1, max_length=200)]
SyncNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]
Reason = Annotated[StorableText, Field(min_length=1, max_length=100)]
Count = Annotated[int, Field(ge=0, lt=1 << 53)]


class RootArguments(Arguments):
    """A root of documents: of a project, or without one the user's own."""

    root: RootName
    project: Slug | None = None

    @property
    def mount(self) -> str:
        """Whose the root is."""
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

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "root": "repo",
                    "sync": 1,
                    "left_out": {"secret": 1},
                    "examples": [{"path": ".env", "reason": "secret"}],
                }
            ]
        }
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
    """How a page of a folder's files differs from what is stored.

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
    """What became of a file; `code` and `message` say why it was refused."""

    path: str
    change: Literal["created", "changed", "renamed", "unchanged", "removed", "refused"]
    code: str | None
    message: str | None


class PutDocumentsResult(ToolResult):
    """What became of the files of a request, in their order. `stored` counts the documents of the root now."""

    root: str
    project: str | None
    files: list[PutDocumentResult]
    stored: int
    passages_added: int


class FinishResult(ToolResult):
    """What was removed. While `remaining` is above 0, the same request again removes more."""

    root: str
    project: str | None
    state: RootState
    removed: int
    remaining: int
    documents: int
    passages: int


class RemoveRootResult(ToolResult):
    """How many documents and passages were removed, or would be."""

    root: str
    project: str | None
    documents: int
    passages: int
    dry_run: bool


def mount_of(project: str | None) -> str:
    """Return the mount of a project; without one that of the user."""
    return "user" if project is None else f"projects/{project}"


async def compare(
    service: Service,
    caller: Caller,
    given: dict[str, Any],
    body: bytes,
    *,
    tool_call_id: str | None = None,
) -> ManifestResult:
    """Compare a page of a manifest with what is stored; the first page begins a sync.

    Nothing is logged but a refusal: what a sync changes is logged where it is changed.

    Args:
        service: the service.
        caller: who pushes.
        given: as ManifestArguments has it.
        body: JSON lines, a file a line, ascending by path.
        tool_call_id: the id under which a refusal is logged.

    Raises:
        ValidationFailed: an argument or a line is malformed.
        ProjectNotFound: the user has no such project.
        Forbidden: another user owns the root.
        SyncInProgress, SyncSuperseded: another sync of the root is under way, or has begun since.
    """
    asked = _given(given)
    async with service.recorder.recorded(caller, COMPARE, asked, tool_call_id=tool_call_id) as log:
        arguments = COMPARE_TOOL.parse(asked)
        for bound in (arguments.after, arguments.until):
            if bound is not None:
                _check_bound(bound)
        files = parse_manifest(body, after=arguments.after, until=arguments.until)
        access, scope = await _opened(service, caller, arguments)
        done = await roots.compare(
            service.database,
            access,
            scope,
            arguments.root,
            files,
            now=log.call.request.now,
            client=arguments.client,
            sync=arguments.sync,
            after=arguments.after,
            until=arguments.until,
        )
    return ManifestResult(
        tool_call_id=log.call.request.tool_call_id,
        root=arguments.root,
        project=project_of(scope.mount),
        sync=done.sync,
        wanted=[WantedDocument(path=one.path, same_as=list(one.same_as)) for one in done.wanted],
        gone=list(done.gone),
        unchanged=done.unchanged,
        stored=done.stored,
    )


async def put(
    service: Service,
    caller: Caller,
    given: dict[str, Any],
    body: bytes,
    *,
    tool_call_id: str | None = None,
) -> PutDocumentsResult:
    """Store files, each whole with its index, and all of a request or none; log how many changed.

    Args:
        service: the service.
        caller: who pushes.
        given: as PutArguments has it.
        body: JSON lines, a file a line; see `FileLine`.
        tool_call_id: the id under which the call is logged.

    Raises:
        ValidationFailed: an argument or a line is malformed.
        ProjectNotFound: the user has no such project.
        Forbidden: another user owns the root.
        SyncSuperseded: a later sync of the root has begun.
        MostlyGone: more than half of the documents are said to be gone.
        LimitExceeded: there would be too many documents, or texts.
    """
    asked = _given(given)
    async with service.recorder.recorded(caller, PUT, asked, tool_call_id=tool_call_id) as log:
        arguments = PUT_TOOL.parse(asked)
        lines = parse_files(body)
        access, scope = await _opened(service, caller, arguments)
        finds_secrets = service.policies_of(caller).files != "off"
        files = await offload.run(len(body), _to_documents, lines, finds_secrets)
        done = await put_documents(
            service.database,
            access,
            scope,
            arguments.root,
            files,
            now=log.call.request.now,
            limits=service.document_limits,
            sync=arguments.sync,
            prune=arguments.prune,
        )
        result = PutDocumentsResult(
            root=arguments.root,
            project=project_of(scope.mount),
            files=[
                PutDocumentResult(
                    path=one.path,
                    change=one.change,
                    code=one.refusal[0] if one.refusal else None,
                    message=one.refusal[1] if one.refusal else None,
                )
                for one in done.files
            ],
            stored=done.stored,
            passages_added=done.passages_added,
        )
        changes = Counter(one.change for one in done.files)
        if changes.keys() - {"unchanged"}:
            logged = {"changes": dict(changes), "passages_added": done.passages_added}
            await log.add("answered", CallAnswer(result.body(), asked, logged))
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


async def finish(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> FinishResult:
    """End a sync: remove what its manifest lacked, and say that the root is complete.

    Raises:
        ValidationFailed: an argument is malformed.
        DocumentNotFound, ProjectNotFound: there is no such root, or project of the user.
        Forbidden: another user owns the root.
        SyncSuperseded: a later sync of the root has begun.
        MostlyGone: more than half of the documents are gone.
    """
    asked = _given(given)
    shown = {name: value for name, value in asked.items() if name not in ("examples", "left_out", "patterns")}
    async with service.recorder.recorded(caller, FINISH, shown, tool_call_id=tool_call_id) as log:
        arguments = FINISH_TOOL.parse(asked)
        removal, root = await roots.finish(
            service.database,
            caller.access,
            _scope(caller.access, arguments),
            arguments.root,
            arguments.sync,
            now=log.call.request.now,
            prune=arguments.prune,
            left_out=arguments.left_out,
            examples=[one.model_dump() for one in arguments.examples],
            patterns=arguments.patterns,
        )
        result = FinishResult(
            root=arguments.root,
            project=arguments.project,
            state=root.state,
            removed=removal.documents,
            remaining=removal.remaining,
            documents=root.documents,
            passages=root.passages,
        )
        await log.add("answered", CallAnswer(result.body(), shown, result.body()))
    await statistics.refresh(service.database)
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


async def remove(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> RemoveRootResult:
    """Remove a root with all its documents and all that is derived of them.

    Raises:
        ValidationFailed: an argument is malformed.
        DocumentNotFound, ProjectNotFound: there is no such root, or project of the user.
        Forbidden: another user owns the root.
        SyncSuperseded: a sync of the root began meanwhile.
    """
    asked = _given(given)
    async with service.recorder.recorded(caller, REMOVE, asked, tool_call_id=tool_call_id) as log:
        arguments = REMOVE_TOOL.parse(asked)
        scope = _scope(caller.access, arguments)
        removal = await roots.remove_root(
            service.database, caller.access, scope, arguments.root, is_dry_run=arguments.dry_run
        )
        result = RemoveRootResult(
            root=arguments.root,
            project=arguments.project,
            documents=removal.documents,
            passages=removal.passages,
            dry_run=arguments.dry_run,
        )
        await log.add("answered", CallAnswer(result.body(), asked, result.body()))
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


def _to_documents(lines: list[FileLine], finds_secrets: bool) -> list[NewDocument]:
    return to_documents(lines, finds_secrets=finds_secrets)


async def _opened(service: Service, caller: Caller, arguments: RootArguments) -> tuple[Access, Scope]:
    """Return an access with the documents of the user or the project, made if there are none yet."""
    access = await service.identities.open_documents(caller, arguments.mount)
    scope = access.documents_at(arguments.mount)
    if scope is None:  # the project was closed at this moment
        raise DocumentNotFound(f"There are no documents of {arguments.mount}.")
    return access, scope


def _scope(access: Access, arguments: RootArguments) -> Scope:
    scope = access.documents_at(arguments.mount)
    if scope is None:
        raise roots.not_found(arguments.root)
    return scope


def _check_bound(path: str) -> None:
    try:
        check_document_path(path)
    except ValueError as error:
        raise ValidationFailed(f"after and until are paths: the path {error}.") from None


def _given(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


COMPARE_TOOL: Tool[ManifestArguments] = Tool(COMPARE, ManifestArguments, ManifestResult)
PUT_TOOL: Tool[PutArguments] = Tool(PUT, PutArguments, PutDocumentsResult)
FINISH_TOOL: Tool[FinishArguments] = Tool(FINISH, FinishArguments, FinishResult)
REMOVE_TOOL: Tool[RemoveRootArguments] = Tool(REMOVE, RemoveRootArguments, RemoveRootResult)
