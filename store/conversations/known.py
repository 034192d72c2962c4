"""Which conversations are stored, and as they were read when."""

from collections.abc import Sequence
from datetime import datetime

from memex.store.access import Access
from memex.store.database import Database, rows
from memex.store.sql import sql


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


async def known_files(database: Database, access: Access, digests: Sequence[bytes]) -> set[bytes]:
    """Return those of some files, by their digests, that were read to their end."""
    if access.conversations is None or not digests:
        return set()
    async with database.transaction(access.for_conversations()) as connection:
        read = await rows(
            connection,
            "conversations/file_known",
            scope_id=access.conversations.scope_id,
            sha256s=list(digests),
        )
    return {bytes(record["sha256"]) for record in read}


async def note_files(database: Database, access: Access, digests: Sequence[bytes], *, now: datetime) -> None:
    """Note files that were read to their end, by their digests."""
    if access.conversations is None or not digests:
        return
    async with database.transaction(access.for_conversations()) as connection:
        await connection.execute(
            sql("conversations/file_add"),
            {
                "scope_id": access.conversations.scope_id,
                "tenant_id": access.tenant_id,
                "sha256s": list(digests),
                "read_at": now,
            },
        )
