"""The data directory of an embedded server: its files, its locks, and the user that owns them.

Everything here lies in a folder (0700) of the user that runs the server:

    pg/                        the cluster; it gets this name when it is whole
    password, admin-password   of the application's login and of the superuser (0600)
    socket/                    the Unix socket; in /tmp/memex-… when this path would be too long
    bin/                       a copy of the Postgres programs, if the user cannot reach the installed ones
    server.log, server.log.1   what the server says, and what it said before
    erasures.jsonl             the ledger of erased words, which may be there before anything else
    backups/                   what `memex service backup create` wrote, which may be there before anything else
    start.lock                 held while a client starts or joins the server; it marks the folder as ours
    *.lock                     the others: see `embedded_supervisor`
"""

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import structlog
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from memex.errors import EmbeddedServerError
from memex.store.embedded import supervisor
from memex.store.embedded.binaries import ServerUser, system_user, user_of

START_LOCK = "start.lock"
LEDGER = "erasures.jsonl"  # of erased words; this file and the backups may be there before anything else
BACKUPS = "backups"
LOCKS = (START_LOCK, supervisor.CLIENTS_LOCK, supervisor.SUPERVISOR_LOCK, supervisor.SERVER_LOCK)

APPLICATION = "memex"  # the login of the application, and its database
ADMIN = "postgres"  # the superuser, and the maintenance database
PASSWORD_FILES = {APPLICATION: "password", ADMIN: "admin-password"}

