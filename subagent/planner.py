"""The planner's contract: a request in, a typed plan out. Code validates the plan and carries it out.

A planner finds out what it needs through `MemoryTools`, which check, count and log every operation. It never
hands back text: a context is spans of stored versions, a memory is statements of the text that came in.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from memex.store.records import Reference
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.statements.extraction import SkippedSpan, Statement

RecallReason = Literal["match", "link", "backlink", "neighbour", "pinned", "recent"]
OmissionReason = Literal["budget", "relevance", "duplicate"]

BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """A question to memory.

    Attributes:
        query: what the caller wants to know.
        budget: characters that the whole context may have, wrapper included.
        max_hops: how far links are followed, 0 to 3.
    """

    query: str
    budget: int
    max_hops: int


@dataclass(frozen=True, slots=True)
class Choice:
    """A span that a context shall hold, and why. `heading` are the titles above it that are not in it."""

    reference: Reference
    reason: RecallReason
    linked_from: str | None = None
    heading: tuple[str, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Omitted:
    """A span that was considered and left out, and why: no room, too weak, or its text is in the context."""

    reference: Reference
    reason: OmissionReason


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """The spans to recall in the order in which they shall stand, and what was left out, the best first.

    `planner` made it; where a model should have and could not, `failure` says why, in words without memory text.
    """

    choices: tuple[Choice, ...] = ()
    omitted: tuple[Omitted, ...] = ()
    planner: str = BUILTIN
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class RememberRequest:
    """A text to remember.

    Attributes:
        text: as the caller sent it.
        project: whose work it is about, if any.
        now: the call's clock.
    """

    text: str
    project: str | None
    now: datetime


@dataclass(frozen=True, slots=True)
class Addition:
    """A statement to put under a heading of a file, with links to the files that it names.

    Whether it is new, known, or takes the place of an older one is decided by `filing.revise` when the file's
    lock is held. `replaces` is the text of the statement whose place it shall take, if that still stands there.
    """

    path: str
    title: str
    heading: str
    statement: Statement
    links: tuple[str, ...] = ()
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """A statement to take out of a file: `statement` is what the text says to that, `removes` the text there."""

    path: str
    statement: Statement
    removes: str


@dataclass(frozen=True, slots=True)
class KnownStatement:
    """A statement that another file of the same mount holds already, at a reference."""

    statement: Statement
    reference: Reference


@dataclass(frozen=True, slots=True)
class RememberPlan:
    """What to write, and what not; `planner` and `failure` as of a context's plan."""

    adds: tuple[Addition, ...] = ()
    known: tuple[KnownStatement, ...] = ()
    skipped: tuple[SkippedSpan, ...] = ()
    removals: tuple[Removal, ...] = ()
    planner: str = BUILTIN
    failure: str | None = None


class Planner(Protocol):
    """What decides: by rules, or a model."""

    @property
    def name(self) -> str:
        """`builtin`, or the model's name."""

    @property
    def is_slow(self) -> bool:
        """Whether it takes so long that no connection may be held meanwhile."""

    @property
    def config(self) -> dict[str, Any]:
        """What its plans depend on beside the request and the memory, as the log keeps it."""

    async def plan_context(self, request: ContextRequest, tools: MemoryTools) -> ContextPlan:
        """Return which spans answer a query within its budget."""

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return where the statements of a text belong."""
