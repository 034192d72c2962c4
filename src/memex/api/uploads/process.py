"""The parent's side of the process that reads an upload."""

import asyncio
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from memex.api.uploads.frames import HEAD, BrokenFrameError, PipeFrame, lengths, parse
from memex.errors import LimitExceeded, StoreUnavailable
from memex.store.text_pool.process import fresh_interpreter

MAX_MEMORY_BYTES = 1 << 30
CPU_S = 120  # of the processor that a file may take, and
CPU_S_PER_MIB = 4  # so much more for each MiB that was uploaded; a zip unpacks to ten times as much
SILENT_S = 600.0  # a process that says nothing for so long is taken for stuck
_SPLIT = "Split it, or run `memex conversations ingest` on a machine of your own."


class UploadReader:
    """A process that reads one file: a fresh interpreter without an environment, within limits of its own."""

    def __init__(self, process: Process, cpu_s: int, silent_s: float) -> None:
        self._process = process
        self._cpu_s = cpu_s
        self._silent_s = silent_s

    @classmethod
    async def start(
        cls,
        path: Path,
        options: Mapping[str, Any],
        *,
        cpu_s: int = CPU_S,
        memory_bytes: int = MAX_MEMORY_BYTES,
        silent_s: float = SILENT_S,
    ) -> Self:
        """Start a process that reads a file.

        `options` are those of `IngestOptions`, as JSON. The process may take `cpu_s` (see `cpu_s_of`) and
        `memory_bytes`, and say nothing for `silent_s`.

        Raises:
            StoreUnavailable: the system starts no process.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *fresh_interpreter("memex.api.uploads.child"),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={},
                cwd="/",
            )
        except OSError as error:
            raise StoreUnavailable(
                f"No process for the upload can be started: {error.strerror}.",
                hint="Look for a limit of processes, files or memory.",
            ) from error
        self = cls(process, cpu_s, silent_s)
        asked = {"path": str(path), "options": options, "memory_bytes": memory_bytes, "cpu_s": cpu_s}
        await self.answer(asked)
        return self

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    async def answer(self, said: Mapping[str, Any]) -> None:
        """Send an answer; that the process has ended shows when it is asked for its next frame."""
        assert self._process.stdin is not None  # noqa: S101  # it is a pipe
        with suppress(OSError, RuntimeError):  # uvloop raises the second one
            self._process.stdin.write(PipeFrame(dict(said)).packed())
            await self._process.stdin.drain()

    async def next(self) -> PipeFrame:
        """Return the next frame of the process.

        Raises:
            LimitExceeded: the process took too much, ended, or says nothing.
        """
        assert self._process.stdout is not None  # noqa: S101  # it is a pipe
        read = self._process.stdout.readexactly
        try:
            async with asyncio.timeout(self._silent_s):
                said, body = lengths(await read(HEAD.size))
                return parse(await read(said), await read(body))
        except TimeoutError:
            raise self._too_hard(f"nothing was read for {self._silent_s:.0f} s") from None
        except (asyncio.IncompleteReadError, BrokenFrameError):
            pass
        self.kill()
        status = await self._process.wait()
        if status == -signal.SIGXCPU:
            raise self._too_hard(f"it takes more than {self._cpu_s:,} s of the processor")
        raise self._too_hard("the process that reads it has ended")

    def kill(self) -> None:
        """End the process, whatever it does."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        """End the process, and wait for that."""
        self.kill()
        await self._process.wait()

    @staticmethod
    def _too_hard(reason: str) -> LimitExceeded:
        return LimitExceeded(f"The file cannot be read within the limits: {reason}.", hint=_SPLIT)


def cpu_s_of(size_bytes: int) -> int:
    """Return how many seconds of the processor a file of a size may take."""
    return CPU_S + CPU_S_PER_MIB * (size_bytes >> 20)
