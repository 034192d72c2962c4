"""A replica is stopped while it holds the lock of one user's memory: only that user's writes notice."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from tests.faults.rig.postgres import DATABASE, PostgresServer, new_server
from tests.faults.rig.replica import Replica
from tests.faults.rig.stored import inconsistencies
from tests.faults.rig.system import System, two_replicas
from tests.time_limit import slowness

from memex.store.migrate import LOCK_KEY

WRITERS = 14  # more than one replica has connections
OTHERS = ("bob", "carol", "dave")
ROUNDS = 5
MAX_OTHER_S, MAX_OWN_S = 1.0, 10.0
TRIES = 20
PATIENCE_S = 120.0  # how long the test itself waits, whatever the machine does
# Sessions of a replica that have the lock of a scope and are between two statements: they wait for the replica.
HOLDERS = """
select a.pid
  from pg_stat_activity a join pg_locks l using (pid)
 where l.relation = 'scope_stat'::regclass and l.mode = 'RowShareLock' and l.granted
   and a.state = 'idle in transaction' and a.datname = current_database()
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call got, and after how long."""

    status: int
    body: Mapping[str, Any]
    seconds: float

    @property
    def code(self) -> str:
        """The code of an error, or nothing."""
        return str(self.body.get("code", ""))


@dataclass
class Caller:
    """Calls one replica with the key of an agent."""

    http: httpx2.AsyncClient

    async def call(self, user: str, tool: str, call_id: str | None = None, **arguments: Any) -> Answer:
        """Return the answer to a call of a tool."""
        began = time.monotonic()
        context = {"userId": user, **({"toolCallId": call_id} if call_id else {})}
        body = {"context": context, "arguments": arguments}
        answer = await self.http.post(f"/v1/tools/memory_{tool}/execute", json=body)
        return Answer(answer.status_code, answer.json(), time.monotonic() - began)


def _caller(replica: Replica, key: str) -> Caller:
    headers = {"Authorization": f"Bearer {key}"}
    limits = httpx2.Limits(max_connections=None)
    return Caller(
        httpx2.AsyncClient(base_url=replica.url, headers=headers, limits=limits, timeout=PATIENCE_S)
    )


async def _stop_in_a_write(system: System, caller: Caller) -> tuple[str, asyncio.Task[Answer]]:
    """Stop the first replica while it holds the lock of alice's files; return the write that it is in."""
    system.links[0].delay_s = 0.1  # between the lock and the commit there is time to stop it
    for attempt in range(TRIES):
        call_id = f"stopped-{attempt}"
        write = asyncio.create_task(
            caller.call("alice", "write", call_id, path=f"user/stopped-{attempt}.md", content="held\n")
        )
        while not write.done():
            if await asyncio.to_thread(_holders, system.server):
                system.replicas[0].freeze()
                await asyncio.sleep(0.5)  # what it had sent already arrives
                if await asyncio.to_thread(_holders, system.server):
                    system.links[0].delay_s = 0.0
                    return call_id, write
                system.replicas[0].thaw()
            await asyncio.sleep(0.005)
        assert (await write).status == 200
    raise AssertionError("The replica never stood still in a write.")


def _holders(server: PostgresServer) -> list[Any]:
    return server.execute(HOLDERS, dbname=DATABASE)


async def _others(caller: Caller) -> list[Answer]:
    """Return the answers to users who share no memory with alice, one call after the other."""
    answers = []
    for number in range(ROUNDS):
        for user in OTHERS:
            path = f"user/beside-{number}.md"
            answers.append(await caller.call(user, "write", path=path, content="Tea.\n", overwrite=True))
            answers.append(await caller.call(user, "find", query="tea"))
    return answers


@pytest.mark.faults
def test_a_replica_that_stops_in_a_write_stops_nobody_else(
    server_folder: Path, faults: str, figures: list[str]
) -> None:
    """Others are answered as usual, writes to the same memory are told `SCOPE_BUSY`, and then all is well.

    That others are answered at all before the replica goes on is checked on any machine; how soon, in the full run.
    """
    folder = server_folder / "stopped"
    folder.mkdir(mode=0o755)
    with two_replicas(folder) as system:
        own, others, late = asyncio.run(_run(system))
        found = inconsistencies(system.server)

    own_s, others_s = max(one.seconds for one in own), max(one.seconds for one in others)
    told = sum(one.code == "SCOPE_BUSY" for one in own)
    figures.append(
        f"A replica stopped in a write: {len(own)} writes to the same memory, {told} of them told SCOPE_BUSY, took"
        f" {own_s:.1f} s at most; {len(others)} calls of others {others_s * 1000:.0f} ms at most."
    )
    assert [one for one in others if one.status != 200] == []
    assert [one for one in own if one.code not in ("SCOPE_BUSY", "OVERLOADED")] == []
    assert told > 0
    assert [one for one in late if one.status != 200] == []
    assert found == []
    if faults == "full":
        busy = slowness()
        assert others_s <= MAX_OTHER_S * busy
        assert own_s <= MAX_OWN_S * busy


async def _run(system: System) -> tuple[list[Answer], list[Answer], list[Answer]]:
    """Return the answers while the replica stands, to alice and to others, and those after it went on."""
    one, two = (_caller(replica, system.key) for replica in system.replicas)
    async with one.http, two.http:
        call_id, stopped = await _stop_in_a_write(system, one)
        try:
            writes = asyncio.gather(
                *(
                    two.call("alice", "write", path=f"user/waits-{number}.md", content="Waits.\n")
                    for number in range(WRITERS)
                )
            )
            others = await _others(two)
            own = await writes
        finally:
            system.replicas[0].thaw()
        await stopped  # whatever it was told: sent again under its id, it is done once
        path = f"user/{call_id}.md"
        late = [
            await one.call("alice", "write", call_id, path=path, content="held\n"),
            await two.call("alice", "read", path=path),
            await two.call("alice", "write", path="user/late.md", content="Late.\n"),
            await one.call("alice", "read", path="user/late.md"),
        ]
        assert late[1].body["version"] == 1
    return own, others, late


@pytest.mark.faults
def test_a_migration_says_for_whom_it_waits(server_folder: Path) -> None:
    """Behind the lock of a session, `memex service migrate` names it, and gives up when it is told to."""
    with new_server(server_folder / "migration") as server, psycopg.connect(server.url()) as holder:
        first = _migrate(server)
        server.execute("revoke select on scope from memex_agent", dbname=DATABASE)  # something to be done
        holder.execute("set application_name = 'left alone'")
        holder.execute("select pg_advisory_xact_lock(%s)", [LOCK_KEY])
        pid = holder.info.backend_pid
        waited = _migrate(server, MEMEX_MIGRATE_SECONDS="5")
        holder.rollback()
        again = _migrate(server)

    assert first.returncode == 0, first.stderr
    assert waited.returncode != 0
    assert "migration_waits" in waited.stderr
    assert f"process {pid} of Postgres (left alone" in waited.stderr
    assert "MEMEX_MIGRATE_SECONDS" in waited.stderr
    assert again.returncode == 0, again.stderr


def _migrate(server: PostgresServer, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "memex", "migrate"],
        env={**os.environ, "DATABASE_URL": server.url(), **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
