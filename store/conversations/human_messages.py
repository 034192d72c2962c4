"""The messages that people wrote in their conversations, read to take statements from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memex.store.access import Scope
from memex.store.citations.syntax import CitedPlace
from memex.store.database import Connection, rows
from memex.store.records import Span

MAX_MESSAGES = 1_000  # that people wrote, of one reading
MAX_BYTES = 4 << 20
ALL = 2**31 - 1  # above the number of any message


@dataclass(frozen=True, slots=True)
class ConversationExtent:
    """The part of a conversation that there is to read.

    Attributes:
        after: the number of the message behind which reading begins.
        last: the number of the last message, whoever wrote it.
        human_messages: how many messages people wrote between.
    """

    conversation_id: str
    title: str
    after: int
    last: int
    human_messages: int


@dataclass(frozen=True, slots=True)
class HumanMessageRow:
    """A message that a person wrote."""

    conversation_id: str
    number: int
    text: str
    sha256: bytes
    said_at: datetime | None


@dataclass(frozen=True, slots=True)
class CitedMessage:
    """A message that a citation may mean."""

    place: CitedPlace
    title: str
    role: str
    text: str
    sha256: bytes
    said_at: datetime | None

    def quote(self, span: Span) -> str:
        """Return a part of its text."""
        return self.text[span[0] : span[1]]


async def find_since(
    connection: Connection, scope: Scope, since: datetime, afters: Mapping[str, int], *, limit: int
) -> list[str]:
    """Return the ids of conversations that went on since a time and have messages after the numbers in `afters`."""
    found = await rows(
        connection,
        "conversations/distil_since",
        scope_id=scope.scope_id,
        since=since,
        conversation_ids=list(afters),
        afters=list(afters.values()),
        limit=limit,
    )
    return [record["conversation_id"] for record in found]


async def read_extents(
    connection: Connection, scope: Scope, spans: Mapping[str, tuple[int, int]]
) -> list[ConversationExtent]:
    """Return how much of conversations there is between two numbers, in the order in which they ended."""
    found = await rows(
        connection,
        "conversations/distil_extent",
        scope_id=scope.scope_id,
        conversation_ids=list(spans),
        afters=[after for after, _ in spans.values()],
        untils=[until for _, until in spans.values()],
    )
    names = ("conversation_id", "title", "after_number", "last_number", "human_messages")
    return [ConversationExtent(*(row[name] for name in names)) for row in found]


async def read_human_messages(
    connection: Connection, scope: Scope, spans: Sequence[tuple[str, int, int]]
) -> list[HumanMessageRow]:
    """Return what people wrote, at most 1,000 messages and about 4 MiB, conversation by conversation.

    Each span is a conversation with the number behind which reading begins, and the last number.
    """
    found = await rows(
        connection,
        "conversations/distil_messages",
        scope_id=scope.scope_id,
        conversation_ids=[conversation_id for conversation_id, _, _ in spans],
        afters=[after for _, after, _ in spans],
        untils=[until for _, _, until in spans],
        limit=MAX_MESSAGES,
        max_bytes=MAX_BYTES,
    )
    return [HumanMessageRow(**record | {"sha256": bytes(record["sha256"])}) for record in found]


async def read_cited(
    connection: Connection, scope: Scope, wanted: Sequence[tuple[CitedPlace, bytes | None]]
) -> list[CitedMessage]:
    """Return the messages at these places, and those of the same conversations with one of these digests."""
    found = await rows(
        connection,
        "conversations/message_by_digest",
        scope_id=scope.scope_id,
        conversation_ids=[place[0] for place, _ in wanted],
        numbers=[place[1] for place, _ in wanted],
        sha256s=[sha256 for _, sha256 in wanted],
    )
    return [
        CitedMessage(
            (row["conversation_id"], row["number"]),
            row["title"],
            row["role"],
            row["text"],
            bytes(row["sha256"]),
            row["said_at"],
        )
        for row in found
    ]
