"""Passages of messages for a context: found by words, or read again where a log says that they were found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memex.store.access import Scope
from memex.store.citations.syntax import message_reference
from memex.store.conversations.filters import MessageFilters
from memex.store.conversations.find import rank_messages
from memex.store.conversations.records import parse_reference
from memex.store.database import Connection, rows
from memex.store.records import Reference
from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import Query
from memex.store.search.hybrid.shares import held_share, word_weights

MESSAGE_VERSION = 1  # the text of a message never changes

# Conversation, number, and the span in the text of the message: what a statement finds a passage by.
_Place = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class MessagePassage:
    """A passage of a message.

    Attributes:
        reference: `conversations/ID#number`, version 1, and the span.
        author: the name that the provider gives the speaker.
        said_at: None if the export does not say when.
        share: the words of the query that the passage holds or borrows, in percent of their weight.
    """

    reference: Reference
    text: str
    role: str
    author: str | None
    said_at: datetime | None
    title: str
    score: int = 0
    share: int = 0


async def find_passages(
    connection: Connection, scope: Scope, text: str, *, limit: int
) -> tuple[Query, list[MessagePassage]]:
    """Return a query as search weighed it, and the passages that score highest, one a message, the best first.

    `text` and `limit` are as for `find_messages`.

    Raises:
        ValidationFailed: an empty or too long query.
    """
    view, ranked = await rank_messages(connection, scope, text, MessageFilters(), limit=limit)
    if not ranked:
        return view.query, []
    read = await rows(
        connection,
        "conversations/passage_show",
        scope_id=scope.scope_id,
        message_ids=[passage.message_id for passage in ranked],
        starts=[passage.start for passage in ranked],
        ends=[passage.end for passage in ranked],
    )
    shown = {record["message_id"]: record for record in read}
    tfs = view.postings.tfs(passage.chunk_id for passage in ranked)
    weights = word_weights(view.query, analyzer_of(scope.language), text)
    passages = []
    for passage in ranked:
        record = shown[passage.message_id]
        held = {*tfs[passage.chunk_id], *passage.borrowed}
        passages.append(_passage(record, score=passage.score, share=held_share(weights, held)))
    return view.query, passages


async def read_passages(
    connection: Connection, scope: Scope, references: Sequence[Reference]
) -> dict[Reference, MessagePassage]:
    """Return the passages that still stand there, by their references."""
    places = {place: reference for reference in references if (place := _place(reference)) is not None}
    read = await rows(
        connection,
        "conversations/passage_at",
        scope_id=scope.scope_id,
        conversation_ids=[place[0] for place in places],
        numbers=[place[1] for place in places],
        starts=[place[2] for place in places],
        ends=[place[3] for place in places],
    )
    return {passage.reference: passage for passage in map(_passage, read)}


def _place(reference: Reference) -> _Place | None:
    named = parse_reference(reference.path)
    if named is None or named[1] is None:
        return None
    return named[0], named[1], *reference.span


def _passage(record: Mapping[str, Any], *, score: int = 0, share: int = 0) -> MessagePassage:
    path = message_reference(record["conversation_id"], record["number"])
    span = record["start_char"], record["end_char"]
    columns = {name: record[name] for name in ("text", "role", "author", "said_at", "title")}
    return MessagePassage(Reference(path, MESSAGE_VERSION, span), **columns, score=score, share=share)
