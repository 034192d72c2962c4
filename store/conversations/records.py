"""Conversations and messages, as they come from a reader and as the store returns them."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memex.store.citations.syntax import message_reference
from memex.store.records import Span

Role = Literal["user", "assistant", "system", "tool", "reasoning", "summary"]
Change = Literal["created", "grown", "unchanged", "removed"]

ID_CHARS = 12
_ALPHABET = (
    "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o and u, which are easily misread
)
_REFERENCE = re.compile(r"(?:conversations/)?(?P<id>[0-9a-z]{12})(?:#(?P<number>[1-9][0-9]{0,8}))?")


def make_conversation_id(kind: str, account: str, provider_id: str) -> str:
    """Return the id of a conversation, the same on every machine: 60 bits of a digest, in Crockford's base 32."""
    digest = hashlib.sha256(f"{kind}\x1f{account}\x1f{provider_id}".encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:8], "big") >> 4
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(55, -1, -5))


def parse_reference(text: str) -> tuple[str, int | None] | None:
    """Return the conversation and the message that `ID`, `ID#41` or `conversations/ID#41` names; else None."""
    found = _REFERENCE.fullmatch(text.strip())
    if found is None:
        return None
    return found["id"], int(found["number"]) if found["number"] else None


@dataclass(frozen=True, slots=True)
class SourceName:
    """The name of a source of conversations.

    Attributes:
        kind: the format, such as `chatgpt`.
        account: the account as the export names it; "" if it names none.
    """

    kind: str
    label: str
    account: str = ""


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message as it was read, in the order of its conversation.

    Attributes:
        provider_id: the provider's id of the message, or its place in the file.
        parent: the provider's id of the message that this one answers.
        on_path: false on a branch that was given up.
        origin: the file of the export and the place in it, for people.
        number: what the message was named by before it was removed; kept where it is free.
        parent_number: the same of the message that this one answers; goes before `parent`.
    """

    provider_id: str
    role: Role
    text: str
    parent: str | None = None
    part: str = "message"
    author: str | None = None
    said_at: datetime | None = None
    model: str | None = None
    human_authored: bool = False
    on_path: bool = True
    origin: str = ""
    number: int | None = None
    parent_number: int | None = None


@dataclass(frozen=True, slots=True)
class NewConversation:
    """A conversation as it was read, or a part of it.

    Attributes:
        sha256: of all that was read, to know the conversation again.
        forked_from: the provider's id of the conversation from which it was forked; "" for none.
        is_continued: the messages follow those that are stored; else they are the whole conversation, and stored
            messages that are not among them leave the path.
        is_complete: all of it has been read when these messages are stored.
    """

    provider_id: str
    title: str
    messages: Sequence[NewMessage]
    sha256: bytes
    project: str = ""
    folder: str = ""
    branch: str = ""
    forked_from: str = ""
    started_at: datetime | None = None
    last_at: datetime | None = None
    is_continued: bool = False
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """The outcome for a conversation that was put into the store."""

    conversation_id: str
    change: Change
    added: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation, without its messages."""

    conversation_id: str
    source: SourceName
    provider_id: str
    title: str
    project: str
    started_at: datetime | None
    last_at: datetime | None
    is_complete: bool
    messages: int = 0  # on the path
    first_words: str = ""  # of the first message that a person wrote
    sha256: str = ""  # of what was read of it
    reader_version: int = 0  # by which it was read
    folder: str = ""  # in which the session took place
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation, named by its number in the conversation."""

    number: int
    provider_id: str
    parent: int | None
    role: Role
    part: str
    author: str | None
    text: str
    sha256: str
    said_at: datetime | None
    model: str | None
    human_authored: bool
    on_path: bool
    origin: str


@dataclass(frozen=True, slots=True)
class RankedMessage:
    """A message that was found, by its best chunk; `distance` is the cosine distance of its text, from 0 to 2."""

    score: int
    chunk_id: int
    start: int
    end: int
    length: int
    message_id: int
    conversation_no: int
    number: int
    position: int
    on_path: bool
    borrowed: Mapping[str, int] = field(default_factory=dict)
    distance: float | None = None

    @property
    def order(self) -> tuple[int, int, int]:
        """Best first; ties in the order of import."""
        return -self.score, self.message_id, self.start

    @property
    def similarity(self) -> float | None:
        """Its cosine similarity to the query; None if it was not found by its vector."""
        return None if self.distance is None else 1 - self.distance


@dataclass(frozen=True, slots=True)
class MessageHit:
    """A message that was found.

    Attributes:
        span: the passage of its text that fits best, in code points.
        score: of this passage.
        terms: what each lexeme of the query adds to the score.
        borrowed: what the lexemes of the messages beside it add.
        similarity: the cosine similarity to the query, -1 to 1; None if the message was not found by its vector.
    """

    conversation: Conversation
    message: Message
    span: Span
    snippet: str
    score: int
    terms: dict[str, int] = field(default_factory=dict)
    borrowed: dict[str, int] = field(default_factory=dict)
    similarity: float | None = None

    @property
    def reference(self) -> str:
        """`conversations/ID#number`, which names this text for ever."""
        return message_reference(self.conversation.conversation_id, self.message.number)
