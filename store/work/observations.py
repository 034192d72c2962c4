"""Observations: what spans of messages say about work. They hold no words, and are made anew at any time."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

from memex.store.access import Access
from memex.store.database import Connection, Database, Shape, row, rows_as
from memex.store.sql import sql
from memex.store.work.records import (
    DerivedSession,
    NewObservation,
    PendingWords,
    SessionRow,
    UnderivedMessage,
)


async def find_sessions(
    connection: Connection,
    scope_id: int,
    *,
    project: str | None = None,
    session: str | None = None,
    limit: int = 1_000,
) -> list[SessionRow]:
    """Return the conversations of a project, or the one of an id, the newest first."""
    return await rows_as(
        SessionRow,
        connection,
        "work/conversation_of_project",
        scope_id=scope_id,
        project=project,
        session=session,
        limit=limit,
    )


async def underived_messages(
    connection: Connection,
    scope_id: int,
    read_to: Sequence[tuple[int, int]],
    *,
    max_chars: int,
    last_turns: int,
) -> list[UnderivedMessage]:
    """Return the messages of conversations that were not read yet, with the first and the last `last_turns` turns.

    `read_to` says for each conversation up to which number it was read; of a text, the first `max_chars` come.
    """
    return await rows_as(
        UnderivedMessage,
        connection,
        "work/message_underived",
        scope_id=scope_id,
        conversation_nos=[number for number, _ in read_to],
        from_numbers=[number for _, number in read_to],
        max_chars=max_chars,
        last_turns=last_turns,
    )


async def add_observations(
    database: Database,
    access: Access,
    sessions: Sequence[DerivedSession],
    found: Sequence[NewObservation],
    *,
    deriver_version: int,
) -> None:
    """Store what was read of conversations; what another call has read meanwhile is left as it is."""
    if access.conversations is None:
        return
    async with database.transaction(access.for_conversations()) as connection:
        await connection.execute(
            sql("work/observation_add"),
            {
                "scope_id": access.conversations.scope_id,
                "tenant_id": access.tenant_id,
                "deriver_version": deriver_version,
                "read": json.dumps([asdict(session) for session in sessions]),
                "observations": json.dumps([asdict(observation) for observation in found]),
            },
        )


async def list_observations(
    shape: Callable[..., Shape],
    connection: Connection,
    scope_id: int,
    conversation_nos: Sequence[int],
    *,
    project: str | None = None,
    before_chars: int = 0,
) -> list[Shape]:
    """Return what the messages of some conversations say about work, as `shape` makes it of their words.

    Of a session that moved, only what was said in turns of the project or label `project`. `before_chars` is how
    much of the message comes with what an agent says is to be done, and with a definition of done.
    """
    return await rows_as(
        shape,
        connection,
        "work/observation_list",
        scope_id=scope_id,
        conversation_nos=list(conversation_nos),
        project=project,
        before_chars=before_chars,
    )


async def list_tool_events(
    shape: Callable[..., Shape],
    connection: Connection,
    scope_id: int,
    conversation_ids: Sequence[str],
    *,
    project: str | None = None,
    limit: int,
) -> list[Shape]:
    """Return what clients report of tools in some conversations, the newest first; the rest as above."""
    return await rows_as(
        shape,
        connection,
        "work/tool_event_list",
        scope_id=scope_id,
        conversation_ids=list(conversation_ids),
        project=project,
        limit=limit,
    )


async def list_pending_words(
    connection: Connection,
    scope_id: int,
    conversation_ids: Sequence[str],
    *,
    project: str | None = None,
    limit: int,
) -> list[PendingWords]:
    """Return what events of some conversations say that no transcript has yet, the oldest first."""
    return await rows_as(
        PendingWords,
        connection,
        "work/words_pending",
        scope_id=scope_id,
        conversation_ids=list(conversation_ids),
        project=project,
        limit=limit,
    )


async def clear_derived(connection: Connection, scope_id: int) -> int:
    """Forget what was read, and return of how many conversations."""
    found = await row(connection, "work/derived_clear", scope_id=scope_id)
    return 0 if found is None else int(found["conversations"])
