"""Rows about citations, and the statements that write and read them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.store.access import Access
from memex.store.citations.syntax import CitedPlace
from memex.store.database import Connection, Statement, rows
from memex.store.records import Span


@dataclass(frozen=True, slots=True)
class Citation:
    """A record that a statement was taken from a message.

    Attributes:
        scope_id: the scope of the file in which the statement stands.
        user_id: whose conversation it is.
        place: the conversation, and the number of the message when the statement was taken.
        statement_sha256: the digest of the statement in normal form.
        message_sha256: the digest of the text of the message.
        span: where in that text the statement stands.
        said_at: when the message was written, if that is known.
        revision: the version that first held the citation, as `path@version` within the scope.
        tool_call_id: the call that took the statement.
    """

    scope_id: int
    user_id: str
    place: CitedPlace
    statement_sha256: bytes
    message_sha256: bytes
    span: Span
    said_at: datetime | None
    revision: str
    tool_call_id: str

    @property
    def key(self) -> tuple[int, CitedPlace, bytes, str]:
        """The values that tell this citation from others."""
        return self.scope_id, self.place, self.statement_sha256, self.user_id


@dataclass(frozen=True, slots=True)
class DistilledPart:
    """Up to which message a conversation has been distilled, and by which planner."""

    conversation_id: str
    until_number: int
    planner: str
    tool_call_id: str
    distilled_at: datetime


def write_statement(access: Access, citations: Iterable[Citation], now: datetime) -> Statement:
    """Return the statement that stores citations; one that is stored already says then what this call found."""
    found = {citation.key: citation for citation in citations}.values()
    return "citations/citation_write", {
        "tenant_id": access.tenant_id,
        "cited_at": now,
        "scope_ids": [citation.scope_id for citation in found],
        "user_ids": [citation.user_id for citation in found],
        "conversation_ids": [citation.place[0] for citation in found],
        "numbers": [citation.place[1] for citation in found],
        "statement_sha256s": [citation.statement_sha256 for citation in found],
        "message_sha256s": [citation.message_sha256 for citation in found],
        "starts": [citation.span[0] for citation in found],
        "ends": [citation.span[1] for citation in found],
        "said_ats": [citation.said_at for citation in found],
        "revisions": [citation.revision for citation in found],
        "tool_call_ids": [citation.tool_call_id for citation in found],
    }


def mark_statement(
    access: Access, scope_id: int, parts: Sequence[DistilledPart], *, is_again: bool = False
) -> Statement:
    """Return the statement that notes how far conversations were distilled; it goes back only if it `is_again`."""
    return "citations/distilled_mark", {
        "tenant_id": access.tenant_id,
        "is_again": is_again,
        "scope_id": scope_id,
        "conversation_ids": [part.conversation_id for part in parts],
        "until_numbers": [part.until_number for part in parts],
        "planners": [part.planner for part in parts],
        "tool_call_ids": [part.tool_call_id for part in parts],
        "distilled_ats": [part.distilled_at for part in parts],
    }


async def read_distilled(
    connection: Connection, scope_id: int, conversation_ids: Collection[str] | None = None
) -> dict[str, DistilledPart]:
    """Return how far conversations have been distilled, by their ids: all, or some; those that never were lack."""
    found = await rows(
        connection,
        "citations/distilled_read",
        scope_id=scope_id,
        conversation_ids=None if conversation_ids is None else list(conversation_ids),
    )
    return {row["conversation_id"]: DistilledPart(**row) for row in found}


async def citations_of_places(
    connection: Connection, scope_ids: Collection[int], places: Collection[CitedPlace]
) -> list[Citation]:
    """Return what is known of the citations of these messages in files of these scopes, whoever owns them."""
    if not places:
        return []
    found = await rows(
        connection,
        "citations/citation_of_place",
        scope_ids=list(scope_ids),
        conversation_ids=[place[0] for place in places],
        numbers=[place[1] for place in places],
    )
    return list(map(_citation, found))


def _citation(record: dict[str, Any]) -> Citation:
    return Citation(
        record["scope_id"],
        record["user_id"],
        (record["conversation_id"], record["number"]),
        bytes(record["statement_sha256"]),
        bytes(record["message_sha256"]),
        (record["start_char"], record["end_char"]),
        record["said_at"],
        record["revision"],
        record["tool_call_id"],
    )
