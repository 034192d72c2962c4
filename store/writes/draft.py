"""The unit of work: a draft stages edits, and a commit writes all of them in one transaction, or none.

All writes of files go through this module. Why no write loses another one that runs at the same moment:

- A commit first locks the row of each of its scopes in `scope_stat` (`writes/scope_lock`), in the order of their
  ids, and holds these locks until it ends. So the commits of one scope follow each other, and the order prevents a
  deadlock of two commits.
- Short texts (`Draft._commit_short`): one transaction takes the locks, reads the files, applies the edits and
  writes. It is read committed (`store.database.BEGIN`), so the reads see what the last holder of a lock wrote.
- Long texts (`Draft._commit_long`): the edits are applied to a snapshot, without a lock. Under the locks the
  versions are read again. If they differ (`LoadedFiles.fingerprint`), the locks are given back, and the edits are
  applied again, to the files as they are then; the third time this happens under the locks.
- An edit whose `base_version` is not the present version is refused (`edits.WorkingTree`). An edit without one is
  applied to the present text.
- Under the locks the rights of the caller are checked again (`Database.access_check`). A commit that waited while
  the key of its caller was revoked writes nothing.
- Last, unique indexes refuse a second revision in the same place; `Draft.commit` reports a `VersionConflict`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import chain
from typing import Any, Literal

import psycopg

from memex.errors import LimitExceeded, Refused, VersionConflict
from memex.store.access import Access
from memex.store.database import Connection, Database, Rows, Statement, batch, rows
from memex.store.identity import write_rates
from memex.store.identity.write_rates import WriteRate
from memex.store.log import operations
from memex.store.log.call import Call, CallAnswer
from memex.store.paths import parse, parse_new
from memex.store.records import FileChange, ScopeState, Span, Tombstone, check_text
from memex.store.search import vectors
from memex.store.search.analyzer import analyzer_of
from memex.store.search.index import index_version, text_digest
from memex.store.snapshot.reads import tombstones_in, tombstones_statement
from memex.store.sql import sql
from memex.store.writes import growth, planning, quota, statistics
from memex.store.writes.commit import write_commit
from memex.store.writes.edits import (
    Delete,
    Edit,
    Hide,
    Move,
    Patch,
    Revise,
    Revised,
    Show,
    Told,
    Undo,
    Write,
    places_of,
)
from memex.store.writes.loaded import (
    CommitPlan,
    LoadedFiles,
    StoredHead,
    load_files,
    load_restored,
    load_undone_revisions,
    lookup_columns,
    working_tree,
)
from memex.store.writes.pending import counters_of
from memex.store.writes.results import Commit, Preview, ToldEntry
from memex.store.writes.revisions import ScopedPath, UndoneRevision
from memex.store.writes.rivals import reverted_rivals, rivals_of
from memex.store.writes.statements import (
    NO_LINES,
    NO_RECORDS,
    EndedWords,
    LaterLines,
    LineRecords,
    later_lines,
    later_statement,
    overtaken_words,
    statements_of,
    undone_in_journal,
)

MAX_FILES_PER_SCOPE = 10_000
MAX_EDITS = 1_000
SAID_LATER = "said_later"  # in the `config` of a logged call: lines that were said later than its text
MAX_PLANS = 3  # that are made before the locks are taken
MAX_BATCH_STORED_CHARS = 16 << 20  # of the files that a batch edits; it holds each of them twice

# Makes of the changes of a commit what is written in the same transaction.
StatementsOfChanges = Callable[[tuple[FileChange, ...]], Sequence[Statement]]
# Says of the changes of a commit which lines of pages were filed, and why others were taken out.
LinesOfChanges = Callable[[tuple[FileChange, ...]], LineRecords]
# Compares texts with what was forgotten in the scopes of a draft.
Comparison = Callable[[Sequence[Tombstone]], Awaitable[None]]


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
        max_journal_bytes: int = 0,
        is_embedded: bool = False,
        limits: Sequence[WriteRate] = (),
    ) -> None:
        """Make an empty draft.

        Args:
            database: the database that holds the files.
            access: the access of the caller who writes.
            max_files: the highest number of files in a scope.
            max_journal_bytes: the highest number of bytes in a journal; 0 for any.
            is_embedded: whether the commit leaves a job that makes vectors of the new chunks.
            limits: rates that the commit is counted by, for all replicas.
        """
        self._database = database
        self._access = access
        self._most = (max_files, max_journal_bytes)
        self._is_embedded = is_embedded
        self._limits = limits
        self._edits: list[Edit] = []
        self._are_members = self._has_merged = False
        self._beside: StatementsOfChanges | None = None
        self.claim: Statement | None = None  # changes a row by which one call alone may commit
        self._lines: LinesOfChanges | None = None
        self._comparison: Comparison | None = None
        self._tombstones: Sequence[Tombstone] = ()
        self._telling: Write | None = None
        self._overtaken: Sequence[EndedWords] = ()
        self._again: list[Statement] = []
        self.entry: ToldEntry | None = None  # of the told text, once the draft is previewed or committed
        self._said: tuple[date, datetime] | None = None
        self._later = NO_LINES
        self.given_up_at: datetime | None = None  # when the call was accepted that `first_result` found so

    def begin_batch(self) -> None:
        """Say that each edit is a member of a batch, which errors name by its index."""
        self._are_members = True

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
        self._stage(Write(self._place(path, is_new=True), content, base_version, overwrite, reason=reason))

    def tell(self, text: str, told: Told, path: str) -> None:
        """Stage a told text as an entry of the journal; where an entry holds the same text, that one counts.

        Args:
            text: the whole text, as it was told.
            told: what is known of it.
            path: of the new entry, from `entry_path`, below the caller's `user/`.
        """
        self._telling = Write(self._place(f"user/{path}"), text, told=told)
        self._stage(self._telling)

    def overtake(self, words: Sequence[EndedWords]) -> None:
        """Say which words of the journal statements of the told text take the place of.

        A text that does so is kept as an entry of its own, also where another entry holds the same text.
        """
        self._overtaken = words

    def hold_again(self, path: str, key: bytes) -> None:
        """Stage that words of a journal entry hold again whose place a newer statement took.

        Args:
            path: of the entry.
            key: of the words; see `statement_lines.line_key`.
        """
        place = self._place(path)
        self._stage(Hide(place, ()))  # takes the lock of the journal, and finds whether the entry stands
        given = {"scope_id": place.scope.scope_id, "path": place.path, "line_key": key}
        self._again.append(("writes/statement_put_back", given))

    def compare(self, comparison: Comparison) -> None:
        """Have a commit compare its texts with what was forgotten before it makes its answer, if anything was."""
        self._comparison = comparison

    def give_way(self, day: date, accepted_at: datetime, later: LaterLines | None = None) -> None:
        """Leave lines of pages in their places that were said later than the text of the staged revisions.

        Args:
            day: on which the text was said.
            accepted_at: when its call was accepted.
            later: those lines, if they are known; else they are read under the lock.
        """
        self._said = None if later is not None else (day, accepted_at)
        self._set_later(later or NO_LINES)

    def enter(self, path: str, text: str, told: Told) -> None:
        """Stage an entry of the journal at its virtual path; one that stands there has to have the same text."""
        self._stage(Write(self._place(path), text, overwrite=True, told=told))

    def hide(self, path: str, spans: Sequence[Span], *, reason: str | None = None) -> None:
        """Stage that spans of a journal entry are blanked; its earlier version keeps them."""
        self._stage(Hide(self._place(path), tuple(spans), reason))

    def show(self, path: str, words: Sequence[tuple[int, str]], *, reason: str | None = None) -> None:
        """Stage that words of a journal entry, each with where it begins, stand there again if they are blanked."""
        self._stage(Show(self._place(path), tuple(words), reason))

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
        revise: Callable[[str | None], str | Revised | None],
        *,
        chars: int = 0,
        reason: str | None = None,
    ) -> None:
        """Stage what a pure function makes of a file's text, or of None where no file stands; see `Revise`."""
        self._stage(Revise(self._place(path), revise, chars, reason))

    def move(self, path: str, to: str, *, base_version: int | None = None, reason: str | None = None) -> None:
        """Stage a file's move, within its mount with its history, into another as a new file."""
        self._stage(Move(self._place(path), self._place(to, is_new=True), base_version, reason))

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
            stored = await load_restored(connection, place, version)
        self._stage(Write(place, stored.content, base_version, base_version is None, "restore", reason))

    async def undo(
        self, references: Sequence[str], calls: Sequence[str], reason: str, *, keeps_later: bool = False
    ) -> tuple[Sequence[UndoneRevision], Mapping[str, Refused]]:
        """Stage the inverse of the revisions that calls wrote; return it by files, and why paths cannot be undone.

        The references are `path@version`. What the calls, the newest first, said beside files is taken back too.
        With `keeps_later`, files that do not fit stay as they are, and paths may be refused.

        Raises:
            OperationNotFound, VersionThinned: a revision or its text is gone.
            LimitExceeded: the revisions hold more text than is undone at once.
        """
        async with self._database.transaction(self._access, snapshot=True) as connection:
            undone, refused = await load_undone_revisions(connection, references, self._place)
        if refused and not keeps_later:
            raise next(iter(refused.values()))
        self._stage(Undo(tuple(undone), reason, tuple(calls), keeps_later))
        return undone, refused

    async def read(self, path: str) -> str | None:
        """Return the text that the draft would leave at a path, None when no file would stand there."""
        place = self._place(path, to_write=False)
        [found] = await self._database.read(self._access, self._load_statement(place))
        tree = working_tree(load_files(found).heads)
        return tree.apply(self._edits, are_members=self._are_members).read(place)

    async def preview(self) -> Preview:
        """Return what a commit would do now, without doing it."""
        found, *more = await self._database.read(
            self._access, self._load_statement(), *self._told_statements(), *self._later_statements()
        )
        self._settle(more)
        stored = load_files(found)
        return Preview((await self._plan(stored)).changes, self._state(stored.scopes))

    async def preview_at(self, state: Mapping[str, int]) -> Preview:
        """Return what a commit would have done in an earlier state, without doing it.

        Args:
            state: how many changes each mount had seen; one that is absent held nothing.
        """
        places = self._places()
        revs = [state.get(place.scope.mount, 0) for place in places]
        found, *told = await self._database.read(
            self._access,
            ("past/head_load", lookup_columns(places) | {"revs": revs}),
            *self._told_statements(state.get("user", 0)),
        )
        self._settle_entry(told)
        heads = [StoredHead(**record) for record in found]
        for head in heads:
            check_text(f"{head.path}@{head.version}", head.thinned)
        planned = await planning.apply(heads, self._edits, are_members=self._are_members)
        return Preview(tuple(revision.change for revision in planned), dict(state))

    async def commit(
        self,
        call: Call,
        answer: Callable[[tuple[FileChange, ...]], CallAnswer],
        beside: StatementsOfChanges | None = None,
        lines: LinesOfChanges | None = None,
    ) -> Commit:
        """Write every staged edit and log the call, in one transaction.

        Args:
            call: what is logged; its id is spent by this commit.
            answer: makes the call's result from the changes.
            beside: makes of the changes what is written besides, in the same transaction.
            lines: says of the changes which lines of pages were filed, and why others were taken out.

        Returns:
            The result; for a call that was committed before, its first result.

        Raises:
            Unauthenticated, AccessChanged: the caller may not write this any more.
            ToolCallConflict, ToolCallInProgress: the tool call id is taken.
            LimitExceeded, QuotaExceeded, RateLimited: more than is allowed.
            DiskLow: no space for what would grow.
            VersionConflict, FileExists, FileNotFound, …: an edit does not fit; nothing was written.
        """
        try:
            if self._are_members:
                await self._check_stored_size()
            self._beside, self._lines = beside, lines
            done = await self._commit_short(call, answer)
            commit = done if isinstance(done, Commit) else await self._commit_long(call, answer, done)
        except psycopg.errors.UniqueViolation as violation:
            if violation.diag.table_name == "revision":
                # `undo` read a deleted head in an earlier transaction, and nothing compares it under the lock. If
                # another call has reopened the file since, `revision_open` refuses the second open revision.
                raise VersionConflict("A file of this call was written at the same moment.") from violation
            if violation.diag.constraint_name != "operation_once":
                raise
            # The same id was committed over other scopes at the same moment: no lock was shared.
            if (first := await self.first_result(call)) is None:
                raise
            return Commit(first, is_repeat=True)
        except psycopg.DatabaseError as error:
            if (refusal := write_rates.refusal(error)) is None:
                raise
            raise refusal from error
        if self._has_merged:
            await statistics.refresh(self._database)
        return commit

    def committed_statement(self, call: Call) -> Statement:
        """Return the statement that finds the commit which spent this call's id; if no row comes back, none did."""
        return operations.committed_statement(self._access, call.request.tool_call_id)

    async def first_result(self, call: Call) -> dict[str, Any] | None:
        """Return the result of the commit that spent this call's id, None when none did.

        Raises:
            ToolCallConflict, ToolCallInProgress: it was another request, or still runs.
        """
        [found] = await self._database.read(self._access, self.committed_statement(call))
        if not found:
            return None
        self.given_up_at = found[0]["now"] if found[0]["status"] == "quarantined" else None
        async with self._database.transaction(self._access, snapshot=True) as connection:
            return await operations.first_result(connection, self._access, call, found)

    async def _check_stored_size(self) -> None:
        """Refuse a batch over more text than fits into memory many times; a single edit is of one file."""
        [[stored]] = await self._database.read(
            self._access, ("writes/file_size", lookup_columns(self._places()))
        )
        if stored["chars"] > MAX_BATCH_STORED_CHARS:
            raise LimitExceeded(
                f"The files of this batch hold {stored['chars']:,} characters, and {MAX_BATCH_STORED_CHARS:,} are "
                "edited at once.",
                hint="Send several smaller batches.",
                limit=MAX_BATCH_STORED_CHARS,
            )

    async def _commit_short(
        self, call: Call, answer: Callable[[tuple[FileChange, ...]], CallAnswer]
    ) -> Commit | LoadedFiles | None:
        """Apply the edits under the locks, which saves a transaction; if the texts are long, do nothing.

        Returns:
            What `_commit_long` begins with if the stored texts are long, and None if the new ones are.
        """
        if planning.count_written_chars(self._edits) > planning.SHORT_CHARS:
            return None
        statements = *self._lock_statements(call), self._load_statement(), *self._more_statements()
        async with self._database.writing(self._access, *statements, scope_ids=self._scope_ids()) as (
            connection,
            read,
        ):
            locked, _, found, files, *read_more = read
            first = await operations.first_result(connection, self._access, call, found)
            if first is not None:
                return Commit(first, is_repeat=True)
            loaded = load_files(files)
            if not planning.is_short(loaded, self._edits):
                return loaded
            self._settle(read_more)
            await self._compare()
            plan = self._plan_now(loaded)
            await operations.end_queued_call(connection, found, "answered")
            return await self._write(connection, plan, call, answer, locked, loaded)

    async def _commit_long(
        self,
        call: Call,
        answer: Callable[[tuple[FileChange, ...]], CallAnswer],
        loaded: LoadedFiles | None,
    ) -> Commit:
        """Apply the edits before the locks are taken, and again if a file has changed since.

        A process reads long texts only while no lock is held. Where the files change again and again, the last plan
        is made by a thread under the locks, which no other call can delay; a process has read such texts before,
        within its limits.
        """
        if loaded is None:
            committed = self.committed_statement(call)
            found, files = await self._database.read(self._access, committed, self._load_statement())
            if found and (first := await self.first_result(call)) is not None:
                return Commit(first, is_repeat=True)
            loaded = load_files(files)
        self._settle(await self._database.read(self._access, *self._more_statements()))
        await self._compare()
        if not growth.can_shrink(self._edits):
            self._database.space.refuse_growth()
        for left in reversed(range(MAX_PLANS)):
            plan = await self._plan(loaded)  # no connection is held while a large file is analysed
            statements = *self._lock_statements(call), self._load_statement(with_content=False)
            async with self._database.writing(self._access, *statements, scope_ids=self._scope_ids()) as (
                connection,
                read,
            ):
                locked, _, found, files = read
                first = await operations.first_result(connection, self._access, call, found)
                if first is not None:
                    return Commit(first, is_repeat=True)
                now = load_files(files)
                if plan.fingerprint != now.fingerprint:
                    files, *later = await batch(connection, self._load_statement(), *self._later_statements())
                    loaded = load_files(files)
                    for lines in later:
                        self._set_later(later_lines(self._access, lines))
                    if left:
                        continue
                    plan = await asyncio.to_thread(self._plan_now, loaded)
                await operations.end_queued_call(connection, found, "answered")
                return await self._write(connection, plan, call, answer, locked, now)
        raise AssertionError("the last plan is carried out")

    async def _write(
        self,
        connection: Connection,
        plan: CommitPlan,
        call: Call,
        answer: Callable[[tuple[FileChange, ...]], CallAnswer],
        locked: Rows,
        loaded: LoadedFiles,
    ) -> Commit:
        counters, scopes = counters_of(locked), loaded.scopes
        if self.claim is not None and not await rows(connection, self.claim[0], **self.claim[1]):
            raise VersionConflict("Another call came first.")
        if self._later:
            call.record.config[SAID_LATER] = {
                path: sorted(map(bytes.hex, keys)) for path, keys in self._later.items()
            }
        written = [planned for planned, _ in plan.written]
        files = {scope_id: counter.files for scope_id, counter in counters.items()}
        grown = growth.check(self._database.space, self._edits, written, files, loaded.usage, *self._most)
        made = answer(plan.changes)
        analyzers = {scope.scope_id: index_version(analyzer_of(scope.language)) for scope in scopes}
        self._has_merged = await write_commit(
            connection, self._access, call, plan.written, counters, analyzers=analyzers, used=grown.used
        )
        beside = self._beside(plan.changes) if self._beside else ()
        for name, parameters in (*self._told_again(call), *self._line_statements(plan, call), *beside):
            await connection.execute(sql(name), parameters)
        await quota.check(connection, self._access.tenant_id, grown.limited)
        if self._is_embedded and written:
            changed = {planned.file.scope.scope_id for planned in written}
            await vectors.defer(connection, sorted(changed), has_vectors=self._database.has_vectors)
        await operations.add(
            connection,
            self._access,
            call,
            status="committed",
            answer=made,
            writes=[f"{planned.change.path}@{planned.change.version}" for planned in written],
            state=self._state(scopes),
        )
        await write_rates.count(connection, self._limits)
        return Commit(made.result, plan.changes)

    def _told_statements(self, rev: int = operations.NEWEST) -> list[Statement]:
        """Return the statement that looks for the entry of a told text, if one is told."""
        if self._telling is None or (told := self._telling.told) is None or self._overtaken or told.valid:
            return []
        wanted = {
            "scope_id": self._telling.place.scope.scope_id,
            "sha256": text_digest(self._telling.content),
            "about": told.about,
            "rev": rev,
        }
        return [("writes/entry_told", wanted)]

    def _later_statements(self) -> list[Statement]:
        """Return the statement that finds lines which were said later than the text, if they have to be read."""
        pages = [edit.place for edit in self._edits if isinstance(edit, Revise)]
        if self._said is None or not pages:
            return []
        scope_ids = sorted({place.scope.scope_id for place in pages})
        return [later_statement(scope_ids, *self._said, paths=[place.path for place in pages])]

    def _more_statements(self) -> list[Statement]:
        """Return the statements that read what a commit needs beside the files."""
        scope_ids = self._scope_ids() if self._comparison else []
        forgotten = (
            [tombstones_statement(scope_ids, [operations.NEWEST] * len(scope_ids))] if scope_ids else []
        )
        return [*self._told_statements(), *self._later_statements(), *forgotten]

    def _settle(self, found: Sequence[Rows]) -> None:
        """Take in what was read: the entry of a told text, if one is told, later lines, and what was forgotten."""
        told = len(self._told_statements())
        later = told + len(self._later_statements())
        self._settle_entry(found[:told])
        for lines in found[told:later]:
            self._set_later(later_lines(self._access, lines))
        for forgotten in found[later:]:
            self._tombstones = tombstones_in(self._access, forgotten)

    async def _compare(self) -> None:
        if self._comparison and self._tombstones:
            await self._comparison(self._tombstones)

    def _set_later(self, later: LaterLines) -> None:
        self._later = later
        self._edits = [
            replace(edit, later=later.get(str(edit.place), frozenset())) if isinstance(edit, Revise) else edit
            for edit in self._edits
        ]

    def _settle_entry(self, told: Sequence[Rows]) -> None:
        """Take out the new entry where an entry was found that holds its text."""
        if self._telling is None:
            return
        self._edits = [edit for edit in self._edits if edit is not self._telling]
        place, text = self._telling.place, self._telling.content
        for stored in chain.from_iterable(told):
            path = place.scope.virtual(stored["path"])
            self.entry = ToldEntry(f"{path}@{stored['version']}", text, is_repeat=True)
            return
        self._edits.append(self._telling)
        self.entry = ToldEntry(f"{place}@1", text, is_repeat=False)

    def _told_again(self, call: Call) -> list[Statement]:
        if self.entry is None or not self.entry.is_repeat or not (self._telling and self._telling.told):
            called = call.request.tool_call_id
            return undone_in_journal("writes/told_again_revert", self._access, self._edits, called)
        scope = self._telling.place.scope
        path = self.entry.reference.rpartition("@")[0].removeprefix(f"{scope.mount}/")
        row = {"scope_id": scope.scope_id, "path": path, "said_at": self._telling.told.said_at}
        return [("writes/told_again_add", row | {"tool_call_id": call.request.tool_call_id})]

    def _line_statements(self, plan: CommitPlan, call: Call) -> list[Statement]:
        records = self._lines(plan.changes) if self._lines else NO_RECORDS
        entry = None
        if self._telling is not None and self.entry is not None:
            scope = self._telling.place.scope
            entry = scope, self.entry.reference.rpartition("@")[0].removeprefix(f"{scope.mount}/")
        request = call.request
        call_id, access = request.tool_call_id, self._access
        locked = self._scope_ids()
        rows = statements_of(access, plan.changes, records, entry, call_id, request.now, locked=locked)
        rows += overtaken_words(access, self._overtaken, call_id)
        rows += [(name, given | {"tool_call_id": call_id}) for name, given in self._again]
        rows += undone_in_journal("writes/statement_undo", access, self._edits, call_id)
        rows += rivals_of(access, records.rivals, entry, locked, call_id)
        return [*rows, *reverted_rivals(access, self._edits, locked, call_id)]

    def _state(self, scopes: Sequence[ScopeState]) -> dict[str, int]:
        return {self._access.by_id[scope.scope_id].mount: scope.rev for scope in scopes}

    def _lock_statements(self, call: Call) -> tuple[Statement, Statement, Statement]:
        locked: Statement = ("writes/scope_lock", {"scope_ids": self._scope_ids()})
        return locked, self._database.access_check(self._access), self.committed_statement(call)

    def _load_statement(self, *more: ScopedPath, with_content: bool = True) -> Statement:
        wanted = lookup_columns([*self._places(), *more])
        return "writes/file_load", wanted | {"with_content": with_content}

    def _scope_ids(self) -> list[int]:
        return sorted({place.scope.scope_id for place in self._places()})

    async def _plan(self, stored: LoadedFiles) -> CommitPlan:
        return await planning.plan(stored, self._edits, are_members=self._are_members)

    def _plan_now(self, stored: LoadedFiles) -> CommitPlan:
        return planning.plan_now(stored, self._edits, are_members=self._are_members)

    def _places(self) -> list[ScopedPath]:
        edits = [*self._edits, *([self._telling] if self._telling else [])]
        places = {place.key: place for edit in edits for place in places_of(edit)}
        return list(places.values())

    def _place(self, path: str, *, to_write: bool = True, is_new: bool = False) -> ScopedPath:
        parsed = (parse_new if is_new else parse)(path)
        scope = self._access.writable_scope_of(parsed) if to_write else self._access.scope_of(parsed)
        return ScopedPath(scope, parsed.relative)

    def _stage(self, edit: Edit) -> None:
        if len(self._edits) >= MAX_EDITS:
            raise LimitExceeded(f"A draft holds at most {MAX_EDITS:,} edits.", limit=MAX_EDITS)
        self._edits.append(edit)
