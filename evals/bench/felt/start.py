"""The time of the service to its first answer over notes that are there already, and the time of commands."""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from psycopg.conninfo import make_conninfo

from memex.evals.bench.felt.http_client import HttpRequest
from memex.evals.bench.felt.measuring import MeasuredService
from memex.evals.bench.felt.operations import Requests
from memex.evals.bench.felt.processes import (
    ServiceProcess,
    clean_environment,
    memex_service,
    plain_service,
)
from memex.evals.bench.felt.report import seconds_table
from memex.evals.bench.felt.scene import PLAIN_DATABASE
from memex.evals.bench.workbench import console
from memex.store.embedded import server as embedded

STOP_POLL_S = 0.02
QUESTION = "notes about the workspace"


@dataclass(slots=True)
class Seconds:
    """The seconds that a start or a command took, a sample a round. CPU is that of its processes but Postgres."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def row(self) -> tuple[float, float, float]:
        """Return the median and the least of the wall time, and the median of the CPU time."""
        return statistics.median(self.wall), min(self.wall), statistics.median(self.cpu)


async def bench_start_felt(data_dir: Path, requests: Requests, *, rounds: int) -> None:
    """Start both services on a data folder again and again, run commands, and print what they took.

    Args:
        data_dir: the folder of an embedded server that holds the notes of both services and that nobody uses.
        requests: those of a user of these notes.
        rounds: how often each is started.
    """
    ours = requests.tool("memory_find", query=QUESTION)
    theirs = requests.plain("find", query=QUESTION)
    cold, plain, help_text, asked = (Seconds() for _ in range(4))
    for _ in range(rounds):
        await_stop(data_dir)
        await _first_answer(lambda: memex_service(data_dir, requests.key), ours, cold)
    with embedded.start(data_dir) as lease:
        conninfo = make_conninfo(lease.conninfo, dbname=PLAIN_DATABASE)
        for _ in range(rounds):
            await _first_answer(lambda: plain_service(conninfo, requests.key), theirs, plain)
        with memex_service(data_dir, requests.key) as served:
            for _ in range(rounds):
                _run_command(["--help"], {}, help_text)
                remote = {"MEMEX_URL": served.url, "MEMEX_API_KEY": requests.key}
                _run_command(["find", QUESTION, "--user", requests.user_id], remote, asked)
    await_stop(data_dir)
    measured = {
        "memex serve, with its Postgres, to the first answer": cold,
        "[dim]  plain service, without its Postgres[/]": plain,
        "memex --help": help_text,
        "memex find, which asks a service": asked,
    }
    console.print(seconds_table("start", {name: seconds.row() for name, seconds in measured.items()}), "")


def await_stop(data_dir: Path) -> None:
    """Wait until the embedded server of a folder has stopped, once nobody uses it."""
    while embedded.inspect(data_dir).running:
        time.sleep(STOP_POLL_S)


async def _first_answer(
    start: Callable[[], AbstractContextManager[ServiceProcess]], request: HttpRequest, into: Seconds
) -> None:
    started = time.perf_counter()
    with start() as process:
        await MeasuredService(process).send([request])
        into.wall.append(time.perf_counter() - started)
        into.cpu.append(process.cpu_s)


def _run_command(arguments: list[str], variables: dict[str, str], into: Seconds) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "memex", *arguments],
        env=clean_environment() | variables,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    into.wall.append(time.perf_counter() - started)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    into.cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
