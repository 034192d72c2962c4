"""Clients on two services, while services, Postgres, the lines between them, disks and clocks fail.

Whatever happens, the history of all clients is one that a memory without faults could have had.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest
from tests.faults.checker.anomalies import find_anomalies
from tests.faults.checker.history import Outcome
from tests.faults.rig.clients import Load
from tests.faults.rig.figures import normal_p99, recoveries
from tests.faults.rig.nemesis import Nemesis, Progress
from tests.faults.rig.stored import history_of, inconsistencies
from tests.faults.rig.system import FIRST_CALLS, two_replicas


@dataclass(frozen=True, slots=True)
class Size:
    """How much a run does."""

    operations: int
    clients: int
    faults: int


SEEDS = [1, 2, 3]
SHORT, FULL = Size(400, 8, 4), Size(10_000, 32, 18)


async def _run(load: Load, nemesis: Nemesis, size: Size) -> None:
    progress = Progress(size.operations)
    load.on_progress = progress.note
    async with asyncio.TaskGroup() as group:
        group.create_task(nemesis.run(progress, size.faults))
        group.create_task(load.run(size.clients))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Take three seeds, or one for a short run."""
    if "seed" in metafunc.fixturenames:
        is_short = metafunc.config.getoption("--faults") == "short"
        metafunc.parametrize("seed", SEEDS[:1] if is_short else SEEDS)


@pytest.mark.faults
def test_no_acknowledged_write_is_lost_or_doubled(
    server_folder: Path, faults: str, figures: list[str], seed: int
) -> None:
    """No write is lost or done twice, no answer shows what never stood, and one order explains all answers."""
    size = SHORT if faults == "short" else FULL
    folder = server_folder / f"history-{seed}"
    folder.mkdir(mode=0o755)
    with two_replicas(folder) as system:
        load = Load(system.urls, system.key, size.operations, seed)
        nemesis = Nemesis(system, folder, seed)
        asyncio.run(_run(load, nemesis, size))
        history = history_of(system.server, load.operations, earlier=FIRST_CALLS)
        found = inconsistencies(system.server)

    figures += _figures(load, nemesis, size)
    unanswered = [one.call_id for one in load.operations if one.end is None]
    assert find_anomalies(history) == []
    assert found == []
    assert load.faulty == []
    assert len(load.operations) == size.operations
    assert unanswered == []


def _figures(load: Load, nemesis: Nemesis, size: Size) -> Iterator[str]:
    outcomes = [one.outcome for one in load.operations]
    counts = ", ".join(f"{outcomes.count(name):,} {name}" for name in get_args(Outcome))
    seconds = max(one.end for one in load.attempts) - min(one.start for one in load.attempts)
    again = len(load.attempts) - len(outcomes)
    normal = normal_p99(load.attempts, nemesis.made)
    yield f"Seed {load.seed}: {len(outcomes):,} operations of {size.clients} clients in {seconds:.0f} s."
    yield f"{counts}; {again:,} requests were sent again."
    yield from nemesis.skipped
    yield f"p99 before the first fault: {normal * 1000:.0f} ms. How long after a fault it was over twice that:"
    for one in recoveries(load.attempts, nemesis.made):
        slow = "the next fault came before" if one.slow_s is None else f"{one.slow_s:.1f} s"
        yield f"  {one.name}, {one.lasted_s:.1f} s: {slow}"
