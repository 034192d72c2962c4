"""The process that owns one embedded Postgres: starts it, starts it again, stops it after the last client.

`embedded.start` runs this file by its path, with `python -I -S`: it imports nothing of Memex and little of
the standard library, and all of that before it gives up root, as the server's user may not reach this Python.

Three files in the data directory are there to be locked (flock); no list of pids is kept anywhere:

- `clients.lock`, shared by every lease. Who gets it exclusively knows that no client is left, and a client
  that comes while the server stops waits for it.
- `supervisor.lock`, exclusive to this process, which is born with it. Its text is the `ServerState`.
- `server.lock`, held by the postmaster and, as they inherit it, by each of its backends, and by nobody else.
  While it is taken some process of the server lives, whatever `postmaster.pid` says.
"""

import ctypes
import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn, TypedDict

CLIENTS_LOCK = "clients.lock"
SUPERVISOR_LOCK = "supervisor.lock"
SERVER_LOCK = "server.lock"
CLUSTER = "pg"

STATE_BYTES = 512
STARTING_POLL_S = 0.01
SERVING_POLL_S = 0.25
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
STEADY_AFTER_S = 30.0
FAST_SHUTDOWN_S = 60.0
PR_SET_PDEATHSIG = 1


class ServerState(TypedDict):
    """The supervisor's report on the server; true only while `supervisor.lock` is taken.

    `phase` is `waiting` (there is no server: processes of the one before may have to end first), `starting`,
    `ready`, or `failed` (it exited before it was ready; another attempt follows). `restart_at_s` is when the next
    attempt begins, or the last one began, by the clock of `time.monotonic`, which all processes share.
    """

    phase: str
    supervisor_pid: int
    server_pid: int | None
    server_version: str
    tcp_port: int | None
    restart_at_s: float


class SupervisorArguments(TypedDict):
    """The arguments from `embedded.start`: the command to keep running, as whom, and the lock to hold."""

    data_dir: str
    command: list[str]
    uid: int
    gid: int
    supervisor_lock: int
    server_version: str
    tcp_port: int | None


def open_lock(path: Path) -> int:
    """Return a descriptor of the lock file, made if absent; a symlink is refused."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def try_lock(descriptor: int, mode: int) -> bool:
    """Take the lock if it is free, and say whether it was; `mode` is `LOCK_EX` or `LOCK_SH`."""
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_state(supervisor_lock: int, state: ServerState) -> None:
    """Write the state over the one before, in place, so that a full disk does not stop it."""
    os.pwrite(supervisor_lock, json.dumps(state).encode().ljust(STATE_BYTES), 0)


def read_state(data_dir: Path) -> ServerState | None:
    """Return the last state written; None when there is none or it is being written."""
    try:
        state: ServerState = json.loads((data_dir / SUPERVISOR_LOCK).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return state


def read_pid_file(data_dir: Path) -> list[str]:
    """Return the lines of `postmaster.pid`: the pid first, the status eighth; none without the file.

    Source: the PostgreSQL manual, "Database File Layout".
    """
    try:
        return (data_dir / CLUSTER / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []


class Supervisor:
    """One server and the loop that keeps it as long as there are clients."""

    def __init__(self, plan: SupervisorArguments) -> None:
        self._plan = plan
        self._data_dir = Path(plan["data_dir"])
        self._server: int | None = None
        self._told_to_stop = False
        self._start_at = 0.0
        self._libc = ctypes.CDLL(None)

    def run(self) -> None:
        """Keep the server running until the last client is gone, then stop it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop_soon)
        clients = open_lock(self._data_dir / CLIENTS_LOCK)
        ready_at: float | None = None
        pause_s = FIRST_PAUSE_S

        while not (self._told_to_stop or try_lock(clients, fcntl.LOCK_EX)):
            now = time.monotonic()
            if self._server is None:
                if now >= self._start_at:
                    self._launch()
            elif self._has_exited():
                steady = ready_at is not None and now - ready_at > STEADY_AFTER_S
                pause_s = FIRST_PAUSE_S if steady else min(2 * pause_s, LONGEST_PAUSE_S)
                self._start_at = now + pause_s
                self._report("failed" if ready_at is None else "waiting")
                ready_at = None
            elif ready_at is None and self._is_ready():
                ready_at = now
                self._report("ready")
            time.sleep(STARTING_POLL_S if ready_at is None else SERVING_POLL_S)

        # `clients` stays open until the process ends: a new client waits for the end of the stop.
        self._stop()
        self._report("waiting")

    def _stop_soon(self, *_: object) -> None:
        self._told_to_stop = True

    def _report(self, phase: str) -> None:
        write_state(
            self._plan["supervisor_lock"],
            ServerState(
                phase=phase,
                supervisor_pid=os.getpid(),
                server_pid=self._server,
                server_version=self._plan["server_version"],
                tcp_port=self._plan["tcp_port"],
                restart_at_s=self._start_at,
            ),
        )

    def _launch(self) -> None:
        """Start the postmaster, unless a process of the one before still holds the server's lock."""
        server_lock = open_lock(self._data_dir / SERVER_LOCK)
        if try_lock(server_lock, fcntl.LOCK_EX):
            supervisor = os.getpid()
            self._server = os.fork()
            if self._server == 0:
                self._become_server(server_lock, supervisor)
            self._report("starting")
        # Closed, not unlocked: the lock goes on as long as the server's copies of it.
        os.close(server_lock)

    def _become_server(self, server_lock: int, supervisor: int) -> NoReturn:
        """Turn this new child into the postmaster."""
        try:
            if sys.platform == "linux":
                # A fast shutdown if the supervisor is killed: else nobody would ever stop the server.
                self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGINT, 0, 0, 0)
            if os.getppid() == supervisor:
                os.set_inheritable(server_lock, True)
                os.execv(self._plan["command"][0], self._plan["command"])  # noqa: S606 - no shell wanted
        except OSError as error:
            os.write(2, f"Cannot run {self._plan['command'][0]}: {error.strerror}\n".encode())
        finally:
            os._exit(127)

    def _has_exited(self) -> bool:
        if self._server is not None and os.waitpid(self._server, os.WNOHANG) != (0, 0):
            self._server = None
        return self._server is None

    def _is_ready(self) -> bool:
        lines = read_pid_file(self._data_dir)
        return len(lines) >= 8 and lines[0] == str(self._server) and lines[7].strip() == "ready"

    def _stop(self) -> None:
        """Stop the server by a fast shutdown; if that takes too long by one that costs a recovery."""
        deadline = time.monotonic() + FAST_SHUTDOWN_S
        number: signal.Signals | None = signal.SIGINT
        while not (self._server is None or self._has_exited()):
            if number is not None:
                os.kill(self._server, number)
                number = None
            if time.monotonic() > deadline:
                number, deadline = signal.SIGQUIT, float("inf")
            time.sleep(STARTING_POLL_S)


def main() -> None:
    """Leave the caller's session, become the server's user, and supervise."""
    plan: SupervisorArguments = json.loads(sys.argv[1])
    os.set_inheritable(plan["supervisor_lock"], False)
    if os.fork():
        os._exit(0)
    os.setsid()
    os.umask(0o077)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if os.geteuid() != plan["uid"]:
        os.setgroups([])
        os.setgid(plan["gid"])
        os.setuid(plan["uid"])
    Supervisor(plan).run()


if __name__ == "__main__":
    main()
