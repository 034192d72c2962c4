"""The records of work: observations from messages, items of memory files, tool events, and marks by hand."""

import hashlib
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal, get_args

WorkKind = Literal[
    "objective",
    "decision",
    "constraint",
    "pending",
    "done",
    "blocker",
    "definition_of_done",
    "user_request",
    "completion_claim",
    "follow_up",
    "session_summary",
    "last_answer",
]
WORK_KINDS: tuple[WorkKind, ...] = get_args(WorkKind)
# What only a person can say: the text of an agent may be that of a page that it has read.
HUMAN_KINDS: frozenset[WorkKind] = frozenset(
    {"objective", "constraint", "definition_of_done", "user_request"}
)

WorkAuthor = Literal["human", "agent"]
ItemStatus = Literal["open", "done", "dropped", "superseded", "archived", "ended"]
ItemOrigin = Literal["memory", "conversation"]
MarkAction = Literal[
    "done", "drop", "keep", "pin", "unpin", "archive", "restore", "leave_out", "bring_in", "end"
]
# How a text about work was found: in a file of memory, by a label, or by the rules.
ReadingMethod = Literal["memory", "label", "rules"]
# What a definition of done is for: the project, the objective, or one session.
DodScope = Literal["project", "mission", "session"]
ToolEventKind = Literal["command", "edit", "commit"]

ID_CHARS = 10
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, as for conversations


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing that a message says about work.

    Attributes:
        text: the words as they stand in the message.
        who: the author; what the agent said may come from a page that the agent has read.
        is_firm: a label or a list under a label says the kind; otherwise a pattern does.
        confidence: from 0 to 1.
        at: when it was said.
        number: of the message; `start` and `end` are the span in its text, in code points.
        position: of the message in its conversation.
        label: identifies the place of the turn.
        is_plan: a step of a plan that the agent made for itself.
        scope: what a definition of done is for, if its label says it.
        event_no: of the event that says it, as long as no message does.
    """

    kind: WorkKind
    text: str
    who: WorkAuthor
    is_firm: bool
    confidence: float
    at: datetime
    conversation_id: str
    number: int
    start: int
    end: int
    position: int = 0
    label: str = ""
    is_plan: bool = False
    scope: DodScope | None = None
    event_no: int | None = None

    @property
    def reference(self) -> str:
        """`conversations/ID#number`, which names the text of the message for ever; or `events/ID#number`."""
        if self.event_no is not None:
            return f"events/{self.conversation_id}#{self.event_no}"
        return f"conversations/{self.conversation_id}#{self.number}"

    @property
    def order(self) -> tuple[datetime, str, int, int, int]:
        """By time; at the same moment by session and by place."""
        return self.at, self.conversation_id, self.position, self.number, self.start


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One statement about work in a memory file, which counts before what was said in sessions.

    Attributes:
        path: the virtual path of the file.
        reference: `path@version`, which names the text of the file for ever.
        is_closed: a task that is ticked off, or stands under a heading such as `Done`.
        at: when the file was written last.
    """

    kind: WorkKind
    text: str
    path: str
    at: datetime
    is_closed: bool = False
    reference: str = ""


@dataclass(frozen=True, slots=True)
class WorkMark:
    """A person's decision about an item, by the item's id.

    Attributes:
        ends_on: of `end`, the last day on which the item holds; None if it does not end.
    """

    item_id: str
    action: MarkAction
    at: datetime
    tool_call_id: str = ""
    ends_on: date | None = None


@dataclass(frozen=True, slots=True)
class ToolEvent:
    """A client's report of a tool: a command and whether it succeeded, or which files were changed.

    Attributes:
        succeeded: None if the client does not say.
        reference: names where this is recorded.
    """

    kind: ToolEventKind
    at: datetime
    conversation_id: str = ""
    command: str = ""
    succeeded: bool | None = None
    changed_paths: tuple[str, ...] = ()
    duration_ms: int | None = None
    reference: str = ""


@dataclass(frozen=True, slots=True)
class WorkItem:
    """Something about work that holds, or held.

    Attributes:
        reference: the message or the file that says it.
        resolved_by: the message or the call that ended it; None while it is open.
        sessions: the conversations that speak of it, in the order in which they did.
        is_pinned: packs name it first.
        is_left_out: packs do not name it.
        ends_on: the last day on which it holds.
        named_at: when it was named last, if it was named again.
        tags: those that a policy gives it; others stand in its text.
    """

    item_id: str
    kind: WorkKind
    text: str
    status: ItemStatus
    reference: str
    origin: ItemOrigin
    who: WorkAuthor
    at: datetime
    is_firm: bool = False
    confidence: float = 1.0
    resolved_by: str | None = None
    resolved_at: datetime | None = None
    sessions: tuple[str, ...] = ()
    is_pinned: bool = False
    is_left_out: bool = False
    ends_on: date | None = None
    named_at: datetime | None = None
    tags: tuple[str, ...] = ()

    @property
    def method(self) -> ReadingMethod:
        """The way in which the text was found."""
        return reading_method(self.origin, is_firm=self.is_firm)

    @property
    def last_at(self) -> datetime:
        """The time when it was named last."""
        return self.named_at or self.at

    def closed(self, status: ItemStatus, mark: WorkMark) -> "WorkItem":
        """Return the item as a decision by hand ends it."""
        return replace(self, status=status, resolved_by=mark.tool_call_id, resolved_at=mark.at)

    def opened(self) -> "WorkItem":
        """Return the item as it was before it was closed."""
        return replace(self, status="open", resolved_by=None, resolved_at=None)


def reading_method(origin: ItemOrigin, *, is_firm: bool) -> ReadingMethod:
    """Return how a text was found, by where it stands and what says its kind."""
    if origin == "memory":
        return "memory"
    return "label" if is_firm else "rules"


def make_item_id(kind: str, place: str, form: tuple[str, ...]) -> str:
    """Return the id of an item, the same in each derivation: 50 bits of a digest of kind, place and normal form."""
    digest = hashlib.sha256("\x1f".join((kind, place, *form)).encode("utf-8", "surrogatepass")).digest()
    number = int.from_bytes(digest[:7], "big") >> 6
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(5 * (ID_CHARS - 1), -1, -5))
