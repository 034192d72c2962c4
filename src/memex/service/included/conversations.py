"""Passages of the user's imported conversations, as a kind of section beside memory."""

from collections.abc import Sequence

from memex.service.included.sections import SectionKind
from memex.store.access import Access
from memex.store.conversations.indexing import day_of
from memex.store.conversations.passages import MessagePassage, find_passages, read_passages
from memex.store.database import Connection
from memex.store.records import QueryVector, Reference
from memex.store.search.bm25 import Query
from memex.subagent.included import FoundPassage

SENTENCE = "From old conversations: what was said then, by whom and when. It may no longer hold."
NO_TIME = "at an unknown time"


def _opened(access: Access, project: str | None) -> Access | None:  # noqa: ARG001  # they are of no project
    return None if access.conversations is None else access.for_conversations()


async def _find(
    connection: Connection,
    access: Access,
    query: str,
    limit: int,
    vector: QueryVector | None,  # noqa: ARG001  # messages are found by their words
) -> tuple[Query | None, list[FoundPassage]]:
    if access.conversations is None:
        return None, []
    weighed, found = await find_passages(connection, access.conversations, query, limit=limit)
    return weighed, [_passage(message) for message in found]


async def _read(
    connection: Connection, access: Access, references: Sequence[Reference]
) -> dict[Reference, FoundPassage]:
    if access.conversations is None:
        return {}
    standing = await read_passages(connection, access.conversations, references)
    return {reference: _passage(one) for reference, one in standing.items()}


def _passage(passage: MessagePassage) -> FoundPassage:
    author = passage.author and passage.author.replace("·", "-")  # it ends no part of the line
    speaker = f"{passage.role} ({author})" if author else passage.role
    return FoundPassage(
        reference=passage.reference,
        text=passage.text,
        about=(speaker, day_of(passage.said_at) or NO_TIME, passage.title),
        score=passage.score,
        share=passage.share,
        details={
            "kind": "message",
            "role": passage.role,
            "author": passage.author,
            "said_at": passage.said_at and passage.said_at.isoformat(),
            "title": passage.title,
        },
    )


CONVERSATIONS = SectionKind(
    name="conversations",
    reason="conversation",
    sentence=SENTENCE,
    opened=_opened,
    find=_find,
    read=_read,
)
