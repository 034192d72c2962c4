"""Put conversations into the store: what is new is added, and nothing that is known changes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memex.errors import LimitExceeded
from memex.store.access import Access
from memex.store.conversations.indexing import index_message, index_messages
from memex.store.conversations.records import (
    Change,
    NewConversation,
    NewMessage,
    SourceName,
    StoredConversation,
    make_conversation_id,
)
from memex.store.database import Database, Rows
from memex.store.search.analyzer import Analyzer, analyzer_of
from memex.store.search.index import FileIndex, index_version
from memex.store.sql import sql
from memex.store.text_pool import offload
from memex.store.writes import pending
from memex.store.writes.commit import DerivedRows, write_derived

MAX_MESSAGES = 2_000  # of one transaction; a longer conversation is put in several parts
_WAITING = (
    1 << 30
)  # messages that wait for a further part of their conversation stand so far behind the others

_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


@dataclass(slots=True)
class _Known:
    """A conversation as it is stored, and its messages by the provider's id and the digest of the text.

    The last four say which chunks were added, and of which time their messages are.
    """

    conversation_no: int
    next_number: int
    next_position: int
    started_at: datetime | None
    last_at: datetime | None
    sha256: bytes
    is_complete: bool
    messages: dict[tuple[str, bytes], dict[str, Any]] = field(default_factory=dict)
    first_chunk_id: int | None = None
    last_chunk_id: int | None = None
    first_said_at: datetime | None = None
    last_said_at: datetime | None = None
    folder: str = ""
    branch: str = ""


@dataclass(slots=True)
class _Rows:
    """The rows that an import writes."""

    written: list[dict[str, Any]] = field(default_factory=list)
    moved: list[dict[str, Any]] = field(default_factory=list)
    added: list[dict[str, Any]] = field(default_factory=list)
    text_bytes: int = 0


async def put_conversations(
    database: Database,
    access: Access,
    source: SourceName,
    conversations: Sequence[NewConversation],
    *,
    reader_version: int,
    now: datetime,
    max_messages: int,
    skipped: Mapping[str, int] | None = None,
    again: bool = False,
) -> list[StoredConversation]:
    """Store conversations in one transaction, all or none, and return what became of each.

    Putting the same conversations twice changes nothing the second time. A message keeps its number for ever. A
    text that differs from the stored one is a new message, and the older one leaves the path.

    `access` has `conversations`, which hold at most `MAX_MESSAGES` messages together; a longer conversation comes
    in parts. `skipped` counts what the reader left out, by reason. With `again`, conversations come back that
    were removed.

    Raises:
        LimitExceeded: the user would have more than `max_messages`. Nothing is stored.
    """
    scope = access.conversations
    if scope is None:
        raise ValueError("the access has no scope of conversations")
    analyzer = analyzer_of(scope.language)
    ids = [
        make_conversation_id(source.kind, source.account, conversation.provider_id)
        for conversation in conversations
    ]
    place = {"scope_id": scope.scope_id}
    known_statements = (
        ("conversations/conversation_known", place | {"conversation_ids": ids}),
        ("conversations/message_known", place | {"conversation_ids": ids}),
    )
    named_source = {"kind": source.kind, "label": source.label, "account": source.account}
    statements = (
        ("writes/scope_lock", {"scope_ids": [scope.scope_id]}),
        ("conversations/stat_lock", place),
        ("conversations/source_find", place | named_source),
        *known_statements,
        ("upkeep/reindex_scope", place),
    )
    digests = {
        id(message): _digest(message) for conversation in conversations for message in conversation.messages
    }
    # Outside of the lock, for it takes longest: what is stored already needs no new chunks.
    before = _known(*await database.read(access.for_conversations(), *known_statements))
    unknown = [
        (conversation.title, message)
        for conversation, conversation_id in zip(conversations, ids, strict=True)
        for message in conversation.messages
        if conversation_id not in before
        or (message.provider_id, digests[id(message)]) not in before[conversation_id].messages
    ]
    chars = sum(len(message.text) for _, message in unknown)
    made = await offload.run(chars, index_messages, unknown, scope.language)
    indexed = {id(message): index for (_, message), index in zip(unknown, made, strict=True)}
    narrowed = access.for_conversations()
    async with database.writing(narrowed, *statements, scope_ids=[scope.scope_id]) as (connection, read):
        counter = pending.counter_of(read[0], scope.scope_id)
        stat, known = read[1][0], _known(read[3], read[4])
        if (language := read[5][0]["language"]) != scope.language:  # a rebuild came between
            analyzer, indexed = analyzer_of(language), {}
        removals = [
            removal_digest(stat["salt"], source, conversation.provider_id) for conversation in conversations
        ]
        if again:
            await connection.execute(sql("conversations/removed_lift"), place | {"digests": removals})
            gone: set[bytes] = set()
        else:
            cursor = await connection.execute(
                sql("conversations/removed_known"), place | {"digests": removals}
            )
            gone = {bytes(record["sha256"]) for record in await cursor.fetchall()}
        source_id = read[2][0]["source_id"] if read[2] else stat["next_id"]
        next_id = stat["next_id"] + (not read[2])
        change, derived, stored = _Rows(), DerivedRows(), []
        first_chunk_id = counter.next_chunk_id
        for conversation, conversation_id, removal in zip(conversations, ids, removals, strict=True):
            if removal in gone:
                stored.append(StoredConversation(conversation_id, "removed"))
                continue
            mine = known.get(conversation_id)
            is_new = mine is None
            if mine is None:
                mine = known[conversation_id] = _Known(next_id, 1, 1, None, None, b"", False)
                next_id += 1
            already, began = (len(change.added), len(change.moved)), counter.next_chunk_id
            for message_id, index in _merge(change, counter, mine, conversation, digests, indexed, analyzer):
                derived.add(index, counter, message_id, is_known=False)
            is_same = (len(change.added), len(change.moved)) == already and (
                (
                    conversation.sha256,
                    conversation.is_complete,
                    conversation.folder or mine.folder,
                    conversation.branch or mine.branch,
                )
                == (mine.sha256, mine.is_complete, mine.folder, mine.branch)
            )
            if is_same and not is_new:
                stored.append(StoredConversation(conversation_id, "unchanged"))
                continue
            if counter.next_chunk_id > began:
                mine.first_chunk_id = mine.first_chunk_id or began
                mine.last_chunk_id = counter.next_chunk_id - 1
            change.written.append(_row(conversation_id, mine, conversation))
            mine.sha256, mine.is_complete = conversation.sha256, conversation.is_complete
            added = len(change.added) - already[0]
            has_changed = (len(change.added), len(change.moved)) != already
            what: Change = "created" if is_new else "grown" if has_changed else "unchanged"
            stored.append(StoredConversation(conversation_id, what, added))
        messages = stat["messages"] + len(change.added)
        if change.added and messages > max_messages:
            raise LimitExceeded(
                f"With these messages the user would have {messages:,}, over {max_messages:,}.",
                hint="Remove conversations that nobody needs, or raise MEMEX_MAX_MESSAGES.",
            )
        # Only what was left out is told, of a source that is known.
        is_told_alone = not conversations and skipped and read[2]
        if not change.written and not is_told_alone:
            return stored
        await connection.execute(
            sql("conversations/conversation_write"),
            place
            | {
                "tenant_id": access.tenant_id,
                "source_id": source_id,
                "kind": source.kind,
                "label": source.label,
                "account": source.account,
                "reader_version": reader_version,
                "imported_at": now,
                "skipped": _encode(dict(skipped or {})),
                "conversations": stat["conversations"]
                + sum(outcome.change == "created" for outcome in stored),
                "messages": messages,
                "text_bytes": stat["text_bytes"] + change.text_bytes,
                "next_id": next_id,
                "written": _encode(list({row["conversation_no"]: row for row in change.written}.values())),
                "moved": _encode(change.moved),
                "added": _encode(change.added),
            },
        )
        is_full, first_pending = counter.unmerged > pending.BOUND, counter.merged_chunk_id + 1
        await write_derived(connection, access.tenant_id, derived, [counter], keeps_lexemes=not is_full)
        if is_full:
            await pending.merge(connection, counter, derived.postings())
            await pending.put(connection, [counter])
            merged = {"first_chunk_id": first_pending, "end_chunk_id": first_chunk_id}
            await connection.execute(sql("conversations/lexemes_drop"), place | merged)
        if change.added:  # what coding agents reported of the words that stand in the transcript now
            await connection.execute(sql("conversations/event_settle"), place | {"conversation_ids": ids})
        await connection.execute(sql("writes/scope_analyzed"), place | {"analyzer": index_version(analyzer)})
    return stored


def _digest(message: NewMessage) -> bytes:
    return hashlib.sha256(message.text.encode()).digest()


def _known(conversations: Rows, messages: Rows) -> dict[str, _Known]:
    names = (
        *("conversation_no", "next_number", "next_position", "started_at", "last_at"),
        *("is_complete", "folder", "branch"),
    )
    known = {
        record["conversation_id"]: _Known(
            **{name: record[name] for name in names}, sha256=bytes(record["sha256"])
        )
        for record in conversations
    }
    for record in messages:
        key = record["provider_id"], bytes(record["sha256"])
        known[record["conversation_id"]].messages[key] = record
    return known


def _merge(
    change: _Rows,
    counter: pending.Counters,
    known: _Known,
    read: NewConversation,
    digests: Mapping[int, bytes],
    indexed: Mapping[int, FileIndex],
    analyzer: Analyzer,
) -> list[tuple[int, FileIndex]]:
    """Add what is new of a conversation to a change; return the new messages' ids with their chunks."""
    numbers = {
        provider_id: record["number"]
        for (provider_id, _), record in known.messages.items()
        if record["on_path"] and not _is_waiting(record["position"])
    }
    position = known.next_position if read.is_continued else 1
    seen: set[int] = set()
    made = []
    kept = _Numbers(known, read)
    for message in read.messages:
        digest = digests[id(message)]
        parent = numbers.get(message.parent) if message.parent is not None else None
        parent = kept.parent(message, parent)
        stands = {"position": position, "parent": parent, "on_path": message.on_path}
        record = known.messages.get((message.provider_id, digest))
        if record is not None:
            numbers[message.provider_id] = record["number"]
            if record["message_id"] in seen:
                continue
            seen.add(record["message_id"])
            is_back = message.on_path and not record["on_path"]  # as a file that was cut and has grown again
            if read.is_continued and not (is_back or _is_waiting(record["position"])):
                continue  # its place was given when the part before was put
            if any(record[name] != value for name, value in stands.items()):
                change.moved.append({"message_id": record["message_id"]} | stands)
                record |= stands
            position += 1
            continue
        number, message_id = kept.take(message), counter.take_file_id()
        position += 1
        numbers[message.provider_id] = number
        seen.add(message_id)
        known.messages[message.provider_id, digest] = stands | {"message_id": message_id, "number": number}
        change.added.append(_message_row(message, digest, known.conversation_no, message_id, number) | stands)
        change.text_bytes += len(message.text.encode())
        known.first_said_at = min(filter(None, (known.first_said_at, message.said_at)), default=None)
        known.last_said_at = max(filter(None, (known.last_said_at, message.said_at)), default=None)
        # A message that was removed since it was looked for has no chunks yet.
        made.append((message_id, indexed.get(id(message)) or index_message(read.title, message, analyzer)))
    _leave_path(change, known, read, seen)
    is_first = not read.is_continued and not read.is_complete
    known.next_position = position if is_first else max(position, known.next_position)
    return made


