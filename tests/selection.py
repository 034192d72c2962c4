"""Which tests a run takes: `make test-fast`, `make test`, a share of the slow tests, or `make test-all`."""

import re
import sys
import zlib
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests import measured_times

TESTS = Path(__file__).parent
SERVERS = ("embedded", "stock")

# What Python says before it starts a process, or before it connects: see "Audit events table" in its manual.
PROCESSES = {"subprocess.Popen", "os.fork", "os.posix_spawn", "os.system"}
CONNECTIONS = {"socket.connect", "socket.bind"}

# The fixtures that start a server or a process. Whatever needs one of them is not a fast test.
STARTED = {"server", "server_folder", "embedded_server", "stock_server", "model_server", "provider", "forked"}


class NotFast(BaseException):
    """A test that should be fast starts something; no code under test catches this by accident."""


@dataclass(frozen=True, slots=True)
class Share:
    """One of `count` shares of the slow tests that take equally long; `number` counts from 0."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Share":
        """Return the share that `2/5` names: the second of five."""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise pytest.UsageError(f"--slow-share takes a share such as 2/5, not {text!r}")
        return cls(int(found[1]) - 1, int(found[2]))

    def of(self, nodeids: Iterable[str]) -> set[str]:
        """Return those of all slow tests that belong to this share."""
        return measured_times.shares(nodeids, self.count)[self.number]


class NoProcess:
    """A plugin of pytest that fails a test of `make test-fast` which starts a process or opens a connection."""

    def __init__(self) -> None:
        self.is_testing = False
        sys.addaudithook(self._audit)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Watch while a test runs."""
        self.is_testing = True
        try:
            return (yield)
        finally:
            self.is_testing = False

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        is_connection = event in CONNECTIONS and isinstance(arguments[1], tuple)
        if self.is_testing and (is_connection or event in PROCESSES):
            raise NotFast(f"{event} in a fast test: mark it with @pytest.mark.process")


def add_options(parser: pytest.Parser) -> None:
    """Add the options that choose tests."""
    group = parser.getgroup("memex", "which tests run")
    group.addoption("--all", action="store_true", help="Run slow tests too, and each test on both servers.")
    group.addoption("--fast", action="store_true", help="Run only tests that start no server and no process.")
    group.addoption(
        "--faults",
        choices=["short", "full"],
        help="Run also the tests under faults, or a short part of each and no others.",
    )
    group.addoption(
        "--cases",
        type=int,
        default=20_000,
        help="How many generated requests the full run under faults sends.",
    )
    group.addoption(
        "--write-times", action="store_true", help="Measure the tests of this run anew: tests/times.json."
    )
    group.addoption("--slow-share", metavar="K/N", help="Run one share of the slow tests too, such as 2/5.")


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that the options ask for, and report the others as deselected."""
    is_all = config.getoption("--all")
    is_fast = config.getoption("--fast")
    faults = config.getoption("--faults")
    shared = _shared_slow_tests(config, items)
    kept: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        is_kept = _is_on_its_server(item, is_all=is_all) and (
            is_all or faults or not is_slow(item) or item.nodeid in shared
        )
        if faults != "full":  # which runs all tests of its folder
            is_kept = is_kept and (faults == "short") == (item.get_closest_marker("faults") is not None)
        kept[is_kept and (not is_fast or _is_fast(item))].append(item)
    items[:] = kept[True]
    if hasattr(config, "workerinput"):
        measured_times.longest_first(items)
    config.hook.pytest_deselected(items=kept[False])


def begin_apart(config: pytest.Config) -> None:
    """Let each worker of a whole run begin to read the tests at a place of its own.

    On a fresh checkout the tests are compiled while they are read. Workers that read them in the same order would
    compile each file at the same moment; so each finds two thirds of them compiled by the others.
    """
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths"):
        return
    left_out = {config.rootpath / name for name in config.getoption("ignore")}
    parts = [part for part in sorted(TESTS.iterdir()) if part.is_dir() or part.match("test_*.py")]
    parts = [part for part in parts if part not in left_out]
    begin = int(worker["workerid"].removeprefix("gw")) * len(parts) // worker["workercount"]
    config.args[:] = [str(part) for part in parts[begin:] + parts[:begin]]


def is_slow(item: pytest.Item) -> bool:
    """Return whether the test is marked as slow."""
    return item.get_closest_marker("slow") is not None


def server_of(nodeid: str, kind: str) -> str:
    """Return on which server a test runs that could run on each: the same one in each run."""
    name = nodeid.replace(f"[{kind}", "[").replace(f"-{kind}", "")
    return SERVERS[zlib.crc32(name.encode()) % len(SERVERS)]


def _shared_slow_tests(config: pytest.Config, items: list[pytest.Item]) -> set[str]:
    asked = config.getoption("--slow-share")
    if not asked:
        return set()
    share = Share.parse(asked)
    return share.of(item.nodeid for item in items if is_slow(item) and _is_on_its_server(item))


def _is_on_its_server(item: pytest.Item, *, is_all: bool = False) -> bool:
    callspec = getattr(item, "callspec", None)
    kind = callspec.params.get("server") if callspec else None
    if kind in SERVERS and item.get_closest_marker("embedded_only"):
        return bool(kind == "embedded")
    if kind not in SERVERS or is_all or item.get_closest_marker("both_servers"):
        return True
    return bool(kind == server_of(item.nodeid, kind))


def _is_fast(item: pytest.Item) -> bool:
    return not item.get_closest_marker("process") and not STARTED & set(getattr(item, "fixturenames", ()))
