"""The chunks of all messages of a scope once more, from their texts: for an index that is made anew."""

from collections.abc import AsyncIterator

from memex.store.conversations.indexing import index_messages
from memex.store.conversations.records import NewMessage
from memex.store.database import Connection, rows
from memex.store.search.index import FileIndex
from memex.store.text_pool import offload


async def derive_messages(
    connection: Connection, scope_id: int, language: str
) -> AsyncIterator[list[tuple[int, FileIndex]]]:
    """Yield the ids of a scope's messages with their chunks, in batches: their texts are never held together."""
    after = 0
    while read := await rows(connection, "upkeep/reindex_messages", scope_id=scope_id, after=after):
        messages = [
            (row["title"], NewMessage("", row["role"], row["text"], said_at=row["said_at"])) for row in read
        ]
        size_bytes = sum(row["size_bytes"] for row in read)
        derived = await offload.run(size_bytes, index_messages, messages, language)
        yield [(row["message_id"], index) for row, index in zip(read, derived, strict=True)]
        after = read[-1]["message_id"]
