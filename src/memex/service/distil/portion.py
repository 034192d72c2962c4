"""A portion of conversations that one call distils: which messages, what they state, and how much is left."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from memex.errors import ConversationNotFound, MessagesErased
from memex.service.tools.tool import LEFT_OUT, ResultPart
from memex.service.tools.tool_context import ToolContext
from memex.store.citations.records import read_distilled
from memex.store.conversations.human_messages import (
    ALL,
    ConversationExtent,
    HumanMessageRow,
    find_since,
    read_extents,
    read_human_messages,
)
from memex.store.search.analyzer import Analyzer
from memex.subagent.distil.reading import HumanMessage, MessageReading, read_messages

MAX_CONVERSATIONS = 1_000  # that one call reads
READ = "read"  # in the log: which messages a call has read


class DistilledConversation(ResultPart):
    """A conversation of which messages were read: those with a number above `after`, up to `until`.

    `human_messages` of them were written by the person.
    """

    conversation: str
    title: Annotated[str | None, LEFT_OUT] = None
    after: int
    until: int
    human_messages: int


@dataclass(frozen=True, slots=True)
class Portion:
    """The messages that one call distils.

    Attributes:
        parts: which messages it has read.
        messages: what these state.
        remaining: how many messages that people wrote are left for the next call.
        sha256: of the texts that were read, in hex.
    """

    parts: tuple[DistilledConversation, ...] = ()
    messages: tuple[MessageReading, ...] = ()
    remaining: int = 0
    sha256: str = field(default_factory=lambda: _digest(()))

    @property
    def logged(self) -> dict[str, Any]:
        """The messages that were read, without their texts."""
        return {
            "parts": [[part.conversation, part.after, part.until] for part in self.parts],
            "sha256": self.sha256,
            "remaining": self.remaining,
        }


async def choose_portion(
    work: ToolContext,
    conversation_id: str | None,
    since: datetime | None,
    *,
    is_again: bool,
) -> Portion:
    """Return the next messages that have not been distilled.

    They are those of the conversation, or without one of all that went on `since`; with `is_again` also those
    that have been distilled.

    Raises:
        ConversationNotFound: the user has no such conversation.
    """
    scope, own = work.access.conversations, work.access.by_mount.get("user")
    if scope is None or own is None:
        return _nothing(conversation_id)
    afters: dict[str, int] = {}
    if not is_again:
        async with work.database.transaction(work.access) as connection:
            wanted = None if conversation_id is None else [conversation_id]
            known = await read_distilled(connection, own.scope_id, wanted)
        afters = {name: state.until_number for name, state in known.items()}
    async with work.database.transaction(work.access.for_conversations(), snapshot=True) as connection:
        if conversation_id is not None:
            named = [conversation_id]
        else:
            assert since is not None  # noqa: S101  # the arguments name one of both
            named = await find_since(connection, scope, since, afters, limit=2 * MAX_CONVERSATIONS)
        spans = {name: (afters.get(name, 0), ALL) for name in named}
        extents = await read_extents(connection, scope, spans)
        if not extents and conversation_id is not None:
            return _nothing(conversation_id)
        found = await read_human_messages(
            connection,
            scope,
            [(extent.conversation_id, extent.after, extent.last) for extent in extents[:MAX_CONVERSATIONS]],
        )
    messages = await _read(work, found)
    return _portion(extents, found[: len(messages)], messages)


async def load_portion(work: ToolContext, logged: Mapping[str, Any]) -> Portion:
    """Return the portion that a call has read, by what the log says of it.

    Raises:
        MessagesErased: its messages are not stored any more, or others have taken their place.
    """
    parts: list[list[Any]] = logged["parts"]
    scope = work.access.conversations
    if not parts:
        return Portion()
    if scope is None:
        raise MessagesErased("The messages that the call has read are not stored any more.")
    spans = [(str(name), int(after), int(until)) for name, after, until in parts]
    async with work.database.transaction(work.access.for_conversations(), snapshot=True) as connection:
        extents = await read_extents(
            connection, scope, {name: (after, until) for name, after, until in spans}
        )
        found = await read_human_messages(connection, scope, spans)
    if _digest(found) != logged["sha256"]:
        raise MessagesErased("The messages that the call has read are not stored any more as they were.")
    titles = {extent.conversation_id: extent.title for extent in extents}
    counts = Counter(row.conversation_id for row in found)
    return Portion(
        tuple(
            DistilledConversation(
                conversation=name,
                title=titles.get(name, ""),
                after=after,
                until=until,
                human_messages=counts[name],
            )
            for name, after, until in spans
        ),
        tuple(await _read(work, found)),
        logged["remaining"],
        _digest(found),
    )


async def _read(work: ToolContext, found: Sequence[HumanMessageRow]) -> list[MessageReading]:
    messages = [
        HumanMessage((row.conversation_id, row.number), row.text, row.sha256, row.said_at) for row in found
    ]
    analyzer = Analyzer(work.access.language)
    return await read_messages(messages, work.call.request.now, analyzer)


def _portion(
    extents: Sequence[ConversationExtent], read: Sequence[HumanMessageRow], messages: Sequence[MessageReading]
) -> Portion:
    """Return a portion: of a conversation that was read to its end, all messages count as read.

    The conversations behind the first 1,000 are left for the next call.
    """
    counts = Counter(row.conversation_id for row in read)
    last = {message.conversation_id: message.number for message in read}
    parts = []
    for extent in extents[:MAX_CONVERSATIONS]:
        done = counts[extent.conversation_id]
        until = extent.last if done == extent.human_messages else last.get(extent.conversation_id, 0)
        if until > extent.after:
            part = DistilledConversation.taken_from(
                extent, conversation=extent.conversation_id, until=until, human_messages=done
            )
            parts.append(part)
    total = sum(extent.human_messages for extent in extents)
    return Portion(tuple(parts), tuple(messages), total - len(read), _digest(read))


def _digest(found: Sequence[HumanMessageRow]) -> str:
    digest = hashlib.sha256()
    for row in found:
        digest.update(f"{row.conversation_id}#{row.number}:".encode() + row.sha256)
    return digest.hexdigest()


def _nothing(conversation_id: str | None) -> Portion:
    if conversation_id is not None:
        raise ConversationNotFound(f"There is no conversation {conversation_id!r} for this user.")
    return Portion()