def _leave_path(change: _Rows, known: _Known, read: NewConversation, seen: set[int]) -> None:
    """Take the messages off the path that are no longer there.

    When the first part of a long conversation is put, nobody knows what the others hold: all other messages wait
    behind it, read and found as before, until the part comes that has them, or the last one.
    """
    is_last = read.is_complete
    for record in known.messages.values():
        is_waiting = _is_waiting(record["position"])
        if record["message_id"] in seen or (read.is_continued and not (is_last and is_waiting)):
            continue
        place = abs(record["position"]) % _WAITING
        position, on_path = (place, False) if is_last else (_WAITING + place, record["on_path"])
        if (on_path, position) != (record["on_path"], record["position"]):
            record |= {"position": position, "on_path": on_path}
            names = ("message_id", "position", "parent", "on_path")
            change.moved.append({name: record[name] for name in names})


def _is_waiting(position: int) -> bool:
    """Return whether a message waits for a further part; an earlier version gave such messages negative places."""
    return position < 0 or position >= _WAITING


class _Numbers:
    """The numbers of new messages: each in turn, or for a message that has had one, that one where it is free."""

    def __init__(self, known: _Known, read: NewConversation) -> None:
        self._known = known
        self._taken = {record["number"] for record in known.messages.values()}
        asked = [message.number for message in read.messages if message.number is not None]
        self._is_free = len({*asked}) == len(asked) and self._taken.isdisjoint(asked)
        self._there = self._taken.union(asked)

    def take(self, message: NewMessage) -> int:
        """Return the number of a new message."""
        if message.number is not None and self._is_free:
            number = message.number
        else:
            number = self._known.next_number
            while self._is_free and number in self._there:
                number += 1
        self._known.next_number = max(self._known.next_number, number + 1)
        return number

    def parent(self, message: NewMessage, by_id: int | None) -> int | None:
        """Return the number of the message that a message answers; `by_id` is what its id says."""
        wanted = message.parent_number
        return wanted if self._is_free and wanted is not None and wanted in self._there else by_id


