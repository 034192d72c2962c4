"""Conversations and messages as answers have them."""

from typing import TypeVar

from memex.service.tools.tool import ResultPart
from memex.store.citations.syntax import message_reference
from memex.store.conversations.records import Conversation, Message


class SourceNameResult(ResultPart):
    """The source of a conversation: its format, the label that people gave it, and the export's account."""

    kind: str
    label: str
    account: str


class ConversationResult(ResultPart):
    """A conversation without its messages; `messages` counts those on the path."""

    id: str
    provider_id: str
    title: str
    source: SourceNameResult
    project: str
    started_at: str | None
    last_at: str | None
    is_complete: bool


class ShownConversation(ConversationResult):
    """A conversation that is read: a digest of what was read of the export, and the version of the reader.

    `folder` and `branch` say where a session took place, as its transcript names it.
    """

    folder: str
    branch: str
    sha256: str
    reader_version: int


class ListedConversation(ConversationResult):
    """A conversation in a list: how many messages it has, and the first words that a person wrote in it."""

    messages: int
    first_words: str


class MessageResult(ResultPart):
    """A message. `reference` names its text for ever; `on_path` is false on a branch that was given up."""

    reference: str
    number: int
    provider_id: str
    parent: int | None
    role: str
    part: str
    author: str | None
    text: str
    sha256: str
    said_at: str | None
    model: str | None
    human_authored: bool
    on_path: bool
    origin: str


C = TypeVar("C", bound=ConversationResult)


def conversation_result(kind: type[C], conversation: Conversation) -> C:
    """Return a conversation as an answer of this kind has it."""
    source = SourceNameResult.taken_from(conversation.source)
    return kind.taken_from(conversation, id=conversation.conversation_id, source=source)


def message_result(conversation_id: str, message: Message) -> MessageResult:
    """Return a message as an answer has it."""
    return MessageResult.taken_from(message, reference=message_reference(conversation_id, message.number))
