"""The records that the store returns."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, TypeVar

from memex.errors import VersionThinned
from memex.store.access import Scope
from memex.store.diff import unified

Status = Literal[
    "queued", "quarantined", "running", "committed", "answered", "repeated", "dry_run", "failed", "denied"
]
Span = tuple[int, int]
TombstonePlace = tuple[str, bytes]  # its mount and its key
Strength = Literal["replaced", "forgotten"]

T = TypeVar("T", bound=tuple[Any, ...])

DIGEST_BYTES = 16  # of a value or a word that a tombstone keeps


def maker(kind: type[T]) -> Callable[[tuple[Any, ...]], T]:
    """Return what makes a named tuple from all of its fields, in half of the time that the class takes."""
    return partial(tuple.__new__, kind)


@dataclass(frozen=True, slots=True)
class Revision:
    """One stored version of a file. `path` is relative to the scope; spans count code points of `content`."""

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
    about: str | None = None  # of an entry: the slug of the project that it was told about
    thinned: Sequence[int] | None = None  # the text is gone; see `store.log.thinning`

    @property
    def virtual_path(self) -> str:
        """The path as a caller writes it."""
        return self.scope.virtual(self.path)

    @property
    def reference(self) -> str:
        """`path@version`, which names this text forever."""
        return f"{self.virtual_path}@{self.version}"

    def whole(self) -> "Revision":
        """Return the revision; raises VersionThinned if its text is gone."""
        check_text(self.reference, self.thinned)
        return self


def check_text(reference: str, thinned: Sequence[int] | None) -> None:
    """Raise VersionThinned if the text of a revision is gone."""
    if thinned is not None:
        raise VersionThinned(
            f"The text of {reference} is gone: versions of its age are thinned.", reference=reference
        )


def revision_of(scope: Scope, *, sha256: bytes, tags: Sequence[str], **columns: Any) -> Revision:
    """Return a revision, from the columns of its row."""
    return Revision(scope=scope, sha256=bytes(sha256).hex(), tags=tuple(tags), **columns)


@dataclass(frozen=True, slots=True)
class ScopeState:
    """The number of a scope's last change, how it is indexed, and whether it has entries, if that is known."""

    scope_id: int
    rev: int
    language: str
    rebuilds: int
    has_journal: bool | None = None


@dataclass(frozen=True, slots=True)
class JournalCount:
    """A month of a journal such as `2026-11`, or a day such as `2026-11-27`, and how many entries stand in it."""

    period: str
    entries: int


@dataclass(frozen=True, slots=True)
class FileSummary:
    """A file in a list, without its text."""

    path: str
    version: int
    size_chars: int
    title: str
    tags: tuple[str, ...]
    updated_at: datetime


def summary_of(
    scope: Scope, *, path: str, tags: Sequence[str], created_at: datetime, **columns: Any
) -> FileSummary:
    """Return the summary of a file, from the columns of its row."""
    return FileSummary(path=scope.virtual(path), tags=tuple(tags), updated_at=created_at, **columns)


@dataclass(frozen=True, slots=True)
class Match:
    """The reasons why a file is a hit: what each list of the search contributed.

    Attributes:
        mode: `bm25` (words), `hybrid` when the search used meaning too, or `vectors` when it used vectors alone.
        bm25_rank: the rank of the file by words, from 1; None when the file holds no word of the query.
        terms: the score of each lexeme of the query in the best passage of the file, the highest score first.
        score: the sum of `terms` and `borrowed`.
        vector_rank: the rank of the file by vectors, from 1; None when the file is not among the nearest.
        borrowed: the scores of lexemes that stand in the neighbours of the file in a series.
        fused: the value of all evidence, by which hits are ordered in hybrid mode.
        share: `score` as a share of the most that the query could score; None without token states.
        interaction: how similar the most similar passage is to the query, word piece by word piece, from -1 to 1;
            None without token states.
    """

    mode: Literal["bm25", "hybrid", "vectors"]
    bm25_rank: int | None
    terms: dict[str, int]
    score: int
    vector_rank: int | None = None
    borrowed: dict[str, int] = field(default_factory=dict)
    fused: float | None = None
    share: float | None = None
    interaction: float | None = None


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query embedding.

    Attributes:
        model: the name of the embedder.
        values: (d,); empty where the database has no vectors, and texts are compared by token states alone.
        states: (m, d) int16, the states of the word pieces, from `late_interaction.round_states`; None from an
            embedder that gives none.
    """

    model: str
    values: Sequence[float]
    states: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NearSpan:
    """The place of a chunk that a search compared in meaning, with what it found.

    `distance` is the cosine distance, from 0 to 2; None for a chunk that was found by words alone. `interaction` is
    its MaxSim, from -1 to 1; None without token states.
    """

    path: str
    span: Span
    distance: float | None
    interaction: float | None = None

    @property
    def logged(self) -> list[Any]:
        """The span in the form of the log: `[path, start, end, distance]`, and the MaxSim if there is one."""
        found = [self.path, *self.span, self.distance]
        return found if self.interaction is None else [*found, self.interaction]


class Passage(NamedTuple):  # a call makes hundreds, and a dataclass takes three times as long
    """A chunk of a file with its score, which is 0 when the chunk holds no word of the query."""

    span: Span
    heading: tuple[str, ...]
    score: int
    text: str | None = None  # where it was read


class FilePassages(NamedTuple):  # as `Passage`
    """Passages of the file at a path. `body_start` is where the text begins, after the front matter."""

    path: str
    version: int
    size_chars: int
    body_start: int
    passages: tuple[Passage, ...]


class Reference(NamedTuple):  # as `Passage`; and a key of many dictionaries
    """A span of one version of a path."""

    path: str
    version: int
    span: Span

    def __str__(self) -> str:
        return f"{self.path}@{self.version}:{self.span[0]}-{self.span[1]}"


class NearLink(NamedTuple):  # as `Passage`
    """A link to an existing file."""

    source: str
    target: str
    heading: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A file that a search found, with its best span first.

    Attributes:
        text: what stands in the span; empty where `file` holds it.
        cut: gives the snippet of the text, for a hit that is shown: it takes longer than all else about a hit.
        file: the best passages with their texts, where they were asked for.
        confidence: that the file answers, 0 to 1; None if it was found by vectors alone.
    """

    path: str
    version: int
    title: str
    heading: tuple[str, ...]
    span: Span
    text: str
    cut: Callable[[str], str] = field(repr=False, compare=False)
    score: int
    reason: str
    match: Match
    tags: tuple[str, ...]
    updated_at: datetime
    more_spans: tuple[Span, ...] = ()
    file: FilePassages | None = None
    confidence: float | None = None

    @property
    def snippet(self) -> str:
        """The stretch of the text that shows why it was found."""
        return self.cut(self.text)


