"""The primary is lost and its standby promoted: services go on by themselves, and no acknowledged write is lost."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest
from tests.faults.checker.anomalies import find_anomalies
from tests.faults.rig.clients import Load
from tests.faults.rig.nemesis import Progress
from tests.faults.rig.postgres import DATABASE, LOGIN, PostgresServer, new_server
from tests.faults.rig.replica import Replica
from tests.faults.rig.stored import history_of, inconsistencies
from tests.faults.rig.system import FIRST_CALLS, System

PATIENCE_S = 180.0
STANDBY = "standby"
OPERATIONS = 2_000


@contextmanager
def replicated(folder: Path) -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """Start a primary and a standby, and let each commit wait until the standby has it on its disk."""
    with new_server(folder / "primary") as primary:
        standby = primary.standby(STANDBY)
        standby.start()
        try:
            primary.execute(f"alter system set synchronous_standby_names = '{STANDBY}'")
            primary.execute("select pg_reload_conf()")
            deadline = time.monotonic() + PATIENCE_S
            while primary.execute("select sync_state from pg_stat_replication") != [("sync",)]:
                assert time.monotonic() < deadline, standby.log()
                time.sleep(0.05)
            yield primary, standby
        finally:
            standby.stop()


async def _run(load: Load, size: int, primary: PostgresServer, standby: PostgresServer) -> None:
    progress = Progress(size)
    load.on_progress = progress.note

    async def fail_over() -> None:
        await progress.reached(0.5)
        await asyncio.to_thread(primary.kill)
        await asyncio.to_thread(standby.promote)

    async with asyncio.TaskGroup() as group:
        group.create_task(fail_over())
        group.create_task(load.run(8))


@pytest.mark.faults
def test_a_promoted_standby_has_every_acknowledged_write(
    server_folder: Path, faults: str, figures: list[str]
) -> None:
    """Services that name both servers find the new primary without a restart, and clients lose nothing."""
    if faults == "short":
        pytest.skip("The short run loses no primary")
    folder = server_folder / "failover"
    folder.mkdir(mode=0o755)
    with ExitStack() as stack:
        primary, standby = stack.enter_context(replicated(folder))
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://{LOGIN}:{primary.password}@{hosts}/{DATABASE}?target_session_attrs=read-write"
        replicas = (Replica("one", url, folder), Replica("two", url, folder))
        for replica in replicas:
            stack.callback(replica.kill)
            replica.start()
        system = System(primary, replicas, ())
        system.settle()
        load = Load(system.urls, system.key, OPERATIONS, seed=1)

        asyncio.run(_run(load, OPERATIONS, primary, standby))

        ready = [httpx2.get(f"{one.url}/health/ready").status_code for one in replicas]
        history = history_of(standby, load.operations, earlier=FIRST_CALLS)
        found = inconsistencies(standby)

    answered = sorted(one.end for one in load.attempts if one.is_ok)
    pause_s = max(after - before for before, after in pairwise(answered))
    figures.append(
        f"Failover in {len(load.operations):,} operations: the longest time without an answer {pause_s:.1f} s."
    )
    assert find_anomalies(history) == []
    assert found == []
    assert load.faulty == []
    assert [one.call_id for one in load.operations if one.end is None] == []
    assert ready == [200, 200]
