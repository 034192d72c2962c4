"""The parts of a context beside memory: lines of other kinds, each kind in a section of its own. Pure.

    [3fa9] From old conversations: what was said then, by whom and when. It may no longer hold.

    [3fa9] user · 2026-03-04 · Tea
    I brew oolong at ninety degrees.

Memory stands first. Its lines and those of the passages that were found beside it are chosen from one pool
(`memex.subagent.context.pool`). Nothing is added to fill the room: what finds the passages leaves out those below
the floor of their kind (`memex.service.included.sections`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from memex.store.records import Reference
from memex.store.search.bm25 import Query

IncludedReason = Literal["conversation", "document"]


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that was found beside memory.

    Attributes:
        reference: what names its text for ever, such as `conversations/9k2m4q7wtx3d#41`, version 1, and the span.
        text: what stands there.
        about: what its header says, such as who spoke, when, and the title.
        heading: the titles above it, which its header says.
        score: of the search.
        share: the words of the query that it holds, in percent of their weight.
        similarity: to the query in meaning; None if it was not found by its vector.
        details: for programs, where the passage stands, by what its kind knows.
    """

    reference: Reference
    text: str
    about: tuple[str, ...] = ()
    heading: tuple[str, ...] = ()
    score: int = 0
    share: int = 0
    similarity: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundSection:
    """The passages of one kind, the best first, with the line that stands above them.

    Attributes:
        name: of the kind, such as `conversations`.
        reason: why its passages stand in a context.
        sentence: says in plain words what the passages are.
        passages: none below the floor of the kind.
        query: as the search of the kind weighed it; None in the logs of old versions.
        left_out: why the kind was not searched, if it was not.
    """

    name: str
    reason: IncludedReason
    sentence: str
    passages: tuple[FoundPassage, ...] = ()
    query: Query | None = None
    left_out: str | None = None


class IncludedPlace(NamedTuple):
    """The place of a line that is no line of memory: its passage, and the section of its kind."""

    section: FoundSection
    passage: FoundPassage
