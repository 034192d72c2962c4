"""Export: every file that a caller reads, written to a folder or a zip."""

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any, Protocol

from memex.errors import FileNotFound, InvalidPath
from memex.service.call import Caller
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.service.tools.vault_import import (
    MAX_BATCH_CHARS,
    MAX_LOGGED_REFUSALS,
    Progress,
    RefusedFile,
    duration_s,
    ignore_progress,
    refused_file,
)
from memex.store.log.call import Call, CallAnswer
from memex.store.memory import Memory
from memex.store.records import FileSummary, Revision

MAX_LISTED_FILES = 1_000


class ExportResult(ResultPart):
    """What an export wrote, and the number of changes that it saw of each mount."""

    tool_call_id: str
    files: int
    refused: list[RefusedFile]
    size_bytes: int
    state: dict[str, int]
    duration_s: float


class Writer(Protocol):
    """Where an export goes."""

    def add(self, name: str, content: bytes, written_at: datetime) -> None:
        """Put a file there; raises InvalidPath for a name that it cannot have."""

    def close(self) -> None:
        """End what was written."""


async def export_files(
    service: Service,
    caller: Caller,
    writer: Writer,
    *,
    source: str | None = None,
    tool_call_id: str | None = None,
    progress: Progress = ignore_progress,
) -> ExportResult:
    """Write every file that the caller reads, as it stands at one moment, and close the writer.

    Args:
        service: to read from.
        caller: the caller whose files are exported.
        writer: receives the files.
        source: a virtual folder, such as `user/notes`: only what stands below it, by paths relative to it.
        tool_call_id: the caller's; made when absent.
        progress: is told how many files are done, and of how many are known.

    Raises:
        FileNotFound: nothing stands below `source`.
        InvalidPath, ProjectNotFound: `source` is no folder that the caller reads.
    """
    given = {} if source is None else {"from": source}
    with closing(writer):  # however it ends: a zip that is left open complains
        work = _Export(writer, source, progress)
        async with (
            service.recorder.recorded(caller, "memory_export", given, tool_call_id=tool_call_id) as log,
            service.database.transaction(caller.access, snapshot=True) as connection,
        ):
            memory = Memory(connection, caller.access)
            state = await memory.state(caller.access.scopes)
            await work.run(memory)
            result = work.result(log.call, state)
            answer = _answer_export(given, result)
            await log.add("answered", answer, state=state, connection=connection)
    return result


class _Export:
    """One export: writes what stands below a folder, or all."""

    def __init__(self, writer: Writer, source: str | None, progress: Progress) -> None:
        self._writer = writer
        self._prefix = "" if source is None else unicodedata.normalize("NFC", source.removesuffix("/") + "/")
        self._progress = progress
        self._files = 0
        self._size_bytes = 0
        self._refused: list[RefusedFile] = []

    async def run(self, memory: Memory) -> None:
        """Write the files; raises FileNotFound when there is none below the folder that was named."""
        async for batch in _list_heads(memory, self._prefix):
            await asyncio.to_thread(self._add, batch)
            seen = self._files + len(self._refused)
            self._progress(seen, seen)
        if self._prefix and not self._files and not self._refused:
            raise FileNotFound(f"No file stands below {self._prefix}.")
        await asyncio.to_thread(self._writer.close)

    def result(self, call: Call, state: dict[str, int]) -> ExportResult:
        """Return the report."""
        return ExportResult(
            tool_call_id=call.request.tool_call_id,
            files=self._files,
            refused=self._refused,
            size_bytes=self._size_bytes,
            state=state,
            duration_s=duration_s(call),
        )

    def _add(self, revisions: Sequence[Revision]) -> None:
        for revision in revisions:
            name = revision.virtual_path.removeprefix(self._prefix)
            content = revision.content.encode()
            try:
                self._writer.add(name, content, revision.created_at)
            except InvalidPath as error:
                self._refused.append(refused_file(name, error))
            else:
                self._files += 1
                self._size_bytes += len(content)


async def _list_heads(memory: Memory, prefix: str) -> AsyncIterator[Sequence[Revision]]:
    """Yield the files below a prefix, a few million characters at a time."""
    page = await memory.list_files(prefix, limit=MAX_LISTED_FILES)
    while page:
        for batch in _bounded(page):
            yield await memory.read_files([file.path for file in batch])
        page = await memory.list_files(prefix, limit=MAX_LISTED_FILES, after=page[-1].path)


def _bounded(listed: Sequence[FileSummary]) -> Iterator[list[FileSummary]]:
    batch: list[FileSummary] = []
    chars = 0
    for file in listed:
        if batch and chars + file.size_chars > MAX_BATCH_CHARS:
            yield batch
            batch, chars = [], 0
        batch.append(file)
        chars += file.size_chars
    yield batch


def _answer_export(request: dict[str, Any], result: ExportResult) -> CallAnswer:
    body = result.model_dump(mode="json")
    return CallAnswer(body, request, body | {"refused": body["refused"][:MAX_LOGGED_REFUSALS]})
