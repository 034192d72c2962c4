"""The program of the process that reads one upload: it asks the service to store what it reads, and ends.

It is a fresh interpreter that has no environment, no key and no connection, and knows nothing but the file. It
sends frames (`frames.py`): `progress`, `wanted`, `put`, and at last `done` with the report. The service answers
`wanted` and `put`.
"""

import asyncio
import os
import queue
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from memex.api.ingest.ingest import Ingest, IngestOptions
from memex.api.uploads.frames import HEAD, PipeFrame, lengths, parse
from memex.call_context import CallContext
from memex.errors import LimitExceeded, MemexError, error_document, error_of
from memex.logging import frames
from memex.sources.conversations.records import Include
from memex.store.text_pool.child import limit_itself

PROGRESS_EVERY_S = 0.5


def main() -> None:
    """Read the upload that the first frame names."""
    line = _Line(sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what a library prints is no frame
    asked = line.answer().said
    limit_itself(asked["memory_bytes"], asked["cpu_s"])
    try:
        said = asyncio.run(_read(line, asked))
    except MemoryError:
        said = {"error": error_document(_too_hard())}
    line.send(PipeFrame({"kind": "done"} | said))


async def _read(line: "_Line", asked: Mapping[str, Any]) -> dict[str, Any]:
    """Read the file, and return the report, with the error that ended the reading, if one did."""
    service = _StoringService(line)
    options = IngestOptions(**asked["options"] | {"include": Include(**asked["options"]["include"])})
    work = service.work = Ingest(service, CallContext(), options, service.count)
    try:
        await work.run([Path(asked["path"])])
    except MemexError as error:
        return {"report": work.report.document(), "error": error_document(error)}
    except MemoryError:
        return {"report": work.report.document(), "error": error_document(_too_hard())}
    except Exception as error:  # noqa: BLE001  # here the process ends, and the service logs it
        failed = MemexError(
            "Memex failed at this file.", hint="This is a bug: report it with the kind of export."
        )
        bug = {"error": type(error).__name__, "where": frames(error)}
        return {"report": work.report.document(), "error": error_document(failed), "bug": bug}
    return {"report": work.report.document()}


class _StoringService:
    """Runs the operations that an import needs, by asking the service at the other end."""

    def __init__(self, line: "_Line") -> None:
        self._line = line
        self._read, self._told_s = 0, 0.0
        self.work: Ingest | None = None

    async def call(
        self,
        context: CallContext,  # noqa: ARG002  # the service knows for whom
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        lines: bytes | None = None,
    ) -> dict[str, Any]:
        """Store conversations, or return which are not stored as they were read."""
        kind = {"conversation_put": "put", "conversation_wanted": "wanted"}[name]
        return await self._ask({"kind": kind, "asked": arguments}, lines or b"")

    def count(self, messages: int) -> None:
        """Tell now and then how many messages were read."""
        self._read += messages
        if (now_s := time.monotonic()) >= self._told_s + PROGRESS_EVERY_S:
            self._told_s = now_s
            self._line.send(PipeFrame({"kind": "progress", "messages_read": self._read}))

    async def _ask(self, said: dict[str, Any], body: bytes = b"") -> dict[str, Any]:
        assert self.work is not None  # noqa: S101  # set before anything is read
        self._line.send(PipeFrame(said | {"report": self.work.report.document()}, body))
        answer = (await asyncio.to_thread(self._line.answer)).said
        if "error" in answer:
            error = answer["error"]
            raise error_of(error["code"], error["message"], hint=error["hint"])
        found: dict[str, Any] = answer["found"]
        return found


class _Line:
    """The pipes to the service. When the service ends, this process ends too, whatever it does."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._answers: queue.SimpleQueue[PipeFrame] = queue.SimpleQueue()
        self._lock = threading.Lock()  # the reader's thread tells its progress, the loop asks
        threading.Thread(target=self._receive, daemon=True).start()

    def send(self, frame: PipeFrame) -> None:
        """Send a frame."""
        try:
            with self._lock:
                self._outgoing.write(frame.packed())
                self._outgoing.flush()
        except OSError:
            os._exit(1)

    def answer(self) -> PipeFrame:
        """Wait for the next answer, and return it."""
        return self._answers.get()

    def _receive(self) -> None:
        while len(head := self._incoming.read(HEAD.size)) == HEAD.size:
            said, body = lengths(head)
            self._answers.put(parse(self._incoming.read(said), self._incoming.read(body)))
        os._exit(1)


def _too_hard() -> LimitExceeded:
    return LimitExceeded(
        "The file cannot be read within the limits: it takes too much memory.",
        hint="Split it, or run `memex conversations ingest` on a machine of your own.",
    )
