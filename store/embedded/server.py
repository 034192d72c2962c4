"""The default Postgres: one private server per data directory, shared by every process that uses it.

`start` gives a `ServerLease`; the server lives as long as somebody holds one, and not longer. `embedded_home` tells
what lies in the data directory, `embedded_supervisor` how the server is kept and when it is stopped.
"""

import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from memex.errors import EmbeddedServerError
from memex.store.embedded import supervisor
from memex.store.embedded.binaries import ENVIRONMENT, Binaries, find_binaries, usable_binaries, user_of
from memex.store.embedded.home import (
    ADMIN,
    APPLICATION,
    PASSWORD_FILES,
    PORT_WITHOUT_TCP,
    START_LOCK,
    Home,
    Waiter,
    explain_os_errors,
)

LEFTOVER_TIMEOUT_S = 60.0

SETTINGS = """\
# Written by Memex at each start; a change here is lost.
# Acknowledged writes survive a power cut.
fsync = on
synchronous_commit = on
# A small private server.
shared_buffers = 128MB
max_connections = 100
jit = off
log_min_error_statement = panic
log_error_verbosity = terse
max_parallel_workers_per_gather = 0
huge_pages = off
# In files, because systemd removes a user's POSIX shared memory at logout, under a running server.
dynamic_shared_memory_type = mmap
# One user owns server and clients; root, who may be a client too, needs no permission.
unix_socket_permissions = 0700
timezone = 'UTC'
log_timezone = 'UTC'
log_destination = 'stderr'
logging_collector = off
log_checkpoints = off
"""


@dataclass(frozen=True, slots=True)
class ServerLease:
    """A share of the running server, until `close`; the server stops when the last one is given back.

    `conninfo` is for the application's login and database, `admin_conninfo` for the superuser's. Both hold a
    password. The lease ends with its process, however that ends.
    """

    data_dir: Path
    server_version: str
    conninfo: str = field(repr=False)
    admin_conninfo: str = field(repr=False)
    _held: ExitStack = field(repr=False)

    def restart_after_s(self) -> float | None:
        """Return the seconds until the server is started again; None while it takes connections."""
        state = supervisor.read_state(self.data_dir)
        if state is None or state["phase"] == "ready":
            return None
        restart_at_s: float = state["restart_at_s"]
        return max(0.0, restart_at_s - time.monotonic())

    def close(self) -> None:
        """Give the share back; a second time does nothing."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class ServerReport:
    """Facts about a data directory's server, found without starting it; None is what cannot be found."""

    running: bool
    supervisor_alive: bool
    pid: int | None
    version: str | None
    bin_dir: Path | None
    os_user: str | None
    socket_dir: Path | None


def default_data_dir() -> Path:
    """Return the data directory of this user: `~/.memex`, or `/var/lib/memex` for root."""
    return Path("/var/lib/memex") if os.geteuid() == 0 else Path.home() / ".memex"


def start(data_dir: Path, *, bin_dir: Path | None = None, port: int | None = None) -> ServerLease:
    """Return a lease on the server of `data_dir`, which is started, and first made, if need be.

    It blocks as long as the server makes progress: crash recovery has no time limit. Calling it again mends a
    server whose supervisor was killed, and the connection settings stay as they were.

    Args:
        data_dir: made if absent. As root, every folder above it must let the system user `memex` through.
        bin_dir: the folder of the Postgres programs; None for those of an installed provider.
        port: where the server listens on 127.0.0.1 besides its socket; None for no TCP.

    Raises:
        EmbeddedServerError: the server cannot be started or joined; the hint says how to go on.
    """
    data_dir = data_dir.expanduser().resolve()
    with ExitStack() as held, explain_os_errors(data_dir):
        home = Home.adopt(data_dir)
        with home.lock(START_LOCK, fcntl.LOCK_EX):
            home.take_ownership()
            # Waits for the end of a stop under way; once it is ours, nobody begins another.
            held.enter_context(home.lock(supervisor.CLIENTS_LOCK, fcntl.LOCK_SH))
            state = _serve(home, bin_dir, port)
        return ServerLease(
            data_dir=data_dir,
            server_version=state["server_version"],
            conninfo=home.conninfo(state, APPLICATION),
            admin_conninfo=home.conninfo(state, ADMIN),
            _held=held.pop_all(),
        )


