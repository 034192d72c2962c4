"""A Postgres server that a test owns: it starts, kills, freezes and promotes it, and makes standbys of it."""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo
from tests.faults.rig.ports import free_port

from memex.store.embedded.binaries import ServerUser, find_binaries, system_user, usable_binaries, user_of

PATIENCE_S = 180.0
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "100",
    "wal_level": "replica",
    "max_wal_senders": "5",
    "hot_standby": "on",
    "wal_keep_size": "256MB",
    "restart_after_crash": "on",
    "jit": "off",
}
LOGIN, DATABASE = "memex", "memex"


@dataclass
class PostgresServer:
    """A cluster in a folder, on a port of this machine, with the database and the login `memex`."""

    folder: Path
    bin_dir: Path
    user: ServerUser
    port: int
    password: str
    settings: dict[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def admin(self) -> str:
        """The superuser's conninfo."""
        return make_conninfo(
            host="127.0.0.1", port=self.port, user="postgres", password=self.password, dbname="postgres"
        )

    def url(self, port: int | None = None) -> str:
        """Return the URL of the database for the login of the service, perhaps by way of a proxy's port."""
        return f"postgresql://{LOGIN}:{self.password}@127.0.0.1:{port or self.port}/{DATABASE}"

    def start(self, *, wrapper: Sequence[str] = (), awaits_answer: bool = True) -> None:
        """Start the server and return once it answers.

        Args:
            wrapper: a command that runs the server, such as `fiu-run`.
            awaits_answer: false to return at once; the server may never answer.
        """
        settings = [f"-c{name}={value}" for name, value in {**SETTINGS, **self.settings}.items()]
        folders = ["-D", str(self.data), "-k", str(self.folder), "-p", str(self.port)]
        command = [*wrapper, str(self.bin_dir / "postgres"), *folders, *settings]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
                **self._become(),
            )
        if awaits_answer:
            self.await_answer()

    def await_answer(self) -> None:
        """Return once the server takes connections."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                psycopg.connect(self.admin, connect_timeout=5).close()
            except psycopg.OperationalError:
                assert self.process is None or self.process.poll() is None, self.log()
                assert time.monotonic() < deadline, self.log()
                time.sleep(0.05)
            else:
                return

    def pids(self) -> list[int]:
        """Return the postmaster's process id, and those of its children."""
        if self.process is None or self.process.poll() is not None:
            return []
        postmaster = self.process.pid
        if (found := self._pid_file()) is not None:
            postmaster = found
        return [postmaster, *_children(postmaster)]

    def kill(self) -> None:
        """Kill all processes of the server at the same moment, as the loss of the machine would."""
        pids = self.pids()
        for number in (signal.SIGSTOP, signal.SIGKILL):  # none of them sees that another one has gone
            for pid in reversed(pids):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
        self._await_end()

    def freeze(self) -> list[int]:
        """Stop all processes of the server where they are; return them for `thaw`."""
        pids = self.pids()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        return pids

    @staticmethod
    def thaw(pids: Sequence[int]) -> None:
        """Let stopped processes go on."""
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def stop(self) -> None:
        """Shut the server down in order, or kill it if that fails."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.kill(self._pid_file() or self.process.pid, signal.SIGINT)
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process = None

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "promote", "-D", str(self.data), "-w")

    def follow(self, primary: "PostgresServer") -> None:
        """Start a stopped server again as a standby of another one: it takes no writes any more."""
        followed = make_conninfo(primary.admin, dbname=None)
        with (self.data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"primary_conninfo = '{followed}'\n")
        (self.data / "standby.signal").touch()
        self.start()

    def standby(self, name: str) -> "PostgresServer":
        """Return a standby that replays what this server writes; it is not started."""
        made = PostgresServer(
            self.folder.parent / name,
            self.bin_dir,
            self.user,
            free_port(),
            self.password,
            dict(self.settings),
        )
        _make_folder(made.folder, self.user)
        source = make_conninfo(self.admin, application_name=name, dbname=None)
        self._run("pg_basebackup", "-D", str(made.data), "-d", source, "-R", "-c", "fast", "-X", "stream")
        return made

    def execute(self, statement: str, *, dbname: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement as the superuser, and return its rows."""
        with psycopg.connect(make_conninfo(self.admin, dbname=dbname), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def log(self) -> str:
        """Return the last lines of the server's log."""
        return (self.folder / "log").read_text(errors="replace")[-4_000:]

    def _pid_file(self) -> int | None:
        with suppress(OSError, ValueError, IndexError):
            return int((self.data / "postmaster.pid").read_text().splitlines()[0])
        return None

    def _await_end(self) -> None:
        if self.process is not None:
            self.process.wait(PATIENCE_S)
            self.process = None
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.bin_dir / program), *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            check=False,
            **self._become(),
        )
        assert done.returncode == 0, done.stderr

    def _become(self) -> dict[str, object]:
        if os.geteuid() != 0:
            return {}
        return {"user": self.user.uid, "group": self.user.gid, "extra_groups": []}


@contextmanager
def new_server(folder: Path, **settings: str) -> Iterator[PostgresServer]:
    """Make a cluster with the login and the database of Memex, start it, and stop it at the end."""
    user = system_user() if os.geteuid() == 0 else user_of(os.geteuid(), os.getegid())
    _make_folder(folder, user)
    binaries = usable_binaries(find_binaries(None), user, folder)
    server = PostgresServer(folder, binaries.bin_dir, user, free_port(), secrets.token_hex(12), settings)
    password_file = folder / "password"
    password_file.write_text(server.password)
    password_file.chmod(0o644)
    server._run(
        *(
            "initdb",
            "-D",
            str(server.data),
            "-U",
            "postgres",
            "-A",
            "scram-sha-256",
            "--pwfile",
            str(password_file),
        ),
        *("-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"),
    )
    server.start()
    server.execute(f"create role {LOGIN} login createrole password '{server.password}'")
    server.execute(f"create database {DATABASE} owner {LOGIN}")
    try:
        yield server
    finally:
        server.stop()


def _make_folder(folder: Path, user: ServerUser) -> None:
    folder.mkdir(parents=True)
    if os.geteuid() == 0:
        os.chown(folder, user.uid, user.gid)


def _children(parent: int) -> list[int]:
    """Return the processes whose parent is `parent`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(stat.parent.name))
    return found
