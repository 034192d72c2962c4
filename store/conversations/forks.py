"""Forks: sessions that begin with the turns of another one, each of which is stored once."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memex.store.access import Scope
from memex.store.conversations.records import NewConversation, NewMessage
from memex.store.database import Connection, rows

FORKING = (
    "claude_code",
    "codex_cli",
)  # programs whose forks repeat turns, with the times at which they were said

_Said = tuple[str, bytes, datetime]


async def without_repeated(
    connection: Connection, scope: Scope, kind: str, conversations: Sequence[NewConversation]
) -> tuple[list[NewConversation], int]:
    """Return conversations without the turns that another conversation holds, and how many these were.

    A turn is the same if role, text and time are. A conversation that has no turn of its own keeps its last one.
    """
    times = [
        said[2]
        for new_conversation in conversations
        for message in new_conversation.messages
        if (said := _said(message))
    ]
    if kind not in FORKING or not times:
        return list(conversations), 0
    found = await rows(
        connection,
        "conversations/message_repeated",
        scope_id=scope.scope_id,
        kind=kind,
        since=min(times),
        until=max(times),
        times=times,
    )
    holders: dict[_Said, str] = {}
    for row in found:
        holders.setdefault((row["role"], bytes(row["sha256"]), row["said_at"]), row["provider_id"])
    kept, repeated = [], 0
    for conversation in conversations:
        own: list[NewMessage] = []
        for message in conversation.messages:
            said = _said(message)
            if said is None or holders.setdefault(said, conversation.provider_id) == conversation.provider_id:
                own.append(message)
        own = own or list(conversation.messages[-1:])
        repeated += len(conversation.messages) - len(own)
        gone = {message.provider_id for message in conversation.messages} - {
            message.provider_id for message in own
        }
        kept.append(replace(conversation, messages=[_parted(message, gone) for message in own]))
    return kept, repeated


def _said(message: NewMessage) -> _Said | None:
    if message.part != "message" or message.said_at is None:
        return None
    return (
        message.role,
        hashlib.sha256(message.text.encode("utf-8", "surrogatepass")).digest(),
        message.said_at,
    )


def _parted(message: NewMessage, gone: set[str]) -> NewMessage:
    """Return a message that answers none of those that are gone."""
    return replace(message, parent=None) if message.parent in gone else message
