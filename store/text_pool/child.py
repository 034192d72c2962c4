"""The program of a process of the text pool: it does one task after the other until its input ends.

It is a fresh interpreter that has no environment, no key and no connection, and knows nothing but the texts that it
is sent. A task and its answer are pickles, each behind its length in 8 bytes. Both ends are this package.
"""

import os
import pickle
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from memex.errors import LimitExceeded

LENGTH = struct.Struct(">Q")
MAX_MEMORY_BYTES = 2 << 30  # 1 MiB of hostile Markdown can take 0.8 GB while it is parsed
# A process that once took so much ends after its answer, since it would keep what it took.
KEPT_MEMORY_BYTES = 300 << 20
NICENESS = 5  # the event loop of the service comes first
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def main() -> None:
    """Do tasks until the input ends."""
    tasks = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what a library prints is no answer
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    limit_itself(MAX_MEMORY_BYTES)
    while (task := receive(tasks)) is not None:
        send(answers, _done(task))
        if _peak_bytes() > KEPT_MEMORY_BYTES:
            break


def receive(source: BinaryIO) -> bytes | None:
    """Return the next message, None if there is none any more."""
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    [length] = LENGTH.unpack(head)
    message = source.read(length)
    return message if len(message) == length else None


def send(target: BinaryIO, message: bytes) -> None:
    """Send a message."""
    target.write(LENGTH.pack(len(message)))
    target.write(message)
    target.flush()


def _done(task: bytes) -> bytes:
    """Return the answer of a task: whether it was done, and its result or its error.

    The time that it may take is that of the processor: when it is over, the system ends this process, also in the
    midst of a pattern.
    """
    cpu_s, work, arguments = pickle.loads(task)  # noqa: S301  # from the process that started this one
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        return pickle.dumps((True, work(*arguments)), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return pickle.dumps((False, too_hard("it takes too much memory")), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  # it is raised again where the task came from
        return _failed(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def too_hard(reason: str) -> LimitExceeded:
    """Return the error for a text that cannot be worked on within the limits."""
    return LimitExceeded(
        f"The text cannot be read within the limits: {reason}. Nothing was written.",
        hint="Split the text, or leave out parts with very many list items, table rows, or marks in a row.",
    )


def _failed(error: Exception) -> bytes:
    try:
        pickle.loads(answer := pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL))  # noqa: S301  # made here
    except Exception:  # noqa: BLE001  # an error may hold anything
        return pickle.dumps((False, RuntimeError(type(error).__name__)), pickle.HIGHEST_PROTOCOL)
    return answer


def limit_itself(memory_bytes: int, cpu_s: int | None = None) -> None:
    """Let the system end this process when it takes too much memory, or too much of the processor."""
    import resource  # noqa: PLC0415  # not on every system

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent decides
    os.nice(NICENESS)
    limits = {resource.RLIMIT_DATA: (memory_bytes, memory_bytes), resource.RLIMIT_CORE: (0, 0)}
    if cpu_s is not None:
        limits[resource.RLIMIT_CPU] = cpu_s, cpu_s + 5
    for kind, limit in limits.items():
        with suppress(ValueError, OSError):  # a lower limit is set already
            resource.setrlimit(kind, limit)


def _peak_bytes() -> int:
    """Return the most memory that this process had at a time.

    On Linux `ru_maxrss` is at least what the parent had when it started this process, so the kernel is asked for
    the peak of the program that runs now.
    """
    with suppress(OSError, StopIteration):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(peak.split()[1]) * 1024
    import resource  # noqa: PLC0415  # not on every system

    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * RSS_UNIT
