"""A message as chunks, the unit of search: whole, or cut where it is long. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memex.store.conversations.records import NewMessage
from memex.store.search import chunks
from memex.store.search.analyzer import Analyzer, analyzer_of
from memex.store.search.chunks import Chunk
from memex.store.search.index import FileIndex, NewChunk, text_digest

MAX_TITLE_CHARS = 300


def index_messages(messages: Sequence[tuple[str, NewMessage]], language: str) -> list[FileIndex]:
    """Return the chunks of messages, each with the title of its conversation."""
    analyzer = analyzer_of(language)
    return [index_message(title, message, analyzer) for title, message in messages]


def index_message(title: str, message: NewMessage, analyzer: Analyzer) -> FileIndex:
    """Return the chunks of a message, which is new; search finds each by the title, the role and the day too."""
    added = []
    for start, end in chunks.cut(message.text):
        text = indexed_text(title, message.role, message.said_at, message.text[start:end])
        frequencies = Counter(analyzer.passage_lexemes(text))
        added.append(NewChunk.of(Chunk(start, end, (), text), text_digest(text), frequencies))
    return FileIndex(added=tuple(added))


def chunk_frequencies(chunks: Sequence[Mapping[str, Any]], language: str) -> dict[int, Mapping[str, int]]:
    """Return how often each lexeme stands in stored chunks, by their ids; rows of `conversations/chunk_text`.

    A chunk is left out that was indexed under a title which is not known any more.
    """
    analyzer = analyzer_of(language)
    found: dict[int, Mapping[str, int]] = {}
    for row in chunks:
        for title in (row["title"], *row["former_titles"]):
            text = indexed_text(title, row["role"], row["said_at"], row["text"])
            if text_digest(text) == bytes(row["sha256"]):
                found[row["chunk_id"]] = dict(Counter(analyzer.passage_lexemes(text)))
                break
    return found


def indexed_text(title: str, role: str, said_at: datetime | None, passage: str) -> str:
    """Return what a passage of a message is found by: with the title, the role and the day before it."""
    return "\n".join([*filter(None, [title[:MAX_TITLE_CHARS], role, day_of(said_at)]), passage])


def day_of(moment: datetime | None) -> str:
    """Return the day of a moment in UTC, such as 2026-02-03; "" for None."""
    return moment.astimezone(UTC).date().isoformat() if moment else ""