PORT_WITHOUT_TCP = 5432  # then only a part of the socket's name
LONGEST_SOCKET_PATH = 103  # bytes, on macOS; Linux allows 107
LONGEST_LOG_BYTES = 8 << 20
LOW_DISK_BYTES = 32 << 20
POLL_S = 0.01
LOG_WAIT_AFTER_S = 3.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Home:
    """A data directory and the user of the operating system that owns it and runs its server."""

    data_dir: Path
    user: ServerUser

    @classmethod
    def adopt(cls, data_dir: Path) -> Self:
        """Return the home at `data_dir`, made if absent.

        Raises:
            EmbeddedServerError: the folder is not ours, or its user cannot reach it.
        """
        names = {entry.name for entry in data_dir.iterdir()} if data_dir.exists() else set()
        if names - {"lost+found", LEDGER, BACKUPS} and START_LOCK not in names:
            raise EmbeddedServerError(
                f"{data_dir} holds other things than Memex's data.",
                hint="Set MEMEX_DATA_DIR to a new or empty folder.",
            )
        home = cls(data_dir, _server_user(data_dir))
        home._refuse_unreachable_parents()
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return home

    @property
    def cluster(self) -> Path:
        """The folder of the cluster; absent until it is whole."""
        return self.data_dir / supervisor.CLUSTER

    @property
    def log_file(self) -> Path:
        """The file to which the server writes its log."""
        return self.data_dir / "server.log"

    @property
    def socket_dir(self) -> Path:
        """The folder of the socket: in the data directory, or elsewhere if that path is too long."""
        inside = self.data_dir / "socket"
        if len(os.fsencode(inside / ".s.PGSQL.65535")) <= LONGEST_SOCKET_PATH:
            return inside
        digest = hashlib.sha256(os.fsencode(self.data_dir)).hexdigest()[:16]
        return Path(f"/tmp/memex-{self.user.uid}-{digest}")  # noqa: S108 - owner and mode are checked before use

    def _refuse_unreachable_parents(self) -> None:
        if self.user.uid == os.geteuid():
            return
        folders = [folder for folder in reversed(self.data_dir.parents) if folder.exists()]
        if self.user.can("-x", folders[-1]):
            return
        closed = next(folder for folder in folders if not self.user.can("-x", folder))
        raise EmbeddedServerError(
            f"The user {self.user.name}, who runs Postgres for root, cannot enter {closed}, "
            f"which is above the data directory {self.data_dir}.",
            hint=f"Set MEMEX_DATA_DIR to a folder that {self.user.name} can reach, such as /var/lib/memex.",
        )

    def take_ownership(self) -> None:
        """Give the folder and its locks to the server's user; only while holding the lock on starting."""
        for name in LOCKS:
            with _open_descriptor(self.data_dir / name, os.O_RDWR | os.O_CREAT) as descriptor:
                self._give(descriptor)
        if not self.cluster.exists():
            with _open_descriptor(self.data_dir, os.O_DIRECTORY) as descriptor:
                os.fchmod(descriptor, 0o700)
                self._give(descriptor)

    def _give(self, descriptor: int) -> None:
        if self.user.uid != os.geteuid():
            os.fchown(descriptor, self.user.uid, self.user.gid)

    @contextmanager
    def lock(self, name: str, mode: int, wait: "Waiter | None" = None) -> Iterator[None]:
        """Hold the lock, `LOCK_EX` or `LOCK_SH`, once it can be had."""
        wait = wait or Waiter(self, name)
        with _open_descriptor(self.data_dir / name, os.O_RDWR | os.O_CREAT) as descriptor:
            while not supervisor.try_lock(descriptor, mode):
                wait.pause()
            yield

    @contextmanager
    def supervisor_lock(self) -> Iterator[int | None]:
        """Hold the supervisor's lock and give its descriptor; None while a supervisor has it."""
        with _open_descriptor(
            self.data_dir / supervisor.SUPERVISOR_LOCK, os.O_RDWR | os.O_CREAT
        ) as descriptor:
            yield descriptor if supervisor.try_lock(descriptor, fcntl.LOCK_EX) else None

    def is_locked(self, name: str) -> bool:
        """Return whether somebody holds the lock exclusively."""
        with suppress(FileNotFoundError), _open_descriptor(self.data_dir / name, os.O_RDWR) as descriptor:
            return not supervisor.try_lock(descriptor, fcntl.LOCK_SH)
        return False

    def write(self, path: Path, text: str) -> None:
        """Put a private file of the server's user at `path`, durably: whole or not at all."""
        unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        try:
            with _open_descriptor(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
                self._give(descriptor)
                os.write(descriptor, text.encode())
                os.fsync(descriptor)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def sync(self) -> None:
        """Make the names in the data directory durable."""
        with _open_descriptor(self.data_dir, os.O_DIRECTORY) as descriptor:
            os.fsync(descriptor)

    @contextmanager
    def open_log(self) -> Iterator[int]:
        """Give a descriptor that appends to the server's log; a long log is put aside first."""
        if self.log_file.exists() and self.log_file.stat().st_size > LONGEST_LOG_BYTES:
            self.log_file.replace(self.data_dir / "server.log.1")
        with _open_descriptor(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as descriptor:
            self._give(descriptor)
            yield descriptor

    def log_tail(self, lines: int) -> str:
        """Return the last lines of the server's log."""
        with suppress(FileNotFoundError), self.log_file.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 8192))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
        return ""

    def make_socket_dir(self) -> Path:
        """Return the folder of the socket, made if absent and without the socket of a server before.

        Its lock file names a pid, which is taken for a postmaster when it is another program's by now.

        Raises:
            EmbeddedServerError: what stands there is not a private folder of the server's user.
        """
        with suppress(FileExistsError):
            self.socket_dir.mkdir(mode=0o700)
        with _open_descriptor(self.socket_dir, os.O_DIRECTORY) as descriptor:
            if os.fstat(descriptor).st_uid == os.geteuid():
                self._give(descriptor)
            about = os.fstat(descriptor)
        if (about.st_uid, stat.S_IMODE(about.st_mode)) != (self.user.uid, 0o700):
            raise EmbeddedServerError(
                f"{self.socket_dir}, the place for the socket, is not a private folder of {self.user.name}.",
                hint="Remove it, or set MEMEX_DATA_DIR to a shorter path.",
            )
        for stale in self.socket_dir.glob(".s.PGSQL.*"):
            stale.unlink()
        return self.socket_dir

    def conninfo(self, state: supervisor.ServerState, role: str) -> str:
        """Return how to connect to the running server as that role, to the database of the same name."""
        return make_conninfo(
            host=str(self.socket_dir),
            port=state["tcp_port"] or PORT_WITHOUT_TCP,
            user=role,
            dbname=role,
            password=(self.data_dir / PASSWORD_FILES[role]).read_text(),
        )

    def accepts_connections(self, state: supervisor.ServerState) -> bool:
        """Return whether the server takes connections at this moment."""
        return PGconn.ping(self.conninfo(state, APPLICATION).encode()) == Ping.OK

    def cluster_major(self) -> str | None:
        """Return the major version of the cluster; None before there is one."""
        with suppress(FileNotFoundError):
            return (self.cluster / "PG_VERSION").read_text().strip()
        return None

    def postmaster_pid(self) -> int | None:
        """Return the pid that `postmaster.pid` names, which may be that of a process long gone."""
        lines = supervisor.read_pid_file(self.data_dir)
        return int(lines[0]) if lines else None

    def running_bin_dir(self) -> Path | None:
        """Return the folder of the program that was started last, as `postmaster.opts` tells it."""
        with suppress(FileNotFoundError):
            return Path((self.cluster / "postmaster.opts").read_text().split(' "')[0]).parent
        return None

    def failure(self, message: str, *, output: str = "") -> EmbeddedServerError:
        """Return the error for a server that does not work, with what a program or else the log says."""
        full = shutil.disk_usage(self.data_dir).free < LOW_DISK_BYTES
        return EmbeddedServerError(
            f"{message} It said:\n{output.strip() or self.log_tail(15)}",
            hint=f"Free some space on the disk of {self.data_dir}." if full else f"See {self.log_file}.",
        )


