"""An import in a process of its own, as the command `memex conversations ingest` is one, and what it takes.

It prints a line of JSON: `python -m memex.evals.bench.conversations.importing CONNINFO TENANT_ID USER PATH`.
"""

import argparse
import asyncio
import json
import logging
import os
import resource
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import structlog

from memex.api.ingest.ingest import Ingest, IngestOptions
from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.evals.bench.felt.processes import cpu_s
from memex.evals.bench.workbench import cpu_ns, process_mb, shared_mb, tree_of
from memex.service.service import Service
from memex.store.database import Database
from memex.store.identity.authentication import Principal

MODULE = "memex.evals.bench.conversations.importing"
MAX_FILES = 10_000  # of a user; an import writes none
SAMPLED_S = 0.5  # how often the memory of all processes is read


@dataclass(frozen=True, slots=True)
class ImportRun:
    """The time and memory that an import took.

    Attributes:
        wall_s: from the first file to the report, without the start of the process.
        cpu_s: CPU time of the process and of those that it started.
        backend_s: CPU time of its connection's process in Postgres.
        before_mb: the memory of the process when it began.
        peak_mb: the memory of the process at most.
        tree_mb: the same with the processes that it started, what they share counted once.
        report: the report of the import, as JSON.
    """

    wall_s: float
    cpu_s: float
    backend_s: float
    before_mb: float
    peak_mb: float
    tree_mb: float
    report: dict[str, Any]

    @property
    def all_cpu_s(self) -> float:
        """CPU time of the command and of Postgres."""
        return self.cpu_s + self.backend_s


def start_import(
    conninfo: str, tenant_id: int, user: str, path: Path, *, reparse: bool = False
) -> "subprocess.Popen[str]":
    """Start an import in a process of its own."""
    command = [sys.executable, "-m", MODULE, conninfo, str(tenant_id), user, str(path)]
    return subprocess.Popen(
        [*command, *(["--reparse"] if reparse else [])], stdout=subprocess.PIPE, text=True
    )


def run_import(conninfo: str, tenant_id: int, user: str, path: Path, *, reparse: bool = False) -> ImportRun:
    """Import a file in a process of its own, and return what that took."""
    process = start_import(conninfo, tenant_id, user, path, reparse=reparse)
    printed, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"the import ended with the status {process.returncode}")
    return ImportRun(**json.loads(printed))


class _Sampler(threading.Thread):
    """Reads the memory of this process and of those below it, again and again."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_mb = 0.0
        self._ended = threading.Event()

    def run(self) -> None:
        """Read until the end."""
        while not self._ended.wait(SAMPLED_S):
            self.peak_mb = max(self.peak_mb, shared_mb(_own_tree()))

    def end(self) -> float:
        """Return the largest sum."""
        self._ended.set()
        self.join()
        return self.peak_mb


def _own_tree() -> list[int]:
    return [pid for pid in tree_of(os.getpid()) if "postgres" not in _name(pid)]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8")
    except OSError:
        return ""


async def _import(conninfo: str, tenant_id: int, user: str, path: Path, options: IngestOptions) -> ImportRun:
    database = await Database.open(conninfo, max_connections=1)
    try:
        async with database.connection() as connection:
            backend_pid = connection.info.backend_pid
        api = LocalMemex(Service(database, max_files=MAX_FILES), Principal(tenant_id, "agent"), role="agent")
        command = Ingest(api, CallContext(user_id=user), options)
        before_mb, backend_ns, sampler = process_mb("self"), cpu_ns(backend_pid) or 0, _Sampler()
        sampler.start()
        began, cpu_began = time.perf_counter(), time.process_time()
        report = await command.run([path])
        wall_s = time.perf_counter() - began
        below = sum(cpu_s(pid) for pid in _own_tree() if pid != os.getpid())
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)  # processes that were replaced meanwhile
        return ImportRun(
            wall_s,
            time.process_time() - cpu_began + below + ended.ru_utime + ended.ru_stime,
            ((cpu_ns(backend_pid) or 0) - backend_ns) / 1e9,
            before_mb,
            process_mb("self", "VmHWM"),
            sampler.end(),
            report.document(),
        )
    finally:
        await database.close()


def main() -> None:
    """Import, and print what that took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("conninfo")
    parser.add_argument("tenant_id", type=int)
    parser.add_argument("user")
    parser.add_argument("path", type=Path)
    parser.add_argument("--reparse", action="store_true")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    options = IngestOptions(reparse=given.reparse)
    run = asyncio.run(_import(given.conninfo, given.tenant_id, given.user, given.path, options))
    sys.stdout.write(json.dumps(asdict(run)) + "\n")


if __name__ == "__main__":
    main()
