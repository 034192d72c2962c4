"""Look at documents: roots, lists, one with its text, and passages that fit a query."""

from typing import Annotated

from pydantic import Field

from memex.service.conversations.reading import CoverageResult
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
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.tools.cursor import from_cursor, to_cursor
from memex.service.tools.tool import Arguments, ReadAnswer, StorableText, example
from memex.store.access import Access, Scope
from memex.store.conversations.vectors import coverage, have_vectors
from memex.store.documents.find import find_documents
from memex.store.documents.read import DocumentPlace, list_documents, read_document
from memex.store.documents.records import DocumentFilters
from memex.store.documents.roots import list_roots
from memex.store.markdown import tag_key

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
    """Find documents by words, and by meaning where they have vectors: the best passage of each.

    Filters: `root`, `prefix` of the path, and `tags`. With `project`, the user's own documents and those of this
    project are searched; without it those of all projects of the user, at most 20.
    """

    model_config = example(query="How is it deployed?")

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
    """Roots by name: the user's own, and those of projects.

    `vectors` counts the passages of all these documents, and is null without an embedder or documents.
    """

    roots: list[RootResult]
    vectors: CoverageResult | None


class ListDocumentsResult(ReadAnswer):
    """Documents by root and path; `next_cursor` leads to the next page."""

    documents: list[DocumentResult]
    next_cursor: str | None


class FindDocumentsResult(ReadAnswer):
    """The best passage of each document that fits a query, the best first; `by_vectors`: in meaning too."""

    hits: list[DocumentHitResult]
    by_vectors: bool = False


async def _roots(call: OperationCall, arguments: RootsArguments) -> LoggedAnswer[RootsResult]:
    """Return roots with their state, which is not logged.

    Raises:
        ProjectNotFound: the user has no such project.
    """
    scopes = _scopes(call.access, arguments.project)
    async with call.database.transaction(call.access.limited_to(scopes)) as connection:
        found = await list_roots(connection, scopes)
        vectors = None
        if scopes and (embedder := call.service.embedder) is not None and call.database.has_vectors:
            covered = [await coverage(connection, scope, embedder.name) for scope in scopes]
            vectors = CoverageResult(
                model=embedder.name,
                passages=sum(one.passages for one in covered),
                embedded=sum(one.embedded for one in covered),
            )
    result = RootsResult(roots=[root_result(root, call.access, call.now) for root in found], vectors=vectors)
    return LoggedAnswer(result, None)


async def _list(call: OperationCall, arguments: ListDocumentsArguments) -> LoggedAnswer[ListDocumentsResult]:
    """Return documents by root and path, and log how many.

    Raises:
        ValidationFailed: the cursor is malformed.
        ProjectNotFound: the user has no such project.
    """
    scopes = _scopes(call.access, arguments.project)
    after = None
    if arguments.cursor is not None:
        after = DocumentPlace(*from_cursor(arguments.cursor, int, str, str))
    narrowed = call.access.limited_to(scopes)
    async with call.database.transaction(narrowed, snapshot=True) as connection:
        found, ends_at = await list_documents(
            connection, scopes, arguments.filters, limit=arguments.limit, after=after
        )
    result = ListDocumentsResult(
        documents=[document_result(document) for document in found],
        next_cursor=to_cursor(ends_at.scope, ends_at.root, ends_at.path) if ends_at else None,
    )
    return LoggedAnswer(result, {"documents": len(found)})


async def _read(call: OperationCall, arguments: ReadDocumentArguments) -> LoggedAnswer[DocumentTextResult]:
    """Return a document with its text, and log which.

    Raises:
        DocumentNotFound, ProjectNotFound: there is no such document, or project of the user.
    """
    scope = call.access.documents_at(arguments.mount)
    narrowed = call.access.limited_to(() if scope is None else (scope,))
    async with call.database.transaction(narrowed) as connection:
        document, text = await read_document(connection, scope, arguments.root, arguments.path)
    result = DocumentTextResult(document=document_result(document), text=text)
    shown = {"document": f"{document.reference}@{document.version}"}
    return LoggedAnswer(result, shown)


async def _find(call: OperationCall, arguments: FindDocumentsArguments) -> LoggedAnswer[FindDocumentsResult]:
    """Return the passages of documents that fit a query best, and log which.

    Raises:
        ProjectNotFound: the user has no such project.
    """
    scopes = call.access.documents_searched(arguments.project)
    narrowed = call.access.limited_to(scopes)
    embedder = call.service.query_embedder
    vector = await embedder.of_embedded(arguments.query, narrowed, have_vectors, call.log.call)
    async with call.database.transaction(narrowed, snapshot=True) as connection:
        _, found = await find_documents(
            connection, scopes, arguments.query, arguments.filters, limit=arguments.limit, vector=vector
        )
    result = FindDocumentsResult(hits=[hit_result(hit) for hit in found], by_vectors=vector is not None)
    shown = {"documents": [f"{hit.document.reference}@{hit.document.version}" for hit in found]}
    return LoggedAnswer(result, shown)


def _scopes(access: Access, project: str | None) -> tuple[Scope, ...]:
    """Return where the documents of a project are; without one all that the caller may read."""
    if project is None:
        return access.documents
    scope = access.documents_at(mount_of(project))
    return () if scope is None else (scope,)


ROOTS = LoggedOperation("document_roots", RootsArguments, RootsResult, _roots)
LIST = LoggedOperation("document_list", ListDocumentsArguments, ListDocumentsResult, _list)
READ = LoggedOperation("document_read", ReadDocumentArguments, DocumentTextResult, _read)
FIND = LoggedOperation("document_find", FindDocumentsArguments, FindDocumentsResult, _find, guards_query=True)
