"""The command as a user has it: a process of its own, over a data directory of its own."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import pytest
from tests.kit import clusters
from tests.kit.forked_commands import Forks, Printing

from memex.cli.group import LazyGroup
from memex.cli.main import command_line
from memex.store.embedded import server as embedded

PROGRAM = [sys.executable, "-c", "from memex.cli.main import main; main()"]
PATIENCE_S = 60


def called(words: Sequence[str]) -> tuple[str, Any]:
    """Return the whole name of the command that a command line calls, and the command."""
    context = command_line().make_context("memex", [*words], resilient_parsing=True)
    while hasattr(context.command, "commands"):
        command = context.command
        rest = [*context._protected_args, *context.args]
        if not rest and not (isinstance(command, LazyGroup) and command.group.default):
            break
        rest = rest or [command.group.default]
        name, below, rest = command.resolve_command(context, rest)
        context = below.make_context(name, rest, parent=context, resilient_parsing=True)
    return context.command_path.removeprefix("memex "), context.command


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Serving:
    """A `memex serve` that takes requests; `ready` is the line that it printed, `log` holds its standard error."""

    process: "subprocess.Popen[str] | Printing"
    ready: dict[str, Any]
    log: IO[str]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Run a tool for the user me with the agent's key of this start."""
        body = {"context": {"userId": "me"}, "arguments": arguments}
        answer: dict[str, Any] = self.request(
            f"/v1/tools/{tool}/execute", key=self.ready["agent_key"], body=body
        )
        return answer

    def request(self, path: str, *, key: str | None = None, body: Any = None) -> Any:
        """Return the JSON answer to a request; raises urllib's HTTPError for a refusal."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.ready["url"] + path, data=data, headers=headers)  # noqa: S310  # http
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:  # noqa: S310  # http
            return json.load(response)

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Ask it to end, and return its exit code and what it printed besides `ready`."""
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, _written(self.log)


def _written(log: IO[str]) -> str:
    log.seek(0)
    return log.read()


@dataclass(frozen=True, slots=True)
class Memex:
    """The command `memex` in an environment, run by the command `within`, if any."""

    environment: Mapping[str, str] = field(repr=False)
    forks: Forks = field(repr=False)
    within: tuple[str, ...] = ()
    module: str = ""  # a measurement that is run in place of `memex`, as by `python -m`

    @property
    def data_dir(self) -> Path:
        """Where its embedded server keeps its data."""
        return Path(self.environment["MEMEX_DATA_DIR"])

    def run(self, *arguments: str, stdin: str | bytes | None = None) -> Done:
        """Run a command to its end, in a pipe; without `stdin` it has none."""
        data = stdin.encode() if isinstance(stdin, str) else stdin or b""
        if not self.within:
            code, out, err = self.forks.run(
                arguments, self.environment, data, timeout_s=PATIENCE_S, module=self.module
            )
            return Done(code, out.decode(), err.decode())
        done = subprocess.run(
            [*self.within, *PROGRAM, *arguments],
            env=self.environment,
            input=data,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def plain(self, *arguments: str, stdin: str | bytes | None = None) -> str:
        """Return what a command prints that succeeds."""
        done = self.run(*arguments, stdin=stdin)
        assert done.code == 0, done.err
        return done.out

    def json(self, *arguments: str, stdin: str | bytes | None = None) -> Any:
        """Return the one JSON document that a command prints with --json."""
        return json.loads(self.plain(*arguments, "--json", stdin=stdin))

    def both(self, *arguments: str) -> tuple[str, Any]:
        """Return what a command that reads prints plain and with --json; both run at once."""
        with ThreadPoolExecutor() as pool:
            plain, document = pool.submit(self.plain, *arguments), pool.submit(self.json, *arguments)
            return plain.result(), document.result()

    def spawn(self, *arguments: str, **options: Any) -> "subprocess.Popen[str]":
        """Start a command with pipes."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [*self.within, *PROGRAM, *arguments]
        return subprocess.Popen(command, env=self.environment, text=True, **pipes | options)

    def on_terminal(self, *arguments: str) -> bytes:
        """Return what a command writes to a terminal of 100 columns."""
        ours, theirs = pty.openpty()
        terminal = {"TERM": "xterm-256color", "COLUMNS": "100"}
        environment = {**self.environment, **terminal}
        written = b""
        with self.forks.started(
            arguments, environment, (theirs, theirs, theirs), timeout_s=PATIENCE_S
        ) as command:
            os.close(theirs)
            try:
                while chunk := os.read(ours, 65_536):
                    written += chunk
            except OSError:  # how Linux says that the other end is closed
                pass
            finally:
                os.close(ours)
            assert command.wait(PATIENCE_S) == 0, written
        return written

    @contextmanager
    def serve(self, *arguments: str, is_forked: bool = False) -> Iterator[Serving]:
        """Run `memex serve --json` on a free port until the end of the block; forked, it starts at once."""
        command = ("serve", "--json", "--port", "0", *arguments)
        with tempfile.TemporaryFile("a+") as log:  # a pipe that nobody reads would stop it in the end
            process = (
                self.forks.spawn(command, self.environment, stderr=log.fileno(), timeout_s=PATIENCE_S)
                if is_forked
                else self.spawn(*command, stderr=log)
            )
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                assert line, _written(log)
                yield Serving(process, json.loads(line), log)
            finally:
                process.kill()
                process.communicate()

    def elsewhere(self, data_dir: Path, **environment: str) -> "Memex":
        """Return the command over another data directory."""
        return replace(self, environment={**self.environment, "MEMEX_DATA_DIR": str(data_dir), **environment})

    def isolated(self, *options: str) -> "Memex":
        """Return the command run by `unshare` with these options; skips the test where that may not be."""
        within = ("unshare", *options, "--")
        if not shutil.which("unshare") or subprocess.run([*within, "true"], check=False).returncode != 0:
            pytest.skip("no namespaces here")
        return replace(self, within=within)


def new_memex(server_folder: Path, forked: Forks) -> Memex:
    """Return the command over a data directory of its own, not made yet."""
    ours = ("MEMEX_", "DATABASE_URL", "PG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    data_dir = server_folder / f"cli-{uuid.uuid4().hex[:8]}"
    ours_now = {"MEMEX_DATA_DIR": str(data_dir), "MEMEX_WORKERS": "1", "MEMEX_EMBEDDER": "none", "TZ": "UTC"}
    return Memex({**kept, **ours_now}, forked)


@pytest.fixture(scope="module")
def memex(server_folder: Path, forked: Forks) -> Memex:
    """The command over a data directory that the tests of a module share, not made yet."""
    return new_memex(server_folder, forked)


@pytest.fixture
def fresh(memex: Memex, server_folder: Path) -> Memex:
    """The command over a data directory of this test's own, not made yet."""
    return memex.elsewhere(server_folder / f"cli-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def prepared(fresh: Memex, made_data_dir: Path) -> Memex:
    """The command over a data directory of this test's own, whose first start was another's."""
    clusters.copy(made_data_dir, fresh.data_dir)
    return fresh


@pytest.fixture(scope="module")
def server_up(memex: Memex, made_data_dir: Path) -> Iterator[None]:
    """Keeps the module's embedded server running, so that each command only joins it."""
    clusters.copy(made_data_dir, memex.data_dir)
    with embedded.start(memex.data_dir):
        yield


@pytest.fixture(scope="module")
def serving(memex: Memex, made_data_dir: Path) -> Iterator[Serving]:
    """A service over the module's data directory; it has no keys before."""
    clusters.copy(made_data_dir, memex.data_dir)
    with memex.serve(is_forked=True) as running:
        yield running
