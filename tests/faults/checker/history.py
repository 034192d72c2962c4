"""A history: what clients asked and were answered, and what the database holds at the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

File = tuple[str, str]  # the scope, such as user:alice, and the path in it
Outcome = Literal["acknowledged", "refused", "unknown"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A version of a file that an answer names; `sha256` is None if the answer does not tell the text."""

    file: File
    version: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """A search for a word that stands in a few files, and the files that were found in the scopes searched."""

    word: str
    scopes: frozenset[str]
    found: frozenset[File]


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of one client, with all its attempts.

    Attributes:
        call_id: the tool call id, the same for each attempt.
        kind: the tool, without `memory_`.
        start: when the first attempt was sent, in seconds of a clock that all clients share.
        end: when the answer came; None if none ever came.
        outcome: "refused" if the last answer was an error that says that nothing was written.
        wrote: the versions that the answer says were written.
        read: the versions that the answer says were there.
        absent: files that the answer says were not there.
        replaced: the versions that the caller, or the answer, says were replaced by this call.
        search: the search that it was, if it was one.
        word: a word that no other operation writes, and that this one put into each file it wrote.
        keeps_lines: whether each line that stood in a file must still stand there after this call.
        state: how many changes the call saw of each scope, as the log has it; None if the log does not have it.
        answers: the different answers that the attempts got; more than one is an anomaly.
    """

    call_id: str
    kind: str
    start: float
    end: float | None
    outcome: Outcome
    wrote: tuple[Seen, ...] = ()
    read: tuple[Seen, ...] = ()
    absent: tuple[File, ...] = ()
    replaced: tuple[Seen, ...] = ()
    search: Search | None = None
    word: str | None = None
    keeps_lines: bool = False
    state: Mapping[str, int] | None = None
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision of a file, as the database holds it at the end."""

    file: File
    file_id: int
    version: int
    rev: int
    rev_end: int | None
    call_id: str
    content: str
    sha256: str
    deleted: bool = False

    @property
    def scope(self) -> str:
        """The scope of the file."""
        return self.file[0]

    @property
    def identity(self) -> tuple[str, int]:
        """What stays the same when the file moves within its scope."""
        return self.scope, self.file_id

    @property
    def name(self) -> str:
        """The revision as people write it, such as user:alice/tea.md@3."""
        return f"{self.file[0]}/{self.file[1]}@{self.version}"

    def stood_at(self, rev: int) -> bool:
        """Return whether a file stood here with this text after the change `rev` of its scope."""
        return not self.deleted and self.rev <= rev and (self.rev_end is None or rev < self.rev_end)


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that must not happen: its kind, and a sentence with what it happened to."""

    kind: str
    text: str


@dataclass(frozen=True)
class History:
    """All operations of a run, and all revisions at its end.

    Attributes:
        operations: of all clients, in any order.
        revisions: of all scopes, in any order.
        earlier: calls that wrote before the run began.
    """

    operations: tuple[Operation, ...]
    revisions: tuple[Revision, ...]
    earlier: frozenset[str] = field(default_factory=frozenset)
