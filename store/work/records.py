"""Sessions, messages and observations of work as the store takes and returns them."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A conversation as a session of work.

    Attributes:
        label: the project, as its source names it.
        slug: the project that the session belongs to, if the user is a member of it; None for a mere label.
        next_number: of the next message.
        sha256: of the conversation as it was read.
        source: the kind of its source, such as `claude_code`.
        derived_to: the number of the last message that was read for work; None if none was.
        deriver_version, derived_sha256: of the rules then, and of the conversation then.
    """

    conversation_no: int
    conversation_id: str
    title: str
    label: str
    slug: str | None
    started_at: datetime | None
    last_at: datetime | None
    next_number: int
    sha256: bytes
    imported_at: datetime
    source: str
    derived_to: int | None
    deriver_version: int | None
    derived_sha256: bytes | None

    def is_derived(self, version: int) -> bool:
        """Return whether all was read by this version of the rules."""
        return (
            self.deriver_version == version
            and self.derived_to == self.next_number - 1
            and self.derived_sha256 is not None
            and bytes(self.derived_sha256) == bytes(self.sha256)
        )


@dataclass(frozen=True, slots=True)
class PlacedSession:
    """A session, and where it took place.

    Attributes:
        label: identifies the place: `remote:…`, `folder:…` or `name:…` of an event; `cwd:…` if only the transcript
            names the folder, `import:…` if only the source names a project.
        name: of the place, as its client shows it.
        folder: the working directory; "" if no event says it.
        root: the folder of the project; a worktree has one of its own.
        slug: the project that the session belongs to, if the user is a member of it; None for a mere label.
        is_linked: a person linked the label to the project.
        last_at: the last turn.
    """

    conversation_id: str
    title: str
    label: str
    name: str
    folder: str
    branch: str
    root: str
    source: str
    messages: int
    started_at: datetime | None
    last_at: datetime | None
    slug: str | None
    is_linked: bool


@dataclass(frozen=True, slots=True)
class UnderivedMessage:
    """A message to read for work; one that is not new is read once more for what ends or begins its session."""

    conversation_no: int
    number: int
    position: int
    role: str
    part: str
    author: str | None
    text: str
    human_authored: bool
    on_path: bool
    is_new: bool


@dataclass(frozen=True, slots=True)
class PendingWords:
    """Words of an event that stand in until the transcript has them; `label` is the place of the event."""

    event_no: int
    conversation_id: str
    at: datetime
    label: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class NewObservation:
    """An observation in a span of a message; `place` is its place among the observations of the message."""

    conversation_no: int
    number: int
    place: int
    kind: str
    start_char: int
    end_char: int
    by_human: bool
    is_firm: bool
    confidence: float


@dataclass(frozen=True, slots=True)
class DerivedSession:
    """The progress in a conversation; `before` is the earlier one, and `is_anew` replaces what was derived."""

    conversation_no: int
    derived_to: int
    sha256: str
    before: int | None
    is_anew: bool
