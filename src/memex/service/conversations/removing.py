"""Remove conversations: first what would go, then, on request, all of it with a receipt."""

from datetime import datetime
from typing import Annotated, Any

import structlog
from pydantic import AwareDatetime, Field

from memex.errors import ConversationNotFound, MemexError, ValidationFailed
from memex.service.distil.removal import CitingResult, find_resting, forget_progress, withdraw
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.service import Service
from memex.service.tools.tool import Arguments, ResultPart, StorableText, ToolResult, example
from memex.store.conversations.remove import (
    ended_before,
    remove_conversation,
    remove_events_before,
    scopes_ended_before,
    select_conversations,
)
from memex.store.records import Status

MAX_NAMED = 100  # conversations of the receipt
MAX_AT_ONCE = 1_000  # conversations of a call that names them

_log = structlog.get_logger("memex.conversations")


class DeleteConversationsArguments(Arguments):
    """Conditions of a deletion: the conversations that meet all of them go. `dry_run` only counts."""

    model_config = example(source="chatgpt", before="2025-01-01T00:00:00Z", dry_run=True)

    conversations: Annotated[
        list[Annotated[str, Field(pattern=r"^[0-9a-z]{12}$")]] | None,
        Field(min_length=1, max_length=MAX_AT_ONCE),
    ] = None
    source: Annotated[StorableText | None, Field(max_length=200)] = None
    before: Annotated[AwareDatetime | None, Field(strict=False)] = None
    dry_run: bool = False
    with_memory: bool = False  # also take out of memory what rests on them alone


class DeletedConversation(ResultPart):
    """A conversation that went, or would go."""

    id: str
    title: str
    messages: int


class DeleteResult(ToolResult):
    """A receipt: how much went, or would go with `dry_run`. `deleted` names the first 100.

    `statements` are those of memory that rest on the conversations. With `with_memory` they are taken out, unless
    they rest on another conversation too, in the call `memory_call`, which can be undone.
    """

    conversations: int
    messages: int
    text_bytes: int
    deleted: list[DeletedConversation]
    dry_run: bool
    statements: list[CitingResult] = Field(default_factory=list)
    memory_call: str | None = None


async def _delete(call: OperationCall, arguments: DeleteConversationsArguments) -> LoggedAnswer[DeleteResult]:
    """Delete conversations with all that is derived of them, a transaction each, and return a receipt.

    What was deleted does not come back with the next export, unless that is asked for. A run that was cut off is
    finished by the same request.

    Raises:
        ValidationFailed: nothing says which conversations go.
        ConversationNotFound: one of the named conversations is not the user's.
    """
    if arguments.conversations is None and arguments.source is None and arguments.before is None:
        raise ValidationFailed(
            "Nothing says which conversations to delete.", hint="Name conversations, a source, or a date."
        )
    selected = await select_conversations(
        call.database,
        call.access,
        conversation_ids=arguments.conversations,
        source=arguments.source,
        before=arguments.before,
    )
    missing = set(arguments.conversations or ()) - {conversation.conversation_id for conversation in selected}
    if missing and arguments.source is None and arguments.before is None:
        raise ConversationNotFound(f"There is no conversation {min(missing)!r} for this user.")
    named = [conversation.conversation_id for conversation in selected]
    resting = await find_resting(call.database, call.access, named)
    gone, memory_call = selected, None
    if not arguments.dry_run:
        if arguments.with_memory and resting:
            memory_call = (await withdraw(call.service, call.caller, named)).tool_call_id
        gone = []
        for conversation in selected:
            removed = await remove_conversation(call.database, call.access, conversation, now=call.now)
            gone += [conversation] if removed else []
        await forget_progress(call.service, call.caller, named)
    result = DeleteResult(
        conversations=len(gone),
        messages=sum(conversation.messages for conversation in gone),
        text_bytes=sum(conversation.text_bytes for conversation in gone),
        deleted=[
            DeletedConversation.taken_from(conversation, id=conversation.conversation_id)
            for conversation in gone[:MAX_NAMED]
        ],
        dry_run=arguments.dry_run,
        statements=resting,
        memory_call=memory_call,
    )
    logged: dict[str, Any] = {"conversations": [conversation.conversation_id for conversation in gone]}
    logged |= {"statements": len(resting), "memory_call": memory_call}
    logged |= {"messages": result.messages, "text_bytes": result.text_bytes}
    status: Status = "dry_run" if arguments.dry_run else "answered"
    return LoggedAnswer(result, logged, status=status)


async def delete_ended_before(service: Service, before: datetime) -> int:
    """Delete all conversations of all users that ended before a time, and return how many.

    Each call deletes up to 1,000 conversations of a user. It stands in the user's log with its receipt, as if the
    user had asked, under the actor `memex`. A user for whom this fails is left for the next time.
    """
    deleted = 0
    await remove_events_before(service.database, before)
    for scope in await scopes_ended_before(service.database, before):
        try:
            while named := await ended_before(service.database, scope, before, limit=MAX_AT_ONCE):
                caller = await service.identities.memex_for(scope.tenant_id, scope.user_id)
                receipt = await DELETE.call(service, caller, {"conversations": named, "before": before})
                if not receipt.conversations:  # another process is deleting them
                    break
                deleted += receipt.conversations
        except MemexError as error:
            _log.warning("old_conversations_left", tenant=scope.tenant_id, code=error.code)
    if deleted:
        _log.info("old_conversations_deleted", conversations=deleted, before=before.isoformat())
    return deleted


DELETE = LoggedOperation("conversation_delete", DeleteConversationsArguments, DeleteResult, _delete)
