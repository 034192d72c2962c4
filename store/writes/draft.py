"""The unit of work: stages edits over a snapshot and commits all of them in one transaction, or none.

Everything that writes goes through here. A commit plans: it reads the files that the edits name, plays the edits
over them and derives what the index needs. Long texts are planned without a lock; then it takes the scopes' locks,
in the order of their ids, and only if a file has moved on meanwhile is the plan made again, under the lock. Short
texts are planned under the lock at once.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import psycopg

from memex.errors import LimitExceeded, OperationNotFound, ValidationFailed, VersionConflict, VersionNotFound
from memex.store import offload
from memex.store.access import Access
from memex.store.database import Connection, Database, Rows, Statement, batch, row, rows
from memex.store.log import operations
from memex.store.log.call import Call, CallAnswer
from memex.store.paths import parse
from memex.store.records import FileChange
from memex.store.search import vectors
from memex.store.search.analyzer import analyzer_of
from memex.store.search.index import FileIndex, StoredChunk, deleted_file_index, engine, index
from memex.store.writes.commit import write_commit
from memex.store.writes.edits import (
    Delete,
    Edit,
    EditedFile,
    Head,
    Move,
    Patch,
    PlannedRevision,
    Revise,
    ScopedPath,
    Undo,
    UndoneRevision,
    WorkingTree,
    Write,
)
from memex.store.writes.pending import Counters, counters_of

MAX_FILES_PER_SCOPE = 10_000
MAX_EDITS = 1_000
SHORT_CHARS = 16 * 1024  # of texts read and written together: some 10 ms of work while the lock is held
MAX_CHUNKS_PER_FILE = 10_000


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit did: its changes, the state that it was made on, and whether an earlier call had done it."""

    result: dict[str, Any]
    changes: tuple[FileChange, ...] = ()
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """What a commit would do, and the state that it would be made on, of the mounts that it touches."""

    changes: tuple[FileChange, ...]
    state: dict[str, int]


@dataclass(frozen=True, slots=True)
class LoadedFiles:
    """What the store has of the files that edits name: their scopes, heads, and chunks by scope and file."""

    scopes: Rows
    heads: Rows
    chunks: dict[tuple[int, int], list[StoredChunk]]

    @property
    def seen(self) -> frozenset[tuple[Any, ...]]:
        """What must still be so when a plan is carried out."""
        return _fingerprint(self.scopes, self.heads)


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """The edits played over the store as it was: what a commit writes if nothing has moved since."""

    seen: frozenset[tuple[Any, ...]]
    files: tuple[tuple[PlannedRevision, FileIndex], ...]

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """What becomes of each file."""
        return tuple(planned.change for planned, _ in self.files)

    @property
    def written(self) -> list[tuple[PlannedRevision, FileIndex]]:
        """The files that get a revision."""
        return [(planned, derived) for planned, derived in self.files if planned.change.changed]


