"""Import: the files of a Markdown vault, written to memory in batches."""

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memex.errors import LimitExceeded, Refused, ValidationFailed
from memex.service.call import Caller, new_call
from memex.service.log import references
from memex.service.recording import CallLogger
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.sources.vault import Vault, VaultRefusal, open_vault
from memex.store.log.call import Call, CallAnswer
from memex.store.memory import Memory
from memex.store.paths import MAX_ID_CHARS, VirtualPath, parse
from memex.store.records import FileChange, Revision
from memex.store.writes.draft import Commit

MAX_BATCH_FILES = 100
MAX_BATCH_CHARS = 4 << 20
MAX_LOGGED_REFUSALS = 100
MAX_SHOWN_CHARS = 512  # of a name that was refused or skipped, which nothing else bounds
MAX_SUFFIX_CHARS = 40  # what a batch adds to the id of its import

MOUNTS = ("user/", "shared/", "projects/")

Progress = Callable[[int, int], None]
Heads = Mapping[str, Revision]


class RefusedFile(ResultPart):
    """A file that was not taken, by its name in the vault or in memory, and why."""

    path: str
    code: str
    message: str


class Counts(ResultPart):
    """How many files became what; `hidden` are hidden files and folders that were passed over."""

    created: int
    updated: int
    unchanged: int
    refused: int
    skipped: int
    hidden: int


class ImportResult(ResultPart):
    """What an import did, or with `dry_run` would do.

    Attributes:
        tool_call_id: under which its report is logged.
        calls: the ids of those batches that wrote something; each can be reverted.
        dry_run: whether nothing was written.
        counts: the lengths of the lists below.
        created: paths where no file stood before.
        updated: paths whose text is another now.
        unchanged: paths where the same text stood already.
        refused: what was not taken though it is Markdown, or could do harm.
        skipped: names that are not Markdown.
        size_bytes: the size of the Markdown that was imported.
        duration_s: from the first look to the last write.
    """

    tool_call_id: str
    calls: list[str]
    dry_run: bool
    counts: Counts
    created: list[str]
    updated: list[str]
    unchanged: list[str]
    refused: list[RefusedFile]
    skipped: list[str]
    size_bytes: int
    duration_s: float


def ignore_progress(_done: int, _total: int) -> None:
    """Take no notice of progress."""


async def import_vault(
    service: Service,
    caller: Caller,
    source: Path | bytes,
    *,
    into: str | None = None,
    dry_run: bool = False,
    tool_call_id: str | None = None,
    progress: Progress = ignore_progress,
) -> ImportResult:
    """Write the Markdown files of a vault as they are, replacing what differs; nothing is deleted.

    Files are committed in batches, each a call of its own: `<tool_call_id>.1`, `.2` and so on. An import that was
    cut off is finished by the same import under the same id.

    Args:
        service: to write through.
        caller: the caller who imports; the channel of the revisions is `import`.
        source: a folder, a zip, or the bytes of a zip.
        into: the virtual folder that it goes to, such as `user/notes`. By default what has the layout of an
            export of Memex goes back to where it was, anything else to `user`.
        dry_run: whether to say what would happen, and write nothing.
        tool_call_id: the caller's; made when absent.
        progress: is told how many files are done, and of how many.

    Raises:
        ValidationFailed, LimitExceeded: the source is no vault, or none that can be taken.
        InvalidPath, ReadOnlyMount, ProjectNotFound: `into` is nothing that the caller may write to.
        ToolCallConflict: the id was used for another import.
    """
    caller = replace(caller, access=replace(caller.access, channel="import"))
    arguments = {"into": into, "dry_run": dry_run}
    given = {name: value for name, value in arguments.items() if value}
    call_id = _check_call_id(tool_call_id) or f"imp_{secrets.token_hex(8)}"
    async with service.recorder.recorded(caller, "memory_import", given, tool_call_id=call_id) as log:
        with ExitStack() as stack:
            vault = await asyncio.to_thread(stack.enter_context, open_vault(source))
            work = _Import(service, caller, log.call, vault, dry_run=dry_run)
            work.place(into)
            await work.run(progress)
        result = work.result()
        answer = CallAnswer(result.model_dump(mode="json"), given, _log_record(result))
        await log.add("dry_run" if dry_run else "answered", answer)
    return result


@dataclass(frozen=True, slots=True)
class _Note:
    """A file of a vault on its way into memory."""

    name: str
    path: str
    text: str
    sha256: str


class _Batch(ResultPart):
    """What became of the files of a batch. A repeat reads it from the log, where another version may add to it."""

    created: list[str]
    updated: list[str]
    unchanged: list[str]


