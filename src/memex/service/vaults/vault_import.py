"""Import: the files of a Markdown vault, written to memory in batches."""

import asyncio
import secrets
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from pathlib import Path
from typing import Any

from pydantic import Field

from memex.errors import (
    FileExists,
    LimitExceeded,
    ReadOnlyMount,
    Refused,
    SecretRefused,
    ValidationFailed,
    VersionConflict,
)
from memex.service.call import Caller, new_call
from memex.service.journal.forgotten import lines_of, now_forgotten
from memex.service.log import references
from memex.service.recording import CallLogger
from memex.service.secrets.guard import MAX_HIDDEN, MAX_REPORTED, find_hidden_in, guard_file
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.service.vaults.import_conflicts import KeptFile, find_conflict
from memex.service.vaults.imported_note import ImportedNote, digest
from memex.service.vaults.transfer_report import (
    Counts,
    ForgottenLine,
    HiddenCharactersInFiles,
    ImportResult,
    Progress,
    SecretInFile,
    check_import_id,
    duration_s,
    ignore_progress,
    log_record,
    printable_name,
    refused_file,
)
from memex.sources.vault import Vault, VaultRefusal, open_vault
from memex.store.entry_path import entry_moment, is_entry_at
from memex.store.log.call import Call, CallAnswer
from memex.store.paths import VirtualPath, parse, parse_new
from memex.store.records import FileChange, Reference
from memex.store.text_pool.portions import portions
from memex.store.writes.draft import Draft
from memex.store.writes.edits import Told, entry_immutable
from memex.store.writes.histories import PathHistory, read_histories

MAX_BATCH_FILES = 100
MAX_BATCH_CHARS = 4 << 20
MAX_ATTEMPTS = 5  # at a batch of which another call writes a file at the same moment

MOUNTS = ("user/", "shared/", "projects/")

Histories = Mapping[str, PathHistory]


async def import_vault(
    service: Service,
    caller: Caller,
    source: Path | bytes,
    *,
    into: str | None = None,
    dry_run: bool = False,
    projects: bool = False,
    replace: bool = False,
    tool_call_id: str | None = None,
    progress: Progress = ignore_progress,
) -> ImportResult:
    """Write the Markdown files of a vault as they are, replacing what is older; nothing is deleted.

    A file of memory that is newer than that of the vault is kept (`import_conflicts.find_conflict`).

    Files are committed in batches, each a call of its own: `<tool_call_id>.1`, `.2` and so on. An import that was
    cut off is finished by the same import under the same id.

    Args:
        service: to write through.
        caller: the caller who imports; the channel of the revisions is `import`.
        source: a folder, a zip, or the bytes of a zip.
        into: the virtual folder that it goes to, such as `user/notes`. By default what has the layout of an
            export of Memex goes back to where it was, anything else to `user`.
        dry_run: whether to say what would happen, and write nothing.
        projects: whether the files of projects in an export go back to their projects.
        replace: whether files of memory that are newer than those of the vault are replaced too.
        tool_call_id: the caller's; made when absent.
        progress: is told how many files are done, and of how many.

    Raises:
        ValidationFailed, LimitExceeded: the source is no vault, or none that can be taken.
        InvalidPath, ReadOnlyMount, ProjectNotFound: `into` is nothing that the caller may write to.
        ToolCallConflict: the id was used for another import.
    """
    if not dry_run:
        caller = await service.identities.admit(caller)
    caller = replaced(caller, access=replaced(caller.access, channel="import"))
    arguments = {"into": into, "dry_run": dry_run, "projects": projects, "replace": replace}
    given = {name: value for name, value in arguments.items() if value}
    call_id = check_import_id(tool_call_id) or f"imp_{secrets.token_hex(8)}"
    async with service.recorder.recorded(caller, "memory_import", given, tool_call_id=call_id) as log:
        with ExitStack() as stack:
            vault = await asyncio.to_thread(stack.enter_context, open_vault(source))
            writes = len(vault.notes)
            work = _Import(
                service, caller, log.call, vault, dry_run, replace, writes, refused=list(vault.refused)
            )
            work.place(into, projects=projects)
            size_bytes = len(source) if isinstance(source, bytes) else 0
            service.rate_limits.count_write(caller, writes, size_bytes)
            await work.run(progress)
        result = work.result()
        answer = CallAnswer(result.model_dump(mode="json"), given, log_record(result))
        await log.add("dry_run" if dry_run else "answered", answer)
    return result


