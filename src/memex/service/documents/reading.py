"""Look at documents: roots, lists, one with its text, and passages that fit a query."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from memex.service.call import Caller
from memex.service.documents.lines import DocumentPath
from memex.service.documents.pushing import RootArguments, RootName, Slug, mount_of
from memex.service.documents.results import (
    DocumentHitResult,
    DocumentResult,
    DocumentTextResult,
    RootResult,
    document_result,
    hit_result,
    root_result,
)
from memex.service.secrets.guard import guard
from memex.service.service import Service
from memex.service.tools.tool import (
    Arguments,
    ReadAnswer,
    StorableText,
    Tool,
    from_cursor,
    to_cursor,
)
from memex.store.access import Access, Scope
from memex.store.documents.find import find_documents
from memex.store.documents.read import DocumentPlace, list_documents, read_document
from memex.store.documents.records import DocumentFilters
from memex.store.documents.roots import list_roots
from memex.store.log.call import CallAnswer
from memex.store.markdown import tag_key

ROOTS, LIST, READ, FIND = "document_roots", "document_list", "document_read", "document_find"
Tags = Annotated[list[Annotated[StorableText, Field(max_length=100)]], Field(max_length=20)]


class RootsArguments(Arguments):
    """List the roots of a project; without one the user's own, and those of all projects of the user."""

    project: Slug | None = None


class ListDocumentsArguments(Arguments):
    """List documents by root and path. Filters: `project`, `root`, `prefix` of the path, and `tag`."""

    project: Slug | None = None
    root: RootName | None = None
    prefix: Annotated[StorableText, Field(max_length=1_000)] = ""
    tag: Annotated[StorableText | None, Field(max_length=100)] = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100
    cursor: str | None = None

    @property
    def filters(self) -> DocumentFilters:
        """The filters as the store takes them."""
        return DocumentFilters(self.root, self.prefix, () if self.tag is None else (tag_key(self.tag),))


class ReadDocumentArguments(RootArguments):
    """Read a document."""

    path: DocumentPath


class FindDocumentsArguments(Arguments):
    """Find documents by words: the best passage of each.

    Filters: `root`, `prefix` of the path, and `tags`. With `project`, the user's own documents and those of this
    project are searched; without it those of all projects of the user, at most 20.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "How is it deployed?"}]})

    query: Annotated[StorableText, Field(min_length=1, max_length=10_000)]
    project: Slug | None = None
    root: RootName | None = None
    prefix: Annotated[StorableText, Field(max_length=1_000)] = ""
    tags: Tags = Field(default_factory=list)
    limit: Annotated[int, Field(ge=1, le=100)] = 10

    @property
    def filters(self) -> DocumentFilters:
        """The filters as the store takes them."""
        return DocumentFilters(self.root, self.prefix, tuple(sorted(map(tag_key, self.tags))))


class RootsResult(ReadAnswer):
    """Roots by name: the user's own, and those of projects."""

    roots: list[RootResult]


class ListDocumentsResult(ReadAnswer):
    """Documents by root and path; `next_cursor` leads to the next page."""

    documents: list[DocumentResult]
    next_cursor: str | None


class FindDocumentsResult(ReadAnswer):
    """The best passage of each document that fits a query, the best first."""

    hits: list[DocumentHitResult]


