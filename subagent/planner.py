"""The planner's contract: a planner takes a request and returns a typed plan, which code validates and executes.

A planner reads memory through `MemoryTools`, which check, count and log every operation. A plan never holds free
text: a context plan names spans of stored versions, and a remember plan holds statements of the request's text.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, NamedTuple, Protocol

from memex.settings import Band
from memex.store.citations.syntax import CitedPlace, message_reference
from memex.store.entry_path import entry_title, is_entry_at
from memex.store.records import Reference
from memex.store.search.confidence import is_below
from memex.subagent.included import FoundSection, IncludedPlace, IncludedReason
from memex.subagent.judgement import Judgement
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.statements.extraction import Extraction, SkippedSpan, Statement
from memex.subagent.statements.language import StatementKind
from memex.subagent.statements.places import series_order

RecallReason = Literal["match", "link", "backlink", "neighbour", "pinned", "recent", IncludedReason]
# Why a span is recalled: what the line itself has in common with the question, or what led to it.
Why = Literal["words", "meaning", "link", "backlink", "neighbour", "pinned", "list", "recent", IncludedReason]
OmissionReason = Literal["budget", "relevance", "duplicate", "nothing_fits"]

BUILTIN = "builtin"
PLANNER_VERSION = 34  # a part of the engine that every call logs; see `memex.subagent.engine`


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """A question to memory.

    Attributes:
        query: what the caller wants to know.
        budget: characters that the whole context may have, wrapper included.
        max_hops: how far links are followed, 0 to 3.
        today: the day from which times such as `this week` are counted.
        min_confidence: the band below which the context holds pinned files alone; None for a question that is not
            judged, as none was before there were bands.
        included: what was found beside memory, whose lines are candidates too.
    """

    query: str
    budget: int
    max_hops: int
    today: date
    min_confidence: Band | None = None
    included: tuple[FoundSection, ...] = ()

    def refuses(self, judgement: Judgement) -> bool:
        """Return whether a context with this judgement holds nothing of memory but pinned files."""
        return self.min_confidence is not None and is_below(judgement.band, self.min_confidence)


class Choice(NamedTuple):  # as `Omitted`
    """A span that the context will hold, and why.

    Attributes:
        reference: the span.
        reason: how its file was found.
        linked_from: the file whose link leads to it, if only that speaks for it.
        heading: the titles above the span.
        truncated: the span was cut to fit.
        is_outdated: a newer statement in the context contradicts it.
        why: why the context holds it: a `Why`, or the reason that a model gave for its pick.
        included: where it stands, if it is no line of memory.
    """

    reference: Reference
    reason: RecallReason
    linked_from: str | None = None
    heading: tuple[str, ...] = ()
    truncated: bool = False
    is_outdated: bool = False
    why: str = "words"
    included: IncludedPlace | None = None

    @property
    def group(self) -> tuple[object, ...]:
        """The values that spans under one header share: the day, the page, or the passage beside memory."""
        if self.included is not None:
            return self.included.passage.reference
        if is_entry_at(self.reference.path):
            return "journal", entry_title(self.reference.path.removeprefix("user/"))[:10], self.is_outdated
        return self.reference.path, self.reference.version, self.is_outdated


class Omitted(NamedTuple):  # a call makes hundreds
    """A span that was left out of the context, and why: no room, too weak, a duplicate text, or nothing fits."""

    reference: Reference
    reason: OmissionReason


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """The spans to recall, in the order of the context, and the spans that were left out, the best first.

    `planner` names the planner that made the plan. If a model failed and the built-in planner answered instead,
    `failure` says why, in words without memory text. `judgement` says how sure it is that memory answers.
    """

    choices: tuple[Choice, ...] = ()
    omitted: tuple[Omitted, ...] = ()
    planner: str = BUILTIN
    failure: str | None = None
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True)
class RememberRequest:
    """A text to remember.

    Attributes:
        text: as the caller sent it.
        project: whose work it is about, if any.
        day: the day on which the text was said: that of the call, unless the caller names another one.
        moment: when it was said, in the zone that the caller names; None if a day alone is known.
        reading: what the text holds, if it was read before memory was opened; see `remember.reading`.
        is_kept: the journal keeps the text, so that pages hold what is sure alone.
    """

    text: str
    project: str | None
    day: date
    reading: Extraction | None = None
    is_kept: bool = False
    moment: datetime | None = None


@dataclass(frozen=True, slots=True)
class SaidMessage:
    """A message of a conversation from which statements are taken.

    Attributes:
        place: the conversation, and the number of the message.
        day: the day on which it was written; `UNDATED` if nobody knows that.
    """

    place: CitedPlace
    day: date

    @property
    def link(self) -> str:
        """The text that `[[…]]` holds to cite the message."""
        return message_reference(*self.place)


@dataclass(frozen=True, slots=True)
class Addition:
    """A statement to add under a heading of a file, with links to the files that the statement names.

    `filing.page.revise` decides under the scope's lock whether the statement is new, known, or replaces an older
    statement. `replaces` is the text of the statement to replace, if the file still holds that text; `keeps` is
    what else that statement says, which stays. `said` is the message of a conversation that the statement was
    taken from; without one, the statement was said by the caller.
    """

    path: str
    title: str
    heading: str
    statement: Statement
    links: tuple[str, ...] = ()
    replaces: str | None = None
    said: SaidMessage | None = None
    keeps: str = ""


@dataclass(frozen=True, slots=True)
class Removal:
    """A statement to remove from a file: `removes` is its text; if it ends with citations, the bullet has these.

    `statement` is the part of the caller's text that says so; None if the caller named the statement by its handle.
    `keeps` is what else the statement says, which stays. `is_forgotten` if the text asks to forget the statement,
    and states nothing in its place; `part` are the words of it that go, if it joins them with others.
    """

    path: str
    statement: Statement | None
    removes: str
    keeps: str = ""
    is_forgotten: bool = False
    part: str = ""


@dataclass(frozen=True, slots=True)
class KnownStatement:
    """A statement that another file of the same mount already holds, and where."""

    statement: Statement
    reference: Reference


@dataclass(frozen=True, slots=True)
class FiledStatement:
    """A statement in a file that `memory_remember` writes, or a sentence of a journal entry.

    Attributes:
        path: the virtual path of the file.
        text: the statement, as its bullet states it.
        kind: its kind.
        day: the day on which it was said; `UNDATED` if nobody knows that.
        reference: where the text stands; None if the file escapes a part of it, or the call has yet to write it.
        still_true: the last day on which a caller said that it holds beside what contradicts it.
        heading: above it; "" for none, and where nobody asks for it.
    """

    path: str
    text: str
    kind: StatementKind
    day: date
    reference: Reference | None = None
    still_true: date | None = None
    heading: str = ""

    @property
    def order(self) -> tuple[date, tuple[str, int], int]:
        """The key that orders statements in time: those of one day by their place, as in a context."""
        return self.day, series_order(self.path), self.reference.span[0] if self.reference else 0


@dataclass(frozen=True, slots=True)
class Overtaking:
    """A new statement, and the sentence of the journal whose place it takes; the entry keeps the words."""

    statement: Statement
    older: FiledStatement


@dataclass(frozen=True, slots=True)
class Rivalry:
    """A new statement, and a stored one that it probably contradicts: both stay, and the caller is told.

    `same` are the other places in which memory says the same as the stored one.
    """

    statement: Statement
    older: FiledStatement
    same: tuple[FiledStatement, ...] = ()


@dataclass(frozen=True, slots=True)
class RememberPlan:
    """The statements to write and those to leave out; `planner` and `failure` as in `ContextPlan`.

    `candidates` are stored statements which a request to forget may mean, the first of `fitting`; `forgotten` are
    the sentences of the journal that it takes out; `named` are the names that it says, if all that has them goes.
    `overtaken` are the sentences of the journal that new statements replace.
    """

    adds: tuple[Addition, ...] = ()
    known: tuple[KnownStatement, ...] = ()
    skipped: tuple[SkippedSpan, ...] = ()
    removals: tuple[Removal, ...] = ()
    rivals: tuple[Rivalry, ...] = ()
    candidates: tuple[FiledStatement, ...] = ()
    fitting: int = 0
    forgotten: tuple[FiledStatement, ...] = ()
    overtaken: tuple[Overtaking, ...] = ()
    named: tuple[str, ...] = ()
    planner: str = BUILTIN
    failure: str | None = None


class Planner(Protocol):
    """A planner: by rules, or a model."""

    @property
    def name(self) -> str:
        """`builtin`, or the model's name."""

    @property
    def is_slow(self) -> bool:
        """Return whether planning takes so long that no connection may be held meanwhile."""

    @property
    def config(self) -> dict[str, Any]:
        """The settings that plans depend on, apart from request and memory, in the form of the log."""

    async def plan_context(self, request: ContextRequest, tools: MemoryTools) -> ContextPlan:
        """Return which spans answer a query within its budget."""

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Return where each statement of a text is stored."""