class Draft:
    """Edits that are staged until `commit` writes them, or `preview` shows them.

    Paths are virtual. Staging checks the path and the right to write there; the rest is checked against the
    files when the draft is previewed or committed.
    """

    def __init__(
        self,
        database: Database,
        access: Access,
        *,
        max_files: int = MAX_FILES_PER_SCOPE,
        is_embedded: bool = False,
    ) -> None:
        """Make an empty draft.

        Args:
            database: that the files are in.
            access: of who writes.
            max_files: that a scope may hold.
            is_embedded: a job shall make vectors of what is new, once it is committed.
        """
        self._database = database
        self._access = access
        self._max_files = max_files
        self._is_embedded = is_embedded
        self._edits: list[Edit] = []

    def write(
        self,
        path: str,
        content: str,
        *,
        base_version: int | None = None,
        overwrite: bool = False,
        reason: str | None = None,
    ) -> None:
        """Stage the whole text of a new file, of `base_version`'s successor, or with `overwrite` of any."""
        self._stage(Write(self._place(path), content, base_version, overwrite, reason=reason))

    def patch(
        self,
        path: str,
        operation: Literal["append", "insert", "replace"],
        text: str,
        *,
        heading: str | None = None,
        match: str | None = None,
        base_version: int | None = None,
        reason: str | None = None,
    ) -> None:
        """Stage a change of a part of a file; see `patch.apply` for its meaning."""
        self._stage(Patch(self._place(path), operation, text, heading, match, base_version, reason))

    def revise(
        self,
        path: str,
        revise: Callable[[str | None], str | None],
        *,
        chars: int = 0,
        reason: str | None = None,
    ) -> None:
        """Stage what a pure function makes of a file's text, or of None where no file stands; see `Revise`."""
        self._stage(Revise(self._place(path), revise, chars, reason))

    def move(self, path: str, to: str, *, base_version: int | None = None, reason: str | None = None) -> None:
        """Stage a file's move, within its mount with its history, into another as a new file."""
        self._stage(Move(self._place(path), self._place(to), base_version, reason))

    def delete(self, path: str, *, base_version: int | None = None, reason: str | None = None) -> None:
        """Stage a file's deletion; its revisions stay."""
        self._stage(Delete(self._place(path), base_version, reason))

    async def restore(
        self, path: str, version: int, *, base_version: int | None = None, reason: str | None = None
    ) -> None:
        """Stage an earlier version of a path as its next one.

        Raises:
            VersionNotFound: the path never had it.
            ValidationFailed: that version is a deletion.
        """
        place = self._place(path)
        async with self._database.transaction(self._access) as connection:
            stored = await row(
                connection,
                "memory/revision_read",
                scope_id=place.scope.scope_id,
                path=place.path,
                version=version,
            )
        if stored is None:
            raise VersionNotFound(f"{path} has no version {version}.", path=path)
        if stored["deleted"]:
            raise ValidationFailed(
                f"Version {version} of {path} is its deletion.",
                hint="Restore the version before it, or delete.",
            )
        self._stage(Write(place, stored["content"], base_version, base_version is None, "restore", reason))

    async def undo(self, references: Sequence[str], *, reason: str | None = None) -> None:
        """Stage the inverse of the revisions that one call wrote.

        Args:
            references: `path@version`, as the log holds them.
            reason: kept with the new revisions.

        Raises:
            OperationNotFound: a revision is gone.
        """
        async with self._database.transaction(self._access, snapshot=True) as connection:
            undone = []
            for reference in references:
                path, _, version = reference.rpartition("@")
                undone.append(await _undone_revision(connection, self._place(path), int(version)))
        self._stage(Undo(tuple(undone), reason))

    async def read(self, path: str) -> str | None:
        """Return the text that the draft would leave at a path, None when no file would stand there."""
        place = self._place(path, to_write=False)
        async with self._database.transaction(self._access, snapshot=True) as connection:
            heads = await rows(
                connection, "writes/head_load", **_lookup_columns([*self._places(), place]), with_content=True
            )
        return _working_tree(heads).play(self._edits).read(place)

    async def preview(self) -> Preview:
        """Return what a commit would do now, without doing it."""
        stored = _loaded_files(*await self._database.read(self._access, *self._to_load()))
        return Preview((await self._plan(stored)).changes, self._state(stored.scopes))

    async def preview_at(self, state: Mapping[str, int]) -> Preview:
        """Return what a commit would have done in an earlier state, without doing it.

        Args:
            state: how many changes each mount had seen; one that is absent held nothing.
        """
        places = self._places()
        revs = [state.get(place.scope.mount, 0) for place in places]
        [heads] = await self._database.read(
            self._access, ("past/head_load", _lookup_columns(places) | {"revs": revs})
        )
        chars = sum(map(_chars, self._edits)) + _content_chars(heads)
        planned = await offload.run(chars, lambda: _working_tree(heads).play(self._edits).planned())
        return Preview(tuple(one.change for one in planned), dict(state))

    async def commit(self, call: Call, answer: Callable[[tuple[FileChange, ...]], CallAnswer]) -> Commit:
        """Write every staged edit and log the call, in one transaction.

        Args:
            call: what is logged; its id is spent by this commit.
            answer: makes the call's result from the changes.

        Returns:
            The result; for a call that was committed before, its first result.

        Raises:
            ToolCallConflict, ToolCallInProgress: the tool call id is taken.
            LimitExceeded: more files or edits than allowed.
            VersionConflict, FileExists, FileNotFound, …: an edit does not fit; nothing was written.
        """
        try:
            if (done := await self._commit_short(call, answer)) is not None:
                return done
            return await self._commit_long(call, answer)
        except psycopg.errors.UniqueViolation as violation:
            if violation.diag.table_name == "revision":  # a tombstone that an undo reopens is behind no lock
                raise VersionConflict("A file of this call was written at the same moment.") from violation
            if violation.diag.constraint_name != "operation_once":
                raise
            # The same id was committed over other scopes at the same moment: no lock was shared.
            if (first := await self.first_result(call)) is None:
                raise
            return Commit(first, is_repeat=True)

    async def first_result(self, call: Call) -> dict[str, Any] | None:
        """Return the result of the commit that spent this call's id, None when none did.

        Raises:
            ToolCallConflict, ToolCallInProgress: it was another request, or still runs.
        """
        async with self._database.transaction(self._access, snapshot=True) as connection:
            [found] = await batch(
                connection, operations.committed_statement(self._access, call.request.tool_call_id)
            )
            return await operations.first_result(connection, self._access, call, found)

    async def _commit_short(
        self, call: Call, answer: Callable[[tuple[FileChange, ...]], CallAnswer]
    ) -> Commit | None:
        """Commit with the plan made under the lock, which saves a transaction; None when the texts are long."""
        written = sum(map(_chars, self._edits))
        if written > SHORT_CHARS:
            return None
        statements = *self._to_lock(call), *self._to_load()
        async with self._database.writing(self._access, *statements) as (connection, read):
            locked, found, scopes, heads, chunks = read
            first = await operations.first_result(connection, self._access, call, found)
            if first is not None:
                return Commit(first, is_repeat=True)
            if written + _content_chars(heads) > SHORT_CHARS:
                return None
            plan = self._plan_now(_loaded_files(scopes, heads, chunks))
            await operations.settle(connection, found, "answered")
            return await self._write(connection, plan, call, answer, locked, scopes)

    async def _commit_long(
        self, call: Call, answer: Callable[[tuple[FileChange, ...]], CallAnswer]
    ) -> Commit:
        """Commit a plan that is made before the lock is taken, once more if something has moved on since."""
        committed = operations.committed_statement(self._access, call.request.tool_call_id)
        found, *loaded = await self._database.read(self._access, committed, *self._to_load())
        if found and (first := await self.first_result(call)) is not None:
            return Commit(first, is_repeat=True)
        plan = await self._plan(
            _loaded_files(*loaded)
        )  # no connection is held while a large file is analysed
        state, heads_now = self._to_see()
        statements = *self._to_lock(call), state, heads_now
        async with self._database.writing(self._access, *statements) as (connection, read):
            locked, found, scopes, heads = read
            first = await operations.first_result(connection, self._access, call, found)
            if first is not None:
                return Commit(first, is_repeat=True)
            if plan.seen != _fingerprint(scopes, heads):
                # Under the lock nothing waits for other calls' long texts.
                stored = _loaded_files(*await batch(connection, *self._to_load()))
                plan = await asyncio.to_thread(self._plan_now, stored)
            await operations.settle(connection, found, "answered")
            return await self._write(connection, plan, call, answer, locked, scopes)

    async def _write(
        self,
        connection: Connection,
        plan: CommitPlan,
        call: Call,
        answer: Callable[[tuple[FileChange, ...]], CallAnswer],
        locked: Rows,
        scopes: Rows,
    ) -> Commit:
        counters = counters_of(locked)
        self._check_limits(plan, counters)
        made = answer(plan.changes)
        analyzers = {scope["scope_id"]: engine(analyzer_of(scope["language"])) for scope in scopes}
        await write_commit(connection, self._access, call, plan.written, counters, analyzers=analyzers)
        if self._is_embedded and plan.written:
            changed = {planned.file.scope.scope_id for planned, _ in plan.written}
            await vectors.defer(connection, sorted(changed))
        await operations.add(
            connection,
            self._access,
            call,
            status="committed",
            answer=made,
            writes=[f"{planned.change.path}@{planned.change.version}" for planned, _ in plan.written],
            state=self._state(scopes),
        )
        return Commit(made.result, plan.changes)

    def _state(self, scopes: Rows) -> dict[str, int]:
        return {self._access.by_id[record["scope_id"]].mount: record["rev"] for record in scopes}

    def _to_lock(self, call: Call) -> tuple[Statement, Statement]:
        committed = operations.committed_statement(self._access, call.request.tool_call_id)
        return ("writes/scope_lock", {"scope_ids": self._scope_ids()}), committed

    def _to_see(self) -> tuple[Statement, Statement]:
        heads = _lookup_columns(self._places()) | {"with_content": False}
        return ("memory/scope_state", {"scope_ids": self._scope_ids()}), ("writes/head_load", heads)

    def _to_load(self) -> tuple[Statement, Statement, Statement]:
        wanted = _lookup_columns(self._places())
        return (
            ("memory/scope_state", {"scope_ids": self._scope_ids()}),
            ("writes/head_load", wanted | {"with_content": True}),
            ("writes/chunk_load", wanted),
        )

    def _scope_ids(self) -> list[int]:
        return sorted({place.scope.scope_id for place in self._places()})

    async def _plan(self, stored: LoadedFiles) -> CommitPlan:
        chars = sum(map(_chars, self._edits)) + _content_chars(stored.heads)
        return await offload.run(chars, self._plan_now, stored)

    def _plan_now(self, stored: LoadedFiles) -> CommitPlan:
        planned = _working_tree(stored.heads).play(self._edits).planned()
        files = tuple((one, self._derive(one.file, stored)) for one in planned)
        return CommitPlan(stored.seen, files)

    def _derive(self, file: EditedFile, stored: LoadedFiles) -> FileIndex:
        scope_id = file.scope.scope_id
        known = stored.chunks.get((scope_id, file.head.file_id), []) if file.head else []
        if file.content is None:
            return deleted_file_index(file.path, known)
        language = next(scope["language"] for scope in stored.scopes if scope["scope_id"] == scope_id)
        derived = index(file.path, file.content, known, analyzer_of(language))
        if len(known) - len(derived.removed) + len(derived.added) > MAX_CHUNKS_PER_FILE:
            raise LimitExceeded(
                f"{file.scope.virtual(file.path)} has more than {MAX_CHUNKS_PER_FILE:,} sections.",
                hint="Split the text over several linked files.",
                limit=MAX_CHUNKS_PER_FILE,
            )
        return derived

    def _check_limits(self, plan: CommitPlan, counters: dict[int, Counters]) -> None:
        for scope_id, counter in counters.items():
            standing = counter.files + sum(
                planned.file.adds for planned, _ in plan.files if planned.file.scope.scope_id == scope_id
            )
            if standing > max(self._max_files, counter.files):
                mount = self._access.by_id[scope_id].mount
                raise LimitExceeded(
                    f"{mount}/ may hold {self._max_files:,} files.",
                    hint="Delete or merge files that are no longer needed.",
                    limit=self._max_files,
                )

    def _places(self) -> list[ScopedPath]:
        places = {place.key: place for edit in self._edits for place in _places_of(edit)}
        return list(places.values())

    def _place(self, path: str, *, to_write: bool = True) -> ScopedPath:
        parsed = parse(path)
        scope = self._access.writable_scope_of(parsed) if to_write else self._access.scope_of(parsed)
        return ScopedPath(scope, parsed.relative)

    def _stage(self, edit: Edit) -> None:
        if len(self._edits) >= MAX_EDITS:
            raise LimitExceeded(f"A draft holds at most {MAX_EDITS:,} edits.", limit=MAX_EDITS)
        self._edits.append(edit)


