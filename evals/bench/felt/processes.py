"""The processes of a measurement: their start, their CPU time and their memory."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from memex.evals.bench.workbench import process_mb, tree_of

CPU_CLOCK = 2  # of a process, with its ended threads; see clock_getcpuclockid(3) and CPUCLOCK_SCHED of Linux


@dataclass(frozen=True, slots=True)
class ServiceProcess:
    """A service that runs with its workers in processes of their own. `key` is one that it accepts."""

    pid: int
    url: str
    key: str

    @property
    def cpu_s(self) -> float:
        """The seconds that all its processes were on a CPU."""
        return sum(cpu_s(pid) for pid in tree_of(self.pid))

    @property
    def memory_mb(self) -> float:
        """The resident memory of all its processes, what they share counted in each."""
        return sum(process_mb(pid) for pid in tree_of(self.pid))


@dataclass(slots=True)
class Backends:
    """The processes of Postgres that serve the connections to one database."""

    connection: "psycopg.Connection[tuple[int]]"
    database: str

    def cpu_s(self) -> dict[int, float]:
        """Return the seconds that each was on a CPU, by its pid."""
        found = self.connection.execute(
            "select pid from pg_stat_activity where datname = %s and backend_type = 'client backend'",
            [self.database],
        )
        return {pid: cpu_s(pid) for (pid,) in found}


def cpu_s(pid: int) -> float:
    """Return the seconds that a process was on a CPU, in steps of nanoseconds; 0 if there is none."""
    try:
        return time.clock_gettime_ns((~pid << 3) | CPU_CLOCK) / 1e9
    except OSError:
        return 0.0


def clean_environment() -> dict[str, str]:
    """Return the environment of this process without any setting of Memex, and without an embedder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMEX_", "DATABASE_"))}
    return kept | {"MEMEX_EMBEDDER": "none"}


@contextmanager
def memex_service(data_dir: Path, key: str | None = None, **variables: str) -> Iterator[ServiceProcess]:
    """Run `memex serve` on a data folder; `key` is needed unless this start makes the keys."""
    command = ["-m", "memex", "serve", "--json", "--port", "0", "--data-dir", str(data_dir)]
    with _running(command, variables) as (pid, ready):
        yield ServiceProcess(pid, ready["url"], ready.get("agent_key") or key or "")


@contextmanager
def plain_service(conninfo: str, key: str) -> Iterator[ServiceProcess]:
    """Run the plain service on a database."""
    command = ["-m", "memex.evals.bench.felt.plain_service"]
    with _running(command, {"PLAIN_CONNINFO": conninfo, "PLAIN_KEY": key}) as (pid, ready):
        yield ServiceProcess(pid, ready["url"], key)


@contextmanager
def constant_server() -> Iterator[ServiceProcess]:
    """Run the server that answers at once."""
    with _running(["-m", "memex.evals.bench.felt.constant_server"], {}) as (pid, ready):
        yield ServiceProcess(pid, ready["url"], "")


@contextmanager
def _running(arguments: list[str], variables: Mapping[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Run a Python program until the end of the block; it prints a line of JSON when it is ready."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean_environment() | dict(variables),
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101  # a pipe was asked for
            yield process.pid, json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGTERM)