def inspect(data_dir: Path) -> ServerReport:
    """Return what can be said of the server of `data_dir`; starts, makes and waits for nothing.

    Raises:
        EmbeddedServerError: this user may not look into the folder.
    """
    data_dir = data_dir.expanduser().resolve()
    with explain_os_errors(data_dir):
        if not (data_dir / START_LOCK).exists():
            return ServerReport(False, False, None, None, None, None, None)
        about = data_dir.stat()
        home = Home(data_dir, user_of(about.st_uid, about.st_gid))
        running = home.is_locked(supervisor.SERVER_LOCK)
        supervisor_alive = home.is_locked(supervisor.SUPERVISOR_LOCK)
        state = supervisor.read_state(data_dir) if supervisor_alive else None
        return ServerReport(
            running=running,
            supervisor_alive=supervisor_alive,
            pid=home.postmaster_pid() if running else None,
            version=state["server_version"] if state else home.cluster_major(),
            bin_dir=home.running_bin_dir() if running else None,
            os_user=home.user.name,
            socket_dir=home.socket_dir if running else None,
        )


def _serve(home: Home, bin_dir: Path | None, port: int | None) -> supervisor.ServerState:
    """Return the state of the server when it takes connections; without a supervisor one is started."""
    spawned = False
    until_ready, until_gone = Waiter(home, "the server to be ready"), _leftovers(home)
    while True:
        with home.supervisor_lock() as free_lock:
            if free_lock is not None:
                if spawned:
                    raise home.failure("The embedded Postgres cannot be kept running.")
                _spawn(home, bin_dir, port, free_lock)
                spawned = True
        state = supervisor.read_state(home.data_dir)
        if state and state["phase"] == "failed":
            raise home.failure("The embedded Postgres cannot start.")
        if state and state["phase"] == "ready" and home.accepts_connections(state):
            break
        if state and state["phase"] == "waiting":
            until_gone.pause()
        else:
            until_ready.pause()
            until_gone = _leftovers(home)
    if port not in (None, state["tcp_port"]):
        raise EmbeddedServerError(
            f"The embedded Postgres already runs, and not on port {port}.",
            hint="Stop the programs that use it first, or leave the port out.",
        )
    return state


def _spawn(home: Home, bin_dir: Path | None, port: int | None, supervisor_lock: int) -> None:
    """Start a supervisor, which gets the lock; before that make all ready for the server it will start."""
    _clear_leftovers(home)
    binaries = usable_binaries(find_binaries(bin_dir), home.user, home.data_dir / "bin")
    _refuse_other_major(home, binaries, port or PORT_WITHOUT_TCP)
    if not home.cluster.exists():
        _create_cluster(home, binaries)
    home.write(home.cluster / "memex.conf", SETTINGS)
    plan = supervisor.SupervisorArguments(
        data_dir=str(home.data_dir),
        command=[
            *(str(binaries.bin_dir / "postgres"), "-D", str(home.cluster), "-k", str(home.make_socket_dir())),
            *("-p", str(port or PORT_WITHOUT_TCP)),
            *("-c", f"listen_addresses={'127.0.0.1' if port else ''}"),
        ],
        uid=home.user.uid,
        gid=home.user.gid,
        supervisor_lock=supervisor_lock,
        server_version=binaries.version,
        tcp_port=port,
    )
    first = supervisor.ServerState(
        phase="starting",
        supervisor_pid=0,
        server_pid=None,
        server_version=binaries.version,
        tcp_port=port,
        restart_at_s=time.monotonic(),
    )
    supervisor.write_state(supervisor_lock, first)
    with home.open_log() as output:
        subprocess.run(
            [sys.executable, "-I", "-S", supervisor.__file__, json.dumps(plan)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[supervisor_lock],
            env=ENVIRONMENT,
            cwd="/",
            check=False,  # what went wrong stands in the log, and the lock is free again
        )


def _leftovers(home: Home) -> Waiter:
    return Waiter(home, "processes of a killed Postgres to end", patience_s=LEFTOVER_TIMEOUT_S)


def _clear_leftovers(home: Home) -> None:
    """Stop a server whose supervisor was killed, and wait until none of its processes is left."""
    if (pid := home.postmaster_pid()) and _works_in(pid, home.cluster):
        if not home.is_locked(supervisor.SERVER_LOCK):
            raise EmbeddedServerError(
                f"A Postgres that Memex did not start (pid {pid}) runs on {home.cluster}.",
                hint="Stop it first.",
            )
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)
    with home.lock(supervisor.SERVER_LOCK, fcntl.LOCK_EX, _leftovers(home)):
        # The pid may be a zombie's, or another program's by now, which Postgres takes for a postmaster.
        if (pid := home.postmaster_pid()) and _is_alive(pid):
            (home.cluster / "postmaster.pid").unlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _works_in(pid: int, folder: Path) -> bool:
    """Return whether the process has `folder` as its current one, as the postmaster of a cluster has."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cwd").readlink() == folder
        except OSError:
            return False
    command = subprocess.run(
        ["ps", "-o", "command=", "-p", str(pid)], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    return "postgres" in command.stdout


def _refuse_other_major(home: Home, binaries: Binaries, port: int) -> None:
    """Raise when the cluster was made by another major version, which these programs cannot read.

    The hint works as the superuser, because row-level security hides rows from the application's login.
    """
    major = home.cluster_major()
    if major in (None, binaries.major):
        return
    old, data_dir = f"/path/to/postgresql-{major}/bin", home.data_dir
    new = binaries.bin_dir
    login = f"-h {home.socket_dir} -p {port} -U {ADMIN}"
    password = f"export PGPASSWORD=$(cat {data_dir / PASSWORD_FILES[ADMIN]})"
    raise EmbeddedServerError(
        f"The data in {data_dir} is of PostgreSQL {major}; the programs in {binaries.bin_dir} are of "
        f"PostgreSQL {binaries.version}.",
        hint=f"""\