def _chars(edit: Edit) -> int:
    match edit:
        case Write():
            return len(edit.content)
        case Patch():
            return len(edit.text)
        case Revise():
            return edit.chars
        case _:
            return 0


def _content_chars(heads: Rows) -> int:
    return sum(len(head["content"] or "") for head in heads)


def _places_of(edit: Edit) -> list[ScopedPath]:
    match edit:
        case Move():
            return [edit.place, edit.to]
        case Undo():
            return [
                ScopedPath(one.place.scope, path)
                for one in edit.revisions
                for path in {one.place.path, one.head.path, *([one.before.path] if one.before else [])}
            ]
        case _:
            return [edit.place]


def _lookup_columns(places: Sequence[ScopedPath]) -> dict[str, Any]:
    return {
        "scope_ids": [place.scope.scope_id for place in places],
        "paths": [place.path for place in places],
    }


def _working_tree(found: Rows) -> WorkingTree:
    heads = {
        (record["scope_id"], record["path"]): Head(
            record["file_id"], record["path"], record["version"], record["content"]
        )
        for record in found
        if record["file_id"] is not None
    }
    return WorkingTree(heads, {(record["scope_id"], record["path"]): record["highest"] for record in found})


def _loaded_files(scopes: Rows, heads: Rows, chunks: Rows) -> LoadedFiles:
    by_file: dict[tuple[int, int], list[StoredChunk]] = {}
    for record in chunks:
        chunk = StoredChunk(
            record["chunk_id"],
            record["start_char"],
            record["end_char"],
            tuple(record["heading_path"]),
            bytes(record["sha256"]),
            record["length"],
        )
        by_file.setdefault((record["scope_id"], record["file_id"]), []).append(chunk)
    return LoadedFiles(scopes, heads, by_file)