def _message_row(
    message: NewMessage, digest: bytes, conversation_no: int, message_id: int, number: int
) -> dict[str, Any]:
    names = ("role", "part", "author", "text", "model", "human_authored", "origin", "provider_id")
    return {name: getattr(message, name) for name in names} | {
        "message_id": message_id,
        "conversation_no": conversation_no,
        "number": number,
        "sha256": digest.hex(),
        "said_at": _iso(message.said_at),
    }


def _row(conversation_id: str, known: _Known, read: NewConversation) -> dict[str, Any]:
    known.started_at = min(filter(None, (known.started_at, read.started_at)), default=None)
    known.last_at = max(filter(None, (known.last_at, read.last_at)), default=None)
    own = ("provider_id", "title", "project", "folder", "branch", "is_complete")
    counts = ("conversation_no", "next_number", "next_position", "first_chunk_id", "last_chunk_id")
    times = ("started_at", "last_at", "first_said_at", "last_said_at")
    return (
        {name: getattr(read, name) for name in own}
        | {name: getattr(known, name) for name in counts}
        | {name: _iso(getattr(known, name)) for name in times}
        | {"conversation_id": conversation_id, "sha256": read.sha256.hex()}
    )


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def removal_digest(salt: bytes, source: SourceName, provider_id: str) -> bytes:
    """Return the digest by which a removed conversation is known again."""
    named = f"{source.kind}\x1f{source.account}\x1f{provider_id}"
    return hashlib.sha256(salt + named.encode("utf-8", "surrogatepass")).digest()
