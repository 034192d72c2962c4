"""The state of capture of a user, below $XDG_STATE_HOME: whether it is on, where it is not wanted, and its spool.

Folders are 0700 and files 0600, of the user alone; no link is followed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading `typing` takes as long as all the rest
    from typing import Any

MAX_SPOOL_BYTES = 64 << 20
KEPT_SPOOL_BYTES = 48 << 20
MAX_FILE_BYTES = 1 << 20
MAX_SESSIONS_OFF, MAX_KEY_BYTES = 1_000, 2_000  # an id has at most 400 characters
LOCK_S, LOCK_STEP_S = 3.0, 0.002  # many hooks at once on a busy machine wait for each other
SETTINGS, PAUSED, NOT_HERE, SESSIONS_OFF = "settings.json", "paused", "not-here", "sessions-off"
SPOOL, SPOOL_LOCK, DROPPED, DELIVERY_LOCK, DELIVERED = (
    "spool.jsonl", "spool.lock", "dropped.json", "delivery.lock", "delivered.json",
)  # fmt: skip

TRANSCRIPTS = "transcripts.json"  # how far the transcripts of each folder were read
WHY_OFF = "why-off.json"  # why a session is not captured
MAX_FOLDERS_KNOWN, MAX_TRANSCRIPTS = 50, 20
EARLIER_LINKS = (
    "earlier-links.json"  # when the folders of links of earlier versions were confirmed, by the service
)
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class CaptureState:
    """The folder of the state, open as long as it is used. Methods raise OSError where the system refuses."""

    def __init__(self, folder: str) -> None:
        self.path = folder
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        try:
            os.mkdir(folder, _PRIVATE_FOLDER)
        except FileExistsError:
            pass
        self._folder = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        found = os.fstat(self._folder)
        if found.st_uid != os.getuid():
            os.close(self._folder)
            raise PermissionError(f"{folder} belongs to somebody else")
        if stat.S_IMODE(found.st_mode) != _PRIVATE_FOLDER:
            os.fchmod(self._folder, _PRIVATE_FOLDER)

    def close(self) -> None:
        """Close the folder."""
        os.close(self._folder)

    def read(self, name: str, most: int = MAX_FILE_BYTES) -> bytes:
        """Return what a file holds, and b"" where there is none."""
        try:
            handle = self._opened(name, os.O_RDONLY)
        except FileNotFoundError:
            return b""
        with os.fdopen(handle, "rb") as stream:
            return stream.read(most)

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the object that a file holds, and {} where it holds none."""
        try:
            given = json.loads(self.read(name) or b"{}")
        except ValueError:
            return {}
        return given if isinstance(given, dict) else {}

    def write(self, name: str, data: bytes) -> None:
        """Put a file there whole: a reader sees the old one or the new one."""
        draft = f".{name}.{os.getpid()}"
        handle = self._opened(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.rename(draft, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except BaseException:
            self.remove(draft)
            raise

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        try:
            os.unlink(name, dir_fd=self._folder)
        except FileNotFoundError:
            pass

    def exists(self, name: str) -> bool:
        """Return whether there is a file of that name."""
        try:
            os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except OSError:
            return False
        return True

    def age_s(self, name: str) -> float | None:
        """Return how long ago a file was written, in seconds; None where there is none."""
        try:
            return time.time() - os.stat(name, dir_fd=self._folder, follow_symlinks=False).st_mtime
        except OSError:
            return None

    def files(self) -> list[str]:
        """Return the names of all files."""
        return sorted(os.listdir(self._folder))

    def lock(self, name: str, wait_s: float = 0.0) -> int | None:
        """Return a handle that holds the lock of a file until it is closed; None if it was not had in time."""
        handle = self._opened(name, os.O_RDWR | os.O_CREAT)
        end = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    os.close(handle)
                    return None
                time.sleep(LOCK_STEP_S)
            except BaseException:
                os.close(handle)
                raise
            else:
                return handle

    def append(self, event: dict[str, Any]) -> bool:
        """Add an event to the spool as one line, whole or not at all; return whether it was added."""
        line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        lock = self.lock(SPOOL_LOCK, LOCK_S)
        if lock is None:
            return False
        try:
            handle = self._opened(SPOOL, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                size = os.fstat(handle).st_size
                try:
                    written = os.write(handle, line)
                except OSError:
                    written = 0
                if written < len(line):
                    os.ftruncate(handle, size)
                    return False
            finally:
                os.close(handle)
            if size + len(line) > MAX_SPOOL_BYTES:
                self._drop_oldest()
            return True
        finally:
            os.close(lock)

    def take(self, name: str) -> bool:
        """Rename the spool, so that new events go to another file; return whether there was one."""
        lock = self.lock(SPOOL_LOCK, LOCK_S)
        if lock is None:
            return False
        try:
            os.rename(SPOOL, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except FileNotFoundError:
            return False
        else:
            return True
        finally:
            os.close(lock)

    def turn_off(self, key: str, why: str = "", cwd: str = "") -> None:
        """Note that a session is not captured from now on, and why."""
        lock = self.lock(SPOOL_LOCK, LOCK_S)
        try:
            known = self.sessions_off()
            if key not in known:
                kept = [*known, key][-MAX_SESSIONS_OFF:]
                self.write(SESSIONS_OFF, "".join(f"{session}\n" for session in kept).encode())
                told = dict([*self.read_json(WHY_OFF).items(), (key, [why, cwd])][-MAX_FOLDERS_KNOWN:])
                self.write(WHY_OFF, json.dumps(told).encode())
        finally:
            if lock is not None:
                os.close(lock)

    def sessions_off(self) -> list[str]:
        """Return the sessions that are not captured, the oldest first."""
        return (
            self.read(SESSIONS_OFF, MAX_SESSIONS_OFF * MAX_KEY_BYTES).decode("utf-8", "replace").splitlines()
        )

    def grown_transcripts(self, cwd: str) -> list[str]:
        """Return the transcripts of a folder that are longer than when they were read last."""
        grown = []
        for path, size in (self.read_json(TRANSCRIPTS).get(real_path(cwd)) or {}).items():
            try:
                if os.stat(path).st_size > size:
                    grown.append(path)
            except (OSError, TypeError, ValueError):  # gone, or no such file
                continue
        return grown

    def note_transcripts(self, read: dict[str, dict[str, int]]) -> None:
        """Note the sizes to which transcripts were read, by folder; the last folders and files are kept."""
        known = self.read_json(TRANSCRIPTS)
        for folder, sizes in read.items():
            kept = {path: size for path, size in (known.pop(folder, None) or {}).items() if path not in sizes}
            known[folder] = dict([*kept.items(), *sizes.items()][-MAX_TRANSCRIPTS:])
        self.write(TRANSCRIPTS, json.dumps(dict([*known.items()][-MAX_FOLDERS_KNOWN:])).encode())

    def folders_off(self) -> list[str]:
        """Return the folders in which nothing is captured."""
        return [part for part in self.read(NOT_HERE).decode("utf-8", "replace").split("\n") if part]

    def _drop_oldest(self) -> None:
        """Make the spool smaller: the oldest tool events go first, and then the oldest of all; count them."""
        lines = self.read(SPOOL, MAX_SPOOL_BYTES * 2).splitlines(keepends=True)
        too_much = sum(map(len, lines)) - KEPT_SPOOL_BYTES
        counts = {"tool": 0, "other": 0}
        for kind in ("tool", "other"):
            kept = []
            for line in lines:
                is_tool = b'"kind":"tool"' in line
                if too_much > 0 and (kind == "other" or is_tool):
                    too_much -= len(line)
                    counts["tool" if is_tool else "other"] += 1
                else:
                    kept.append(line)
            lines = kept
        self.write(SPOOL, b"".join(lines))
        before = self.read_json(DROPPED)
        told = {name: counts[name] + int(before.get(name, 0)) for name in counts}
        self.write(DROPPED, json.dumps(told | {"at": int(time.time())}).encode())

    def _opened(self, name: str, flags: int) -> int:
        """Return an open file of the folder; raises OSError for a link, and for what is not the user's own file."""
        handle = os.open(name, flags | _OPEN, _PRIVATE_FILE, dir_fd=self._folder)
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_nlink > 1:
            os.close(handle)
            raise PermissionError(f"{name} is no file of the user's own")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(handle, _PRIVATE_FILE)
        return handle


def real_path(cwd: str) -> str:
    """Return a folder without links; "" for a name that no folder can have."""
    try:
        return os.path.realpath(cwd or "/")
    except (OSError, ValueError):
        return ""


def state_folder() -> str:
    """Return the folder of the state of capture; raises OSError for a user without a home.

    Nothing is looked for in the current folder: it is a repository, whose files are somebody else's.
    """
    home = os.environ.get("XDG_STATE_HOME") or ""
    if not os.path.isabs(home):
        home = os.path.join(os.path.expanduser("~"), ".local", "state")
    if not os.path.isabs(home):
        raise FileNotFoundError(errno.ENOENT, "this user has no home", home)
    return os.path.join(home, "memex", "capture")
