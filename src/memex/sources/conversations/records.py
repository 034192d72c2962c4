"""Records that readers make: conversations, their messages, and a report on what was left out."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memex.errors import NothingRead

Role = Literal["user", "assistant", "system", "tool", "reasoning", "summary"]
Part = Literal["message", "artifact", "attachment", "thinking", "tool_call", "tool_result", "summary"]

MAX_NAMED = 1_000  # places that a report names one by one; all are counted


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message of a conversation, or a part of one.

    Attributes:
        key: names the message within its conversation: the provider's id, with `/2` and so on for the further
            parts of one message. Where the provider gives no id, a place that does not change when the export
            grows, such as `item:17` or `user:3`. The same export always gives the same keys.
        parent: key of the message that this one answers; only a key that the conversation also has.
        text: without NUL, lone surrogates and citation marks; never blank.
        part: what of a message it is. A model's answer is a `message`, a document that it wrote an `artifact`.
        author: who spoke, beyond the role: the name of a tool, of a subagent or of a person.
        human_authored: a person wrote the text.
        on_path: the message belongs to the branch that the person sees.
        origin: where the text stands: `file#17`, with the index of an element or the number of a line.
    """

    key: str
    parent: str | None
    role: Role
    text: str
    part: Part = "message"
    author: str | None = None
    at: datetime | None = None
    model: str | None = None
    human_authored: bool = False
    on_path: bool = True
    origin: str = ""


@dataclass(frozen=True, slots=True)
class ReadConversation:
    """A conversation; its messages are read while they are consumed.

    Attributes:
        key: the provider's id of the conversation.
        project: a label, such as the last folder of the working directory.
        account: the account that the export belongs to, if it names one.
        folder: the working directory, as `clean_folder` returns it.
        branch: that was checked out last.
        forked_from: the provider's id of the conversation from which this one was forked; "" for none.
        continues: only what was added since a bookmark is given; the conversation has older messages.
        messages: in the order of the conversation: the active branch in its order, every other branch after
            the message that it leaves. To be consumed before the next conversation is asked for.
    """

    key: str
    title: str | None = None
    project: str | None = None
    started_at: datetime | None = None
    updated_at: datetime | None = None
    account: str | None = None
    messages: Iterable[ReadMessage] = ()
    continues: bool = False
    folder: str = ""
    branch: str = ""
    forked_from: str = ""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A place to read on from in a file that only grows, with the reader's state. It can be stored as JSON.

    Attributes:
        offset, line: the place after the last whole line.
        fingerprint: of the file up to there (`files.fingerprint`).
        reader: the reader's kind and version, and what was included.
        state: what the reader keeps.
    """

    offset: int
    line: int
    fingerprint: str
    reader: str
    state: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was left out.

    Attributes:
        reason: a fixed word, such as `not_to_be_remembered`.
        place: the file, with `#` and a line or an index where there is one.
        detail: what it is and how to go on, for people.
    """

    reason: str
    place: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Include:
    """The choice of what is read besides the words of people and assistants."""

    tools: bool = False
    reasoning: bool = False
    attachments: bool = False
    sidechains: bool = False


@dataclass(slots=True)
class ReadReport:
    """Counts of a run of readers; a reader adds to it.

    Attributes:
        bookmark: where to read on when the file has grown, for readers that can; set when a file is read to
            its end.
        given_up: of the messages, those of branches that were given up; they are kept apart.
        known: how many lines or elements a reader knows what to do with.
        skips: everything left out, the first thousand; `skipped` counts all by reason.
        unknown: lines or elements of a type that the reader does not know, by type.
        candidates: texts that could be kept as memory, by kind: documents and instructions of a project, and what
            the provider remembered by itself.
        incomplete: keys of the conversations that were not read to their end.
        unreadable: lines or elements that cannot be understood, the first thousand; `damaged` counts all.
    """

    bookmark: Bookmark | None = None
    messages: int = 0
    given_up: int = 0
    known: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    candidates: Counter[str] = field(default_factory=Counter)
    incomplete: list[str] = field(default_factory=list)
    damaged: int = 0
    skips: list[LeftOut] = field(default_factory=list)
    unreadable: list[LeftOut] = field(default_factory=list)

    @property
    def left_out(self) -> Counter[str]:
        """What is not in the threads, how often by reason: also rows that cannot be read, and given-up branches."""
        return self.skipped + Counter(unreadable_row=self.damaged, given_up=self.given_up)

    def skip(self, reason: str, place: str, detail: str = "") -> None:
        """Count something that was left out, and name its place."""
        self.skipped[reason] += 1
        if len(self.skips) < MAX_NAMED:
            self.skips.append(LeftOut(reason, place, detail))

    def damage(self, reason: str, place: str, detail: str = "") -> None:
        """Count something that cannot be understood, and name its place."""
        self.damaged += 1
        if len(self.unreadable) < MAX_NAMED:
            self.unreadable.append(LeftOut(reason, place, detail))

    @property
    def is_drifted(self) -> bool:
        """Return whether most of what was read is of unknown types: the format may have changed."""
        unknown = self.unknown.total()
        return unknown > 0 and unknown > self.known

    def require_something(self, place: str, reader: str) -> None:
        """Raise NothingRead if a file that a reader recognised gave no message and no candidate."""
        if self.messages or self.candidates:
            return
        reasons = [f"{count} {reason}" for reason, count in self.skipped.most_common(5)]
        reasons += [f"{count} of unknown type {kind}" for kind, count in self.unknown.most_common(5)]
        reasons += [f"{self.damaged} unreadable"] if self.damaged else []
        why = f" Left out: {', '.join(reasons)}." if reasons else ""
        raise NothingRead(f"{place} is recognised ({reader}), but holds no message.{why}", place=place)
