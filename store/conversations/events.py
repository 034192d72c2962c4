"""Reports of coding agents at work: events of sessions, each stored once, in the order of arrival."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

from memex.store.access import Access
from memex.store.conversations.ingest import removal_digest
from memex.store.conversations.records import SourceName, make_conversation_id
from memex.store.database import Database, rows
from memex.store.sql import sql

MAX_EVENTS = 200_000  # of a user; the oldest go

EventChange = Literal["added", "known", "removed"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A use of a tool by an agent, as far as it proves something.

    Attributes:
        command: the command that ran; "" for a tool that runs none.
        ok: whether it succeeded, as the program reports it; None if the program does not say.
        paths: the files that it changed.
    """

    name: str
    command: str = ""
    ok: bool | None = None
    paths: tuple[str, ...] = ()
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SaidWords:
    """Words that stand in for a message until the transcript has them."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event of a session. `runtime`, `session`, `turn` and `name` say which one it is: it is stored once.

    Attributes:
        runtime: the reader of the program's transcripts, such as `claude_code`.
        session: the provider's id of the conversation.
        project: a label, as the program names the project.
        metadata: texts by name, such as `branch` or `source`.
    """

    runtime: str
    session: str
    turn: str
    name: str
    kind: str
    happened_at: datetime
    project: str = ""
    cwd: str = ""
    messages: tuple[SaidWords, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def conversation_id(self) -> str:
        """The conversation that the session is, whether or not its transcript was read."""
        return make_conversation_id(self.runtime, "", self.session)


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as it is stored, with the number of its arrival."""

    event_no: int
    conversation_id: str
    received_at: datetime
    event: NewEvent


@dataclass(frozen=True, slots=True)
class HeardRuntime:
    """A program that sent events: how many are stored, and when the last one came."""

    runtime: str
    events: int
    sessions: int
    last_at: datetime


async def put_events(
    database: Database, access: Access, events: Sequence[NewEvent], *, now: datetime
) -> list[EventChange]:
    """Store events in one transaction, all or none, and return what became of each.

    An event that is known changes nothing. Of a conversation that a person removed nothing is stored. Words that
    the transcript has already are left out.

    `access` has `conversations`; `events` come in the order in which they happened.
    """
    scope = access.conversations
    if scope is None:
        raise ValueError("the access has no scope of conversations")
    place = {"scope_id": scope.scope_id}
    narrowed = access.for_conversations()
    lock = ("conversations/event_lock", place)
    async with database.writing(narrowed, lock, scope_ids=[scope.scope_id]) as (connection, read):
        stat = read[0][0]
        digests = [
            removal_digest(stat["salt"], SourceName(event.runtime, event.runtime), event.session)
            for event in events
        ]
        cursor = await connection.execute(sql("conversations/removed_known"), place | {"digests": digests})
        gone = {bytes(record["sha256"]) for record in await cursor.fetchall()}
        changes: list[EventChange] = ["removed" if digest in gone else "known" for digest in digests]
        once: dict[tuple[str, ...], dict[str, Any]] = {}
        for number, event in enumerate(events):
            if changes[number] != "removed":
                key = (event.runtime, event.session, event.turn, event.name)
                once.setdefault(key, _row(number, event))
        if not once:
            return changes
        cursor = await connection.execute(
            sql("conversations/event_add"),
            place
            | {
                "tenant_id": access.tenant_id,
                "events": json.dumps(list(once.values())),
                "next_event": stat["next_event"],
                "max_events": MAX_EVENTS,
                "received_at": now,
            },
        )
        for record in await cursor.fetchall():
            changes[record["place"]] = "added"
        if any(event.messages for event in events):
            conversations = sorted({event.conversation_id for event in events if event.messages})
            await connection.execute(
                sql("conversations/event_settle"), place | {"conversation_ids": conversations}
            )
    return changes


async def list_events(
    database: Database, access: Access, conversation_ids: Sequence[str], *, limit: int = 1_000
) -> list[StoredEvent]:
    """Return the events of some conversations, in the order of arrival."""
    if access.conversations is None or not conversation_ids:
        return []
    async with database.transaction(access.for_conversations()) as connection:
        found = await rows(
            connection,
            "conversations/event_list",
            scope_id=access.conversations.scope_id,
            conversation_ids=list(conversation_ids),
            limit=limit,
        )
    return [_stored(record) for record in found]


async def is_session_off(database: Database, access: Access, conversation_id: str) -> bool:
    """Return whether a person ended the capture of a session."""
    if access.conversations is None:
        return False
    place = {"scope_id": access.conversations.scope_id, "conversation_id": conversation_id}
    async with database.transaction(access.for_conversations()) as connection:
        return bool(await rows(connection, "conversations/event_off", **place))


async def heard_runtimes(database: Database, access: Access) -> list[HeardRuntime]:
    """Return of which programs events came, and when the last one."""
    if access.conversations is None:
        return []
    async with database.transaction(access.for_conversations()) as connection:
        found = await rows(connection, "conversations/event_heard", scope_id=access.conversations.scope_id)
    return [HeardRuntime(**record) for record in found]


def _row(number: int, event: NewEvent) -> dict[str, Any]:
    return asdict(event) | {
        "place": number,
        "conversation_id": event.conversation_id,
        "happened_at": event.happened_at.isoformat(),
        "messages": [asdict(message) for message in event.messages] or None,
        "tools": [asdict(tool) for tool in event.tools] or None,
    }


def _stored(record: Mapping[str, Any]) -> StoredEvent:
    names = ("runtime", "session", "turn", "name", "kind", "happened_at", "project", "cwd", "metadata")
    event = NewEvent(
        **{name: record[name] for name in names},
        messages=tuple(SaidWords(**message) for message in record["messages"] or ()),
        tools=tuple(ToolUse(**use | {"paths": tuple(use["paths"])}) for use in record["tools"] or ()),
    )
    return StoredEvent(record["event_no"], record["conversation_id"], record["received_at"], event)
