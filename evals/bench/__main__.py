"""How fast Memex is, beside references measured in the same run. `make bench` runs it.

Machines differ and are noisy, so what counts is the ratio to the reference; every figure is a median (p50) or a
95th percentile over several rounds. The text is random words with the frequencies of English (Zipf-Mandelbrot,
two in five a stop word), so nothing is downloaded; latencies depend on those frequencies, not on the words. The
section `felt` measures the service from outside, over real notes if MEMEX_EVAL_DATA names a folder that has them.
"""

import argparse
import asyncio
import logging
import os
import platform
from collections.abc import Awaitable, Callable
from pathlib import Path

import structlog

from memex.evals.bench.call_pages import CALLS, bench_call_pages
from memex.evals.bench.conversations import bench_conversations
from memex.evals.bench.felt.load import CLIENTS, LoadShape, bench_load
from memex.evals.bench.felt.section import bench_felt, bench_floor
from memex.evals.bench.log import bench_log
from memex.evals.bench.model import bench_model
from memex.evals.bench.pages import FILES, bench_pages
from memex.evals.bench.past import bench_as_of
from memex.evals.bench.search import bench_find, bench_growth, bench_hybrid
from memex.evals.bench.startup import bench_start
from memex.evals.bench.tools import bench_context, bench_import, bench_remember
from memex.evals.bench.workbench import Bench, RandomText, console
from memex.evals.bench.writes import bench_bloat, bench_pending, bench_writes
from memex.evals.fixtures.data_folder import temporary_data_folder
from memex.service.service import Service
from memex.store.database import Database
from memex.store.embedded import server as embedded
from memex.store.identity import tenants
from memex.store.migrate import migrate

SECTIONS = (
    "felt",
    "start",
    "growth",
    "writes",
    "pending",
    "memory",
    "find",
    "hybrid",
    "conversations",
    "as-of",
    "context",
    "log",
    "model",
    "ui",
    "bloat",
)


Sections = Callable[[Bench, argparse.Namespace], Awaitable[None]]


async def _bench_database(arguments: argparse.Namespace, sections: Sections, folder: Path) -> None:
    with embedded.start(folder) as lease:
        await migrate(lease.conninfo, superuser=lease.admin_conninfo)
        database = await Database.open(lease.conninfo, max_connections=1)
        try:
            async with database.connection() as connection:
                pid = connection.info.backend_pid
            tenant_id = await tenants.ensure_tenant(database, "bench")
            bench = Bench(Service(database, max_files=1_000_000), tenant_id, pid, RandomText())
            console.print(f"Postgres {lease.server_version}\n")
            await sections(bench, arguments)
        finally:
            await database.close()


async def _bench_sections(bench: Bench, arguments: argparse.Namespace) -> None:
    rounds, wanted = arguments.rounds, arguments.only
    if "growth" in wanted:  # first: it compares with an empty database
        await bench_growth(bench, rounds=rounds)
    for number in range(arguments.scopes):
        await bench.fill(await bench.caller(f"other-{number}"), [bench.text.file() for _ in range(4)])
    if "writes" in wanted:
        for files in arguments.files:
            await bench_writes(bench, files=files, rounds=rounds)
    if "pending" in wanted:
        await bench_pending(bench, rounds=rounds)
    if "memory" in wanted:
        await bench_remember(bench, rounds=rounds)
        await bench_import(bench, rounds=rounds)
    if "find" in wanted:
        for chunks in arguments.chunks:
            await bench_find(bench, chunks=chunks, rounds=rounds)
    if "hybrid" in wanted:
        await bench_hybrid(bench, chunks=10_000, rounds=rounds, embedder=arguments.embedder)
    if "as-of" in wanted:
        await bench_as_of(bench, files=arguments.as_of_files, rounds=rounds)
    if "context" in wanted:
        for files in arguments.files:
            await bench_context(bench, files=files, rounds=rounds)
    if "log" in wanted:
        await bench_log(bench, files=max(arguments.files), rounds=rounds)
    if "model" in wanted:
        await bench_model(bench, rounds=rounds)
    if "ui" in wanted:
        await bench_pages(bench, files=arguments.ui_files, rounds=rounds)
        await bench_call_pages(bench, calls=arguments.ui_calls, rounds=rounds)


