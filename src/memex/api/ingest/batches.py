"""Conversations as requests hold them: in parts that fit, with ids and texts that can be stored."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memex.service.conversations.lines import (
    MAX_BATCH_CHARS,
    MAX_BATCH_MESSAGES,
    MAX_ID_CHARS,
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
)
from memex.sources.conversations.cleaning import derived_key
from memex.sources.conversations.records import ReadConversation, ReadMessage, ReadReport
from memex.subagent.statements.secrets.finding import find_secrets, redact

MAX_BATCH_CONVERSATIONS = 500

Document = dict[str, Any]


@dataclass(slots=True)
class IngestBatch:
    """Conversations of one request, or parts of them."""

    source: Document
    conversations: list[Document] = field(default_factory=list)
    messages: int = 0
    chars: int = 0

    def has_room(self, part: Document, chars: int) -> bool:
        """Return whether a part fits too; one alone always does."""
        if not self.conversations:
            return True
        return (
            self.messages + len(part["messages"]) <= MAX_BATCH_MESSAGES
            and self.chars + chars <= MAX_BATCH_CHARS
            and len(self.conversations) < MAX_BATCH_CONVERSATIONS
        )

    def add(self, part: Document, chars: int) -> None:
        """Add a part."""
        self.conversations.append(part)
        self.messages += len(part["messages"])
        self.chars += chars


def parts_of(conversation: ReadConversation, report: ReadReport) -> Iterator[tuple[Document, int]]:
    """Yield a conversation as parts of requests, with the number of characters of each; most have one part.

    The digest of the last part is of the whole conversation and its title. It is made of texts without secrets: a
    short secret could be guessed from a digest of the rest.
    """
    digest = hashlib.sha256()
    messages: list[Document] = []
    chars, is_continued = 0, conversation.continues
    for whole in conversation.messages:
        for message in _pieces(whole):
            if messages and (
                len(messages) >= MAX_BATCH_MESSAGES or chars + len(message["text"]) > MAX_BATCH_CHARS
            ):
                yield (
                    _part(conversation, messages, digest.hexdigest(), is_continued, is_complete=False),
                    chars,
                )
                messages, chars, is_continued = [], 0, True
            messages.append(message)
            chars += len(message["text"])
            text = redact(message["text"], find_secrets(message["text"]))
            named = f"{message['id']}\x1f{message['on_path']}\x1f{message['role']}\x1f{text}\x1e"
            digest.update(named.encode("utf-8", "surrogatepass"))
    if messages:
        is_complete = conversation.key not in report.incomplete
        title = conversation.title or ""
        digest.update(redact(title, find_secrets(title)).encode("utf-8", "surrogatepass"))
        yield _part(conversation, messages, digest.hexdigest(), is_continued, is_complete=is_complete), chars


def _part(
    conversation: ReadConversation,
    messages: list[Document],
    sha256: str,
    is_continued: bool,
    *,
    is_complete: bool,
) -> Document:
    started_at, last_at = conversation.started_at, conversation.updated_at
    return {
        "id": _storable_id(conversation.key),
        "title": storable(conversation.title or "")[:MAX_TITLE_CHARS],
        "project": storable(conversation.project or "")[:200],
        "folder": storable(conversation.folder),
        "branch": storable(conversation.branch),
        "forked_from": _storable_id(conversation.forked_from) if conversation.forked_from else "",
        "started_at": started_at.isoformat() if started_at else None,
        "last_at": last_at.isoformat() if last_at else None,
        "sha256": sha256,
        "is_continued": is_continued,
        "is_complete": is_complete,
        "messages": messages,
    }


def _pieces(message: ReadMessage) -> Iterator[Document]:
    """Yield a message, or one of over a MiB in several."""
    for place, start in enumerate(range(0, len(message.text), MAX_TEXT_CHARS), start=1):
        yield {
            "id": _storable_id(message.key if place == 1 else f"{message.key}/piece:{place}"),
            "role": message.role,
            "text": message.text[start : start + MAX_TEXT_CHARS],
            "parent": _storable_id(message.parent) if message.parent is not None else None,
            "part": message.part,
            "author": storable(message.author)[:200] if message.author else None,
            "said_at": message.at.isoformat() if message.at else None,
            "model": storable(message.model)[:200] if message.model else None,
            "human_authored": message.human_authored,
            "on_path": message.on_path,
            "origin": storable(message.origin)[:1_000],
        }


def storable(text: str) -> str:
    """Return a text with other characters where it has some that cannot be stored: NUL and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _storable_id(key: str) -> str:
    """Return an id that can be stored; a digest of one that is too long."""
    text = storable(key)
    return text if len(text) <= MAX_ID_CHARS else derived_key(text)
