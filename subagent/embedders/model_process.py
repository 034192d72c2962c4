"""The process that holds a local model for a service; a `SharedModel` starts it as a program.

It loads the model before it takes a connection, so that the greeting of a connection says that the model is ready.
Each connection has a thread. Documents wait: on Linux their threads have a lower priority than queries have.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from memex.subagent.embedders.model_messages import (
    HELLO,
    LENGTH,
    MAX_REQUEST_BYTES,
    pack_answer,
    pack_failure,
)

if TYPE_CHECKING:
    from memex.errors import ModelUnavailable
    from memex.subagent.embedders.local import LocalEmbedder
    from memex.subagent.embedders.multilingual import MultilingualEmbedder

    HeldEmbedder = LocalEmbedder | MultilingualEmbedder

DOCUMENT_NICENESS = 10


def main(listener: int, lifeline: int, lock_path: Path, name: str) -> None:
    """Hold the model until the service ends.

    Args:
        listener: the descriptor of the socket at which connections are taken.
        lifeline: the descriptor of a pipe that is closed when the service has ended.
        lock_path: the file that this process locks; it ends at once if another process holds the lock.
        name: of the embedder, from `names.LOCAL_MODELS`.
    """
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a terminal sends it to all, and the service ends in its own time
    lock = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    threading.Thread(target=_end_with_service, args=(lifeline, lock_path.parent), daemon=True).start()
    embedder, failure = _load(name)
    with socket.socket(fileno=listener) as listening:
        listening.setblocking(True)
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_answer, args=(connection, embedder, failure), daemon=True).start()


def _end_with_service(lifeline: int, folder: Path) -> None:
    while os.read(lifeline, 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)  # if the service was killed, nobody else removes it
    os._exit(0)


def _load(name: str) -> "tuple[HeldEmbedder, ModelUnavailable | None]":
    from memex.errors import ModelUnavailable  # noqa: PLC0415  # after the lock, for two starts at once
    from memex.subagent.embedders.names import MULTILINGUAL  # noqa: PLC0415

    embedder: HeldEmbedder
    if name == MULTILINGUAL:
        from memex.subagent.embedders.multilingual import MultilingualEmbedder  # noqa: PLC0415

        embedder = MultilingualEmbedder()
    else:
        from memex.subagent.embedders.local import LocalEmbedder  # noqa: PLC0415

        embedder = LocalEmbedder()
    try:
        embedder.load()
    except ModelUnavailable as error:
        return embedder, error
    return embedder, None


def _answer(connection: socket.socket, embedder: "HeldEmbedder", failure: "ModelUnavailable | None") -> None:
    """Answer the requests of a connection until the other side closes it."""
    from memex.subagent.embedders.memory import return_memory  # noqa: PLC0415

    with connection, suppress(ConnectionError, ValueError), connection.makefile("rb") as received:
        connection.sendall(HELLO)
        while (request := _read(received)) is not None:
            if request["kind"] == "document":
                _yield_to_queries()
            if failure is not None:
                answer = pack_failure(failure)
            else:
                answer = pack_answer(
                    embedder.embed_here(request["texts"]), with_spans=request["kind"] == "query"
                )
            connection.sendall(answer)
            if request["kind"] == "document":
                return_memory()


def _read(stream: IO[bytes]) -> dict[str, Any] | None:
    """Return the next request; None if there is none."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    [size] = LENGTH.unpack(head)
    if size > MAX_REQUEST_BYTES:
        return None
    request: dict[str, Any] = json.loads(stream.read(size))
    return request


def _yield_to_queries() -> None:
    """Have the thread that calls run after others, where the system gives each thread a priority of its own."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), DOCUMENT_NICENESS)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
