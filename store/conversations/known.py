"""Records of the conversations and files that were read before, and of their state at that time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.store.access import Access
from memex.store.database import Database, rows, rows_as
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


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read to its end.

    Attributes:
        sha256: a digest of the content and of how it was read.
        lineage: a digest of how the file begins; None for a file that does not just grow.
        bookmark: where its reader has stopped, as the reader wrote it.
    """

    sha256: bytes
    lineage: bytes | None = None
    bookmark: Mapping[str, Any] | None = None


async def known_files(database: Database, access: Access, files: Sequence[ReadFile]) -> list[ReadFile]:
    """Return what is known of some files: those that were read before, and where their readers have stopped."""
    if access.conversations is None or not files:
        return []
    async with database.transaction(access.for_conversations()) as connection:
        return await rows_as(
            _read_file,
            connection,
            "conversations/file_known",
            scope_id=access.conversations.scope_id,
            sha256s=[file.sha256 for file in files],
            lineages=[file.lineage for file in files if file.lineage is not None],
        )


async def count_removed(database: Database, access: Access) -> dict[str, int]:
    """Return how many conversations of the user were removed and stay out, by their format."""
    if access.conversations is None:
        return {}
    async with database.transaction(access.for_conversations()) as connection:
        found = await rows(connection, "conversations/removed_count", scope_id=access.conversations.scope_id)
    return {record["kind"]: record["removed"] for record in found}


async def note_files(database: Database, access: Access, files: Sequence[ReadFile], *, now: datetime) -> None:
    """Note files that were read to their end."""
    if access.conversations is None or not files:
        return
    async with database.transaction(access.for_conversations()) as connection:
        await connection.execute(
            sql("conversations/file_add"),
            {
                "scope_id": access.conversations.scope_id,
                "tenant_id": access.tenant_id,
                "sha256s": [file.sha256 for file in files],
                "lineages": [file.lineage for file in files],
                "bookmarks": [json.dumps(file.bookmark) if file.bookmark else None for file in files],
                "read_at": now,
            },
        )


def _read_file(sha256: bytes, lineage: bytes | None, bookmark: Mapping[str, Any] | None) -> ReadFile:
    return ReadFile(bytes(sha256), bytes(lineage) if lineage is not None else None, bookmark)