Go on with PostgreSQL {major} by setting PG_BIN_DIR={old}, or move the data over.
While the old server runs (PG_BIN_DIR={old} memex serve), dump the database in another terminal:
  {password}
  {old}/pg_dump {login} -Fc -f memex.dump {APPLICATION}
Stop the old server and put its data aside (mv {data_dir} {data_dir}.{major}).
While the new server runs (memex serve), replace its empty database:
  {password}
  {new}/dropdb {login} --force {APPLICATION}
  {new}/createdb {login} --owner {APPLICATION} {APPLICATION}
  {new}/pg_restore {login} --exit-on-error -d {APPLICATION} memex.dump
Then start memex serve anew.""",
    )


def _create_cluster(home: Home, binaries: Binaries) -> None:
    """Make the cluster with the application's login and database; whole and on disk, it gets its name."""
    if not home.user.is_named:
        raise EmbeddedServerError(
            f"The user id {home.user.uid} has no name on this system, and initdb requires one.",
            hint="Run as a user that /etc/passwd names (in Memex's image 10001), or use your own server with "
            "DATABASE_URL.",
        )
    for left in home.data_dir.glob("unfinished-*"):
        shutil.rmtree(left, ignore_errors=True)
    cluster = home.data_dir / f"unfinished-{secrets.token_hex(4)}"
    passwords = {role: secrets.token_urlsafe(24) for role in PASSWORD_FILES}
    for role, password in passwords.items():
        home.write(home.data_dir / PASSWORD_FILES[role], password)

    _initdb(home, binaries, cluster)
    postgresql_conf = cluster / "postgresql.conf"
    home.write(postgresql_conf, postgresql_conf.read_text() + "\ninclude_if_exists 'memex.conf'\n")
    _run_setup_command(
        home,
        (binaries.bin_dir / "postgres", "--single", "-c", "exit_on_error=on", "-D", cluster, ADMIN),
        stdin=f"create role {APPLICATION} login createrole password '{passwords[APPLICATION]}'\n"
        f"create database {APPLICATION} owner {APPLICATION}\n",
    )
    _run_setup_command(home, (binaries.bin_dir / "initdb", "--sync-only", "-D", cluster))
    cluster.rename(home.cluster)
    home.sync()


def _initdb(home: Home, binaries: Binaries, cluster: Path) -> None:
    """Make an empty cluster with the locale C.UTF-8; C where the system lacks it, which sorts the same."""
    initdb, password_file = binaries.bin_dir / "initdb", home.data_dir / PASSWORD_FILES[ADMIN]
    login = ("-U", ADMIN, "-A", "scram-sha-256", "--pwfile", password_file)
    common = (initdb, "-D", cluster, *login, "-E", "UTF8", "--no-sync", "--no-instructions")
    try:
        _run_setup_command(home, (*common, "--locale=C.UTF-8"))
    except EmbeddedServerError as error:
        if "invalid locale" not in error.message:
            raise
        _run_setup_command(home, (*common, "--locale=C"))


def _run_setup_command(home: Home, command: Sequence[str | Path], *, stdin: str = "") -> None:
    done = home.user.run(command, stdin=stdin)
    if done.returncode != 0:
        raise home.failure(f"{Path(command[0]).name} could not make the cluster.", output=done.stderr)
