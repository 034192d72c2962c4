"""The chunks of all documents of a scope once more, from their texts: for an index that is made anew."""

from collections.abc import AsyncIterator

from memex.store.database import Connection, rows
from memex.store.documents.indexing import DocumentToIndex, index_documents
from memex.store.search.index import FileIndex
from memex.store.text_pool import offload


async def derive_documents(
    connection: Connection, scope_id: int, language: str
) -> AsyncIterator[list[tuple[int, FileIndex]]]:
    """Yield the ids of a scope's documents with their chunks, in batches: their texts are never held together."""
    after = 0
    while read := await rows(connection, "documents/reindex_page", scope_id=scope_id, after=after):
        documents = [
            DocumentToIndex(row["path"], row["kind"], row["text"], tuple(row["given_tags"])) for row in read
        ]
        size_bytes = sum(row["size_bytes"] for row in read)
        derived = await offload.run(size_bytes, index_documents, documents, language)
        yield [
            (row["document_id"], index)
            for row, index in zip(read, derived, strict=True)
            if isinstance(index, FileIndex)
        ]
        after = read[-1]["document_id"]
