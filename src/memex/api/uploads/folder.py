"""The folder of uploads while they are received and read, which only the user of the service may open.

Each upload has a folder of its own, which its process keeps locked. The system gives a lock back when a process
ends, however it ends, so a folder without a lock was left behind, and goes.
"""

import asyncio
import fcntl
import os
import secrets
import shutil
import stat
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memex.errors import DiskLow, FileTooLarge, StoreUnavailable
from memex.store.embedded.space import RESERVE_BYTES

PREFIX = "upload-"
WRITTEN_BYTES = 1 << 20  # at once
LOOK_EVERY_BYTES = 16 << 20  # at the space that is left
MAX_NAME_BYTES = 120


class UploadFolder:
    """The folder of the uploads of a service.

    By default it lies below the system's folder of large temporary files.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or _temporary_folder() / f"memex-uploads-{os.getuid()}"

    def sweep(self) -> int:
        """Remove what processes left behind that have ended, and return how many uploads that were."""
        if not self.path.is_dir():
            return 0
        with self._held():
            return sum(_removed_if_unlocked(path) for path in self.path.glob(f"{PREFIX}*"))

    def receive(self, name: str, max_bytes: int, expected_bytes: int) -> "IncomingFile":
        """Return a new file that is written as it comes.

        Raises:
            StoreUnavailable: the folder cannot be used.
            FileTooLarge: the file is expected to have more than `max_bytes`.
            DiskLow: there is no space for it.
        """
        if expected_bytes > max_bytes:
            raise too_large(max_bytes)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_owner()
            with self._held():
                folder = self.path / f"{PREFIX}{secrets.token_hex(8)}"
                folder.mkdir(mode=0o700)
                lock = os.open(folder, os.O_RDONLY)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _unusable(self.path, error) from error
        try:
            return IncomingFile(folder / stored_name(name), lock, max_bytes, expected_bytes)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
            raise

    def _check_owner(self) -> None:
        """Refuse a folder in which others may write, or that is another user's; raises StoreUnavailable."""
        found = self.path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise StoreUnavailable(
                "The folder of uploads belongs to another user, or others may write to it.",
                hint="Set MEMEX_UPLOAD_DIR to a folder of the service's own.",
            )

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep other processes from making and removing uploads."""
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


class IncomingFile:
    """A file that is received: only its owner may read it, and it is removed when it is closed."""

    def __init__(self, path: Path, lock: int, max_bytes: int, expected_bytes: int) -> None:
        self.path = path
        self.size_bytes = 0
        self._lock = lock
        self._max_bytes, self._expected_bytes = max_bytes, expected_bytes
        self._pending = bytearray()
        self._next_look = 0
        self._check_space()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._stream = os.fdopen(handle, "wb", buffering=0)

    async def write(self, content: bytes) -> None:
        """Append what came.

        Raises:
            FileTooLarge: the file has become larger than it may be.
            DiskLow: there is too little space left.
        """
        self.size_bytes += len(content)
        if self.size_bytes > self._max_bytes:
            raise too_large(self._max_bytes)
        self._pending += content
        if len(self._pending) >= WRITTEN_BYTES:
            await self.flush()

    async def flush(self) -> None:
        """Write what is not written yet; raises as `write` does."""
        pending, self._pending = self._pending, bytearray()
        writing = asyncio.ensure_future(asyncio.to_thread(self._append, pending))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])  # the file must stay open until the thread is done with it
            raise

    def close(self) -> None:
        """Remove the file, and give its lock back."""
        if self._lock < 0:
            return
        self._stream.close()
        shutil.rmtree(self.path.parent, ignore_errors=True)
        os.close(self._lock)
        self._lock = -1

    def _append(self, content: bytearray) -> None:
        if self.size_bytes >= self._next_look:
            self._next_look = self.size_bytes + LOOK_EVERY_BYTES
            self._check_space()
        rest = memoryview(content)
        try:
            while rest:
                rest = rest[self._stream.write(rest) :]
        except OSError as error:
            raise _disk_low(error.strerror or "it cannot be written") from error

    def _check_space(self) -> None:
        free = shutil.disk_usage(self.path.parent).free
        if free < RESERVE_BYTES + max(0, self._expected_bytes - self.size_bytes):
            raise _disk_low("too little space is left")


def stored_name(name: str) -> str:
    """Return a name under which an upload can be stored: the last part of the given one, without odd characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(
        "_" if unicodedata.category(line) in ("Cc", "Cf", "Cs", "Co", "Cn") else line for line in last
    )
    while len(kept.encode()) > MAX_NAME_BYTES:
        kept = kept[1:]  # the end says what kind of file it is
    return kept if kept.strip(". ") else "upload"


def too_large(max_bytes: int) -> FileTooLarge:
    """Return the error for an upload that is larger than it may be."""
    return FileTooLarge(
        f"The file is larger than {max_bytes / (1 << 20):,.0f} MiB.",
        hint="Run `memex conversations ingest` on a machine of your own, which has no such limit.",
    )


def _temporary_folder() -> Path:
    """Return /var/tmp unless TMPDIR names a folder: /tmp is often in memory, where a large file has no place."""
    on_disk = Path("/var/tmp")  # noqa: S108  # what is made there is checked
    if "TMPDIR" not in os.environ and os.access(on_disk, os.W_OK | os.X_OK):
        return on_disk
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # nothing can be written anywhere: an upload will say so
        return on_disk


def _removed_if_unlocked(folder: Path) -> bool:
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        finally:
            os.close(lock)
        return True
    return False


def _disk_low(reason: str) -> DiskLow:
    return DiskLow(
        f"The upload cannot be kept until it is read: {reason}.",
        hint="Free some space on the disk of MEMEX_UPLOAD_DIR, or import the file with "
        "`memex conversations ingest`.",
    )


def _unusable(path: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"The folder of uploads, {path.name}, cannot be used: {error.strerror}.",
        hint="Set MEMEX_UPLOAD_DIR to a folder in which the service may write.",
    )
