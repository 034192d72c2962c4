"""The topics of memory and of documents: their tags, with how many bear each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memex.store.access import Scope
from memex.store.database import Connection, rows_as
from memex.store.markdown import tag_key

MAX_TOPICS = 1_000  # of memory, and of documents


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag, as most files write it: how many files bear it, and when the last of these changed."""

    tag: str
    files: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Topic:
    """A tag with the files of memory and the documents that bear it."""

    tag: str
    files: int
    documents: int
    updated_at: datetime


async def count_tags(
    connection: Connection, kind: Literal["browse", "documents"], scopes: Iterable[Scope]
) -> Sequence[TagCount]:
    """Return the tags of the files or the documents of scopes, compared without case, those of most first."""
    scope_ids = [scope.scope_id for scope in scopes]
    return await rows_as(TagCount, connection, f"{kind}/tag_list", scope_ids=scope_ids, limit=MAX_TOPICS)


def merge_topics(files: Iterable[TagCount], documents: Iterable[TagCount]) -> list[Topic]:
    """Return the tags of both, those that most bear first; written as memory has them."""
    found: dict[str, Topic] = {
        tag_key(counted.tag): Topic(counted.tag, counted.files, 0, counted.updated_at) for counted in files
    }
    for counted in documents:
        known = found.get(tag_key(counted.tag))
        found[tag_key(counted.tag)] = Topic(
            known.tag if known else counted.tag,
            known.files if known else 0,
            counted.files,
            max(known.updated_at, counted.updated_at) if known else counted.updated_at,
        )
    return [
        found[key] for key in sorted(found, key=lambda key: (-found[key].files - found[key].documents, key))
    ]
