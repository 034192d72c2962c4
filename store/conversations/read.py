"""Read conversations: one as a thread, all of them by time, and where they came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.errors import ConversationNotFound
from memex.store.access import Scope
from memex.store.conversations.find import conversation_of, message_of
from memex.store.conversations.records import Conversation, Message, SourceName
from memex.store.database import Connection, row, rows


@dataclass(frozen=True, slots=True)
class Thread:
    """A part of a conversation; `after` is where the next part begins, None at the end."""

    conversation: Conversation
    messages: tuple[Message, ...]
    after: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """A source with its amounts. `skipped` says how often its newest import left something out, by reason."""

    name: SourceName
    reader_version: int
    imported_at: datetime
    skipped: Mapping[str, int]
    conversations: int
    messages: int
    human_messages: int
    text_bytes: int
    started_at: datetime | None
    last_at: datetime | None


async def read_thread(
    connection: Connection,
    scope: Scope | None,
    conversation_id: str,
    *,
    limit: int,
    around: int | None = None,
    before: int = 0,
    all_branches: bool = False,
    after: tuple[int, int] | None = None,
) -> Thread:
    """Return a part of a conversation, in the order in which it was held.

    The part begins `before` messages ahead of the number `around`, or behind `after`, where the part before
    ended. With `all_branches` it has messages on branches that were given up; that of `around` comes in any case.

    Raises:
        ConversationNotFound: the user has no such conversation, or it has no such message.
    """
    place = {"scope_id": scope.scope_id if scope else None, "conversation_id": conversation_id}
    found = await row(connection, "conversations/conversation_show", **place)
    if found is None:
        raise ConversationNotFound(f"There is no conversation {conversation_id!r} for this user.")
    read = await rows(
        connection,
        "conversations/message_page",
        **place,
        around=around,
        before=before,
        all_branches=all_branches,
        after_position=after[0] if after else None,
        after_number=after[1] if after else None,
        limit=limit + 1,
    )
    if around is not None and not any(record["number"] == around for record in read):
        raise ConversationNotFound(
            f"The conversation {conversation_id!r} has no message {around}.",
            hint=f"See its messages with `memex conversations thread {conversation_id}`, or with "
            "GET /v1/conversations.",
            reason="message",
            conversation=conversation_id,
        )
    page = read[:limit]
    ends_at = (page[-1]["position"], page[-1]["number"]) if len(read) > limit else None
    return Thread(conversation_of(found), tuple(map(message_of, page)), ends_at)


async def list_conversations(
    connection: Connection,
    scope: Scope | None,
    *,
    limit: int,
    source: str | None = None,
    project: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    after: tuple[datetime | None, int] | None = None,
) -> tuple[list[Conversation], tuple[datetime | None, int] | None]:
    """Return conversations, the newest first, and where the next page begins; None after the last.

    `source` is a label or a kind, `project` the label of the provider's project. The conversations went on at
    `since` or later, and ended before `until`. `after` is where the page before ended.
    """
    if scope is None:
        return [], None
    read = await rows(
        connection,
        "conversations/conversation_page",
        scope_id=scope.scope_id,
        source=source,
        project=project,
        since=since,
        until=until,
        after_at=after[0] if after else None,
        after_no=after[1] if after else None,
        limit=limit + 1,
    )
    page = read[:limit]
    ends_at = (page[-1]["last_at"], page[-1]["conversation_no"]) if len(read) > limit else None
    return list(map(conversation_of, page)), ends_at


async def list_sources(connection: Connection, scope: Scope | None) -> list[ImportedSource]:
    """Return where the user's conversations came from."""
    if scope is None:
        return []
    read = await rows(connection, "conversations/source_list", scope_id=scope.scope_id)
    return [_source(record) for record in read]


def _source(record: Mapping[str, Any]) -> ImportedSource:
    columns = dict(record)
    name = SourceName(columns.pop("kind"), columns.pop("label"), columns.pop("account"))
    return ImportedSource(name=name, **columns)
