"""Another server becomes the primary: services go on by themselves, and no acknowledged write is lost.

The old primary is lost, or it goes on as a standby, which takes no writes.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import httpx2
import pytest
from tests.faults.checker.anomalies import find_anomalies
from tests.faults.rig.clients import Load
from tests.faults.rig.link import Link
from tests.faults.rig.nemesis import Progress
from tests.faults.rig.postgres import DATABASE, LOGIN, PostgresServer, new_server
from tests.faults.rig.replica import Replica
from tests.faults.rig.stored import history_of, inconsistencies
from tests.faults.rig.system import FIRST_CALLS, System
from tests.time_limit import slowness

PATIENCE_S = 180.0
BACK_S = 5.0  # after the new primary is there, on a machine that is not busy with other things
AWAY_S = 3.0  # without a primary
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


@dataclass
class Clients:
    """Somebody writes new files and somebody reads one, all the time; what became of each call, and when."""

    replica: Replica
    is_ending: bool = False
    written: list[tuple[float, str]] = field(default_factory=list)  # the acknowledged ones
    refused: list[tuple[float, int, str]] = field(default_factory=list)  # writes, with status and reason
    reads: list[tuple[float, int, str]] = field(default_factory=list)  # with status and what an answer lacks

    async def run(self) -> None:
        """Call until the end."""
        headers = {"Authorization": f"Bearer {self.replica.ready['agent_key']}"}
        async with httpx2.AsyncClient(base_url=self.replica.url, headers=headers, timeout=PATIENCE_S) as http:
            await asyncio.gather(self._write(http), self._read(http, "find"), self._read(http, "context"))

    async def _call(self, http: httpx2.AsyncClient, tool: str, **arguments: str) -> httpx2.Response:
        body = {"context": {"userId": "alice"}, "arguments": arguments}
        return await http.post(f"/v1/tools/memory_{tool}/execute", json=body)

    async def _write(self, http: httpx2.AsyncClient) -> None:
        number = 0
        while not self.is_ending:
            number += 1
            path = f"{number}.md"
            answer = await self._call(http, "write", path=f"user/{path}", content="Oolong tea.")
            if answer.status_code == 200:
                self.written.append((time.monotonic(), path))
            else:
                said = (time.monotonic(), answer.status_code, answer.json().get("reason", ""))
                self.refused.append(said)
            await asyncio.sleep(0.05)

    async def _read(self, http: httpx2.AsyncClient, tool: str) -> None:
        while not self.is_ending:
            answer = await self._call(http, tool, query="oolong")
            lacks = str(answer.json().get("degraded") or answer.json().get("reason") or "")
            self.reads.append((time.monotonic(), answer.status_code, lacks))
            await asyncio.sleep(0.05)


@dataclass
class Switchover:
    """When what happened, by `time.monotonic`."""

    demoted_s: float = 0.0  # the old server takes no writes any more, and answers again
    promoted_s: float = 0.0  # the new primary can be reached
    unready: str = ""  # what readiness said between the two


async def _switch_over(
    clients: Clients, primary: PostgresServer, standby: PostgresServer, link: Link | None
) -> Switchover:
    done = Switchover()
    running = asyncio.create_task(clients.run())
    while len(clients.written) < 10:  # noqa: ASYNC110  # the clients tell nobody
        await asyncio.sleep(0.05)
    await asyncio.to_thread(primary.stop)
    await asyncio.to_thread(primary.follow, standby)
    done.demoted_s = time.monotonic()
    deadline = done.demoted_s + PATIENCE_S
    async with httpx2.AsyncClient(base_url=clients.replica.url, timeout=PATIENCE_S) as http:
        while done.unready != "read_only":
            assert time.monotonic() < deadline, clients.replica.log()
            done.unready = (await http.get("/health/ready")).json().get("reason", "")
            await asyncio.sleep(0.1)
        await asyncio.sleep(AWAY_S)
        await asyncio.to_thread(standby.promote)
        if link is not None:
            link.target = standby.port  # connections that there are stay with the old server
        done.promoted_s = time.monotonic()
        before = len(clients.written)
        while len(clients.written) < before + 10:
            assert time.monotonic() < done.promoted_s + PATIENCE_S, clients.replica.log()
            await asyncio.sleep(0.05)
        done.unready += str((await http.get("/health/ready")).status_code)
    clients.is_ending = True
    await running
    return done


@pytest.mark.faults
@pytest.mark.parametrize("way", ["one address", "two hosts"])
def test_an_old_primary_that_goes_on_as_a_standby_is_left(
    server_folder: Path, faults: str, figures: list[str], way: str
) -> None:
    """Writes come back within seconds, by an address that moves or by names of both; meanwhile reading goes on."""
    if faults == "short" and way != "one address":
        pytest.skip("The short run moves an address")
    folder = server_folder / f"switchover-{way.replace(' ', '-')}"
    folder.mkdir(mode=0o755)
    with ExitStack() as stack:
        primary, standby = stack.enter_context(replicated(folder))
        link = stack.enter_context(Link(primary.port)) if way == "one address" else None
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://{LOGIN}:{primary.password}@{hosts}/{DATABASE}?target_session_attrs=read-write"
        replica = Replica("one", primary.url(link.port) if link else url, folder)
        stack.callback(replica.kill)
        replica.start()
        clients = Clients(replica)

        done = asyncio.run(_switch_over(clients, primary, standby, link))

        stored = {path for (path,) in standby.execute("select path from revision", dbname=DATABASE)}
        log = replica.log()

    back_s = next(at for at, _ in clients.written if at > done.promoted_s) - done.promoted_s
    answered = sorted(at for at, status, _ in clients.reads if status == 200)
    gap_s = max(after - before for before, after in pairwise(answered))
    failed = [lacks for _, status, lacks in clients.reads if status != 200]
    away = [read for read in clients.reads if done.demoted_s + 1 < read[0] < done.promoted_s]
    later = [read for read in clients.reads if read[0] > done.promoted_s]
    figures.append(
        f"Switchover by {way}: writes are back after {back_s:.1f} s, the longest time without a read is "
        f"{gap_s:.1f} s; {len(failed)} of {len(clients.reads)} reads failed, and {len(clients.refused)} writes."
    )
    assert {path for _, path in clients.written} - stored == set()
    busy = slowness()
    assert back_s < BACK_S * busy, log
    assert gap_s < 2 * BACK_S * busy, log
    assert {status for _, status, _ in clients.refused} <= {503}
    assert {(status, lacks) for _, status, lacks in away} == {(200, "log")}
    assert {status for _, status, _ in later} == {200}
    assert later[-1][2] == ""
    assert done.unready == "read_only200"
