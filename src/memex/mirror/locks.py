"""Locks between processes of this machine, as files."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from memex.errors import ValidationFailed

STEP_S = 0.05


@asynccontextmanager
async def file_lock(
    file: Path, *, step_s: float = STEP_S, waiting: Callable[[], None] = lambda: None
) -> AsyncIterator[None]:
    """Hold the lock of a file; `waiting` is called once if another process holds it."""
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ValidationFailed(
            f"{file} cannot be opened: {error.strerror}.", hint="See XDG_STATE_HOME."
        ) from None
    try:
        is_told = False
        while not _lock(handle):
            if not is_told:
                waiting()
            is_told = True
            await asyncio.sleep(step_s)
        yield
    finally:
        os.close(handle)


def is_locked(file: Path) -> bool:
    """Return whether a process holds the lock of a file."""
    try:
        handle = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _lock(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
