"""Passages of documents, as a kind of section beside memory: of the user, and of the projects that are searched."""

from collections.abc import Sequence

from memex.service.documents.results import project_of
from memex.service.included.sections import SectionKind
from memex.store.access import Access
from memex.store.conversations.indexing import day_of
from memex.store.conversations.vectors import have_vectors
from memex.store.database import Connection
from memex.store.documents.find import find_documents, read_passages
from memex.store.documents.records import DocumentHit
from memex.store.records import QueryVector, Reference
from memex.store.search.bm25 import Query
from memex.subagent.included import FoundPassage

SENTENCE = "From documents, as they stand in their folders: files that were mirrored, and no memory."
PASSAGES = 3  # of one document at most


def _opened(access: Access, project: str | None) -> Access | None:
    scopes = access.documents_searched(project)
    return access.limited_to(scopes) if scopes else None


async def _find(
    connection: Connection, access: Access, query: str, limit: int, vector: QueryVector | None
) -> tuple[Query | None, list[FoundPassage]]:
    weighed, found = await find_documents(
        connection, access.scopes, query, limit=limit, passages=PASSAGES, vector=vector
    )
    return weighed, [_passage(document) for document in found]


async def _read(
    connection: Connection, access: Access, references: Sequence[Reference]
) -> dict[Reference, FoundPassage]:
    standing = await read_passages(connection, access.scopes, references)
    return {reference: _passage(one) for reference, one in standing.items()}


def _passage(hit: DocumentHit) -> FoundPassage:
    document = hit.document
    name = (
        document.path.rpartition("/")[2].removesuffix(".md").replace("·", "-")
    )  # it ends no part of the header
    heading = " > ".join(hit.heading).replace("·", "-")  # likewise
    return FoundPassage(
        reference=Reference(document.reference, document.version, hit.span),
        text=hit.text,
        about=tuple(filter(None, (name, heading, day_of(document.changed_at)))),
        heading=tuple(hit.heading),
        score=hit.score,
        share=hit.share,
        similarity=hit.similarity,
        details={
            "kind": "document",
            "root": document.root,
            "project": project_of(document.mount),
            "document": document.path,
            "heading": list(hit.heading),
            "title": document.title,
            "tags": list(document.tags),
            "updated_at": document.updated_at.isoformat(),
        },
    )


DOCUMENTS = SectionKind(
    name="documents",
    reason="document",
    sentence=SENTENCE,
    opened=_opened,
    find=_find,
    read=_read,
    are_embedded=have_vectors,
)
