"""A local model in a process of its own, which all processes of a service share.

The service makes a `SharedModel` before it forks its workers. Whoever needs the model first starts the process. The
process takes connections at the service's Unix socket, holds a file lock as long as it lives, and ends when the
service has ended, however it ended: then the pipe that all processes of the service hold open is closed.
"""

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from memex.errors import ModelUnavailable
from memex.subagent.embedders.names import LOCAL

PROGRAM = "memex.subagent.embedders.model_process"
BACKLOG = 64
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0  # between two starts of a process that ends by itself
STEADY_AFTER_S = 30.0
END_S = 2.0

_log = structlog.get_logger("memex.embedding")


@contextmanager
def open_model(name: str | None) -> "Iterator[SharedModel | None]":
    """The place of the model of this name until the end of the block.

    It is None if no model is named, or if the temporary folder cannot hold a socket: then each process loads the
    model by itself.
    """
    made = None
    if name is not None:
        try:
            made = SharedModel(name)
        except OSError as error:
            _log.warning("model_not_shared", error=error.strerror or str(error))
    try:
        yield made
    finally:
        if made is not None:
            made.close()


class SharedModel:
    """The place where a service finds the process that holds a local model. It may be copied by a fork."""

    def __init__(self, name: str = LOCAL) -> None:
        """Make the socket in a folder of its own; raises OSError where none can be made."""
        self.name = name
        self._folder = Path(tempfile.mkdtemp(prefix="memex-model-"))
        self.address = str(self._folder / "model.sock")
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._listener.bind(self.address)
            self._listener.listen(BACKLOG)
        except OSError:
            self._listener.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._lifeline, self._held = os.pipe()
        self._starting = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._started_s = 0.0
        self._pause_s = 0.0

    def ensure_running(self) -> None:
        """Start the process unless it runs already.

        Raises:
            ModelUnavailable: the process ended by itself a moment ago, and is not started again yet.
        """
        with self._starting:
            if (self._process is not None and self._process.poll() is None) or self._is_locked():
                return
            now = time.monotonic()
            if now - self._started_s < self._pause_s:
                raise ModelUnavailable(
                    "The process of the embedding model has ended; it is started again in some seconds.",
                    reason="model process ended",
                )
            if self._process is not None:
                _log.warning("model_process_ended", exit_code=self._process.returncode)
            is_steady = now - self._started_s > STEADY_AFTER_S
            self._pause_s = (
                FIRST_PAUSE_S if is_steady else min(2 * max(self._pause_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)
            )
            self._started_s = now
            self._process = self._start()

    def close(self) -> None:
        """End the process, if it runs, and remove the socket. Only for the process that made this place."""
        os.close(self._held)
        self._listener.close()
        os.close(self._lifeline)
        if self._process is not None:
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> "subprocess.Popen[bytes]":
        listener = self._listener.fileno()
        arguments = [str(listener), str(self._lifeline), str(self._lock_path), self.name]
        return subprocess.Popen(
            [sys.executable, "-P", "-m", PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # the same sums, whatever the number of cores
            pass_fds=(listener, self._lifeline),
        )

    @property
    def _lock_path(self) -> Path:
        return self._folder / "model.lock"

    def _is_locked(self) -> bool:
        """Return whether a process runs that another process of the service has started."""
        lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False