class _Batch(ResultPart):
    """The outcomes of files, of a batch or so far. A repeat reads a batch from the log; other versions may add."""

    created: list[str]
    updated: list[str]
    unchanged: list[str]
    kept: list[KeptFile] = Field(default_factory=list)

    def add(self, batch: "_Batch") -> None:
        self.created.extend(batch.created)
        self.updated.extend(batch.updated)
        self.unchanged.extend(batch.unchanged)
        self.kept.extend(batch.kept)


@dataclass(slots=True)
class _Import:
    """One import: places the notes of a vault, then reads and stores them batch by batch."""

    service: Service
    caller: Caller
    call: Call
    vault: Vault
    dry_run: bool
    replace: bool
    uncounted: int  # for all replicas: the first commit counts all of the import's writes
    projects: list[str] = field(default_factory=list)
    read_only: list[tuple[VaultRefusal, VirtualPath]] = field(default_factory=list)
    places: list[tuple[str, VirtualPath]] = field(default_factory=list)
    refused: list[VaultRefusal] = field(default_factory=list)
    done: _Batch = field(default_factory=lambda: _Batch(created=[], updated=[], unchanged=[]))
    calls: list[str] = field(default_factory=list)
    secrets: list[dict[str, Any]] = field(default_factory=list)
    hidden_count: int = 0
    hidden: list[dict[str, Any]] = field(default_factory=list)
    full: dict[str, LimitExceeded] = field(default_factory=dict)
    forgotten: list[ForgottenLine] = field(default_factory=list)
    size_bytes: int = 0

    def place(self, into: str | None, *, projects: bool) -> None:
        """Decide where each note goes; the files of projects only go there if somebody asked for it.

        Raises:
            ValidationFailed: there is none.
            InvalidPath, ReadOnlyMount, ProjectNotFound: the caller cannot write to `into`, or to its user/.
        """
        self._check_not_empty()
        prefix = self._find_prefix(into)
        is_asked = projects or into is not None
        for name in self.vault.notes:
            try:
                self._place_note(name, parse_new(prefix + name), is_asked=is_asked)
            except Refused as error:
                self.refused.append(VaultRefusal(name, error))

    def _place_note(self, name: str, path: VirtualPath, *, is_asked: bool) -> None:
        if path.mount == "project" and not is_asked:
            self.projects.append(str(path))
            return
        try:
            self.caller.access.writable_scope_of(path)
        except ReadOnlyMount as error:
            self.read_only.append((VaultRefusal(name, error), path))
        else:
            self.places.append((name, path))

    def _check_not_empty(self) -> None:
        if not self.vault.notes and not self.refused and self.vault.manifest is None:
            others = len(self.vault.skipped)
            among = f" among its {others:,} files" if others > 1 else ""
            raise ValidationFailed(
                f"The vault holds no Markdown file{among}.",
                hint="Name a folder of Markdown files, or a zip of one.",
            )

    def _find_prefix(self, into: str | None) -> str:
        """Return what stands before the names of the notes in their paths: for an export, what stood there."""
        if into is None:
            if (manifest := self.vault.manifest) is not None:
                return f"{manifest.source}/" if manifest.source else ""
            if self.vault.notes and all(name.startswith(MOUNTS) for name in self.vault.notes):
                return ""
        prefix = ("user" if into is None else into.removesuffix("/")) + "/"
        self.caller.access.writable_scope_of(parse(f"{prefix}*.md"))
        return prefix

    async def run(self, progress: Progress) -> None:
        """Read and store what was placed."""
        progress(0, len(self.places))
        await self._compare_read_only()
        batches = portions(self._notes(), lambda note: len(note.text), MAX_BATCH_CHARS, MAX_BATCH_FILES)
        number = done = 0
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            number, done = number + 1, done + len(batch)
            await self._store(await self._guarded(batch), f"{self.call.request.tool_call_id}.{number}")
            progress(done, len(self.places))
        progress(len(self.places), len(self.places))

    async def _guarded(self, notes: Sequence[ImportedNote]) -> list[ImportedNote]:
        """Return the notes of a batch as the policy about secrets lets them through; report where secrets stand."""
        passed, policies = [], self.service.policies_of(self.caller)
        for note in notes:
            try:
                text, found = await guard_file(policies, note.path, note.text)
            except SecretRefused as error:
                self.refused.append(VaultRefusal(note.name, error))
                continue
            await self._find_hidden(note)
            self.secrets += found
            self.call.record.secrets.extend(found[: MAX_REPORTED - len(self.call.record.secrets)])
            passed.append(note if text is note.text else replaced(note, text=text, sha256=digest(text)))
        return passed

    async def _find_hidden(self, note: ImportedNote) -> None:
        count, first = await find_hidden_in(note.text)
        self.hidden_count += count
        self.hidden += [{"path": note.path} | place for place in first[: MAX_HIDDEN - len(self.hidden)]]

    def result(self) -> ImportResult:
        """Return the report."""
        refused = [refused_file(file.name, file.error) for file in self.refused]
        return ImportResult.taken_from(
            self.done,
            tool_call_id=self.call.request.tool_call_id,
            calls=self.calls,
            dry_run=self.dry_run,
            counts=Counts(
                created=len(self.done.created),
                updated=len(self.done.updated),
                unchanged=len(self.done.unchanged),
                refused=len(refused),
                skipped=len(self.vault.skipped),
                hidden=len(self.vault.hidden),
                kept=len(self.done.kept),
                projects=len(self.projects),
                secrets=len(self.secrets),
                forgotten=len(self.forgotten),
            ),
            refused=sorted(refused, key=lambda file: file.path),
            skipped=list(map(printable_name, self.vault.skipped)),
            hidden=list(map(printable_name, self.vault.hidden)),
            projects=self.projects,
            secrets=[SecretInFile(**place) for place in self.secrets[:MAX_REPORTED]],
            hidden_characters=HiddenCharactersInFiles(count=self.hidden_count, first=self.hidden)
            if self.hidden
            else None,
            forgotten=self.forgotten[:MAX_REPORTED],
            size_bytes=self.size_bytes,
            duration_s=duration_s(self.call),
        )

    async def _compare_read_only(self) -> None:
        """Refuse the files of mounts that the caller only reads, unless the same text stands there."""
        read = await asyncio.to_thread(
            lambda: [self._read_note(file.name, path) for file, path in self.read_only]
        )
        histories = await self._histories([note for note in read if note is not None])
        for (refusal, _), note in zip(self.read_only, read, strict=True):
            if note is None:
                continue
            if _is_unchanged(note, histories):
                self.done.unchanged.append(note.path)
            else:
                self.refused.append(refusal)

    def _read_note(self, name: str, path: VirtualPath) -> ImportedNote | None:
        """Return a note without its text; None if it cannot be read, which is reported."""
        try:
            return replaced(self._note(name, str(path), self.vault.read(name)), text="")
        except Refused as error:
            self.refused.append(VaultRefusal(name, error))
            return None

    def _notes(self) -> Iterator[ImportedNote]:
        """Yield the notes that can be read, with their texts."""
        for name, path in self.places:
            try:
                text = self.vault.read(name)
            except Refused as error:
                self.refused.append(VaultRefusal(name, error))
            else:
                yield self._note(name, str(path), text)

    def _note(self, name: str, path: str, text: str) -> ImportedNote:
        manifest = self.vault.manifest
        exported = manifest.files.get(unicodedata.normalize("NFC", name)) if manifest is not None else None
        return ImportedNote(name, path, text, digest(text), self.vault.written_at(name), exported)

    async def _store(self, notes: Sequence[ImportedNote], call_id: str) -> None:
        """Store a batch; when a limit is in its way, by halves, until the files that are over it are found."""
        notes, call_id = await self._without_hopeless(notes, call_id)
        notes = await self._without_other_entries(notes)
        if not notes:
            return
        try:
            batch = await (self._predict(notes) if self.dry_run else self._commit(notes, call_id))
        except LimitExceeded as error:
            await self._store_in_parts(notes, call_id, error)
            return
        if not self.dry_run and (batch.created or batch.updated):
            self.calls.append(call_id)
        self.done.add(batch)
        written = {*batch.created, *batch.updated}
        self.forgotten += await self._find_forgotten([note for note in notes if note.path in written])
        kept = {file.path for file in batch.kept}
        self.size_bytes += sum(len(note.text.encode()) for note in notes if note.path not in kept)

    async def _find_forgotten(self, notes: Sequence[ImportedNote]) -> list[ForgottenLine]:
        """Return the lines of notes that say what the user asked to forget."""
        if not notes:
            return []
        known = await now_forgotten(self.service.database, self.caller.access)
        found = await known.spans_of([(note.path, note.text) for note in notes])
        return [
            ForgottenLine(path=note.path, line=line)
            for note, spans in zip(notes, found, strict=True)
            for line in lines_of(note.text, spans)
        ]

    async def _store_in_parts(
        self, notes: Sequence[ImportedNote], call_id: str, error: LimitExceeded
    ) -> None:
        if len(notes) > 1:
            middle = len(notes) // 2
            await self._store(notes[:middle], f"{call_id}.1")
            await self._store(notes[middle:], f"{call_id}.2")
            return
        [note] = notes
        self.refused.append(VaultRefusal(note.name, error))
        draft = self.service.draft(self.caller)
        _stage(draft, note, {})
        try:
            await draft.preview()
        except LimitExceeded:
            return  # the file itself is over a limit
        self.full[parse(note.path).mount_name] = error

    async def _without_hopeless(
        self, notes: Sequence[ImportedNote], call_id: str
    ) -> tuple[Sequence[ImportedNote], str]:
        """Refuse new files of a mount that was found full. The rest is another call than the whole batch."""
        full = [note for note in notes if parse(note.path).mount_name in self.full]
        histories = await self._histories(full) if full else {}
        hopeless = [note for note in full if not _stands(note, histories)]
        if not hopeless:
            return notes, call_id
        for note in hopeless:
            self.refused.append(VaultRefusal(note.name, self.full[parse(note.path).mount_name]))
        return [note for note in notes if note not in hopeless], f"{call_id}.1"

    async def _without_other_entries(self, notes: Sequence[ImportedNote]) -> Sequence[ImportedNote]:
        """Refuse texts for journal entries that hold another text: an entry is never rewritten."""
        entries = [note for note in notes if is_entry_at(note.path)]
        histories = await self._histories(entries)
        others = [note for note in entries if _stands(note, histories) and not _is_unchanged(note, histories)]
        for note in others:
            self.refused.append(VaultRefusal(note.name, entry_immutable(note.path)))
        return [note for note in notes if note not in others] if others else notes

    async def _histories(self, notes: Sequence[ImportedNote]) -> Histories:
        if not notes:
            return {}
        async with self.service.database.transaction(self.caller.access) as connection:
            return await read_histories(connection, self.caller.access, [note.incoming for note in notes])

    async def _predict(self, notes: Sequence[ImportedNote]) -> _Batch:
        histories = await self._histories(notes)
        kept = self._find_kept(notes, histories)
        left = [note for note in notes if note.path not in kept]
        return _Batch(
            created=[note.path for note in left if not _stands(note, histories)],
            updated=[
                note.path for note in left if _stands(note, histories) and not _is_unchanged(note, histories)
            ],
            unchanged=[note.path for note in left if _is_unchanged(note, histories)],
            kept=list(kept.values()),
        )

    def _find_kept(self, notes: Sequence[ImportedNote], histories: Histories) -> dict[str, KeptFile]:
        """Return the files of memory that are kept, by path."""
        manifest = self.vault.manifest
        exported_at = min(manifest.exported_at, self.call.request.now) if manifest is not None else None
        kept = {}
        for note in notes if not self.replace else ():
            history = histories.get(note.path)
            if history is None or _is_unchanged(note, histories):
                continue
            base = note.exported.version if note.exported is not None else None
            conflict = find_conflict(
                history, base_version=base, exported_at=exported_at, written_at=note.written_at
            )
            if conflict is not None:
                kept[note.path] = conflict
        return kept

    async def _commit(self, notes: Sequence[ImportedNote], call_id: str) -> _Batch:
        """Write a batch; again on what stands then, if another call writes one of the files at the same moment."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                return await self._commit_once(notes, call_id)
            except (VersionConflict, FileExists):
                if attempt == MAX_ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    async def _commit_once(self, notes: Sequence[ImportedNote], call_id: str) -> _Batch:
        histories = await self._histories(notes)
        kept = self._find_kept(notes, histories)
        draft = self.service.draft(self.caller, writes=self.uncounted)
        for note in notes:
            # Analysing a text costs most: one that stands there already is not staged.
            if note.path not in kept and not _is_unchanged(note, histories):
                _stage(draft, note, histories)
        arguments: dict[str, Any] = {"files": {note.path: note.sha256 for note in notes}}
        if self.replace:
            arguments["replace"] = True
        call = new_call(self.caller, self.call.request.tool, arguments, call_id)
        paths = {note.path for note in notes}
        call.record.secrets.extend(
            [secret for secret in self.secrets if secret["path"] in paths][:MAX_REPORTED]
        )
        commit = await draft.commit(call, lambda changes: _answer(arguments, notes, histories, kept, changes))
        self.uncounted = 0
        if commit.is_repeat:
            await CallLogger(self.service.database, self.caller.access, call).add("repeated")
        return _Batch.model_validate(commit.result)


def _stands(note: ImportedNote, histories: Histories) -> bool:
    return note.path in histories and histories[note.path].stands


def _is_unchanged(note: ImportedNote, histories: Histories) -> bool:
    return _stands(note, histories) and histories[note.path].sha256 == note.sha256


def _stage(draft: Draft, note: ImportedNote, histories: Histories) -> None:
    if is_entry_at(note.path):
        moment = entry_moment(note.path.removeprefix("user/"))
        draft.enter(note.path, note.text, Told("import", moment))
        return
    base_version = histories[note.path].version if _stands(note, histories) else None
    draft.write(note.path, note.text, base_version=base_version)


def _answer(
    arguments: Mapping[str, Any],
    notes: Sequence[ImportedNote],
    histories: Histories,
    kept: Mapping[str, KeptFile],
    changes: Sequence[FileChange],
) -> CallAnswer:
    """Answer one batch. The log keeps which revision holds each text."""
    changed = {change.path: change for change in changes}
    created = [change.path for change in changes if change.changed and change.old_version is None]
    updated = [change.path for change in changes if change.changed and change.old_version is not None]
    written = {*created, *updated, *kept}
    unchanged = [note.path for note in notes if note.path not in written]
    files = {
        note.path: references.of_change(changed[note.path])
        if note.path in changed
        else note.sha256
        if note.path in kept
        else references.of_span(Reference(note.path, histories[note.path].version, (0, len(note.text))))
        for note in notes
    }
    batch = _Batch(created=created, updated=updated, unchanged=unchanged, kept=list(kept.values()))
    result = batch.model_dump()
    return CallAnswer(result, {**arguments, "files": files}, result)