async def _bench_bloat(bench: Bench, arguments: argparse.Namespace) -> None:
    await bench_bloat(bench, edits=arguments.edits)


async def _bench_conversations(bench: Bench, arguments: argparse.Namespace) -> None:
    for messages in arguments.messages:
        await bench_conversations(bench, messages=messages, rounds=arguments.rounds)


async def _bench_felt(arguments: argparse.Namespace) -> None:
    await bench_floor(rounds=arguments.rounds)
    for notes in arguments.notes:
        await bench_felt(count=notes, rounds=arguments.rounds, calls=arguments.calls)
    if arguments.load:
        shape = LoadShape(
            clients=arguments.load_clients, seconds=arguments.load, workers=arguments.load_workers
        )
        await bench_load(shape)


def _machine() -> str:
    names = [line for line in _cpuinfo() if line.startswith("model name")]
    model = names[0].partition(":")[2].strip() if names else platform.machine()
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} × {model}, {platform.system()}, Python {platform.python_version()}, load {load:.1f}"


def _cpuinfo() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def main() -> None:
    """Run the benchmark and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="repetitions of each measurement (5)")
    parser.add_argument("--scopes", type=int, default=1_000, help="other users' scopes (1000)")
    parser.add_argument(
        "--chunks",
        type=int,
        nargs="+",
        default=[1_000, 10_000],
        help="sizes of the searched scope (1000 10000; 100000 is loaded for minutes)",
    )
    parser.add_argument(
        "--files",
        type=int,
        nargs="+",
        default=[1_000, 10_000],
        help="sizes of the written scope, and of the recalled one (1000 10000)",
    )
    parser.add_argument("--as-of-files", type=int, default=10_000, help="with a history (10000)")
    parser.add_argument(
        "--ui-files", type=int, default=FILES, help=f"of the memory that pages show ({FILES})"
    )
    parser.add_argument("--ui-calls", type=int, default=CALLS, help=f"in the log that pages list ({CALLS})")
    parser.add_argument(
        "--edits", type=int, default=5_000, help="of one scope, to see what they leave (5000)"
    )
    parser.add_argument("--embedder", default="hash", help="for hybrid search (hash), such as local")
    parser.add_argument(
        "--messages", type=int, nargs="+", default=[10_000], help="of the section conversations (10000)"
    )
    parser.add_argument(
        "--notes", type=int, nargs="+", default=[1_000, 10_000], help="of the section felt (1000 10000)"
    )
    parser.add_argument("--calls", type=int, default=40, help="of each operation in a round of felt (40)")
    parser.add_argument(
        "--load",
        type=float,
        metavar="SECONDS",
        help="in felt, let many clients call for so long, over 20 users of 1,000 notes (left out)",
    )
    parser.add_argument(
        "--load-clients", type=int, nargs="+", default=CLIENTS, help="at the same time (1 8 32 128 256)"
    )
    parser.add_argument("--load-workers", type=int, help="MEMEX_WORKERS there (the default of memex serve)")
    parser.add_argument("--only", nargs="+", default=SECTIONS, choices=SECTIONS, help="leave out the others")
    arguments = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    console.print(f"[bold]{_machine()}[/]\n")
    if "felt" in arguments.only:
        asyncio.run(_bench_felt(arguments))
    if "start" in arguments.only:
        bench_start(rounds=arguments.rounds)
    if set(arguments.only) - {"felt", "start", "bloat", "conversations"}:
        with temporary_data_folder() as folder:
            asyncio.run(_bench_database(arguments, _bench_sections, folder))
    for name, section in (("bloat", _bench_bloat), ("conversations", _bench_conversations)):
        if name in arguments.only:  # in a database that holds nothing else
            with temporary_data_folder() as folder:
                asyncio.run(_bench_database(arguments, section, folder))


if __name__ == "__main__":
    main()