@dataclass(frozen=True, slots=True)
class EntryStatement:
    """A statement of a page that was made from words of a journal entry, and what became of it.

    Attributes:
        path: of the entry, virtual.
        start_char: where the words begin in the entry.
        end_char: where they end.
        state: in_force, put_back, replaced, closed, forgotten, or removed.
        line_key: tells the line of the page; see `statement_lines.line_key`.
    """

    path: str
    start_char: int
    end_char: int
    state: str
    line_key: bytes

    @property
    def is_in_force(self) -> bool:
        """Return whether a page holds the statement."""
        return self.state in ("in_force", "put_back")


@dataclass(frozen=True, slots=True)
class Rival:
    """An older statement, and a newer one that contradicts it: both stand.

    Attributes:
        path: of the page or the entry that holds the older one, virtual.
        line_key: tells the older one; see `statement_lines.line_key`.
        span: where its words stand in an entry; (0, 0) for a line of a page.
        newer: where the newer one stands: words of an entry, or the whole page of a line.
        newer_key: tells the newer one.
    """

    path: str
    line_key: bytes
    span: Span
    newer: Reference
    newer_key: bytes


@dataclass(frozen=True, slots=True)
class Link:
    """A link between files, by virtual paths. If the target does not exist, `target` is the text of the link."""

    source: str
    target: str
    heading: str | None
    exists: bool
    hop: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change of a draft to one file: one revision, or none when `changed` is false.

    `path` and `version` are those after the change. `counterpart` is the other end of a move. `span` is the place
    of the last edit in `new_content`. `edits` are the edits of the draft that touched the file, by their index.
    `outcomes` are what the functions of its `Revise` edits said beside their texts. `made_diff` is the difference
    of long texts, which is made where they are read.
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
    edits: tuple[int, ...] = ()
    outcomes: tuple[Any, ...] = field(default=(), repr=False)
    made_diff: str | None = field(default=None, repr=False)

    @property
    def old_reference(self) -> str | None:
        """`path@version` of what stood before, None for a file that is new."""
        return f"{self.old_path}@{self.old_version}" if self.old_version else None

    @property
    def new_reference(self) -> str:
        """`path@version` of what stands after the change."""
        return f"{self.path}@{self.version}"

    def diff(self) -> str:
        """Return the difference as a unified diff, "" when there is none."""
        if self.made_diff is not None or not self.changed:
            return self.made_diff or ""
        old = self.old_reference or "/dev/null"
        return unified(self.old_content, self.new_content, old, self.new_reference)


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of the log: the request and the response of a tool call, or of an operation inside a call."""

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
    told_sha256: bytes | None = None  # of kind, request and response of an operation in the row of its call
    saw: tuple[str, ...] = ()  # the revisions that the whole call saw, as path@version


@dataclass(frozen=True, slots=True)
class Remains:
    """The parts of a statement that a tombstone is made of, in the form in which they are compared.

    Attributes:
        values: its names, numbers and identifiers.
        words: its other words.
    """

    values: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakenOut:
    """A statement that a call takes out for a reason: `forgotten`, or `replaced` by another one.

    Attributes:
        path: virtual, of the page or the entry that said it.
        text: the statement.
        strength: of the tombstone.
        remains: what is kept of it, as digests.
    """

    path: str
    text: str
    strength: Strength
    remains: Remains


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A tombstone that stands.

    Attributes:
        mount: of the page or the entry that said it.
        line_key: of the statement; see `statement_lines.line_key`.
        strength: `forgotten` hides what says it, `replaced` only keeps older texts from being current again.
        salt: of the digests.
        values: digests of the values, each with its length in characters.
        words: digests of the other words.
        ended_at: when it was taken out.
        tool_call_id: of the call that did it.
    """

    mount: str
    line_key: bytes
    strength: Strength
    salt: bytes
    values: tuple[tuple[int, bytes], ...]
    words: frozenset[bytes]
    ended_at: datetime
    tool_call_id: str

    @property
    def place(self) -> TombstonePlace:
        """The mount and the key."""
        return self.mount, self.line_key

    def digest(self, form: str) -> bytes:
        """Return the digest of a value or a word; 16 bytes."""
        return salted_digest(self.salt, form)


@lru_cache(maxsize=65_536)
def salted_digest(salt: bytes, form: str) -> bytes:
    """Return the digest of a value or a word under the salt of a tombstone; 16 bytes."""
    return hashlib.sha256(salt + form.encode("utf-8", "surrogatepass")).digest()[:DIGEST_BYTES]
