"""How fast Memex is: find, writes and start, beside references measured in the same run. `make bench` runs it.

Machines differ and are noisy, so what counts is the ratio to the reference; every figure is a median (p50) or a
95th percentile over several rounds. The text is random words with the frequencies of English (Zipf-Mandelbrot,
two in five a stop word), so nothing is downloaded; latencies depend on those frequencies, not on the words.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from memex.service.service import Caller, Service
from memex.store import embedded, tenants
from memex.store.analyzer import Analyzer
from memex.store.database import Database
from memex.store.draft import Draft
from memex.store.identity import Context, Principal
from memex.store.memory import Memory
from memex.store.migrate import migrate
from memex.store.operations import Answer, Call

WORDS_A_SECTION = 100
SECTIONS_A_FILE = 5
VOCABULARY = 30_000
FILES_A_COMMIT = 100
STOP_WORDS = "the of and to a in is that it was for on are as with his they at be this"
HEAVY_LIBRARIES = (
    "fastapi, uvicorn, psycopg, psycopg_pool, pydantic_settings, structlog, markdown_it, Stemmer, yaml"
)

console = Console(width=110)


@dataclass(slots=True)
class Timings:
    """Wall and backend CPU of one thing, a sample a round, in milliseconds."""

    wall_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)

    def row(self, label: str) -> list[str]:
        """Return a row of a table."""
        return [label, *_quantiles(self.wall_ms), *_quantiles(self.cpu_ms)]


class Text:
    """Random text, the same in every run."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)  # noqa: S311  # a benchmark's text
        syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
        words: set[str] = set()
        while len(words) < VOCABULARY:
            words.add("".join(self._random.choices(syllables, k=self._random.randint(2, 5))))
        self._words = sorted(words)
        self._random.shuffle(self._words)
        self._weights = [1 / (rank + 12) for rank in range(VOCABULARY)]
        self._stop_words = STOP_WORDS.split()

    def words(self, count: int) -> list[str]:
        """Return words by their frequencies, two in five of them stop words as in English."""
        known = self._random.choices(self._words, self._weights, k=count)
        stop = self._random.choices(self._stop_words, k=count)
        return [s if self._random.random() < 0.4 else w for w, s in zip(known, stop, strict=True)]

    def file(self, sections: int = SECTIONS_A_FILE) -> str:
        """Return a Markdown file, a chunk a section."""
        parts = []
        for _ in range(sections):
            body = self.words(WORDS_A_SECTION)
            lines = [" ".join(body[at : at + 12]) + "." for at in range(0, len(body), 12)]
            parts.append(f"## {' '.join(self.words(3))}\n\n" + "\n".join(lines) + "\n")
        return "\n".join(parts)

    def query(self, files: Sequence[str]) -> str:
        """Return 3 to 12 words that follow each other somewhere in these files."""
        words = self._random.choice(files).split()
        count = self._random.randint(3, 12)
        start = self._random.randrange(len(words) - count)
        return " ".join(words[start : start + count])


@dataclass(slots=True)
class Bench:
    """A service on its own embedded server, with one connection, so that the backend's CPU can be read."""

    service: Service
    tenant_id: int
    backend_pid: int
    text: Text
    analyzer: Analyzer = field(default_factory=Analyzer)

    async def caller(self, user_id: str) -> Caller:
        """Return an agent that acts for a user."""
        return await self.service.caller(Principal(self.tenant_id, "agent"), Context(user_id=user_id))

    async def fill(self, caller: Caller, files: Sequence[str], *, folder: str = "notes") -> float:
        """Write files in commits of 100 through the real path, and return the seconds that it took."""
        started = time.perf_counter()
        for first in range(0, len(files), FILES_A_COMMIT):
            draft = Draft(self.service.database, caller.access, self.analyzer, max_files=1_000_000)
            for at, content in enumerate(files[first : first + FILES_A_COMMIT], start=first):
                draft.write(f"user/{folder}/{at:06}.md", content)
            call = Call(f"fill-{folder}-{first}", "bench", {}, caller.logged, datetime.now(UTC))
            await draft.commit(call, lambda changes: Answer({}, {}, {"files": len(changes)}))
        return time.perf_counter() - started

    async def measure(self, work: Awaitable[object], into: Timings) -> None:
        """Time one piece of work: wall, and what the backend spent on it."""
        cpu_before = _cpu_ns(self.backend_pid)
        started = time.perf_counter()
        await work
        into.wall_ms.append((time.perf_counter() - started) * 1000)
        if cpu_before is not None:
            into.cpu_ms.append(((_cpu_ns(self.backend_pid) or 0) - cpu_before) / 1e6)