async def roots(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> RootsResult:
    """Return roots with their state, which is not logged.

    Raises:
        ProjectNotFound: the user has no such project.
    """
    asked = _given(given)
    async with service.recorder.recorded(caller, ROOTS, asked, tool_call_id=tool_call_id) as log:
        arguments = ROOTS_TOOL.parse(asked)
        scopes = _scopes(caller.access, arguments.project)
        async with service.database.transaction(caller.access.for_documents(scopes)) as connection:
            found = await list_roots(connection, scopes)
    return RootsResult(
        tool_call_id=log.call.request.tool_call_id,
        roots=[root_result(one, caller.access, log.call.request.now) for one in found],
    )


async def list_all(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> ListDocumentsResult:
    """Return documents by root and path, and log how many.

    Raises:
        ValidationFailed: an argument is wrong.
        ProjectNotFound: the user has no such project.
    """
    asked = _given(given)
    async with service.recorder.recorded(caller, LIST, asked, tool_call_id=tool_call_id) as log:
        arguments = LIST_TOOL.parse(asked)
        scopes = _scopes(caller.access, arguments.project)
        after = None
        if arguments.cursor is not None:
            after = DocumentPlace(*from_cursor(arguments.cursor, int, str, str))
        narrowed = caller.access.for_documents(scopes)
        async with service.database.transaction(narrowed, snapshot=True) as connection:
            found, ends_at = await list_documents(
                connection, scopes, arguments.filters, limit=arguments.limit, after=after
            )
        result = ListDocumentsResult(
            documents=[document_result(one) for one in found],
            next_cursor=to_cursor(ends_at.scope, ends_at.root, ends_at.path) if ends_at else None,
        )
        answer = CallAnswer(result.body(), arguments.canonical(), {"documents": len(found)})
        await log.add("answered", answer)
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


async def read(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> DocumentTextResult:
    """Return a document with its text, and log which.

    Raises:
        ValidationFailed: an argument is wrong.
        DocumentNotFound, ProjectNotFound: there is no such document, or project of the user.
    """
    asked = _given(given)
    async with service.recorder.recorded(caller, READ, asked, tool_call_id=tool_call_id) as log:
        arguments = READ_TOOL.parse(asked)
        scope = caller.access.documents_at(arguments.mount)
        narrowed = caller.access.for_documents(() if scope is None else (scope,))
        async with service.database.transaction(narrowed) as connection:
            document, text = await read_document(connection, scope, arguments.root, arguments.path)
        result = DocumentTextResult(document=document_result(document), text=text)
        shown = {"document": f"{document.reference}@{document.version}"}
        await log.add("answered", CallAnswer(result.body(), arguments.canonical(), shown))
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


async def find(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None = None
) -> FindDocumentsResult:
    """Return the passages of documents that fit a query best, and log which.

    Raises:
        ValidationFailed: an argument is wrong.
        ProjectNotFound: the user has no such project.
    """
    asked = _given(given)
    if isinstance(asked.get("query"), str):
        guarded = await guard(service.policies_of(caller), "memory_find", {"query": asked["query"]})
        asked["query"] = guarded.used["query"]
    async with service.recorder.recorded(caller, FIND, asked, tool_call_id=tool_call_id) as log:
        arguments = FIND_TOOL.parse(asked)
        scopes = caller.access.documents_searched(arguments.project)
        narrowed = caller.access.for_documents(scopes)
        async with service.database.transaction(narrowed, snapshot=True) as connection:
            _, found = await find_documents(
                connection, scopes, arguments.query, arguments.filters, limit=arguments.limit
            )
        result = FindDocumentsResult(hits=[hit_result(one) for one in found])
        shown = {"documents": [f"{one.document.reference}@{one.document.version}" for one in found]}
        await log.add("answered", CallAnswer(result.body(), arguments.canonical(), shown))
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


def _scopes(access: Access, project: str | None) -> tuple[Scope, ...]:
    """Return where the documents of a project are; without one all that the caller may read."""
    if project is None:
        return access.documents
    scope = access.documents_at(mount_of(project))
    return () if scope is None else (scope,)


def _given(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


ROOTS_TOOL: Tool[RootsArguments] = Tool(ROOTS, RootsArguments, RootsResult)
LIST_TOOL: Tool[ListDocumentsArguments] = Tool(LIST, ListDocumentsArguments, ListDocumentsResult)
READ_TOOL: Tool[ReadDocumentArguments] = Tool(READ, ReadDocumentArguments, DocumentTextResult)
FIND_TOOL: Tool[FindDocumentsArguments] = Tool(FIND, FindDocumentsArguments, FindDocumentsResult)
