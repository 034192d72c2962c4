"""Read documents: lists by root and path, and one with its text."""

from collections.abc import Sequence
from dataclasses import dataclass

from memex.errors import DocumentNotFound
from memex.store.access import Scope
from memex.store.database import Connection, row, rows
from memex.store.documents.find import document_of
from memex.store.documents.records import DocumentFilters, MirroredDocument


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """The place of a document in a list: that of its scope among those listed, its root and its path."""

    scope: int
    root: str
    path: str


async def list_documents(
    connection: Connection,
    scopes: Sequence[Scope],
    filters: DocumentFilters,
    *,
    limit: int,
    after: DocumentPlace | None = None,
) -> tuple[list[MirroredDocument], DocumentPlace | None]:
    """Return documents by scope, root and path, and where the next page begins; None after the last.

    `after` is where the page before ended.
    """
    if not scopes:
        return [], None
    read = await rows(
        connection,
        "documents/document_page",
        scope_ids=[scope.scope_id for scope in scopes],
        after_place=after.scope if after else None,
        after_root=after.root if after else None,
        after_path=after.path if after else None,
        limit=limit + 1,
        **filters.parameters(),
    )
    page = read[:limit]
    mounts = {scope.scope_id: scope.mount for scope in scopes}
    ends_at = None
    if len(read) > limit:
        last = page[-1]
        ends_at = DocumentPlace(last["place"], last["root"], last["path"])
    return [document_of(record, mounts[record["scope_id"]]) for record in page], ends_at


async def read_document(
    connection: Connection, scope: Scope | None, root: str, path: str
) -> tuple[MirroredDocument, str]:
    """Return a document and its text; raises DocumentNotFound if there is none."""
    found = None
    if scope is not None:
        found = await row(
            connection, "documents/document_read", scope_id=scope.scope_id, root=root, path=path
        )
    if scope is None or found is None:
        raise DocumentNotFound(f"There is no document {path!r} in a root {root!r} here.")
    return document_of(found, scope.mount), found["text"]
