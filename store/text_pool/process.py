"""The parent's side of a process of the text pool."""

import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from memex.store.text_pool.child import LENGTH

_READ_BYTES = 1 << 20


def fresh_interpreter(module: str) -> list[str]:
    """Return the command of a fresh interpreter that runs the function `main` of a module.

    The search path is given, since such an interpreter may not know all of it.
    """
    program = f"import sys; sys.path[:] = sys.argv[1:]; from {module} import main; main()"
    return [sys.executable, "-I", "-c", program, *(str(Path(path).absolute()) for path in sys.path)]


class ProcessEndedError(Exception):
    """The process has ended without an answer.

    `has_begun` says whether it had the whole task; `status` is its exit status, a negative signal if one ended it.
    """

    def __init__(self, status: int, *, has_begun: bool) -> None:
        super().__init__(status)
        self.status = status
        self.has_begun = has_begun


class TextProcess:
    """A fresh interpreter that does tasks: without an environment, and with no file but its pipes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            fresh_interpreter("memex.store.text_pool.child"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            bufsize=0,
        )
        assert self._process.stdin and self._process.stdout  # noqa: S101, PT018  # they are pipes
        self._tasks, self._answers = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def ask(self, task: bytes, *, wall_s: float) -> bytes:
        """Return the answer of a task.

        Raises:
            TimeoutError: the process gave no answer within so many seconds.
            ProcessEndedError: it ended.
        """
        has_begun = False
        try:
            self._send(LENGTH.pack(len(task)))
            self._send(task)
            has_begun = True
            return self._receive(time.monotonic() + wall_s)
        except (BrokenPipeError, EOFError):
            raise ProcessEndedError(self._process.wait(), has_begun=has_begun) from None

    def terminate(self) -> None:
        """End the process, whatever it does, and wait for that."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process, and close its pipes."""
        self.terminate()
        self._close_pipes()

    def abandon(self) -> None:
        """Give up what a fork inherited of the process, which belongs to the parent."""
        self._close_pipes()
        self._process.returncode = 0  # it is nothing to wait for

    def _close_pipes(self) -> None:
        for pipe in (self._tasks, self._answers):
            with suppress(OSError):
                pipe.close()

    def _send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._tasks.write(rest) :]

    def _receive(self, deadline_s: float) -> bytes:
        [length] = LENGTH.unpack(self._read(LENGTH.size, deadline_s))
        return self._read(length, deadline_s)

    def _read(self, size: int, deadline_s: float) -> bytes:
        poll, parts = select.poll(), []
        poll.register(self._answers, select.POLLIN)
        while size:
            if not poll.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
                raise TimeoutError
            part = os.read(self._answers.fileno(), min(size, _READ_BYTES))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
