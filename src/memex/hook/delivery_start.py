"""Start the delivery of what the spool holds: one process, detached, which ends with its work."""

from __future__ import annotations

import os
import sys

from memex.hook.state import DELIVERED, DELIVERY_LOCK, CaptureState

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading `typing` takes as long as all the rest
    from typing import Any

EMBEDDED_EVERY_S = 600.0  # without a running service
READ_TO_END_S = 1.5  # a start waits so long for transcripts that grew since they were read
RETRY_AFTER_S = 60.0  # where the last delivery failed
LOCK_HANDLE = 3
KINDS = ("session_start", "stop", "interrupt", "compact", "session_end")


def read_to_end(state: CaptureState, settings: dict[str, Any], cwd: str) -> None:
    """Have the known transcripts of a folder read to their end, if they grew, before the pack is asked for.

    A delivery that is at work is waited for too: it may read the first transcript of a folder.
    """
    free = state.lock(DELIVERY_LOCK)
    if free is not None:
        os.close(free)
        if not state.grown_transcripts(cwd):
            return
        start_delivery(state, settings, "session_end")  # which is due at once
    lock = state.lock(DELIVERY_LOCK, READ_TO_END_S)
    if lock is not None:
        os.close(lock)


def start_delivery(state: CaptureState, settings: dict[str, Any], kind: str) -> int | None:
    """Start a delivery if there is none and one is due; return its process id, or None."""
    if kind not in KINDS or not _is_due(state, settings, kind):
        return None
    lock = state.lock(DELIVERY_LOCK)
    if lock is None:
        return None
    try:
        os.utime(lock)  # a delivery that ends before it says so was started all the same
        return _spawn(settings, lock)
    finally:
        os.close(lock)


def _spawn(settings: dict[str, Any], lock: int) -> int:
    """Start the process; it holds the lock from its first moment, since a lock belongs to the open file."""
    command = settings.get("deliver")
    if not (isinstance(command, list) and command and all(isinstance(word, str) for word in command)):
        command = [sys.executable, "-P", "-m", "memex"]  # never what the agent's folder calls memex
    nothing: list[tuple[Any, ...]] = [
        (os.POSIX_SPAWN_OPEN, handle, os.devnull, os.O_RDWR, 0) for handle in (0, 1, 2)
    ]
    nothing.append((os.POSIX_SPAWN_DUP2, lock, LOCK_HANDLE))
    arguments = [*command, "capture", "deliver", "--lock-handle", str(LOCK_HANDLE)]
    return os.posix_spawn(arguments[0], arguments, dict(os.environ), file_actions=nothing, setsid=True)


def _is_due(state: CaptureState, settings: dict[str, Any], kind: str) -> bool:
    """Return whether a delivery is due; a clock that went back makes it due, and does not put it off."""
    if kind == "session_end":
        return True
    if not settings.get("url"):
        ages = (state.age_s(DELIVERED), state.age_s(DELIVERY_LOCK))
        return not any(age is not None and 0 <= age < EMBEDDED_EVERY_S for age in ages)
    age = state.age_s(DELIVERED)
    is_recent = age is not None and 0 <= age < RETRY_AFTER_S
    return not is_recent or not state.read_json(DELIVERED).get("error")
