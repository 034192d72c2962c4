"""How fast Memex is, beside references measured in the same run. `make bench` runs it.

Machines differ and are noisy, so what counts is the ratio to the reference; every figure is a median (p50) or a
95th percentile over several rounds. The text is random words with the frequencies of English (Zipf-Mandelbrot,
two in five a stop word), so nothing is downloaded; latencies depend on those frequencies, not on the words.
"""

import argparse
import asyncio
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from rich.table import Table

from memex.evals.bench_memory import bench_context, bench_import, bench_remember
from memex.evals.bench_past import bench_past
from memex.evals.workbench import (
    FILES_A_COMMIT,
    SECTIONS_A_FILE,
    Bench,
    Text,
    Timings,
    console,
    data_folder,
    new_table,
    ratio_line,
)
from memex.service.service import Service
from memex.store import embedded, tenants
from memex.store.database import Database
from memex.store.memory import Memory
from memex.store.migrate import migrate

HEAVY_LIBRARIES = (
    "fastapi, uvicorn, psycopg, psycopg_pool, pydantic_settings, structlog, markdown_it, Stemmer, yaml"
)


async def bench_find(bench: Bench, *, chunks: int, rounds: int) -> None:
    """Time find over one scope, against bm25s in process over the same lexemes."""
    import bm25s  # noqa: PLC0415  # a reference that only this needs

    caller = await bench.caller(f"owner-of-{chunks}")
    files = [bench.text.file() for _ in range(chunks // SECTIONS_A_FILE)]
    await bench.fill(caller, files)
    await bench.vacuum()
    sections = [section for content in files for section in content.split("## ")[1:]]
    queries = [bench.text.query(sections) for _ in range(60)]
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([bench.analyzer.lexemes(section) for section in sections], show_progress=False)

    found, called, reference = Timings(), Timings(), Timings()

    async def find(query: str) -> None:
        async with bench.service.database.transaction(caller.access, snapshot=True) as connection:
            await Memory(connection, caller.access).find(query)

    for query in queries:
        await find(query)  # warm
    for _ in range(rounds):
        for query in queries:
            await bench.measure(find(query), found)
            await bench.measure(bench.service.execute(caller, "memory_find", {"query": query}), called)
            started = time.perf_counter()
            index.retrieve([bench.analyzer.lexemes(query)], k=10, show_progress=False, n_threads=0)
            reference.wall_ms.append((time.perf_counter() - started) * 1000)
    table = new_table(f"find, {len(sections):,} chunks in the scope, {rounds} × {len(queries)} queries")
    table.add_row(*found.row("find (row-level security, one snapshot)"))
    table.add_row(*called.row("memory_find, the call logged and committed"))
    table.add_row(*reference.row("bm25s in process, the same lexemes"))
    console.print(table, ratio_line("find / bm25s, wall p50", found.wall_ms, reference.wall_ms))


async def bench_writes(bench: Bench, *, rounds: int) -> None:
    """Time single writes in a scope that holds 1,000 chunks, against plain INSERTs of the same text."""
    caller = await bench.caller("writer")
    await bench.fill(caller, [bench.text.file() for _ in range(200)])
    run = bench.service.execute
    timings = {
        name: Timings()
        for name in (
            "plain INSERT of the same text, committed",
            "memory_write, a new file of 5 chunks",
            "memory_write, one of the 5 chunks changed",
            "memory_patch, append a line to it",
            "memory_patch, append a line to a 1 MiB file",
        )
    }
    plain, new, changed, patched, appended = timings.values()
    large = ""
    while len(large) < (1 << 20) - 40_000:
        large += bench.text.file() + "\n"
    await run(caller, "memory_write", {"path": "user/large.md", "content": large})
    async with bench.service.database.maintenance() as connection:
        await connection.execute("create table if not exists plain (id bigserial primary key, content text)")

    async def insert(content: str) -> None:
        async with bench.service.database.connection() as connection:
            await connection.execute("insert into plain (content) values (%s)", [content])

    for number in range(rounds * 10):
        path, content = f"user/single/{number}.md", bench.text.file()
        head, _, tail = content.rpartition("## ")
        other = f"{head}## {' '.join(bench.text.words(20))}\n{tail}"
        line = " ".join(bench.text.words(8))
        append = {"operation": "append", "text": line}
        write = {"path": path, "content": content}
        again = {"path": path, "content": other, "overwrite": True}
        await bench.measure(insert(content), plain)
        await bench.measure(run(caller, "memory_write", write), new)
        await bench.measure(run(caller, "memory_write", again), changed)
        to_file, to_large = {"path": path, **append}, {"path": "user/large.md", **append}
        await bench.measure(run(caller, "memory_patch", to_file), patched)
        if number < rounds * 2:
            await bench.measure(run(caller, "memory_patch", to_large), appended)
    table = new_table(f"single writes, {rounds * 10} of each")
    for name, timing in timings.items():
        table.add_row(*timing.row(name))
    console.print(table, ratio_line("new file / plain INSERT, wall p50", new.wall_ms, plain.wall_ms))


async def bench_bulk(bench: Bench, *, rounds: int) -> None:
    """Time bulk writes in commits of 100 files, against plain INSERTs, 100 a transaction and one a transaction."""
    rates: dict[str, list[float]] = {"memex": [], "plain, 100": [], "plain, 1": []}
    for number in range(rounds):
        files = [bench.text.file() for _ in range(500)]
        caller = await bench.caller(f"bulk-{number}")
        rates["memex"].append(len(files) / await bench.fill(caller, files))
        for name, size in (("plain, 100", FILES_A_COMMIT), ("plain, 1", 1)):
            started = time.perf_counter()
            async with bench.service.database.connection() as connection:
                for first in range(0, len(files), size):
                    async with connection.transaction():
                        for content in files[first : first + size]:
                            await connection.execute("insert into plain (content) values (%s)", [content])
            rates[name].append(len(files) / (time.perf_counter() - started))
    ours, batched, single = (statistics.median(samples) for samples in rates.values())
    console.print(
        f"[bold]bulk write[/], 5-chunk files, {FILES_A_COMMIT} a commit, {rounds} × 500: {ours:,.0f} files/s\n"
        f"plain INSERT, {FILES_A_COMMIT} a transaction: {batched:,.0f} files/s, ratio {ours / batched:.3f}\n"
        f"plain INSERT, 1 a transaction: {single:,.0f} files/s, ratio {ours / single:.3f}\n"
    )


def bench_start(*, rounds: int) -> None:
    """Time from starting `memex serve` to its first answer, cold and warm, beside bare imports."""
    imports, cold, warm = [], [], []
    for _ in range(rounds):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {HEAVY_LIBRARIES}"], check=True)
        imports.append(time.perf_counter() - started)
        with data_folder() as folder:
            seconds, key = _first_answer(folder, None)
            cold.append(seconds)
            warm.append(_first_answer(folder, key)[0])
    table = Table("start to first answer", "median s", "min s", "max s", title_justify="left")
    for name, samples in (("bare import of the same libraries", imports), ("cold", cold), ("warm", warm)):
        values = (statistics.median(samples), min(samples), max(samples))
        table.add_row(name, *(f"{value:.2f}" for value in values))
    console.print(table)


def _first_answer(folder: Path, key: str | None) -> tuple[float, str]:
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    command = [
        sys.executable,
        "-m",
        "memex",
        "serve",
        "--json",
        "--port",
        "0",
        "--data-dir",
        str(folder),
    ]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    try:
        assert process.stdout is not None  # noqa: S101  # a pipe was asked for
        ready = json.loads(process.stdout.readline())
        key = ready.get("agent_key") or key
        call = {"context": {"userId": "bench"}, "arguments": {"query": "anything"}}
        request = urllib.request.Request(  # noqa: S310  # our own server
            f"{ready['url']}/v1/tools/memory_find/execute",
            json.dumps(call).encode(),
            {"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310  # our own server
            answer.read()
        return time.perf_counter() - started, str(key)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


async def _bench_database(arguments: argparse.Namespace, folder: Path) -> None:
    with embedded.start(folder) as lease:
        await migrate(lease.conninfo)
        database = await Database.open(lease.conninfo, max_connections=1)
        try:
            async with database.connection() as connection:
                pid = connection.info.backend_pid
            tenant_id = await tenants.ensure_tenant(database, "bench")
            service = Service(database, max_files=1_000_000)
            bench = Bench(service, tenant_id, pid, Text())
            console.print(f"Postgres {lease.server_version}; filling {arguments.scopes:,} other scopes …")
            for number in range(arguments.scopes):
                await bench.fill(await bench.caller(f"other-{number}"), [bench.text.file() for _ in range(4)])
            await bench_writes(bench, rounds=arguments.rounds)
            await bench_bulk(bench, rounds=arguments.rounds)
            await bench_remember(bench, rounds=arguments.rounds)
            await bench_import(bench, rounds=arguments.rounds)
            for chunks in arguments.chunks:
                await bench_find(bench, chunks=chunks, rounds=arguments.rounds)
            for files in arguments.files:
                await bench_context(bench, files=files, rounds=arguments.rounds)
            if arguments.past:
                await bench_past(bench, files=arguments.past, rounds=arguments.rounds)
        finally:
            await database.close()


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
    parser.add_argument(
        "--scopes", type=int, default=1_000, help="other users' scopes in the database (1000)"
    )
    parser.add_argument(
        "--chunks", type=int, nargs="+", default=[1_000, 10_000], help="sizes of the searched scope"
    )
    parser.add_argument(
        "--files", type=int, nargs="+", default=[1_000, 10_000], help="sizes of the recalled scope"
    )
    parser.add_argument("--past", type=int, default=10_000, help="files of 20 revisions each; 0 for none")
    parser.add_argument("--no-start", action="store_true", help="leave out the start of the service")
    arguments = parser.parse_args()
    console.print(f"[bold]{_machine()}[/]\n")
    if not arguments.no_start:
        bench_start(rounds=arguments.rounds)
    with data_folder() as folder:
        asyncio.run(_bench_database(arguments, folder))


if __name__ == "__main__":
    main()
