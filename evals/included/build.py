"""Memory that is distilled from conversations by the rules, and which messages its statements cite."""

import re
from collections import Counter
from dataclasses import dataclass

from memex.call_context import CallContext
from memex.evals.retrieval.stored_as.conversations import conversations_of
from memex.evals.retrieval.suites import Collection
from memex.service.conversations import putting, removing
from memex.service.conversations.putting import ConversationInput, SourceInput
from memex.service.distil.distil import distil
from memex.service.service import Caller, Service
from memex.store.citations.syntax import message_reference
from memex.store.conversations.ingest import MAX_MESSAGES
from memex.store.database import rows

OWN_ROLE = "user"  # whose words are distilled
PLAIN = "plain"  # the source of the messages that are distilled
WRITTEN = ("added", "superseded", "cited")

_SPEAKER = re.compile(r"^\*\*[^*\n]{1,80}\*\*: ")  # as LoCoMo's turns name who speaks


@dataclass(frozen=True, slots=True)
class DistilledMemory:
    """A memory that was distilled from the messages of one person.

    Attributes:
        texts: the statements that each message gave, by the id of the message.
        statements: how many these are.
        own: the ids of all messages of the person.
        files: how many files there are.
        chars: how many characters they have, citations included.
        message_chars: how many characters all messages have.
        own_chars: how many of these characters the person wrote.
    """

    texts: dict[str, list[str]]
    statements: Counter[str]
    own: frozenset[str]
    files: int
    chars: int
    message_chars: int
    own_chars: int


async def distil_collection(service: Service, caller: Caller, collection: Collection) -> DistilledMemory:
    """Store the messages of a collection without the names of speakers, distil all of them, and delete them.

    The statements stay, with their citations. Messages with the names can then be stored in their place.
    """
    read = [_plain(collected) for collected in conversations_of(collection)]
    done = [
        conversation
        for batch in _batches(read)
        for conversation in (await putting.put(service, caller, SourceInput(kind=PLAIN), batch)).conversations
    ]
    texts: dict[str, list[str]] = {}
    for conversation in done:
        given = {"conversation": conversation.id, "apply": True}
        while True:
            made = await distil(service, caller, given)
            for statement in made.statements:
                if statement.outcome in WRITTEN and statement.text:
                    texts.setdefault(statement.message, []).append(statement.text)
            if not made.remaining:
                break
    references = await message_references(service, caller)
    await removing.DELETE.call(
        service,
        await _renewed(service, caller),
        {"conversations": [stored.id for stored in done], "dry_run": False},
    )
    listed = await service.execute(caller, "memory_list", {"limit": 1_000})
    messages = [message for collected in read for message in collected.messages]
    return DistilledMemory(
        texts={path: texts.get(reference, []) for path, reference in references.items()},
        statements=Counter({path: len(texts.get(reference, ())) for path, reference in references.items()}),
        own=frozenset(str(message.id) for message in messages if message.role == OWN_ROLE),
        files=len(listed["files"]),
        chars=sum(file["size_chars"] for file in listed["files"]),
        message_chars=sum(len(message.text) for message in messages),
        own_chars=sum(len(message.text) for message in messages if message.role == OWN_ROLE),
    )


async def message_references(service: Service, caller: Caller) -> dict[str, str]:
    """Return what names each message of a user, by the id that the data give it."""
    access = (await _renewed(service, caller)).access
    scope = access.conversations
    async with service.database.transaction(access.for_conversations()) as connection:
        read = await rows(connection, "evals/message_ids", scope_id=scope.scope_id if scope else None)
    return {
        record["provider_id"]: message_reference(record["conversation_id"], record["number"])
        for record in read
    }


def _plain(conversation: ConversationInput) -> ConversationInput:
    messages = [
        message.model_copy(update={"text": _SPEAKER.sub("", message.text)})
        for message in conversation.messages
    ]
    return conversation.model_copy(update={"messages": messages})


def _batches(read: list[ConversationInput]) -> list[list[ConversationInput]]:
    """Return conversations in parts that one call takes."""
    batches: list[list[ConversationInput]] = [[]]
    size = 0
    for conversation in read:
        if batches[-1] and size + len(conversation.messages) > MAX_MESSAGES:
            batches.append([])
            size = 0
        batches[-1].append(conversation)
        size += len(conversation.messages)
    return batches


async def _renewed(service: Service, caller: Caller) -> Caller:
    """Return the caller with the conversations that it has now."""
    context = CallContext(user_id=caller.access.user_id, actor=caller.access.actor)
    return await service.caller(caller.principal, context)
