"""Locks by tool call id, over all workers of a service."""

import asyncio
import fcntl
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from weakref import WeakValueDictionary

from memex.store.access import Access
from memex.store.log.call import Call

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.2

LockName = tuple[int, str | None, str]


@dataclass(frozen=True, slots=True)
class CallLocks:
    """Locks by tool call id. Equal calls run one after the other, so that a model is asked once.

    Attributes:
        shared_file: the descriptor of a file that all workers lock, from `open_shared_file`; None if there is one
            process. Each lock is a byte of the file. The system takes the locks back from a process that ends,
            however it ends.
    """

    shared_file: int | None = None
    _locks: WeakValueDictionary[LockName, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @asynccontextmanager
    async def held(self, access: Access, call: Call) -> AsyncIterator[None]:
        """Hold the lock of a call: no other call of this user under the same tool call id runs meanwhile."""
        name = access.log_scope_id, access.user_id, call.request.tool_call_id
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        async with lock, self._held_over_workers(name):
            yield

    @asynccontextmanager
    async def _held_over_workers(self, name: LockName) -> AsyncIterator[None]:
        """Hold the byte of a lock. The locks of a file do not wait for the process that has them already."""
        if self.shared_file is None:
            yield
            return
        byte = int.from_bytes(blake2b(repr(name).encode(), digest_size=8).digest()) >> 2
        pause_s = FIRST_PAUSE_S
        while not _try_lock(self.shared_file, byte):
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        try:
            yield
        finally:
            fcntl.lockf(self.shared_file, fcntl.LOCK_UN, 1, byte)


def open_shared_file() -> int:
    """Return the descriptor of an empty file without a name, which forked processes inherit."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("memex-calls")
    descriptor, path = tempfile.mkstemp()
    Path(path).unlink()
    return descriptor


def _try_lock(file: int, byte: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except (BlockingIOError, PermissionError):  # POSIX leaves open which one
        return False
    return True