async def bench_find(bench: Bench, *, chunks: int, rounds: int) -> None:
    """Time find over one scope, against bm25s in process over the same lexemes."""
    import bm25s  # noqa: PLC0415  # a reference that only this needs

    caller = await bench.caller(f"owner-of-{chunks}")
    files = [bench.text.file() for _ in range(chunks // SECTIONS_A_FILE)]
    await bench.fill(caller, files)
    await _analyze(bench)
    sections = [section for content in files for section in content.split("## ")[1:]]
    queries = [bench.text.query(sections) for _ in range(60)]
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([bench.analyzer.lexemes(section) for section in sections], show_progress=False)

    found, called, reference = Timings(), Timings(), Timings()

    async def find(query: str) -> None:
        async with bench.service.database.transaction(caller.access, snapshot=True) as connection:
            await Memory(connection, caller.access, bench.analyzer).find(query)

    for query in queries:
        await find(query)  # warm
    for _ in range(rounds):
        for query in queries:
            await bench.measure(find(query), found)
            await bench.measure(bench.service.execute(caller, "memory_find", {"query": query}), called)
            started = time.perf_counter()
            index.retrieve([bench.analyzer.lexemes(query)], k=10, show_progress=False, n_threads=0)
            reference.wall_ms.append((time.perf_counter() - started) * 1000)
    table = _table(f"find, {len(sections):,} chunks in the scope, {rounds} × {len(queries)} queries")
    table.add_row(*found.row("find (row-level security, one snapshot)"))
    table.add_row(*called.row("memory_find, the call logged and committed"))
    table.add_row(*reference.row("bm25s in process, the same lexemes"))
    console.print(table, _ratio("find / bm25s, wall p50", found.wall_ms, reference.wall_ms))


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
    table = _table(f"single writes, {rounds * 10} of each")
    for name, timing in timings.items():
        table.add_row(*timing.row(name))
    console.print(table, _ratio("new file / plain INSERT, wall p50", new.wall_ms, plain.wall_ms))


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
        with _folder() as folder:
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
            for chunks in arguments.chunks:
                await bench_find(bench, chunks=chunks, rounds=arguments.rounds)
        finally:
            await database.close()


async def _analyze(bench: Bench) -> None:
    async with bench.service.database.connection() as connection:
        await connection.execute("vacuum analyze")


def _cpu_ns(pid: int) -> int | None:
    """Return the nanoseconds that a process was on a CPU; None where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    except OSError:
        return None


def _quantiles(samples: Sequence[float]) -> tuple[str, str]:
    if len(samples) < 2:
        return "–", "–"
    cuts = statistics.quantiles(samples, n=20)
    return f"{cuts[9]:.2f}", f"{cuts[18]:.2f}"


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in ("wall p50 ms", "wall p95", "backend CPU p50", "CPU p95"):
        table.add_column(name, justify="right")
    return table


def _ratio(label: str, ours: Sequence[float], reference: Sequence[float]) -> str:
    return f"{label}: {statistics.median(ours) / statistics.median(reference):.1f}\n"


@contextmanager
def _folder() -> Iterator[Path]:
    # Not below a folder of the caller's alone: as root the server runs as another user.
    with tempfile.TemporaryDirectory(
        prefix="memex-bench-", dir="/var/tmp", ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "data"


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
    parser.add_argument("--no-start", action="store_true", help="leave out the start of the service")
    arguments = parser.parse_args()
    console.print(f"[bold]{_machine()}[/]\n")
    if not arguments.no_start:
        bench_start(rounds=arguments.rounds)
    with _folder() as folder:
        asyncio.run(_bench_database(arguments, folder))


if __name__ == "__main__":
    main()
