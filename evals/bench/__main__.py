"""Measure how fast Memex is, beside references measured in the same run. `make bench` runs it.

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
from memex.evals.bench.conversations.files import bench_large_files
from memex.evals.bench.conversations.nearness import bench_message_vectors
from memex.evals.bench.conversations.section import bench_conversations
from memex.evals.bench.distil import bench_distil
from memex.evals.bench.documents.client import bench_client
from memex.evals.bench.documents.service import bench_memory_beside, bench_pushing
from memex.evals.bench.dreams import bench_dream
from memex.evals.bench.felt.load import CLIENTS, LoadShape, bench_load
from memex.evals.bench.felt.meaning import bench_meaning
from memex.evals.bench.felt.section import bench_felt, bench_floor
from memex.evals.bench.hooks import bench_hooks
from memex.evals.bench.log import bench_log
from memex.evals.bench.model import bench_model
from memex.evals.bench.pages import FILES, bench_pages
from memex.evals.bench.past import bench_as_of
from memex.evals.bench.search import bench_find, bench_growth, bench_hybrid
from memex.evals.bench.startup import bench_start
from memex.evals.bench.telling import bench_telling
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
    "meaning",
    "start",
    "growth",
    "writes",
    "pending",
    "memory",
    "find",
    "hybrid",
    "conversations",
    "documents",
    "hooks",
    "distil",
    "as-of",
    "context",
    "log",
    "model",
    "ui",
    "bloat",
    "telling",
    "dream",
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
            service = Service(database, max_files=1_000_000)
            bench = Bench(service, tenant_id, pid, RandomText(), conninfo=lease.conninfo)
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


async def _bench_dream(bench: Bench, _: argparse.Namespace) -> None:
    await bench_dream(bench, files=1_000)


async def _bench_telling(bench: Bench, arguments: argparse.Namespace) -> None:
    await bench_telling(bench, texts=arguments.texts)


async def _bench_conversations(bench: Bench, arguments: argparse.Namespace) -> None:
    for messages in arguments.messages:
        await bench_conversations(bench, messages=messages, rounds=arguments.rounds)
    if arguments.message_vectors:
        await bench_message_vectors(bench, messages=arguments.message_vectors, rounds=arguments.rounds)
    if arguments.large_files:
        await bench_large_files(bench, scale=arguments.large_files)


async def _bench_beside_documents(bench: Bench, arguments: argparse.Namespace) -> None:
    await bench_memory_beside(bench, passages=arguments.document_passages, rounds=arguments.rounds)


async def _bench_distil(bench: Bench, arguments: argparse.Namespace) -> None:
    await bench_distil(bench, messages=arguments.distilled)


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
    parser.add_argument("--texts", type=int, default=2_000, help="of the section telling (2000)")
    parser.add_argument("--embedder", default="hash", help="for hybrid search (hash), such as local")
    parser.add_argument(
        "--messages", type=int, nargs="+", default=[10_000], help="of the section conversations (10000)"
    )
    parser.add_argument("--distilled", type=int, default=1_000, help="messages of the section distil (1000)")
    parser.add_argument(
        "--documents", type=int, default=10_000, help="files of the section documents (10000)"
    )
    parser.add_argument(
        "--document-passages", type=int, default=100_000, help="of documents beside memory (100000)"
    )
    parser.add_argument(
        "--message-vectors",
        type=int,
        metavar="MESSAGES",
        help="in conversations, search so many by hashed vectors, with and without an index (left out)",
    )
    parser.add_argument(
        "--large-files",
        type=float,
        metavar="SCALE",
        help="in conversations, import a transcript of 100 MB and a rollout of 2 GiB, times SCALE (left out)",
    )
    parser.add_argument(
        "--notes", type=int, nargs="+", default=[1_000, 10_000], help="of the section felt (1000 10000)"
    )
    parser.add_argument(
        "--meaning-notes", type=int, nargs="+", default=[1_000], help="of the section meaning (1000)"
    )
    parser.add_argument(
        "--short-notes",
        type=int,
        nargs="+",
        default=[],
        help="in meaning, so many notes of one paragraph each as well (left out)",
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
    if "meaning" in arguments.only:
        measured = {"rounds": arguments.rounds, "calls": arguments.calls}
        for notes in arguments.meaning_notes:
            asyncio.run(bench_meaning(count=notes, **measured))
        for notes in arguments.short_notes:
            asyncio.run(bench_meaning(count=notes, is_short=True, **measured))
    if "start" in arguments.only:
        bench_start(rounds=arguments.rounds)
    if "hooks" in arguments.only:
        bench_hooks(rounds=arguments.rounds)
    if "documents" in arguments.only:
        asyncio.run(bench_pushing(files=arguments.documents, rounds=arguments.rounds))
        asyncio.run(bench_client(files=arguments.documents, rounds=arguments.rounds))
    if set(arguments.only) - {
        "felt",
        "meaning",
        "start",
        "bloat",
        "telling",
        "conversations",
        "documents",
        "hooks",
        "distil",
        "dream",
    }:
        with temporary_data_folder() as folder:
            asyncio.run(_bench_database(arguments, _bench_sections, folder))
    alone = {
        "bloat": _bench_bloat,
        "telling": _bench_telling,
        "conversations": _bench_conversations,
        "documents": _bench_beside_documents,
        "distil": _bench_distil,
        "dream": _bench_dream,
    }
    for name, section in alone.items():
        if name in arguments.only:  # in a database that holds nothing else
            with temporary_data_folder() as folder:
                asyncio.run(_bench_database(arguments, section, folder))


if __name__ == "__main__":
    main()
