"""Imports of uploaded exports in one process of a service: each is read by a process of its own, within limits.

What a person sees of them stands in rows (`memex.store.conversations.imports`), so any worker answers about them.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import structlog

from memex.api.ingest.report import IngestReport
from memex.api.local import LocalMemex
from memex.api.uploads.folder import IncomingFile, UploadFolder
from memex.api.uploads.frames import PipeFrame
from memex.api.uploads.lanes import ReadingLanes
from memex.api.uploads.process import UploadReader, cpu_s_of
from memex.call_context import CallContext
from memex.errors import (
    MemexError,
    Overloaded,
    RateLimited,
    ScopeBusy,
    StoreUnavailable,
    Unavailable,
    error_document,
)
from memex.service.conversations import importing
from memex.service.service import Caller, Service
from memex.settings import Settings
from memex.store.conversations.imports import ImportProgress, ImportState
from memex.store.identity.authentication import Principal

MAX_HELD = 16  # uploads that one process receives and keeps at once
BEAT_S = 1.0  # how often it is noted how far an import is
PATIENCE_S = 300.0  # so long a batch is tried again while the service refuses it for a time
PAUSE_S = 2.0  # between two tries, if nothing says how long to wait
RETRIED = (RateLimited, Overloaded, ScopeBusy, StoreUnavailable)

_log = structlog.get_logger("memex.uploads")


class CancelledByPerson(Exception):  # it is no error
    """The person who sent a file does not want it to be imported any more."""


@dataclass(slots=True)
class UploadedImport:
    """An import under way in this process.

    Attributes:
        import_id: its name in addresses.
        memex: the API, as the holder of the key of the session calls it.
        options: those of `IngestOptions`, as JSON.
        report: what became of what was read so far.
    """

    import_id: str
    memex: LocalMemex
    principal: Principal
    context: CallContext
    options: Mapping[str, Any]
    file: IncomingFile
    state: ImportState = "receiving"
    report: dict[str, Any] = field(default_factory=lambda: IngestReport().document())
    error: Mapping[str, str] | None = None
    noted_s: float = 0.0

    @property
    def progress(self) -> ImportProgress:
        """The progress of the import."""
        return ImportProgress(self.state, self.file.size_bytes, self.report, self.error)


class UploadedImports:
    """The imports of one process."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._folder = UploadFolder(settings.upload_dir)
        self._lanes = ReadingLanes(self._folder.path)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._held = 0
        self.max_bytes = settings.max_upload_bytes

    @property
    def folder(self) -> Path:
        """The folder that keeps uploads until they are read."""
        return self._folder.path

    async def __aenter__(self) -> Self:
        with suppress(OSError):
            if swept := await asyncio.to_thread(self._folder.sweep):
                _log.info("uploads_left_behind", removed=swept)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    @asynccontextmanager
    async def receiving(
        self,
        memex: LocalMemex,
        principal: Principal,
        context: CallContext,
        name: str,
        options: Mapping[str, Any],
        *,
        expected_bytes: int,
    ) -> AsyncIterator[UploadedImport]:
        """Begin an import whose file is received in the block; it is read afterwards, in the background.

        If the block raises, nothing is read, and the file is removed.

        `name` is that of the file, as the browser gave it; `options` are those of `IngestOptions`, as JSON;
        `expected_bytes` is the size that the client says, 0 if it says nothing.

        Raises:
            ImportInProgress: another import of the user is under way.
            Overloaded: this process keeps as many uploads as it may.
            FileTooLarge, DiskLow, StoreUnavailable: the file cannot be kept.
        """
        if self._held >= MAX_HELD:
            raise Overloaded("Too many uploads are under way.", retry_after_s=30)
        self._held += 1
        try:
            file = await asyncio.to_thread(self._folder.receive, name, self.max_bytes, expected_bytes)
        except BaseException:
            self._held -= 1
            raise
        is_handed_on = False
        try:
            _, caller = await memex.caller(context, importing.NAME)
            import_id = await importing.begin(
                self._service, caller, file.path.name, is_dry_run=bool(options.get("dry_run"))
            )
            work = UploadedImport(import_id, memex, principal, context, options, file)
            try:
                yield work
                await file.flush()
                work.state = "waiting"
                if not await self._note(work):
                    raise CancelledByPerson
            except BaseException as error:
                await self._end_unread(work, error)
                raise
            self._under_way[import_id] = asyncio.create_task(self._carry_out(work))
            is_handed_on = True
        finally:
            if not is_handed_on:
                self._release(file)

    async def received(self, work: UploadedImport, content: bytes) -> None:
        """Take a part of a file; raises as `IncomingFile.write`, and CancelledByPerson."""
        await work.file.write(content)
        now_s = asyncio.get_running_loop().time()
        if now_s >= work.noted_s + BEAT_S:
            work.noted_s = now_s
            if not await self._note(work):
                raise CancelledByPerson

    async def _end_unread(self, work: UploadedImport, error: BaseException) -> None:
        """Note why a file was not received whole."""
        if isinstance(error, CancelledByPerson):
            work.state = "cancelled"
        elif isinstance(error, MemexError):
            work.state, work.error = "stopped", error_document(error)
        else:
            work.state = "cut_off"
        ending = asyncio.ensure_future(self._end(work))
        with suppress(asyncio.CancelledError):
            await asyncio.shield(ending)  # the client went away; the note is made all the same

    async def _carry_out(self, work: UploadedImport) -> None:
        """Have a file read and stored, note how far that is, and remove the file in any case."""
        reading = asyncio.create_task(self._read(work))
        try:
            while not (await asyncio.wait([reading], timeout=BEAT_S))[0]:
                if not await self._note(work):
                    raise CancelledByPerson
            await reading
            work.state = "stopped" if work.error else "done"
        except CancelledByPerson:
            work.state = "cancelled"
        except asyncio.CancelledError:
            work.state = "cut_off"
            raise
        except MemexError as error:
            work.state, work.error = "stopped", error_document(error)
        except Exception as error:  # noqa: BLE001  # here an import ends
            _log.error("import_failed", error=type(error).__name__)
            work.state = "cut_off"
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            self._release(work.file)
            self._under_way.pop(work.import_id, None)
            await self._end(work)

    async def _read(self, work: UploadedImport) -> None:
        """Wait for a lane, and store what a process reads of a file."""
        owner = work.principal.tenant_id, work.context.user_id or work.principal.bound_user or ""
        async with self._lanes.held(owner):
            work.state = "reading"
            process = await UploadReader.start(
                work.file.path, work.options, cpu_s=cpu_s_of(work.file.size_bytes)
            )
            try:
                while (frame := await process.next()).said.get("kind") != "done":
                    await self._serve(work, process, frame)
                self._take_report(work, frame)
                if bug := frame.said.get("bug"):
                    _log.error("upload_reader_failed", bug=bug)
                if error := frame.said.get("error"):
                    work.error = {name: str(error.get(name, "")) for name in ("code", "message", "hint")}
            finally:
                await process.close()

    async def _serve(self, work: UploadedImport, process: UploadReader, frame: PipeFrame) -> None:
        """Do what a frame asks for."""
        said = frame.said
        if said.get("kind") == "progress":
            work.report["messages_read"] = int(said["messages_read"])
            return
        self._take_report(work, frame)
        try:
            found = await self._answer(work, frame)
        except MemexError as error:
            await process.answer({"error": error_document(error)})
        else:
            await process.answer({"found": found})

    async def _answer(self, work: UploadedImport, frame: PipeFrame) -> dict[str, Any]:
        """Store a batch, or say what is wanted; if the service cannot now, wait and try again."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + PATIENCE_S
        while True:
            if not await self._note(work):  # its user may have been erased, and must not begin anew
                raise CancelledByPerson
            try:
                if frame.said.get("kind") == "put":
                    again = {"again": frame.said["asked"].get("again") is True}
                    return await work.memex.call(work.context, "conversation_put", again, lines=frame.body)
                return await work.memex.call(work.context, "conversation_wanted", frame.said["asked"])
            except RETRIED as error:
                pause_s = float(error.details.get("retry_after_s", PAUSE_S))
                if loop.time() + pause_s > until_s:
                    raise
            await asyncio.sleep(pause_s)

    def _take_report(self, work: UploadedImport, frame: PipeFrame) -> None:
        """Keep what the process reports; one that says less than was known already is an older one."""
        report = frame.said.get("report")
        if isinstance(report, dict):
            report["messages_read"] = max(
                int(report.get("messages_read", 0)), int(work.report["messages_read"])
            )
            work.report = work.report | report

    async def _note(self, work: UploadedImport) -> bool:
        """Note how far an import is; return whether it is to go on. While the database is away it goes on."""
        try:
            return await importing.note(
                self._service, await self._caller(work), work.import_id, work.progress
            )
        except Unavailable:
            return True

    async def _end(self, work: UploadedImport) -> None:
        """Note how an import ended. Where that cannot be noted, it counts as cut off after a while."""
        ended = ImportProgress(work.state, work.file.size_bytes, work.report, work.error, is_ended=True)
        try:
            await importing.note(self._service, await self._caller(work), work.import_id, ended)
        except MemexError as error:
            _log.warning("import_end_not_noted", code=error.code)

    async def _caller(self, work: UploadedImport) -> Caller:
        """Return for whom an import is noted; no request of theirs, so no rate limit counts it."""
        return await self._service.caller(work.principal, work.context, action=importing.NAME)

    def _release(self, file: IncomingFile) -> None:
        file.close()
        self._held -= 1
