"""Export: every file that a caller reads, written to a folder or a zip."""

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from memex.errors import FileNotFound, Forbidden, InvalidPath, ProjectNotFound
from memex.service.call import Caller
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.service.vaults.transfer_report import (
    MAX_LOGGED_REFUSALS,
    Progress,
    RefusedFile,
    duration_s,
    ignore_progress,
    refused_file,
)
from memex.service.vaults.vault_import import MAX_BATCH_CHARS
from memex.sources.manifest import MANIFEST_NAME, ExportedFile, ExportManifest
from memex.store.access import Access
from memex.store.log.call import Call, CallAnswer
from memex.store.memory import Memory
from memex.store.records import Revision
from memex.store.text_pool.portions import portions
from memex.store.waiting.time_limits import UPKEEP

MAX_LISTED_FILES = 1_000


class ExportResult(ResultPart):
    """The report of an export, with the number of changes that it saw of each mount."""

    tool_call_id: str
    files: int
    refused: list[RefusedFile]
    size_bytes: int
    state: dict[str, int]
    duration_s: float


class Writer(Protocol):
    """The destination of an export."""

    def add(self, name: str, content: bytes, written_at: datetime | None) -> None:
        """Put a file there; raises InvalidPath for a name that it cannot have."""

    def close(self) -> None:
        """End what was written."""


async def export_files(
    service: Service,
    caller: Caller,
    writer: Writer,
    *,
    source: str | None = None,
    all_projects: bool = False,
    tool_call_id: str | None = None,
    progress: Progress = ignore_progress,
) -> ExportResult:
    """Write every file that the user may read, as it stands at one moment, and a manifest, and close the writer.

    An admin who names no user exports shared/ and all projects.

    `source` is a virtual folder, such as `user/notes`: only what stands below it is written, by paths relative to
    it. `progress` is told how many files are done, and of how many are known.

    Raises:
        Forbidden: an agent asks for all projects.
        FileNotFound: nothing stands below `source`.
        InvalidPath, ProjectNotFound: `source` is no folder that the caller reads.
    """
    arguments = {"from": source, "all_projects": all_projects}
    given = {name: value for name, value in arguments.items() if value not in (None, False)}
    with closing(writer):  # however it ends: a zip that is left open complains
        async with service.recorder.recorded(
            caller, "memory_export", given, tool_call_id=tool_call_id
        ) as log:
            access = await _exported_access(service, caller, source, all_projects=all_projects)
            prefix = "" if source is None else unicodedata.normalize("NFC", source.removesuffix("/") + "/")
            work = _Export(writer, prefix, progress, log.call.request.now)
            async with service.database.transaction(access, snapshot=True, limits=UPKEEP) as connection:
                memory = Memory(connection, access)
                state = await memory.state(access.scopes)
                await work.run(memory)
                result = work.result(log.call, state)
                body = result.model_dump(mode="json")
                logged = body | {"refused": body["refused"][:MAX_LOGGED_REFUSALS]}
                answer = CallAnswer(body, given, logged)
                await log.add("answered", answer, state=state, connection=connection)
    return result


async def _exported_access(
    service: Service, caller: Caller, source: str | None, *, all_projects: bool
) -> Access:
    """Return the scopes that are exported.

    Raises:
        Forbidden: an agent asks for all projects.
        ProjectNotFound: `source` lies in a project that an admin reads, and the user does not.
    """
    if not all_projects:
        access = await service.identities.limited_to_user(caller)
        mount = "/".join((source or "").split("/")[:2])
        if mount in caller.access.by_mount and mount not in access.by_mount:
            raise ProjectNotFound(
                f"{access.user_id} is not a member of {mount}.",
                hint="Ask for all projects (all_projects, or --all-projects), or add the user to the project.",
            )
        return access
    if caller.access.role != "admin":
        raise Forbidden(
            "Only an administrator exports projects of which the user is not a member.",
            hint="Leave out all_projects, or use an administrator's key.",
        )
    return caller.access


@dataclass(slots=True)
class _Export:
    """One export: writes what stands below a folder, or all."""

    writer: Writer
    prefix: str
    progress: Progress
    now: datetime
    exported: dict[str, ExportedFile] = field(default_factory=dict)
    files: int = 0
    size_bytes: int = 0
    refused: list[RefusedFile] = field(default_factory=list)

    async def run(self, memory: Memory) -> None:
        """Write the files; raises FileNotFound when there is none below the folder that was named."""
        async for batch in _list_heads(memory, self.prefix):
            await asyncio.to_thread(self._add, batch)
            seen = self.files + len(self.refused)
            self.progress(seen, seen)
        if self.prefix and not self.files and not self.refused:
            raise FileNotFound(f"No file stands below {self.prefix}.")
        await asyncio.to_thread(self._finish)

    def result(self, call: Call, state: dict[str, int]) -> ExportResult:
        """Return the report."""
        return ExportResult(
            tool_call_id=call.request.tool_call_id,
            files=self.files,
            refused=self.refused,
            size_bytes=self.size_bytes,
            state=state,
            duration_s=duration_s(call),
        )

    def _finish(self) -> None:
        manifest = ExportManifest(self.now, self.prefix.removesuffix("/"), self.exported)
        self.writer.add(MANIFEST_NAME, manifest.render(), self.now)
        self.writer.close()

    def _add(self, revisions: Sequence[Revision]) -> None:
        for revision in revisions:
            name = revision.virtual_path.removeprefix(self.prefix)
            content = revision.content.encode()
            try:
                if name == MANIFEST_NAME:
                    raise InvalidPath("An export keeps this name for its manifest.")
                self.writer.add(name, content, revision.created_at)
            except InvalidPath as error:
                self.refused.append(refused_file(name, error))
            else:
                self.files += 1
                self.exported[name] = ExportedFile(revision.version, revision.sha256)
                self.size_bytes += len(content)


async def _list_heads(memory: Memory, prefix: str) -> AsyncIterator[Sequence[Revision]]:
    """Yield the files below a prefix, a few million characters at a time."""
    page = await memory.list_files(prefix, entries=True, limit=MAX_LISTED_FILES)
    while page:
        for batch in portions(page, lambda file: file.size_chars, MAX_BATCH_CHARS):
            yield await memory.read_files([file.path for file in batch])
        page = await memory.list_files(prefix, entries=True, limit=MAX_LISTED_FILES, after=page[-1].path)
