"""Copies: one message that came twice, cut off in one export and whole in another one."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from memex.store.access import Scope
from memex.store.conversations.records import NewConversation, NewMessage, SourceName, make_conversation_id
from memex.store.database import Connection, rows


async def with_whole_texts(
    connection: Connection, scope: Scope, source: SourceName, conversations: Sequence[NewConversation]
) -> tuple[list[NewConversation], int]:
    """Return conversations in which the longest copy of each message stands, and how many shorter ones are new.

    A message is a copy of another one if both have the provider's id, and the text of one stands in the other. The
    shorter copy is kept beside the thread. A text that only differs was edited: the one that is read now stands.
    """
    asked = [
        (make_conversation_id(source.kind, source.account, conversation.provider_id), message)
        for conversation in conversations
        for message in conversation.messages
        if message.number is None
    ]
    found = await rows(
        connection,
        "conversations/message_of_id",
        scope_id=scope.scope_id,
        conversation_ids=[conversation_id for conversation_id, _ in asked],
        provider_ids=[message.provider_id for _, message in asked],
        sha256s=[hashlib.sha256(message.text.encode()).digest() for _, message in asked],
    )
    stored: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    for row in found:
        text = "" if row["text"] is None else row["text"]  # no text of a message is empty
        stored.setdefault((row["conversation_id"], row["provider_id"]), []).append((text, row["on_path"]))
    if not stored:
        return list(conversations), 0
    kept, shorter = [], 0
    for conversation in conversations:
        conversation_id = make_conversation_id(source.kind, source.account, conversation.provider_id)
        messages: list[NewMessage] = []
        for message in conversation.messages:
            known = stored.get((conversation_id, message.provider_id), []) if message.number is None else []
            longer = max((text for text, _ in known if _holds(text, message.text)), key=len, default="")
            is_stored = ("", True) in known or ("", False) in known
            if longer and message.on_path:
                messages += [replace(message, on_path=False), replace(message, text=longer)]
                shorter += not is_stored
            else:
                messages.append(message)
                shorter += any(stands and _holds(message.text, text) for text, stands in known if text)
        kept.append(replace(conversation, messages=messages))
    return kept, shorter


def _holds(longer: str, shorter: str) -> bool:
    """Return whether a text is longer than another one, and holds all of it but the dots of a cut."""
    part = " ".join(shorter.split()).rstrip("….")
    return len(longer) > len(shorter) and part in " ".join(longer.split())
