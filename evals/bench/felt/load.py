"""The number of calls a second that many clients get answered, of several users at the same time."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.table import Table

from memex.evals.bench.felt.http_client import HttpFailure, HttpRequest, RawHttpClient
from memex.evals.bench.felt.measuring import quantiles
from memex.evals.bench.felt.notes import Notes, VaultNote
from memex.evals.bench.felt.operations import BUDGET, FOLDER, Requests
from memex.evals.bench.felt.scene import Scene, open_scene
from memex.evals.bench.workbench import console
from memex.evals.fixtures.data_folder import temporary_data_folder

CLIENTS = (1, 8, 32, 128, 256)
CONTEXT_SHARE, REMEMBER_SHARE = 0.7, 0.2  # of the calls; the rest reads and writes files in equal parts


@dataclass(frozen=True, slots=True)
class LoadShape:
    """The clients that call, and how long. `workers` are those of the service; None for its default."""

    clients: Sequence[int] = CLIENTS
    users: int = 20
    notes: int = 1_000
    seconds: float = 20.0
    workers: int | None = None


@dataclass(slots=True)
class LoadFigures:
    """Figures of some clients together. `errors` counts answers by their status, and broken connections."""

    walls_ms: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    memory_mb: float = 0.0

    def add_error(self, error: Exception) -> None:
        """Count a call that failed."""
        name = str(error)[:12] if isinstance(error, HttpFailure) else type(error).__name__
        self.errors[name] = self.errors.get(name, 0) + 1

    def row(self) -> list[str]:
        """Return a row of the table."""
        p50, p95 = quantiles(self.walls_ms)
        errors = ", ".join(f"{count} × {name}" for name, count in self.errors.items()) or "0"
        rate = len(self.walls_ms) / self.seconds
        return [f"{rate:.0f}", f"{p50:.1f}", f"{p95:.1f}", errors, f"{self.memory_mb:.0f}"]


class LoadCalls:
    """The calls of many users: contexts, statements and files, drawn by their shares."""

    def __init__(self, users: Sequence[tuple[Requests, Sequence[VaultNote]]], notes: Notes) -> None:
        self._users = users
        self._notes = notes
        self._random = random.Random(16)  # noqa: S311  # a benchmark's choice

    def next(self) -> HttpRequest:
        """Return a call of some user."""
        requests, known = self._random.choice(self._users)
        drawn = self._random.random()
        if drawn < CONTEXT_SHARE:
            return requests.tool("memory_context", query=self._notes.query(known), budget=BUDGET)
        if drawn < CONTEXT_SHARE + REMEMBER_SHARE:
            return requests.tool("memory_remember", text=self._notes.statement())
        if self._random.random() < 0.5:
            return requests.tool("memory_read", path=f"{FOLDER}/{self._random.choice(known).path}")
        [note] = self._notes.take(1)
        return requests.tool("memory_write", path=f"{FOLDER}/{note.path}", content=note.text)


async def bench_load(shape: LoadShape) -> None:
    """Fill the memory of some users, let ever more clients call, and print what they got."""
    notes = Notes()
    with temporary_data_folder() as folder, open_scene(folder, notes, workers=shape.workers) as scene:
        calls = LoadCalls([await _user(scene, number, shape.notes) for number in range(shape.users)], notes)
        await scene.analyze()
        table = _new_table(shape, scene.memex.process.memory_mb)
        for clients in shape.clients:
            table.add_row(str(clients), *(await call_at_once(scene, calls, clients, shape.seconds)).row())
    console.print(table, "")


async def call_at_once(scene: Scene, calls: LoadCalls, clients: int, seconds: float) -> LoadFigures:
    """Let clients call without a pause, each over a connection of its own, until the time is over."""
    figures = LoadFigures()
    started = time.perf_counter()
    until = started + seconds
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(_call_until(scene.memex.process.url, calls, until, figures))
    figures.seconds = time.perf_counter() - started
    figures.memory_mb = scene.memex.process.memory_mb
    return figures


async def _call_until(url: str, calls: LoadCalls, until: float, figures: LoadFigures) -> None:
    while time.perf_counter() < until:
        try:
            async with await RawHttpClient.open(url) as client:
                while time.perf_counter() < until:
                    request = calls.next()
                    started = time.perf_counter()
                    try:
                        await client.send(request)
                    except HttpFailure as error:
                        figures.add_error(error)
                    else:
                        figures.walls_ms.append((time.perf_counter() - started) * 1000)
        except (OSError, asyncio.IncompleteReadError) as error:
            figures.add_error(error)


async def _user(scene: Scene, number: int, count: int) -> tuple[Requests, Sequence[VaultNote]]:
    """Store notes for one more user."""
    requests = Requests(f"user-{number}", scene.memex.process.key)
    notes = scene.notes.take(count)
    await scene.store(requests, notes)
    return requests, notes


def _new_table(shape: LoadShape, memory_mb: float) -> Table:
    workers = "" if shape.workers is None else f", {shape.workers} workers"
    console.print(
        f"[bold]{shape.users} users of {shape.notes:,} notes each[/]{workers}; 70 % context, 20 % remember, "
        f"10 % files; {shape.seconds:.0f} s for each number of clients; "
        f"the service has {memory_mb:.0f} MB at the start"
    )
    table = Table()
    for name in ("clients", "calls/s", "p50 ms", "p95 ms", "errors", "MB after"):
        table.add_column(name, justify="right")
    return table