class Waiter:
    """One wait: short sleeps, a log event when it takes long, and an error when it takes too long."""

    def __init__(self, home: Home, waits_for: str, *, patience_s: float = float("inf")) -> None:
        self._home = home
        self._waits_for = waits_for
        self._patience_s = patience_s
        self._began = self._logged_at = time.monotonic()

    def pause(self) -> None:
        """Sleep until it is time to look again; raises EmbeddedServerError at the end of its patience."""
        now = time.monotonic()
        if now - self._began > self._patience_s:
            raise EmbeddedServerError(
                f"Still waiting for {self._waits_for} after {self._patience_s:.0f} s.",
                hint=f"Wait longer or end them: `ps -fu {self._home.user.name}` shows them.",
            )
        if now - self._logged_at > LOG_WAIT_AFTER_S:
            self._logged_at = now
            log.info(
                "embedded_postgres_waiting",
                waits_for=self._waits_for,
                waited_s=round(now - self._began),
                server_says=self._home.log_tail(1),
            )
        time.sleep(POLL_S)


@contextmanager
def explain_os_errors(data_dir: Path) -> Iterator[None]:
    """Turn what the operating system refuses into an error that says what to do."""
    try:
        yield
    except OSError as error:
        hints = {
            errno.ENOSPC: f"Free some space on the disk of {data_dir}.",
            errno.EROFS: "Set MEMEX_DATA_DIR to a folder that can be written.",
            errno.EACCES: "Set MEMEX_DATA_DIR to a folder of your own, or run as the user that owns it.",
            errno.EPERM: "Run as an ordinary user: this root cannot switch to another user.",
        }
        raise EmbeddedServerError(
            f"The embedded Postgres cannot use {error.filename or data_dir}: {error.strerror}.",
            hint=hints.get(error.errno or 0, ""),
        ) from error


@contextmanager
def _open_descriptor(path: Path, flags: int) -> Iterator[int]:
    # No symlink is followed: root works here in folders of other users.
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _server_user(data_dir: Path) -> ServerUser:
    """Return who runs the server: the owner of the folder, else this user, or a system user for root."""
    me = user_of(os.geteuid(), os.getegid())
    about = data_dir.stat() if data_dir.exists() else None
    if about is None or about.st_uid == 0:
        return me if me.uid else system_user()
    owner = user_of(about.st_uid, about.st_gid)
    if me.uid not in (0, owner.uid):
        raise EmbeddedServerError(
            f"The data directory {data_dir} belongs to the user {owner.name}.",
            hint=f"Run as {owner.name}, or set MEMEX_DATA_DIR to a folder of your own.",
        )
    return owner
