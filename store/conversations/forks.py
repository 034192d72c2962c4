"""Forks: sessions that begin with the turns of another one, each of which is stored once."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from memex.store.access import Scope
from memex.store.conversations.records import NewConversation, NewMessage
from memex.store.database import Connection, rows

FORKING = ("claude_code", "codex_cli")  # programs whose forks repeat turns
BURST = timedelta(seconds=1)  # between two turns that a program writes when it forks; an own turn comes later

_Said = tuple[str, bytes, datetime]
_Holders = Mapping[tuple[str, bytes], set[str]]  # the conversations that hold a role and a digest of a text


async def without_repeated(
    connection: Connection, scope: Scope, kind: str, conversations: Sequence[NewConversation]
) -> tuple[list[NewConversation], int]:
    """Return conversations without the turns that another conversation holds, and how many these were.

    A turn is the same if role, text and time are. Codex gives the turns that a fork repeats the time of the fork:
    of a conversation that says from which it was forked, role and text are enough for the turns that it begins
    with, one right after the other. A conversation that has no turn of its own keeps its last one.
    """
    if kind not in FORKING:
        return list(conversations), 0
    parted = await _without_copies(connection, scope, kind, conversations)
    kept = await _without_said(connection, scope, kind, parted)
    repeated = sum(
        len(conversation.messages) - len(left.messages)
        for conversation, left in zip(conversations, kept, strict=True)
    )
    return kept, repeated


async def _without_copies(
    connection: Connection, scope: Scope, kind: str, conversations: Sequence[NewConversation]
) -> list[NewConversation]:
    """Return conversations without the turns at the beginning of forks that were written when it was forked."""
    forks = [
        conversation
        for conversation in conversations
        if conversation.forked_from and not conversation.is_continued
    ]
    if not forks:
        return list(conversations)
    digests = {_digest(message) for fork in forks for message in fork.messages if message.part == "message"}
    found = await rows(
        connection,
        "conversations/message_held",
        scope_id=scope.scope_id,
        kind=kind,
        sha256s=sorted(digests),
    )
    holders: defaultdict[tuple[str, bytes], set[str]] = defaultdict(set)
    for row in found:
        holders[row["role"], bytes(row["sha256"])].add(row["provider_id"])
    kept = []
    for conversation in conversations:
        is_fork = conversation.forked_from and not conversation.is_continued
        copies = _copies(conversation, holders) if is_fork else 0
        kept.append(_with_messages(conversation, conversation.messages[copies:]))
        for message in kept[-1].messages:
            if message.part == "message":
                holders[message.role, _digest(message)].add(conversation.provider_id)
    return kept


def _copies(fork: NewConversation, holders: _Holders) -> int:
    """Return how many messages at the beginning of a fork are copies, written one right after the other."""
    count, before = 0, fork.started_at
    for number, message in enumerate(fork.messages, start=1):
        if message.part != "message":
            continue
        is_late = message.said_at is None or (before is not None and message.said_at - before >= BURST)
        if is_late or holders.get((message.role, _digest(message)), set()) <= {fork.provider_id}:
            break
        count, before = number, message.said_at
    return count


async def _without_said(
    connection: Connection, scope: Scope, kind: str, conversations: Sequence[NewConversation]
) -> list[NewConversation]:
    """Return conversations without the turns that another one holds with the same time."""
    times = [
        said[2]
        for new_conversation in conversations
        for message in new_conversation.messages
        if (said := _said(message))
    ]
    if not times:
        return list(conversations)
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
    kept = []
    for conversation in conversations:
        own: list[NewMessage] = []
        for message in conversation.messages:
            said = _said(message)
            if said is None or holders.setdefault(said, conversation.provider_id) == conversation.provider_id:
                own.append(message)
        kept.append(_with_messages(conversation, own))
    return kept


def _with_messages(conversation: NewConversation, own: Sequence[NewMessage]) -> NewConversation:
    """Return a conversation with its own messages, or the last one; none answers a message that is gone."""
    own = own or conversation.messages[-1:]
    gone = {message.provider_id for message in conversation.messages} - {
        message.provider_id for message in own
    }
    return replace(conversation, messages=[_parted(message, gone) for message in own])


def _said(message: NewMessage) -> _Said | None:
    if message.part != "message" or message.said_at is None:
        return None
    return message.role, _digest(message), message.said_at


def _digest(message: NewMessage) -> bytes:
    return hashlib.sha256(message.text.encode("utf-8", "surrogatepass")).digest()


def _parted(message: NewMessage, gone: set[str]) -> NewMessage:
    """Return a message that answers none of those that are gone."""
    return replace(message, parent=None) if message.parent in gone else message
