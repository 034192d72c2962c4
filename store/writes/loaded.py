"""The rows that a commit loads before it plans: scopes, heads and chunks of the files that the edits name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memex.errors import LimitExceeded, OperationNotFound, Refused, ValidationFailed, VersionNotFound
from memex.store.access import Scope
from memex.store.database import Connection, Rows, batch, row_as, rows_as
from memex.store.records import FileChange, Revision, ScopeState, check_text, revision_of
from memex.store.search.index import FileIndex, StoredChunk
from memex.store.writes.commit import SEPARATOR
from memex.store.writes.edits import PlannedRevision, WorkingTree
from memex.store.writes.quota import ScopeUsage, usage_of
from memex.store.writes.revisions import Head, ScopedPath, UndoneRevision

MAX_UNDONE_CHARS = 32 << 20  # an undo holds up to three texts of each revision in memory


@dataclass(frozen=True, slots=True)
class StoredHead:
    """The present file at a path, and the highest version ever stored there.

    `file_id` and `version` are None if there is no file. `content` is None then too, and if the text was not asked
    for.
    """

    scope_id: int
    path: str
    file_id: int | None
    version: int | None
    content: str | None
    highest: int
    thinned: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    """The stored state of the files that edits name: their scopes, heads, and chunks by scope and file.

    `usage` is what each scope stores, and may store.
    """

    scopes: Sequence[ScopeState]
    heads: Sequence[StoredHead]
    chunks: dict[tuple[int, int], list[StoredChunk]]
    usage: dict[int, ScopeUsage]

    @property
    def fingerprint(self) -> frozenset[tuple[Any, ...]]:
        """The ids, versions and index builds that must be the same when a plan is carried out."""
        # A rebuild of the index leaves the files as they are, and gives their chunks new ids.
        return frozenset(
            [
                *((scope.scope_id, scope.language, scope.rebuilds) for scope in self.scopes),
                *(
                    (head.scope_id, head.path, head.file_id, head.version, head.highest)
                    for head in self.heads
                ),
            ]
        )


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """The edits applied to the loaded files: what a commit writes if the files have not changed since.

    `fingerprint` is that of the loaded files.
    """

    fingerprint: frozenset[tuple[Any, ...]]
    files: tuple[tuple[PlannedRevision, FileIndex], ...]

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The change of each file."""
        return tuple(planned.change for planned, _ in self.files)

    @property
    def written(self) -> list[tuple[PlannedRevision, FileIndex]]:
        """The files that get a revision."""
        return [(planned, derived) for planned, derived in self.files if planned.change.changed]


@dataclass(frozen=True, slots=True)
class _ChainRevision:
    """A row of `writes/revision_chains`: a revision of a file of which some are undone."""

    scope_id: int
    file_id: int
    path: str
    version: int
    rev: int
    deleted: bool
    tool_call_id: str
    operation: str
    is_undone: bool
    content: str
    thinned: Sequence[int] | None

    @property
    def head(self) -> Head:
        return Head(self.file_id, self.path, self.version, self.content, self.deleted)


def lookup_columns(places: Sequence[ScopedPath]) -> dict[str, Any]:
    """Return the parameters of the queries that load the files at some paths."""
    return {
        "scope_ids": [place.scope.scope_id for place in places],
        "paths": [place.path for place in places],
    }


def load_files(found: Rows) -> LoadedFiles:
    """Return the loaded files, from rows of `writes/file_load`."""
    scopes: dict[int, ScopeState] = {}
    heads: list[StoredHead] = []
    chunks: dict[tuple[int, int], list[StoredChunk]] = {}
    usage: dict[int, ScopeUsage] = {}
    for row in found:
        scope_id = row["scope_id"]
        if row["used"] is not None:
            usage[scope_id] = usage_of(row["used"], row["quotas"])
        scopes[scope_id] = ScopeState(scope_id, row["rev"], row["language"], row["rebuilds"])
        heads.append(
            StoredHead(scope_id, row["path"], row["file_id"], row["version"], row["content"], row["highest"])
        )
        if row["chunk_ids"]:
            chunks[scope_id, row["file_id"]] = _stored_chunks(row)
    return LoadedFiles(list(scopes.values()), heads, chunks, usage)


def _stored_chunks(found: Mapping[str, Any]) -> list[StoredChunk]:
    columns = zip(
        found["chunk_ids"],
        found["starts"],
        found["ends"],
        found["heading_paths"],
        found["sha256s"],
        found["lengths"],
        strict=True,
    )
    return [
        StoredChunk(chunk_id, start, end, tuple(filter(None, heading_path.split(SEPARATOR))), sha256, length)
        for chunk_id, start, end, heading_path, sha256, length in columns
    ]


def working_tree(heads: Sequence[StoredHead]) -> WorkingTree:
    """Return the tree to which edits are applied."""
    standing = {
        (head.scope_id, head.path): Head(head.file_id, head.path, head.version or 0, head.content or "")
        for head in heads
        if head.file_id is not None
    }
    return WorkingTree(standing, {(head.scope_id, head.path): head.highest for head in heads})


