"""What the store hands back."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memex.store.access import Scope

Status = Literal[
    "queued", "quarantined", "running", "committed", "answered", "repeated", "dry_run", "failed", "denied"
]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Revision:
    """One stored version of a file. `path` is relative to its scope; spans count code points of `content`."""

    scope: Scope
    file_id: int
    version: int
    rev: int
    rev_end: int | None
    path: str
    content: str
    sha256: str
    operation: str
    deleted: bool
    counterpart: str | None
    reason: str | None
    actor: str | None
    channel: str
    tool_call_id: str
    created_at: datetime
    title: str
    tags: tuple[str, ...]
    size_chars: int

    @property
    def virtual_path(self) -> str:
        """The path as a caller writes it."""
        return self.scope.virtual(self.path)

    @property
    def reference(self) -> str:
        """`path@version`, which names this text for ever."""
        return f"{self.virtual_path}@{self.version}"


def revision_of(scope: Scope, *, sha256: bytes, tags: Sequence[str], **columns: Any) -> Revision:
    """Return a revision, from the columns of its row."""
    return Revision(scope=scope, sha256=bytes(sha256).hex(), tags=tuple(tags), **columns)


@dataclass(frozen=True, slots=True)
class ScopeState:
    """The number of a scope's last change, and how the scope is indexed."""

    scope_id: int
    rev: int
    language: str
    rebuilds: int


@dataclass(frozen=True, slots=True)
class FileSummary:
    """A file in a list, without its text."""

    path: str
    version: int
    size_chars: int
    title: str
    tags: tuple[str, ...]
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Match:
    """Why a hit is one: what each list of the search contributed.

    Attributes:
        mode: bm25, or hybrid when vectors were asked too.
        bm25_rank: of the file by words, from 1; None when it holds none of the query's.
        terms: what each lexeme of the query scored in its best passage, the highest first.
        score: their sum, with what it borrowed.
        vector_rank: of the file by meaning, from 1; None when it is not among the nearest.
        borrowed: what lexemes count that stand in its neighbours in a series.
        fused: what the order follows in hybrid mode: the scores of both lists, blended.
    """

    mode: Literal["bm25", "hybrid"]
    bm25_rank: int | None
    terms: dict[str, int]
    score: int
    vector_rank: int | None = None
    borrowed: dict[str, int] = field(default_factory=dict)
    fused: float | None = None


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query as an embedder's vector: `values` (d,), by the model of this name."""

    model: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class NearSpan:
    """A chunk that a vector search found, by its place, and its cosine distance, from 0 to 2."""

    path: str
    span: Span
    distance: float

    @property
    def logged(self) -> list[Any]:
        """It as the log keeps it, `[path, start, end, distance]`."""
        return [self.path, *self.span, self.distance]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a file, with what it scored; 0 when it holds no word of the query."""

    span: Span
    heading: tuple[str, ...]
    score: int
    text: str | None = None  # where it was read


@dataclass(frozen=True, slots=True)
class FilePassages:
    """Passages of the file that stands at a path; its text without front matter begins at `body_start`."""

    path: str
    version: int
    size_chars: int
    body_start: int
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """A span of one version of a path."""

    path: str
    version: int
    span: Span

    def __str__(self) -> str:
        return f"{self.path}@{self.version}:{self.span[0]}-{self.span[1]}"


@dataclass(frozen=True, slots=True)
class NearLink:
    """A link to a file that stands; `is_near` when it stands in the text that was asked about."""

    source: str
    target: str
    heading: str | None
    is_near: bool


@dataclass(frozen=True, slots=True)
class Hit:
    """A file that a search found, with the best of its spans first."""

    path: str
    version: int
    title: str
    heading: tuple[str, ...]
    span: Span
    snippet: str
    score: int
    reason: str
    match: Match
    more_spans: tuple[Span, ...] = ()
    file: FilePassages | None = None  # the best passages with their texts, where they were asked for


@dataclass(frozen=True, slots=True)
class Link:
    """A link from one file to another, by virtual paths; where nothing stands, `target` is what was written."""

    source: str
    target: str
    heading: str | None
    exists: bool
    hop: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a draft does, or would do, to one file: one revision, or none when `changed` is false.

    `path` and `version` are those after it. `counterpart` is the other end of a move. `span` is where the text
    of the last edit stands in `new_content`.
    """

    path: str
    operation: str
    version: int
    old_path: str | None
    old_version: int | None
    old_content: str
    new_content: str
    deleted: bool
    changed: bool
    sha256: str
    counterpart: str | None
    span: Span | None


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of the log: one tool call, or an operation inside one, as it was asked and answered."""

    operation_id: int
    tool_call_id: str
    user_id: str
    attempt: int
    kind: str
    status: Status
    principal: dict[str, Any]
    request: dict[str, Any]
    response: Any
    state: dict[str, int] | None
    engine: str
    error_code: str | None
    started_at: datetime
    duration_ms: float
    config: dict[str, Any] | None = None
    ordinal: int = 0  # of an operation inside a call, from 1
    model: str | None = None  # of a request to a model
    usage: dict[str, Any] | None = None
    prompt_sha256: bytes | None = None
    inner: tuple["Operation", ...] = ()
    # Where the operation was read by its id; not in a list of them.
    now: datetime | None = None  # the call's clock
    request_sha256: bytes | None = None
    result_sha256: bytes | None = (
        None  # of the answer, of an inner operation of its response; None when it failed
    )
    saw: tuple[str, ...] = ()  # the revisions that the whole call saw, as path@version
