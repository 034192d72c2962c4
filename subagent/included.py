"""What a context holds beside memory: passages of other kinds, each kind in a section of its own. Pure.

    [3fa9] From old conversations: what was said then, by whom and when. It may no longer hold.

    [3fa9] user · 2026-03-04 · Tea
    I brew oolong at ninety degrees.

Memory stands first. Half of the room is kept for what was found beside it, as far as that fills it, and memory may
leave it more. Nothing is added to fill this room: what finds the passages leaves out those below the floor of their
kind (`memex.service.included.sections`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memex.store.records import Reference
from memex.subagent.planner import IncludedReason


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that was found beside memory.

    Attributes:
        reference: what names its text for ever, such as `conversations/9k2m4q7wtx3d#41`, version 1, and the span.
        text: what stands there.
        about: what its header says, such as who spoke, when, and the title.
        score: of the search.
        share: the words of the query that it holds, in percent of their weight.
        details: for programs, where the passage stands, by what its kind knows.
    """

    reference: Reference
    text: str
    about: tuple[str, ...] = ()
    score: int = 0
    share: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundSection:
    """The passages of one kind, the best first, with the line that stands above them.

    Attributes:
        name: of the kind, such as `conversations`.
        reason: why its passages stand in a context.
        sentence: says in plain words what the passages are.
        passages: none below the floor of the kind.
        left_out: why the kind was not searched, if it was not.
    """

    name: str
    reason: IncludedReason
    sentence: str
    passages: tuple[FoundPassage, ...] = ()
    left_out: str | None = None