def _fingerprint(scopes: Rows, heads: Rows) -> frozenset[tuple[Any, ...]]:
    # A rebuild of the index leaves the files as they are, and gives their chunks new ids.
    of_scopes = ("scope_id", "language", "rebuilds")
    of_heads = ("scope_id", "path", "file_id", "version", "highest")
    return frozenset(
        tuple(record[column] for column in columns)
        for records, columns in ((scopes, of_scopes), (heads, of_heads))
        for record in records
    )


async def _undone_revision(connection: Connection, place: ScopedPath, version: int) -> UndoneRevision:
    chain = await rows(
        connection, "writes/revision_chain", scope_id=place.scope.scope_id, path=place.path, version=version
    )
    if not chain:
        raise OperationNotFound(f"The revision {place}@{version} is gone.")
    after = next(record for record in chain if (record["path"], record["version"]) == (place.path, version))
    before = [record for record in chain if record["rev"] < after["rev"]]
    return UndoneRevision(
        place=place,
        head=_head(chain[-1]),
        after=_head(after),
        before=_head(before[-1]) if before else None,
        later_calls=tuple(record["tool_call_id"] for record in chain if record["rev"] > after["rev"]),
    )


def _head(record: dict[str, Any]) -> Head:
    return Head(record["file_id"], record["path"], record["version"], record["content"], record["deleted"])
