"""The command without the second that loading it takes: forks of a process that has loaded it once.

Each command is a process of its own as ever, with the environment, the folder and the streams of whoever asks. What
tests the start itself or a terminal runs the program instead.
"""

import array
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from runpy import run_module
from typing import IO, Any, NoReturn

from tests.kit.patterns import read_each_language

LOADED = [
    "memex.api.ingest.ingest",
    "memex.logging",
    "memex.postgres",
    "memex.wiring",
    "memex.evals.evaluation",
    "memex.evals.report.page",
    "memex.mcp.stdio",
]
DEADLINE_S = 120.0  # a busy machine loads the command for long
MESSAGE_BYTES = 1 << 20

# What a shell finds as `memex`: it hands itself over, and ends as the command does.
PROGRAM = """\
#!{python} -IS
import array, json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
    door.connect({door!r})
    asked = json.dumps([sys.argv, dict(os.environ), os.getcwd()]).encode()
    door.sendmsg([asked], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    door.recv(16)  # its process id
    sys.exit(int(door.recv(16)))
"""


@dataclass(slots=True)
class Started:
    """A command that runs: its process id, and the socket that tells how it ends."""

    pid: int
    door: socket.socket
    returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once the command has ended."""
        if self.returncode is None:
            self.door.settimeout(timeout)
            self.returncode = int(self.door.recv(16))
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the command at once."""
        self.send_signal(signal.SIGKILL)


@dataclass(slots=True)
class Printing(Started):
    """A command and what it prints: as much of `subprocess.Popen` as tests need."""

    stdout: IO[str] | None = None

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Return what the command has printed once it has ended."""
        printed = self.stdout.read() if self.stdout and not self.stdout.closed else ""
        self.wait(timeout)
        self.close()
        return printed, None

    def close(self) -> None:
        """Close the pipe and the socket."""
        if self.stdout is not None:
            self.stdout.close()
        self.door.close()


@dataclass(frozen=True, slots=True)
class Forks:
    """Commands from a running process that forks them."""

    door: str

    def run(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        stdin: bytes,
        *,
        timeout_s: float,
        module: str = "",
    ) -> tuple[int, bytes, bytes]:
        """Run a command to its end; return its exit code and what it wrote on its two streams."""
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin)
            given.seek(0)
            streams = (given.fileno(), out.fileno(), err.fileno())
            with self.started(arguments, environment, streams, timeout_s=timeout_s, module=module) as command:
                code = command.wait(timeout_s)
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()

    @contextmanager
    def started(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        *,
        timeout_s: float,
        module: str = "",
    ) -> Iterator[Started]:
        """Start a command with these three streams.

        A `module` is run in place of `memex`, as by `python -m`.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
            yield self._begun(door, arguments, environment, streams, timeout_s=timeout_s, module=module)

    def spawn(
        self, arguments: Sequence[str], environment: Mapping[str, str], *, stderr: int, timeout_s: float
    ) -> Printing:
        """Start a command without input, whose output is a pipe."""
        ours, theirs = os.pipe()
        door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with Path(os.devnull).open("rb") as nothing:
            streams = (nothing.fileno(), theirs, stderr)
            begun = self._begun(door, arguments, environment, streams, timeout_s=timeout_s)
        os.close(theirs)
        return Printing(begun.pid, door, stdout=os.fdopen(ours, encoding="utf-8"))

    def _begun(
        self,
        door: socket.socket,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        streams: tuple[int, int, int],
        *,
        timeout_s: float,
        module: str = "",
    ) -> Started:
        door.settimeout(timeout_s)
        door.connect(self.door)
        asked = json.dumps([[module or "-c", *arguments], dict(environment), str(Path.cwd())]).encode()
        door.sendmsg([asked], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", streams))])
        return Started(int(door.recv(16)), door)

    def program(self, path: Path) -> None:
        """Write the program that asks for the command it is called with."""
        path.write_text(PROGRAM.format(python=sys.executable, door=self.door))
        path.chmod(0o755)


@contextmanager
def loading(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Load the command in a process of its own, for `loaded` of the same folder, and end that with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kit.forked_commands", _door(folder)], env=environment
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def loaded(folder: Path) -> Forks:
    """Return the commands of the process that loads them for this folder, once it takes them."""
    deadline = time.monotonic() + DEADLINE_S
    while not Path(_door(folder)).exists():
        assert time.monotonic() < deadline, "the forking process did not start"
        time.sleep(0.02)
    return Forks(_door(folder))


def _door(folder: Path) -> str:
    return str(folder / "forks.sock")


def serve(path: str) -> NoReturn:
    """Take commands at a socket for ever: a fork for each."""
    from memex.cli.main import command_line

    _import_commands(command_line())
    for name in LOADED:
        import_module(name)
    _read_tables()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path + "~")
    listener.listen(64)
    parent = os.getppid()
    Path(path + "~").rename(path)  # now it takes connections
    asking = selectors.DefaultSelector()
    asking.register(listener, selectors.EVENT_READ)
    while os.getppid() == parent:  # else the run was killed
        for key, _ in asking.select(timeout=1):
            if key.fileobj is listener:
                _begin(asking, listener.accept()[0])
            else:
                _tell_end(asking, key)


def _import_commands(group: Any) -> None:
    for command in group.commands.values():
        if hasattr(command, "commands"):
            _import_commands(command)


def _read_tables() -> None:
    """Read the settings and the tables of the built-in planner, which takes a command longer than its own work."""
    from memex.settings import read_settings

    read_settings()
    read_each_language()
    for name, module in [*sys.modules.items()]:
        load = getattr(module, "_load", None) if name.startswith("memex.subagent.") else None
        if load is not None and not signature(load).parameters:
            load()


def _begin(asking: selectors.BaseSelector, door: socket.socket) -> None:
    """Fork the command that is asked for at this door, and wait for its end beside others."""
    asked, streams, _, _ = socket.recv_fds(door, MESSAGE_BYTES, 3)
    command = os.fork()
    if command == 0:
        for key in [*asking.get_map().values()]:  # sockets and commands of others
            os.close(key.fd)
            if key.data:
                key.data[1].close()
        asking.close()
        door.close()
        _become(*json.loads(asked), streams)
    for stream in streams:
        os.close(stream)
    asking.register(os.pidfd_open(command), selectors.EVENT_READ, (command, door))
    _tell(door, command)


def _tell_end(asking: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    """Tell at the door of a command that has ended how it ended."""
    command, door = key.data
    asking.unregister(key.fileobj)
    os.close(key.fd)
    _, status = os.waitpid(command, 0)
    _tell(door, os.waitstatus_to_exitcode(status))
    door.close()


def _tell(door: socket.socket, number: int) -> None:
    with suppress(OSError):  # whoever asked may be gone
        door.send(str(number).encode())


def _become(arguments: list[str], environment: dict[str, str], folder: str, streams: list[int]) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # for the life of the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv = arguments
    from memex.cli.main import main

    code = 1
    try:
        if arguments[0].startswith("memex.evals."):
            run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001  # here the process ends
        traceback.print_exc()
    finally:
        for file in (sys.stdout, sys.stderr):
            try:
                file.flush()
            except OSError:
                code = code or 1
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
