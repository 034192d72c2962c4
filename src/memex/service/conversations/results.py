"""Conversations and messages as answers have them."""

from typing import Any

from memex.service.tools.tool import ResultPart
from memex.store.conversations.records import Conversation, Message


class SourceNameResult(ResultPart):
    """Where a conversation comes from: the format, the label that people gave it, and the account of the export."""

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


def conversation_result(conversation: Conversation) -> ConversationResult:
    """Return a conversation as an answer has it."""
    return ConversationResult(**_columns(conversation))


def shown_conversation(conversation: Conversation) -> ShownConversation:
    """Return a conversation as a thread has it."""
    return ShownConversation(
        **_columns(conversation),
        folder=conversation.folder,
        branch=conversation.branch,
        sha256=conversation.sha256,
        reader_version=conversation.reader_version,
    )


def listed_conversation(conversation: Conversation) -> ListedConversation:
    """Return a conversation as a list has it."""
    return ListedConversation(
        **_columns(conversation), messages=conversation.messages, first_words=conversation.first_words
    )


def message_result(conversation_id: str, message: Message) -> MessageResult:
    """Return a message as an answer has it."""
    return MessageResult(
        reference=reference(conversation_id, message.number),
        number=message.number,
        provider_id=message.provider_id,
        parent=message.parent,
        role=message.role,
        part=message.part,
        author=message.author,
        text=message.text,
        sha256=message.sha256,
        said_at=message.said_at.isoformat() if message.said_at else None,
        model=message.model,
        human_authored=message.human_authored,
        on_path=message.on_path,
        origin=message.origin,
    )


def reference(conversation_id: str, number: int) -> str:
    """Return `conversations/ID#number`, which names the text of a message for ever."""
    return f"conversations/{conversation_id}#{number}"


def _columns(conversation: Conversation) -> dict[str, Any]:
    source = conversation.source
    return {
        "id": conversation.conversation_id,
        "provider_id": conversation.provider_id,
        "title": conversation.title,
        "source": SourceNameResult(kind=source.kind, label=source.label, account=source.account),
        "project": conversation.project,
        "started_at": conversation.started_at.isoformat() if conversation.started_at else None,
        "last_at": conversation.last_at.isoformat() if conversation.last_at else None,
        "is_complete": conversation.is_complete,
    }
