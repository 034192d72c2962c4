"""Read conversations: a thread around a message, all of them by time, and where they came from."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, Field

from memex.errors import ConversationNotFound
from memex.service.conversations.results import (
    ListedConversation,
    MessageResult,
    ShownConversation,
    conversation_result,
    message_result,
)
from memex.service.operation import LoggedAnswer, LoggedOperation, NoArguments, OperationCall
from memex.service.tools.cursor import from_cursor, time_in_cursor, to_cursor
from memex.service.tools.tool import Arguments, ReadAnswer, ResultPart, StorableText
from memex.store.conversations.read import list_conversations, list_sources, read_thread
from memex.store.conversations.records import parse_reference
from memex.store.conversations.vectors import coverage


class ReadThreadArguments(Arguments):
    """Read a conversation of the user, whole or around a message.

    `reference` is an id, or `ID#number` for a message with those around it, as conversation_find returns it.
    """

    reference: Annotated[str, Field(min_length=1, max_length=100)]
    around: Annotated[int, Field(ge=0, le=500)] = 5  # messages before and after the named one
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100
    all_branches: bool = False
    cursor: str | None = None


class ThreadResult(ReadAnswer):
    """A conversation, or a part of it; `next_cursor` leads to the next part."""

    conversation: ShownConversation
    messages: list[MessageResult]
    next_cursor: str | None


class ListConversationsArguments(Arguments):
    """List the user's imported conversations, the newest first.

    Filters: `source` (a label or a format), `project` (the provider's label), `since` and `until` (times).
    """

    source: Annotated[StorableText | None, Field(max_length=200)] = None
    project: Annotated[StorableText | None, Field(max_length=200)] = None
    since: Annotated[AwareDatetime | None, Field(strict=False)] = None
    until: Annotated[AwareDatetime | None, Field(strict=False)] = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50
    cursor: str | None = None


class ListConversationsResult(ReadAnswer):
    """Conversations, the newest first; `next_cursor` leads to the next page."""

    conversations: list[ListedConversation]
    next_cursor: str | None


class SourceResult(ResultPart):
    """The imported conversations of a source, and what the newest import left out, by reason."""

    kind: str
    label: str
    account: str
    reader_version: int
    imported_at: str
    skipped: dict[str, int]
    conversations: int
    messages: int
    human_messages: int
    text_bytes: int
    started_at: str | None
    last_at: str | None


class CoverageResult(ResultPart):
    """The number of passages, and how many of them `model` has embedded."""

    model: str
    passages: int
    embedded: int


class SourcesResult(ReadAnswer):
    """The sources of the user's conversations; `vectors` is null without an embedder."""

    sources: list[SourceResult]
    vectors: CoverageResult | None


async def _read(call: OperationCall, arguments: ReadThreadArguments) -> LoggedAnswer[ThreadResult]:
    """Return a conversation, or the part around a message, and log which messages were shown.

    Raises:
        ValidationFailed: an argument is wrong.
        ConversationNotFound: the user has no such conversation, or it has no such message.
    """
    named = parse_reference(arguments.reference)
    if named is None:
        raise ConversationNotFound(
            f"{arguments.reference[:50]!r} names no conversation.",
            hint="A conversation is named by its 12 characters, and a message by a number behind them: ID#41.",
            reason="reference",
        )
    conversation_id, number = named
    after = from_cursor(arguments.cursor, int, int) if arguments.cursor is not None else None
    around = number if after is None else None
    narrowed = call.access.for_conversations()
    async with call.database.transaction(narrowed, snapshot=True) as connection:
        thread = await read_thread(
            connection,
            call.access.conversations,
            conversation_id,
            limit=arguments.limit if around is None else 2 * arguments.around + 1,
            around=around,
            before=arguments.around,
            all_branches=arguments.all_branches,
            after=(after[0], after[1]) if after else None,
        )
    result = ThreadResult(
        conversation=conversation_result(ShownConversation, thread.conversation),
        messages=[message_result(conversation_id, message) for message in thread.messages],
        next_cursor=to_cursor(*thread.after) if thread.after else None,
    )
    logged = {"messages": [message.reference for message in result.messages]}
    return LoggedAnswer(result, logged)


async def _list(
    call: OperationCall, arguments: ListConversationsArguments
) -> LoggedAnswer[ListConversationsResult]:
    """Return conversations, the newest first, and log which; raises ValidationFailed for a wrong argument."""
    async with call.database.transaction(call.access.for_conversations()) as connection:
        listed, after = await list_conversations(
            connection,
            call.access.conversations,
            **arguments.model_dump(exclude={"cursor"}),
            after=_place(arguments.cursor),
        )
    result = ListConversationsResult(
        conversations=[conversation_result(ListedConversation, conversation) for conversation in listed],
        next_cursor=to_cursor(after[0].isoformat() if after[0] else "", after[1]) if after else None,
    )
    logged = {"conversations": [conversation.id for conversation in result.conversations]}
    return LoggedAnswer(result, logged)


async def _sources(call: OperationCall, _: NoArguments) -> LoggedAnswer[SourcesResult]:
    """Return where the user's conversations came from, and log that it was asked."""
    async with call.database.transaction(call.access.for_conversations()) as connection:
        found = await list_sources(connection, call.access.conversations)
        embedder, scope = call.service.embedder, call.access.conversations
        has_vectors = call.database.has_vectors
        vectors = (
            await coverage(connection, scope, embedder.name) if embedder and scope and has_vectors else None
        )
    result = SourcesResult(
        sources=[SourceResult.taken_from(source, **asdict(source.name)) for source in found],
        vectors=CoverageResult.taken_from(vectors) if vectors else None,
    )
    return LoggedAnswer(result, {"sources": len(found)})


def _place(cursor: str | None) -> tuple[datetime | None, int] | None:
    if cursor is None:
        return None
    at, number = from_cursor(cursor, str, int)
    return time_in_cursor(at) if at else None, number


READ = LoggedOperation("conversation_read", ReadThreadArguments, ThreadResult, _read)
LIST = LoggedOperation("conversation_list", ListConversationsArguments, ListConversationsResult, _list)
SOURCES = LoggedOperation("conversation_sources", NoArguments, SourcesResult, _sources)