@dataclass(slots=True)
class _ImportedFiles:
    """What became of the files so far."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)

    def add(self, batch: _Batch) -> None:
        self.created += batch.created
        self.updated += batch.updated
        self.unchanged += batch.unchanged


class _Import:
    """One import: places the notes of a vault, then reads and stores them batch by batch."""

    def __init__(self, service: Service, caller: Caller, call: Call, vault: Vault, *, dry_run: bool) -> None:
        self._service = service
        self._caller = caller
        self._call = call
        self._vault = vault
        self._dry_run = dry_run
        self._places: list[tuple[str, VirtualPath]] = []
        self._refused: list[VaultRefusal] = list(vault.refused)
        self._done = _ImportedFiles()
        self._calls: list[str] = []
        self._full: dict[str, LimitExceeded] = {}
        self._size_bytes = 0

    def place(self, into: str | None) -> None:
        """Decide where each note goes.

        Raises:
            ValidationFailed: there is none.
            InvalidPath, ReadOnlyMount, ProjectNotFound: the caller cannot write to `into`, or to its user/.
        """
        notes, access = self._vault.notes, self._caller.access
        if not notes and not self._refused:
            others = len(self._vault.skipped)
            among = f" among its {others:,} files" if others > 1 else ""
            raise ValidationFailed(
                f"The vault holds no Markdown file{among}.",
                hint="Name a folder of Markdown files, or a zip of one.",
            )
        if into is None and notes and all(name.startswith(MOUNTS) for name in notes):
            prefix = ""
        else:
            prefix = ("user" if into is None else into.removesuffix("/")) + "/"
            access.writable_scope_of(parse(f"{prefix}*.md"))
        for name in notes:
            try:
                path = parse(prefix + name)
                access.writable_scope_of(path)
            except Refused as error:
                self._refused.append(VaultRefusal(name, error))
            else:
                self._places.append((name, path))

    async def run(self, progress: Progress) -> None:
        """Read and store what was placed."""
        progress(0, len(self._places))
        batches, number, done = self._batches(), 0, 0
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            number, done = number + 1, done + len(batch)
            await self._store(batch, f"{self._call.request.tool_call_id}.{number}")
            progress(done, len(self._places))
        progress(len(self._places), len(self._places))

    def result(self) -> ImportResult:
        """Return the report."""
        refused = [refused_file(one.name, one.error) for one in self._refused]
        return ImportResult(
            tool_call_id=self._call.request.tool_call_id,
            calls=self._calls,
            dry_run=self._dry_run,
            counts=Counts(
                created=len(self._done.created),
                updated=len(self._done.updated),
                unchanged=len(self._done.unchanged),
                refused=len(refused),
                skipped=len(self._vault.skipped),
                hidden=self._vault.hidden,
            ),
            created=self._done.created,
            updated=self._done.updated,
            unchanged=self._done.unchanged,
            refused=sorted(refused, key=lambda one: one.path),
            skipped=[_printable_name(name) for name in self._vault.skipped],
            size_bytes=self._size_bytes,
            duration_s=duration_s(self._call),
        )

    def _batches(self) -> Iterator[list[_Note]]:
        batch: list[_Note] = []
        chars = 0
        for name, path in self._places:
            try:
                text = self._vault.read(name)
            except Refused as error:
                self._refused.append(VaultRefusal(name, error))
                continue
            if len(batch) == MAX_BATCH_FILES or (batch and chars + len(text) > MAX_BATCH_CHARS):
                yield batch
                batch, chars = [], 0
            batch.append(_Note(name, str(path), text, hashlib.sha256(text.encode()).hexdigest()))
            chars += len(text)
        if batch:
            yield batch

    async def _store(self, notes: Sequence[_Note], call_id: str) -> None:
        """Store a batch; when a limit is in its way, by halves, until the files that are over it are found."""
        heads = await self._heads(notes)
        notes, call_id = self._without_hopeless(notes, heads, call_id)
        if not notes:
            return
        if self._dry_run:
            self._done.add(_predict(notes, heads))
        else:
            try:
                commit = await self._commit(notes, heads, call_id)
            except LimitExceeded as error:
                await self._store_in_parts(notes, call_id, error)
                return
            batch = _Batch.model_validate(commit.result)
            if batch.created or batch.updated:
                self._calls.append(call_id)
            self._done.add(batch)
        self._size_bytes += sum(len(note.text.encode()) for note in notes)

    async def _store_in_parts(self, notes: Sequence[_Note], call_id: str, error: LimitExceeded) -> None:
        if len(notes) > 1:
            middle = len(notes) // 2
            await self._store(notes[:middle], f"{call_id}.1")
            await self._store(notes[middle:], f"{call_id}.2")
            return
        [note] = notes
        self._refused.append(VaultRefusal(note.name, error))
        draft = self._service.draft(self._caller)
        draft.write(note.path, note.text, overwrite=True)
        try:
            await draft.preview()
        except LimitExceeded:
            return  # the file itself is over a limit
        self._full[parse(note.path).mount_name] = error

    def _without_hopeless(
        self, notes: Sequence[_Note], heads: Heads, call_id: str
    ) -> tuple[Sequence[_Note], str]:
        """Refuse new files of a mount that was found full. The rest is another call than the whole batch."""
        hopeless = [
            note for note in notes if note.path not in heads and parse(note.path).mount_name in self._full
        ]
        if not hopeless:
            return notes, call_id
        for note in hopeless:
            self._refused.append(VaultRefusal(note.name, self._full[parse(note.path).mount_name]))
        return [note for note in notes if note not in hopeless], f"{call_id}.1"

    async def _heads(self, notes: Sequence[_Note]) -> Heads:
        async with self._service.database.transaction(self._caller.access) as connection:
            memory = Memory(connection, self._caller.access)
            found = await memory.read_files([note.path for note in notes], with_content=False)
        return {head.virtual_path: head for head in found}

    async def _commit(self, notes: Sequence[_Note], heads: Heads, call_id: str) -> Commit:
        draft = self._service.draft(self._caller)
        for note in notes:
            # Analysing a text costs most: one that stands there already is not staged.
            if not _is_unchanged(note, heads):
                draft.write(note.path, note.text, overwrite=True)
        arguments = {"files": {note.path: note.sha256 for note in notes}}
        call = new_call(self._caller, self._call.request.tool, arguments, call_id)
        commit = await draft.commit(call, lambda changes: _answer(notes, heads, changes))
        if commit.is_repeat:
            await CallLogger(self._service.database, self._caller.access, call).add("repeated")
        return commit


def _is_unchanged(note: _Note, heads: Heads) -> bool:
    return note.path in heads and heads[note.path].sha256 == note.sha256


def _predict(notes: Sequence[_Note], heads: Heads) -> _Batch:
    created = [note.path for note in notes if note.path not in heads]
    unchanged = [note.path for note in notes if _is_unchanged(note, heads)]
    known = {*created, *unchanged}
    updated = [note.path for note in notes if note.path not in known]
    return _Batch(created=created, updated=updated, unchanged=unchanged)


def _answer(notes: Sequence[_Note], heads: Heads, changes: Sequence[FileChange]) -> CallAnswer:
    """Answer one batch. The log keeps which revision holds each text."""
    changed = {change.path: change for change in changes}
    created = [change.path for change in changes if change.changed and change.old_version is None]
    updated = [change.path for change in changes if change.changed and change.old_version is not None]
    written = {*created, *updated}
    unchanged = [note.path for note in notes if note.path not in written]
    files = {
        note.path: references.of_change(changed[note.path])
        if note.path in changed
        else references.of_revision(heads[note.path], (0, len(note.text)))
        for note in notes
    }
    result = _Batch(created=created, updated=updated, unchanged=unchanged).model_dump()
    return CallAnswer(result, {"files": files}, result)


def _log_record(result: ImportResult) -> dict[str, Any]:
    """Return the report without its lists of files: each batch's call has its own."""
    refused = [one.model_dump(include={"path", "code"}) for one in result.refused[:MAX_LOGGED_REFUSALS]]
    kept = {"calls", "counts", "size_bytes", "duration_s"}
    return result.model_dump(mode="json", include=kept) | {"refused": refused}


def _check_call_id(tool_call_id: str | None) -> str | None:
    """Return the id, if any; raises ValidationFailed when those of the batches would be too long."""
    if tool_call_id is not None and len(tool_call_id) > MAX_ID_CHARS - MAX_SUFFIX_CHARS:
        raise ValidationFailed(
            f"tool_call_id of an import must have at most {MAX_ID_CHARS - MAX_SUFFIX_CHARS} characters: "
            "each batch adds its number."
        )
    return tool_call_id


def refused_file(name: str, error: Refused) -> RefusedFile:
    """Return the report of a file that was refused."""
    return RefusedFile(path=_printable_name(name), code=error.code, message=error.message)


def _printable_name(name: str) -> str:
    """Return a name as any answer can carry it: cut, and without the marks of bytes that are no UTF-8."""
    name = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return name if len(name) <= MAX_SHOWN_CHARS else f"{name[: MAX_SHOWN_CHARS - 1]}…"


def duration_s(call: Call) -> float:
    """Return how many seconds a call has taken until now."""
    return round(time.perf_counter() - call.record.started_s, 3)