def count_chars(heads: Sequence[StoredHead]) -> int:
    """Return how many characters the files hold together."""
    return sum(len(head.content or "") for head in heads)


async def load_restored(connection: Connection, place: ScopedPath, version: int) -> Revision:
    """Return the revision that is to be restored.

    Raises:
        VersionNotFound: the path never had it.
        ValidationFailed: that version is a deletion.
    """
    wanted = {"scope_id": place.scope.scope_id, "path": place.path, "version": version}
    stored = await row_as(partial(revision_of, place.scope), connection, "memory/revision_read", **wanted)
    if stored is None:
        raise VersionNotFound(f"{place} has no version {version}.", path=str(place))
    if stored.deleted:
        raise ValidationFailed(
            f"Version {version} of {place} is its deletion.",
            hint="Restore the version before it, or delete.",
        )
    return stored.whole()


async def load_undone_revisions(
    connection: Connection, references: Sequence[str], place_of: Callable[[str], ScopedPath]
) -> tuple[list[UndoneRevision], dict[str, Refused]]:
    """Return what is to be undone of each file, with what stood before it and what came after it.

    Args:
        connection: in a transaction that sees one moment.
        references: what is undone, as `path@version`.
        place_of: returns the place of a virtual path, or refuses it.

    Returns:
        The files in the order in which they are named first, and by path why some cannot be undone: `place_of`
        refused it, an `OperationNotFound` where a revision is gone, a `VersionThinned` where its text is.

    Raises:
        LimitExceeded: the revisions hold more text than is undone at once.
    """
    revisions, refused = list[tuple[ScopedPath, int]](), dict[str, Refused]()
    for path, _, number in (reference.rpartition("@") for reference in references):
        try:
            revisions.append((place_of(path), int(number)))
        except Refused as refusal:
            refused[path] = refusal
    columns = lookup_columns([place for place, _ in revisions])
    columns["versions"] = [version for _, version in revisions]
    [[size]] = await batch(connection, ("writes/undone_size", columns))
    if size["chars"] > MAX_UNDONE_CHARS:
        raise LimitExceeded(
            f"{size['chars']:,} characters were written, and {MAX_UNDONE_CHARS:,} are undone at once.",
            hint="Revert the batches of an import one by one: `calls` of its report names them. Undo what an actor "
            "did since a later time first.",
            limit=MAX_UNDONE_CHARS,
        )
    chains: dict[tuple[int, int], list[_ChainRevision]] = {}
    of_file: dict[tuple[int, str, int], tuple[int, int]] = {}
    for one in await rows_as(_ChainRevision, connection, "writes/revision_chains", **columns):
        chains.setdefault((one.scope_id, one.file_id), []).append(one)
        of_file[one.scope_id, one.path, one.version] = one.scope_id, one.file_id
    named: dict[tuple[int, int], ScopedPath] = {}
    undone = list[UndoneRevision]()
    for place, version in revisions:
        if (file := of_file.get((*place.key, version))) is not None:
            named[file] = place
        else:
            refused[str(place)] = OperationNotFound(f"The revision {place}@{version} is gone.")
    for file, place in named.items():
        try:
            undone.append(_undone_revision(place.scope, chains[file]))
        except VersionNotFound as thinned:
            refused[str(place)] = thinned
    return undone, refused


def _undone_revision(scope: Scope, chain: Sequence[_ChainRevision]) -> UndoneRevision:
    runs: list[
        tuple[_ChainRevision, _ChainRevision | None]
    ] = []  # the newest first; each with what was before
    for previous, one in zip([None, *chain], chain, strict=False):
        if one.is_undone:
            is_longer = previous is not None and previous.is_undone
            runs[:1] = [(one, runs[0][1])] if is_longer else [(one, previous), *runs[:1]]
    for needed in filter(None, (one for run in runs for one in run)):
        check_text(f"{scope.virtual(needed.path)}@{needed.version}", needed.thinned)
    steps = [(one.head, previous.head if previous else None) for one, previous in runs]
    head, (after, before), oldest = chain[-1].head, steps[0], steps[-1][1]
    stood = None if oldest is None or oldest.deleted else replace(oldest, version=head.version)
    first = next(at for at, one in enumerate(chain) if one.is_undone)
    return UndoneRevision(
        place=ScopedPath(scope, after.path),
        head=head,
        after=after,
        before=before,
        is_undone=head.deleted if stood is None else head == stood,
        later_calls=tuple(one.tool_call_id for one in chain[first:] if not one.is_undone),
        earlier=tuple(steps[1:]),
        calls=tuple(one.tool_call_id for one in chain if one.is_undone),
        is_as_left=chain[-1].operation == "revert" and head == replace(after, version=head.version),
    )
