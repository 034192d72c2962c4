"""Conversations and files of exports that need not be sent, because they are stored as they were read."""

from typing import Annotated, Any

from pydantic import Field

from memex.service.call import Caller
from memex.service.conversations.lines import MAX_ID_CHARS
from memex.service.conversations.putting import (
    Digest,
    SourceInput,
    check_user,
    logged_source,
)
from memex.service.service import Service
from memex.service.tools.tool import Arguments, StorableText, Tool, ToolResult, example
from memex.store.conversations.known import count_removed, known_conversations, known_files
from memex.store.conversations.records import make_conversation_id

WANTED = "conversation_wanted"


class KnownConversation(Arguments):
    """A conversation that a program could send: its id with the provider, and the digest of what was read of it."""

    id: Annotated[StorableText, Field(min_length=1, max_length=MAX_ID_CHARS)]
    sha256: Digest


class WantedArguments(Arguments):
    """Ask which conversations are wanted, and by `source.files` which files need not be read again."""

    model_config = example(source={"kind": "chatgpt"}, conversations=[{"id": "aaaa1111", "sha256": "0" * 64}])

    source: SourceInput
    conversations: Annotated[list[KnownConversation], Field(max_length=10_000)] = Field(default_factory=list)


class WantedResult(ToolResult):
    """The conversations of which something may be new, by the ids with which they were named.

    `known_files` are those of the source's files that were read to their end before, and `bookmarks` tells by
    lineage where to read on in others, which have grown. Where a file is known, `removed` counts by format the
    conversations that a person removed, which stay out.
    """

    wanted: list[str]
    known_files: list[str]
    bookmarks: dict[str, dict[str, Any]]
    removed: dict[str, int]


async def wanted(
    service: Service, caller: Caller, arguments: WantedArguments, *, tool_call_id: str | None = None
) -> WantedResult:
    """Return which conversations are not stored as they were read, so that a program need not send the others.

    An import asks this of everything that it has read, mostly to hear that nothing is new: it is logged for an
    administrator alone, and where the caller gives the call an id.
    """
    asked = {"source": logged_source(arguments.source), "conversations": len(arguments.conversations)}
    async with service.recorder.recorded(caller, WANTED, asked, tool_call_id=tool_call_id) as log:
        check_user(caller)
        source = arguments.source.name
        ids = {
            make_conversation_id(source.kind, source.account, conversation.id): conversation
            for conversation in arguments.conversations
        }
        known = await known_conversations(service.database, caller.access, list(ids))
        missing = [
            conversation.id
            for conversation_id, conversation in ids.items()
            if known.get(conversation_id)
            != (bytes.fromhex(conversation.sha256), arguments.source.reader_version)
        ]
        read_before = await known_files(
            service.database, caller.access, [given.file for given in arguments.source.files]
        )
        digests = {file.sha256.hex() for file in read_before}
        known_digests = [given.sha256 for given in arguments.source.files if given.sha256 in digests]
        result = WantedResult(
            wanted=missing,
            known_files=known_digests,
            bookmarks={
                file.lineage.hex(): dict(file.bookmark)
                for file in read_before
                if file.lineage and file.bookmark
            },
            removed=await count_removed(service.database, caller.access) if known_digests else {},
        )
        if caller.principal.role == "admin" or tool_call_id is not None:
            return await log.answer(result, asked, {"wanted": len(missing)})
    return result.model_copy(update={"tool_call_id": log.call.request.tool_call_id})


WANTED_TOOL: Tool[WantedArguments] = Tool(WANTED, WantedArguments, WantedResult)
