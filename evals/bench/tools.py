"""The time of the two tools, phase by phase, and the time in which a vault comes in."""

import os
import statistics
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from memex.evals.bench.workbench import Bench, Timings, console, cpu_ns, new_table, process_mb, ratio_line
from memex.service.service import Caller
from memex.service.vaults.vault_import import import_vault
from memex.store.log import operations as log
from memex.store.log.call import Call, CallAnswer, CallRequest
from memex.store.memory import Memory
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.recall import recall
from memex.subagent.context.rendering import Rendering
from memex.subagent.memory_tools import MemorySnapshot, MemoryTools
from memex.subagent.planner import ContextRequest

BUDGET = 8_000
LINKS_A_FILE = 5
QUERIES = 40
PHASES = {
    "memory_find": "find",
    "memory_links": "links",
    "memory_passages": "links",
    "memory_pinned": "read",
    "memory_read": "read",
}


@dataclass(slots=True)
class PhaseTimings:
    """The times of one phase of a call, a sample a call, in milliseconds."""

    wall_ms: list[float] = field(default_factory=list)
    python_ms: list[float] = field(default_factory=list)
    backend_ms: list[float] = field(default_factory=list)


class Clock:
    """Wall, the CPU of this process and that of the backend, since the last look."""

    def __init__(self, backend_pid: int) -> None:
        self._pid = backend_pid
        self._last = self._now()

    def lap(self) -> tuple[float, float, float]:
        """Return the milliseconds since the last lap: wall, Python, backend."""
        now = self._now()
        passed = tuple((new - old) * 1000 for new, old in zip(now, self._last, strict=True))
        self._last = now
        return passed[0], passed[1], passed[2]

    def _now(self) -> tuple[float, float, float]:
        return time.perf_counter(), time.process_time(), (cpu_ns(self._pid) or 0) / 1e9


class MeasuredTools(MemoryTools):
    """The operations of a planner, each put down to its phase; what lies between them is assembly."""

    def __init__(self, moment: MemorySnapshot, call: Call, clock: Clock) -> None:
        super().__init__(lambda: nullcontext(moment), call)
        self.clock = clock
        self.spent: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)

    @asynccontextmanager
    async def _operation(
        self, kind: str, request: dict[str, Any]
    ) -> AsyncIterator[tuple[Memory, dict[str, Any]]]:
        self.spent["assembly"].append(self.clock.lap())
        async with super()._operation(kind, request) as opened:
            yield opened
        self.spent[PHASES[kind]].append(self.clock.lap())


async def bench_context(bench: Bench, *, files: int, rounds: int) -> None:
    """Time memory_context over one scope of linked files, against memory_find for the same queries."""
    caller = await bench.caller(f"reader-of-{files}")
    texts = [add_links(bench, bench.text.file(), files) for _ in range(files)]
    await bench.fill(caller, texts)
    await bench.vacuum()
    queries = [bench.text.query(texts[:1000]).replace("[[", "").replace("]]", "") for _ in range(QUERIES)]
    called, found = Timings(), Timings()
    phases: defaultdict[str, PhaseTimings] = defaultdict(PhaseTimings)
    for query in queries:
        await _measure_context(bench, caller, query, defaultdict(PhaseTimings))  # warm
    for _ in range(rounds):
        for query in queries:
            run = bench.service.execute
            await bench.measure(run(caller, "memory_context", {"query": query, "budget": BUDGET}), called)
            await bench.measure(run(caller, "memory_find", {"query": query}), found)
            await _measure_context(bench, caller, query, phases)
    table = new_table(f"memory_context, {files:,} files, budget {BUDGET:,}, {rounds} × {QUERIES} queries")
    table.add_row(*called.row("memory_context, the call logged and committed"))
    table.add_row(*found.row("memory_find, the same"))
    console.print(table, ratio_line("context / find, wall", called.wall_ms, found.wall_ms))
    console.print(_phase_table(phases), "")


async def _measure_context(bench: Bench, caller: Caller, query: str, into: dict[str, PhaseTimings]) -> None:
    """Do by hand what the service does for memory_context, and put each phase down."""
    access = caller.access.narrowed()
    call = Call(CallRequest("bench", "memory_context", {"query": query}, caller.logged, datetime.now(UTC)))
    planner = BuiltinPlanner(bench.analyzer)
    clock = Clock(bench.backend_pid)
    async with bench.service.database.transaction(access, snapshot=True) as connection:
        memory = Memory(connection, access)
        moment = MemorySnapshot(memory, await memory.state(access.scopes))
        tools = MeasuredTools(moment, call, clock)
        request = ContextRequest(query, BUDGET, 1, call.request.now.date())
        await recall(planner, request, tools, Rendering())
        tools.spent["assembly"].append(clock.lap())
        answer = CallAnswer({}, call.request.arguments, {})
        await log.add(connection, access, call, status="answered", answer=answer, state=moment.state)
    tools.spent["log"].append(clock.lap())
    for name, laps in tools.spent.items():
        wall, python, backend = (sum(column) for column in zip(*laps, strict=True))
        into[name].wall_ms.append(wall)
        into[name].python_ms.append(python)
        into[name].backend_ms.append(backend)


