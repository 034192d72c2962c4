"""The section `felt` of the benchmark: what a user waits for, at some numbers of notes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from memex.evals.bench.felt.counting import OperationTraffic, count_traffic
from memex.evals.bench.felt.measuring import MeasuredService, OperationFigures, compare, quantiles
from memex.evals.bench.felt.notes import Notes, VaultNote
from memex.evals.bench.felt.operations import Requests, mcp_reads, reads, writes
from memex.evals.bench.felt.processes import constant_server
from memex.evals.bench.felt.report import SETTLED, DatabaseState, comparison_table, rates_table, states_table
from memex.evals.bench.felt.scene import USER, Scene, open_scene
from memex.evals.bench.felt.start import bench_start_felt
from memex.evals.bench.workbench import console
from memex.evals.fixtures.data_folder import temporary_data_folder
from memex.store.search.analyzer import Analyzer
from memex.store.search.index import index

BULK = 200  # notes of a bulk write
WARM_ROUNDS = 1  # before the first state; another one goes before each
STATES = (
    DatabaseState(is_analyzed=False, is_merged=False),
    DatabaseState(is_analyzed=False, is_merged=True),
    SETTLED,
    DatabaseState(is_analyzed=True, is_merged=False),
)


@dataclass(slots=True)
class FeltFigures:
    """All figures over one number of notes."""

    passages: int = 0
    text_ms: float = 0.0
    memory_mb: tuple[float, float] = (0.0, 0.0)  # of the service before the first call, and at the end
    reads: dict[DatabaseState, dict[str, OperationFigures]] = field(default_factory=dict)
    writes: dict[DatabaseState, dict[str, OperationFigures]] = field(default_factory=dict)
    traffic: dict[str, OperationTraffic] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)


async def bench_felt(*, count: int, rounds: int, calls: int) -> None:
    """Measure both services over `count` notes, in each state of the database, and print the tables."""
    notes = Notes()
    with temporary_data_folder() as folder:
        with open_scene(folder, notes) as scene:
            figures = await measure_scene(scene, count=count, rounds=rounds, calls=calls)
            key = scene.memex.process.key
        console.print(
            f"[bold]{count:,} notes[/] ({notes.origin}), {figures.passages / count:.1f} passages a note; "
            f"{rounds} rounds of {calls} calls"
        )
        _print(figures)
        await bench_start_felt(folder, Requests(USER, key), rounds=rounds)


def _print(figures: FeltFigures) -> None:
    settled = figures.reads[SETTLED] | figures.writes[SETTLED]
    console.print(
        comparison_table("one call at a time, analyzed and merged, milliseconds", settled, figures.traffic),
        f"Of a write, parsing and indexing the text takes {figures.text_ms:.2f} ms of CPU.\n",
        states_table("reads by the state of the database, milliseconds and ratios", figures.reads),
        states_table("writes by the state of the database", figures.writes),
        rates_table("many notes", figures.rates),
        f"The service had {figures.memory_mb[0]:.0f} MB before the first call, "
        f"and {figures.memory_mb[1]:.0f} MB at the end.\n",
        sep="\n",
    )


async def measure_scene(scene: Scene, *, count: int, rounds: int, calls: int) -> FeltFigures:
    """Fill a scene and measure it in each state."""
    figures = FeltFigures()
    first_mb = scene.memex.process.memory_mb
    await scene.fill(count)
    figures.passages = await scene.passages()
    for state in STATES:
        if state.is_analyzed and not any(other.is_analyzed for other in figures.reads):
            await scene.analyze()
        await (scene.merge() if state.is_merged else scene.freshen())
        asked = reads(scene.requests, scene.notes, scene.known[:count], calls)
        if state == SETTLED:
            asked += mcp_reads(scene.requests, scene.notes, scene.known[:count], calls)
        if not figures.reads:  # each connection prepares a statement when it has executed it five times
            await compare(asked, scene.memex, scene.plain, rounds=WARM_ROUNDS)
        figures.reads[state] = await compare(asked, scene.memex, scene.plain, rounds=rounds)
        if state in {STATES[0], SETTLED}:
            edits = writes(scene.requests, scene.notes, scene.known, max(2, calls // 2))
            figures.writes[state] = await compare(edits, scene.memex, scene.plain, rounds=rounds)
            await scene.merge()
    figures.traffic = await _traffic(scene)
    figures.rates = await _rates(scene, min(BULK, count))
    figures.text_ms = _text_ms(scene.known)
    figures.memory_mb = first_mb, scene.memex.process.memory_mb
    return figures


def _text_ms(notes: Sequence[VaultNote]) -> float:
    """Return the CPU time that a note's text takes: to parse it, and to stem and count its words."""
    analyzer, some = Analyzer(), notes[:BULK]
    spent_s = [0.0, 0.0]
    for at in range(2):  # the first time fills the cache of stems
        started = time.process_time()
        for note in some:
            index(note.path, note.text, [], analyzer)
        spent_s[at] = time.process_time() - started
    return spent_s[1] * 1000 / len(some)


async def bench_floor(*, rounds: int) -> None:
    """Print what the client takes by itself."""
    request = Requests("floor", "none").plain("find", query="nothing")
    with constant_server() as process:
        service = MeasuredService(process)
        walls = [await service.send([request] * 200) for _ in range(rounds)]
    p50, p95 = quantiles([wall for round_walls in walls for wall in round_walls])
    console.print(f"the client by itself: p50 {p50:.2f}, p95 {p95:.2f} ms\n")


async def _traffic(scene: Scene) -> dict[str, OperationTraffic]:
    """Count with few calls; through the proxy each round trip takes milliseconds."""
    operations = [
        *reads(scene.requests, scene.notes, scene.known, 20),
        *mcp_reads(scene.requests, scene.notes, scene.known, 20),
        *writes(scene.requests, scene.notes, scene.known, 20),
    ]
    return await count_traffic(scene, operations)


async def _rates(scene: Scene, count: int) -> dict[str, float]:
    """Return the notes a second of each way to write many."""
    each = scene.notes.take(count)
    ours = [
        scene.requests.tool("memory_write", path=f"user/bulk/{note.path}", content=note.text) for note in each
    ]
    theirs = [
        scene.requests.plain("write", path=f"user/bulk/{note.path}", content=note.text) for note in each
    ]
    batch = [scene.requests.batch(scene.notes.take(count))]
    imported = [scene.requests.importing(scene.notes.take(count))]
    rates = {}
    for name, service, requests in (
        ("one after the other", scene.memex, ours),
        ("[dim]  plain service[/]", scene.plain, theirs),
        (f"a batch of {count}", scene.memex, batch),
        (f"an import of {count}", scene.memex, imported),
    ):
        started = time.perf_counter()
        await service.send(requests)
        rates[name] = count / (time.perf_counter() - started)
    return rates
