"""The time of the service to its first answer, and the memory that it holds."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from memex.evals.bench.workbench import RandomText, console, shared_mb, tree_of
from memex.evals.fixtures.data_folder import temporary_data_folder

HEAVY_LIBRARIES = (
    "fastapi, uvicorn, psycopg, psycopg_pool, pydantic_settings, structlog, markdown_it, Stemmer, yaml"
)
CALLS = 300


@dataclass(frozen=True, slots=True)
class ServedProcess:
    """A service in a process of its own."""

    pid: int
    url: str
    key: str

    def call(self, tool: str, arguments: dict[str, Any]) -> None:
        """Run a tool over HTTP."""
        call = {"context": {"userId": "bench"}, "arguments": arguments}
        request = urllib.request.Request(  # noqa: S310  # our own server
            f"{self.url}/v1/tools/{tool}/execute",
            json.dumps(call).encode(),
            {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310  # our own server
            answer.read()


def bench_start(*, rounds: int) -> None:
    """Time from starting `memex serve` to its first answer, cold and warm, beside bare imports; and its memory."""
    imports, cold, warm = [], [], []
    memory: dict[str, list[float]] = {"first answer": [], f"{CALLS} writes and {CALLS} finds": []}
    for number in range(rounds):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {HEAVY_LIBRARIES}"], check=True)
        imports.append(time.perf_counter() - started)
        with temporary_data_folder() as folder:
            started = time.perf_counter()
            with _serve(folder) as served:
                served.call("memory_find", {"query": "anything"})
                cold.append(time.perf_counter() - started)
                key = served.key
            started = time.perf_counter()
            with _serve(folder, key) as served:
                served.call("memory_find", {"query": "anything"})
                warm.append(time.perf_counter() - started)
                if number == 0:
                    _load(served, folder, memory)
    table = Table("start to first answer", "median s", "min s", "max s", title_justify="left")
    for name, samples in (("bare import of the same libraries", imports), ("cold", cold), ("warm", warm)):
        values = (statistics.median(samples), min(samples), max(samples))
        table.add_row(name, *(f"{value:.2f}" for value in values))
    held = Table("memory of the service after", "service, MB", "its Postgres, MB", title_justify="left")
    for name, figures in memory.items():
        held.add_row(name, *(f"{value:.0f}" for value in figures))
    console.print(table, held, "", sep="\n")


def _load(served: ServedProcess, folder: Path, memory: dict[str, list[float]]) -> None:
    text = RandomText()
    for name, figures in memory.items():
        figures.extend(_memory_mb(served, folder))
        if name == "first answer":
            for number in range(CALLS):
                served.call("memory_write", {"path": f"user/{number}.md", "content": text.file()})
                served.call("memory_find", {"query": " ".join(text.words(5))})


def _memory_mb(served: ServedProcess, folder: Path) -> tuple[float, float]:
    """Return the memory of all processes of the service, and of the server in its folder."""
    [pid_file] = folder.rglob("postmaster.pid")
    postmaster = int(pid_file.read_text(encoding="utf-8").splitlines()[0])
    servers = set(tree_of(postmaster))
    return shared_mb(pid for pid in tree_of(served.pid) if pid not in servers), shared_mb(servers)


@contextmanager
def _serve(folder: Path, key: str | None = None) -> Iterator[ServedProcess]:
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    command = [sys.executable, "-m", "memex", "serve", "--json", "--port", "0", "--data-dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    try:
        assert process.stdout is not None  # noqa: S101  # a pipe was asked for
        ready = json.loads(process.stdout.readline())
        yield ServedProcess(process.pid, ready["url"], str(ready.get("agent_key") or key))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
