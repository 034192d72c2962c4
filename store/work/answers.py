"""A chat model's answers about messages that were read for work: spans and kinds, and no words."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.store.access import Access
from memex.store.database import Connection, Database, row, rows, rows_as
from memex.store.work.records import AnsweredSpan


@dataclass(frozen=True, slots=True)
class UnansweredMessage:
    """A message about which a model has not answered.

    Attributes:
        by_human: a person wrote it; else an agent did.
        tries: how often the model gave no answer that can be used.
        total: how many such messages there are in all.
    """

    conversation_no: int
    conversation_id: str
    number: int
    text: str
    by_human: bool
    tries: int
    total: int


@dataclass(frozen=True, slots=True)
class MessageAnswer:
    """A model's answer about a message; `spans` is None if it gave no answer that can be used."""

    conversation_no: int
    number: int
    sha256: bytes
    spans: Sequence[AnsweredSpan] | None
    tries: int = 0


@dataclass(frozen=True, slots=True)
class ConversationUser:
    """A user who has conversations."""

    scope_id: int
    tenant_id: int
    user_id: str


async def unanswered_messages(
    connection: Connection,
    scope_id: int,
    reader: str,
    *,
    since: datetime | None,
    now: datetime,
    max_tries: int,
    max_chars: int,
    limit: int,
) -> list[UnansweredMessage]:
    """Return the next messages of sessions about which a reader has not answered, session by session.

    Args:
        connection: may read the scope.
        scope_id: the scope of the user's conversations.
        reader: the version of the prompt, and the model.
        since: only sessions that went on since this time; None for all.
        now: the clock, by which a message comes again after a failure.
        max_tries: how often it does.
        max_chars: of a text, so many come.
        limit: so many messages at most.
    """
    return await rows_as(
        UnansweredMessage,
        connection,
        "work/message_unanswered",
        scope_id=scope_id,
        reader=reader,
        since=since,
        now=now,
        max_tries=max_tries,
        max_chars=max_chars,
        limit=limit,
    )


async def known_answers(
    connection: Connection, scope_id: int, digests: Sequence[bytes]
) -> dict[bytes, tuple[AnsweredSpan, ...]]:
    """Return the answers of a scope that have these digests."""
    found = await rows(connection, "work/answer_known", scope_id=scope_id, sha256s=list(digests))
    return {
        bytes(record["sha256"]): tuple(
            (str(kind), int(start), int(end)) for kind, start, end in record["spans"]
        )
        for record in found
    }


async def put_answers(
    database: Database, access: Access, reader: str, answers: Sequence[MessageAnswer], at: datetime
) -> int:
    """Note what a reader answered, and return how many answers were new."""
    if access.conversations is None or not answers:
        return 0
    given: list[dict[str, Any]] = [
        {
            "conversation_no": answer.conversation_no,
            "number": answer.number,
            "sha256": answer.sha256.hex(),
            "spans": None if answer.spans is None else [list(span) for span in answer.spans],
            "tries": answer.tries,
        }
        for answer in answers
    ]
    async with database.transaction(access.for_conversations()) as connection:
        noted = await row(
            connection,
            "work/answer_put",
            scope_id=access.conversations.scope_id,
            tenant_id=access.tenant_id,
            reader=reader,
            answers=json.dumps(given),
            answered_at=at,
        )
    return 0 if noted is None else int(noted["answers"])


async def recent_users(database: Database, since: datetime) -> list[ConversationUser]:
    """Return the users of all tenants with conversations that went on since a time."""
    async with database.maintenance() as connection:
        return [ConversationUser(**one) for one in await rows(connection, "work/scope_recent", since=since)]
