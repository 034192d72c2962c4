"""Which conversations are stored, and as they were read when."""

from collections.abc import Sequence

from memex.store.access import Access
from memex.store.database import Database, rows


async def known_conversations(
    database: Database, access: Access, conversation_ids: Sequence[str]
) -> dict[str, tuple[bytes, int]]:
    """Return of those that are stored whole the digest of what was read, and the version of the reader, by id."""
    if access.conversations is None:
        return {}
    async with database.transaction(access.for_conversations()) as connection:
        read = await rows(
            connection,
            "conversations/conversation_known",
            scope_id=access.conversations.scope_id,
            conversation_ids=list(conversation_ids),
        )
    return {
        record["conversation_id"]: (bytes(record["sha256"]), record["reader_version"])
        for record in read
        if record["is_complete"]
    }
