"""The section `felt` of the benchmark: what a user waits for, at some numbers of notes."""

import time
from dataclasses import dataclass, field

from memex.evals.bench.felt.counting import OperationTraffic, count_traffic
from memex.evals.bench.felt.measuring import MeasuredService, OperationFigures, compare, quantiles
from memex.evals.bench.felt.notes import Notes
from memex.evals.bench.felt.operations import Requests, reads, writes
from memex.evals.bench.felt.processes import constant_server
from memex.evals.bench.felt.report import SETTLED, DatabaseState, comparison_table, rates_table, states_table
from memex.evals.bench.felt.scene import Scene, open_scene
from memex.evals.bench.felt.start import bench_start_felt
from memex.evals.bench.workbench import console
from memex.evals.fixtures.data_folder import temporary_data_folder

BULK = 200  # notes of a bulk write
STATES = (
    DatabaseState(is_analyzed=False, is_merged=False),
    DatabaseState(is_analyzed=False, is_merged=True),
    SETTLED,
    DatabaseState(is_analyzed=True, is_merged=False),
)


@dataclass(slots=True)
class FeltFigures:
    """All figures over one number of notes."""

    chunks: int = 0
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
            _print(figures, notes, count=count, rounds=rounds, calls=calls)
        await bench_start_felt(folder, scene.requests, rounds=rounds)


def _print(figures: FeltFigures, notes: Notes, *, count: int, rounds: int, calls: int) -> None:
    title = (
        f"over {count:,} notes ({notes.origin}; {figures.chunks / count:.1f} passages a note), "
        f"{rounds} rounds of {calls} calls, milliseconds a call"
    )
    settled = figures.reads[SETTLED] | figures.writes[SETTLED]
    console.print(
        comparison_table(f"analyzed and merged, {title}", settled, figures.traffic),
        states_table(f"reads in each state, {title}", figures.reads),
        states_table(f"writes, {title}", figures.writes),
        rates_table("bulk", figures.rates),
        "",
        sep="\n",
    )


async def measure_scene(scene: Scene, *, count: int, rounds: int, calls: int) -> FeltFigures:
    """Fill a scene and measure it in each state."""
    figures = FeltFigures()
    await scene.fill(count)
    figures.chunks = await scene.chunks()
    for state in STATES:
        if state.is_analyzed and not any(other.is_analyzed for other in figures.reads):
            await scene.analyze()
        await (scene.merge() if state.is_merged else scene.freshen())
        asked = reads(scene.requests, scene.notes, scene.known, calls)
        figures.reads[state] = await compare(asked, scene.memex, scene.plain, rounds=rounds)
        if state in {STATES[0], SETTLED}:
            edits = writes(scene.requests, scene.notes, scene.known, calls // 2)
            figures.writes[state] = await compare(edits, scene.memex, scene.plain, rounds=rounds)
            await scene.merge()
    figures.traffic = await _traffic(scene)
    figures.rates = await _rates(scene)
    return figures


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
        *writes(scene.requests, scene.notes, scene.known, 20),
    ]
    return await count_traffic(scene, operations)


async def _rates(scene: Scene) -> dict[str, float]:
    """Return the notes a second of each way to write many."""
    each = scene.notes.take(BULK)
    ours = [
        scene.requests.tool("memory_write", path=f"user/bulk/{note.path}", content=note.text) for note in each
    ]
    theirs = [
        scene.requests.plain("write", path=f"user/bulk/{note.path}", content=note.text) for note in each
    ]
    imported = [scene.requests.importing(scene.notes.take(BULK))]
    rates = {}
    for name, service, requests in (
        ("one after the other", scene.memex, ours),
        ("[dim]  plain service[/]", scene.plain, theirs),
        (f"an import of {BULK}", scene.memex, imported),
    ):
        started = time.perf_counter()
        await service.send(requests)
        rates[name] = BULK / (time.perf_counter() - started)
    return rates
