"""Remove conversations with everything that is derived of them, one transaction each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memex.store.access import Access, Scope
from memex.store.conversations.indexing import chunk_frequencies
from memex.store.conversations.ingest import removal_digest
from memex.store.conversations.records import SourceName
from memex.store.database import Database, rows
from memex.store.search.analyzer import analyzer_of
from memex.store.search.index import FileIndex, StoredChunk, index_version
from memex.store.sql import sql
from memex.store.text_pool import offload
from memex.store.writes import pending
from memex.store.writes.commit import DerivedRows, write_derived

MAX_ANALYSED = 5_000  # chunks of a conversation whose lexemes are made again to remove them


@dataclass(frozen=True, slots=True)
class RemovableConversation:
    """A conversation that a selection names, with what it holds."""

    conversation_id: str
    title: str
    provider_id: str
    source: SourceName
    last_at: datetime | None
    messages: int
    text_bytes: int


@dataclass(frozen=True, slots=True)
class RemovedConversation:
    """A removed conversation, and how much was removed of it."""

    conversation_id: str
    messages: int
    passages: int
    text_bytes: int


async def select_conversations(
    database: Database,
    access: Access,
    *,
    conversation_ids: Sequence[str] | None = None,
    source: str | None = None,
    before: datetime | None = None,
) -> list[RemovableConversation]:
    """Return the conversations that all of the conditions name; None is no condition.

    `source` is a label. A conversation of no known time never ended `before` one.
    """
    if access.conversations is None:
        return []
    async with database.transaction(access.for_conversations()) as connection:
        read = await rows(
            connection,
            "conversations/conversation_select",
            scope_id=access.conversations.scope_id,
            conversation_ids=None if conversation_ids is None else list(conversation_ids),
            source=source,
            before=before,
        )
    return [
        RemovableConversation(
            record["conversation_id"],
            record["title"],
            record["provider_id"],
            SourceName(record["kind"], record["label"], record["account"]),
            record["last_at"],
            record["messages"],
            record["text_bytes"],
        )
        for record in read
    ]


@dataclass(frozen=True, slots=True)
class EndedScope:
    """A user's scope with conversations that ended before a time."""

    scope_id: int
    tenant_id: int
    user_id: str


async def scopes_ended_before(database: Database, before: datetime) -> list[EndedScope]:
    """Return the scopes of all tenants with conversations that ended before a time."""
    async with database.maintenance() as connection:
        return [
            EndedScope(**row) for row in await rows(connection, "conversations/ended_scopes", before=before)
        ]


async def ended_before(database: Database, scope: EndedScope, before: datetime, *, limit: int) -> list[str]:
    """Return the ids of at most `limit` conversations of a scope that ended before a time."""
    async with database.maintenance() as connection:
        found = await rows(
            connection, "conversations/ended_list", scope_id=scope.scope_id, before=before, limit=limit
        )
    return [record["conversation_id"] for record in found]


async def remove_events_before(database: Database, before: datetime) -> None:
    """Remove the events of all users that came before a time; they are evidence of conversations."""
    async with database.maintenance() as connection:
        await connection.execute(sql("conversations/event_remove_before"), {"before": before})


async def remove_conversation(
    database: Database, access: Access, named: RemovableConversation, *, now: datetime
) -> RemovedConversation | None:
    """Remove a conversation: messages, passages, postings and vectors. Return None if it is gone already.

    A salted digest of its source and id stays, so that the next import does not bring it back.
    """
    scope = access.conversations
    if scope is None:
        return None
    place = {"scope_id": scope.scope_id, "conversation_id": named.conversation_id}
    known = await _lexemes(database, access, scope, named.conversation_id)
    statements = (
        ("writes/scope_lock", {"scope_ids": [scope.scope_id]}),
        ("conversations/stat_lock", {"scope_id": scope.scope_id}),
        ("conversations/chunk_removable", place),
        ("upkeep/reindex_scope", {"scope_id": scope.scope_id}),
    )
    narrowed = access.for_conversations()
    async with database.writing(narrowed, *statements, scope_ids=[scope.scope_id]) as (connection, read):
        counter = pending.counter_of(read[0], scope.scope_id)
        made_by = read[3][0]
        if made_by["language"] != scope.language or made_by["analyzer"] != index_version(
            analyzer_of(scope.language)
        ):
            known = {}  # another version made the index, of other lexemes
        unknown = [row["chunk_id"] for row in read[2] if not (row["has_lexemes"] or row["chunk_id"] in known)]
        chunks = [
            StoredChunk(row["chunk_id"], 0, 0, (), b"", row["length"], known.get(row["chunk_id"]))
            for row in read[2]
        ]
        derived = DerivedRows()
        derived.add(FileIndex(removed=tuple(chunks)), counter, 0, is_known=False)
        cursor = await connection.execute(
            sql("conversations/conversation_remove"),
            place
            | {
                "tenant_id": access.tenant_id,
                "sha256": removal_digest(read[1][0]["salt"], named.source, named.provider_id),
                "removed_at": now,
                "kind": named.source.kind,
            },
        )
        removed = await cursor.fetchone()
        if removed is None:
            return None
        await write_derived(connection, access.tenant_id, derived, [counter])
        if database.has_vectors:
            sha256s = [bytes(row["sha256"]) for row in read[2]]
            await connection.execute(
                sql("conversations/vector_remove"), {"scope_id": scope.scope_id, "sha256s": sha256s}
            )
        if unknown:
            await connection.execute(
                sql("conversations/posting_take"), {"scope_id": scope.scope_id, "chunk_ids": unknown}
            )
        # At once, and not when enough has come together: the words of the conversation are to stand nowhere.
        await pending.merge(connection, counter)
        await pending.put(connection, [counter])
        await connection.execute(sql("conversations/source_remove_empty"), {"scope_id": scope.scope_id})
    return RemovedConversation(named.conversation_id, removed["messages"], len(chunks), removed["text_bytes"])


async def _lexemes(
    database: Database, access: Access, scope: Scope, conversation_id: str
) -> dict[int, Mapping[str, int]]:
    """Return how often each lexeme stands in the chunks of a conversation whose rows do not say it, by chunk.

    Nothing for a very long conversation: its chunks stand in so many postings that all may as well be read.
    """
    async with database.transaction(access.for_conversations()) as connection:
        read = await rows(
            connection,
            "conversations/chunk_text",
            scope_id=scope.scope_id,
            conversation_id=conversation_id,
            limit=MAX_ANALYSED + 1,
        )
    if len(read) > MAX_ANALYSED:
        return {}
    chars = sum(len(row["text"]) for row in read)
    return await offload.run(chars, chunk_frequencies, read, scope.language)