def _phase_table(phases: dict[str, PhaseTimings]) -> Table:
    table = Table(title="its phases, median ms", title_justify="left")
    for name in ("", "wall", "Python CPU", "backend CPU"):
        table.add_column(name, justify="right" if name else "left")
    for name in ("find", "links", "read", "assembly", "log"):
        phase = phases[name]
        values = (phase.wall_ms, phase.python_ms, phase.backend_ms)
        table.add_row(name, *(f"{statistics.median(samples):.2f}" for samples in values))
    return table


def add_links(bench: Bench, text: str, files: int) -> str:
    """Return a text with links to files of the same scope in its first section."""
    targets = [f"[[notes/{bench.text.number(files):06}]]" for _ in range(LINKS_A_FILE)]
    head, _, tail = text.partition("\n\n")
    return f"{head}\n\n{' '.join(targets)}\n{tail}"


async def bench_remember(bench: Bench, *, rounds: int) -> None:
    """Time memory_remember of one and of five new statements, against memory_patch that appends one line."""
    caller = await bench.caller("rememberer")
    await bench.fill(caller, [bench.text.file() for _ in range(200)])
    run = bench.service.execute
    await run(caller, "memory_write", {"path": "user/lines.md", "content": "# Lines\n"})
    one, five, patched = Timings(), Timings(), Timings()
    for _ in range(rounds * 10):
        statements = [f"The {' '.join(bench.text.words(8))} was seen." for _ in range(6)]
        await bench.measure(run(caller, "memory_remember", {"text": statements[0]}), one)
        await bench.measure(run(caller, "memory_remember", {"text": "\n".join(statements[1:])}), five)
        append = {"path": "user/lines.md", "operation": "append", "text": statements[0]}
        await bench.measure(run(caller, "memory_patch", append), patched)
    table = new_table(f"memory_remember, {rounds * 10} of each, beside 200 files")
    table.add_row(*one.row("one statement"))
    table.add_row(*five.row("five statements"))
    table.add_row(*patched.row("memory_patch, append one line"))
    console.print(table, ratio_line("one statement / patch, wall", one.wall_ms, patched.wall_ms))


async def bench_import(bench: Bench, *, rounds: int) -> None:
    """Time the import of the large vault of MEMEX_EVAL_DATA, again unchanged, against plain INSERTs."""
    data = os.environ.get("MEMEX_EVAL_DATA")
    if data is None:
        console.print("import: left out, as MEMEX_EVAL_DATA names no folder with vaults\n")
        return
    first: list[float] = []
    again: list[float] = []
    plain: list[float] = []
    async with bench.service.database.maintenance() as connection:
        await connection.execute("create table if not exists plain (id bigserial primary key, content text)")
    with tempfile.TemporaryDirectory(prefix="memex-vault-") as folder:
        texts = _unpack(Path(data) / "vaults" / "dendron-site.tar.gz", Path(folder))
        for number in range(rounds):
            caller = await bench.caller(f"importer-{number}")
            for times in (first, again):
                started = time.perf_counter()
                await import_vault(bench.service, caller, Path(folder))
                times.append(len(texts) / (time.perf_counter() - started))
            started = time.perf_counter()
            async with bench.service.database.connection() as connection, connection.transaction():
                for text in texts:
                    await connection.execute("insert into plain (content) values (%s)", [text])
            plain.append(len(texts) / (time.perf_counter() - started))
    ours, unchanged, reference = (statistics.median(rates) for rates in (first, again, plain))
    console.print(
        f"[bold]import[/] of the large vault, {len(texts):,} files, {rounds} rounds: {ours:,.0f} files/s\n"
        f"once more, nothing changed: {unchanged:,.0f} files/s\n"
        f"plain INSERTs in one transaction: {reference:,.0f} files/s, ratio {ours / reference:.3f}\n"
        f"memory of this process now: {process_mb('self'):,.0f} MB, "
        f"at most {process_mb('self', 'VmHWM'):,.0f} MB\n"
    )


def _unpack(archive: Path, folder: Path) -> list[str]:
    """Unpack a vault and return its texts."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return [path.read_text(encoding="utf-8") for path in folder.rglob("*.md")]
