"""While one user sends hostile texts through every door, others are answered as if there were none."""

import asyncio
import io
import time
import zipfile
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx2
import pytest
from tests.faults.rig.hostile import FILE_CHARS, REMEMBERED_CHARS, hostile_texts
from tests.faults.rig.replica import Replica
from tests.time_limit import slowness

MAX_STALL_S = 0.1
MAX_WAIT_S = 1.0  # of 95 in 100 writes of another user
MAX_LONGEST_WAIT_S = 5.0  # of the longest: one write may meet four texts at once
# The short run shares its machine with anything: it must find stalls and waits of 20 s, and no more than these.
SHORT_LEEWAY = 4
PLAIN = "# Plan\n\n" + "We meet on Monday and bring the oars. " * 1_080  # 41 kB
SENDERS = 4
DOORS = ("remember", "write", "patch", "write_many", "import")
TEXTS = 200


@dataclass
class Others:
    """What another user noticed: how long reads and writes of his took."""

    reads_s: list[float] = field(default_factory=list)
    writes_s: list[float] = field(default_factory=list)


async def _tool(http: httpx2.AsyncClient, user: str, tool: str, arguments: dict[str, Any]) -> httpx2.Response:
    body = {"context": {"userId": user}, "arguments": arguments}
    return await http.post(f"/v1/tools/memory_{tool}/execute", json=body)


async def _others(http: httpx2.AsyncClient, noticed: Others) -> None:
    """Read and write as a user who knows nothing of the texts."""
    number = 0
    while True:
        number += 1
        started_s = time.perf_counter()
        if number % 5:
            answer = await _tool(http, "bob", "find", {"query": "oars"})
            noticed.reads_s.append(time.perf_counter() - started_s)
        else:
            content = f"{PLAIN}\n\nNumber {number}.\n"
            answer = await _tool(
                http, "bob", "write", {"path": "user/plan.md", "content": content, "overwrite": True}
            )
            noticed.writes_s.append(time.perf_counter() - started_s)
        assert answer.status_code == 200, answer.text


async def _send(http: httpx2.AsyncClient, number: int, name: str, text: str, remembered: str) -> None:
    """Send a text through one of the doors, which its number decides."""
    path = f"user/hostile/{number}.md"
    match number % len(DOORS):
        case 0:
            answer = await _tool(http, "mallory", "remember", {"text": remembered})
        case 1:
            answer = await _tool(http, "mallory", "write", {"path": path, "content": text})
        case 2:
            await _tool(http, "mallory", "write", {"path": path, "content": "# A\n\nB\n"})
            arguments = {"path": path, "operation": "append", "heading": "A", "text": text}
            answer = await _tool(http, "mallory", "patch", arguments)
        case 3:
            half = text[: len(text) // 2]
            edits = [{"kind": "write", "path": f"{path[:-3]}-{part}.md", "content": half} for part in "ab"]
            answer = await _tool(http, "mallory", "write_many", {"edits": edits})
        case _:
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as vault:
                vault.writestr(f"hostile/{number}.md", text)
            answer = await http.post(
                "/v1/import",
                content=packed.getvalue(),
                headers={"Memex-User": "mallory", "Content-Type": "application/zip"},
            )
    assert answer.status_code in (200, 409, 413, 422), (name, answer.status_code, answer.text[:300])
    if answer.status_code == 200 and number % len(DOORS) in (1, 2):
        for tool, arguments in (
            ("read", {"path": path}),
            ("diff", {"path": path}),
            ("links", {"path": path}),
            ("context", {"query": "a b text", "budget": 4_000}),
        ):
            answer = await _tool(http, "mallory", tool, arguments)
            assert answer.status_code in (200, 422), (name, tool, answer.text[:300])


def _metric(exposed: str, name: str) -> float:
    values = [line.rpartition(" ")[2] for line in exposed.splitlines() if line.startswith(name)]
    return max(map(float, values), default=0.0)


@pytest.mark.faults
@pytest.mark.process
async def test_hostile_texts_delay_nobody_else(
    tmp_path: Path, faults: str, figures: list[str], conninfo: str
) -> None:
    """The loop is never stalled for long, and writes of 41 kB by another user take a second at most.

    One write in twenty may take longer, but never as long as the texts in the queue before it: 35 seconds once.
    """
    every = 1 if faults == "full" else 16
    number = len(range(0, TEXTS, every))
    busy = slowness()  # of a machine that others use too
    replica = Replica("one", conninfo, tmp_path)
    replica.start()
    try:
        noticed, stall_s = await _attack(replica, every)
    finally:
        replica.kill()

    usual_s = quantiles(noticed.writes_s, n=20)[-1]
    figures.append(
        f"{number} hostile texts: the longest stall of the loop {stall_s * 1000:.0f} ms; another user's "
        f"{len(noticed.reads_s)} searches took {max(noticed.reads_s) * 1000:.0f} ms at most, and "
        f"{len(noticed.writes_s)} writes of 41 kB {max(noticed.writes_s) * 1000:.0f} ms, 95 % of them "
        f"{usual_s * 1000:.0f} ms."
    )
    leeway = max(busy, slowness()) * (1 if faults == "full" else SHORT_LEEWAY)
    assert stall_s <= MAX_STALL_S * leeway
    assert usual_s <= MAX_WAIT_S * leeway
    if faults == "full":  # one wait alone says more about the machine than about Memex
        assert max(noticed.writes_s) <= MAX_LONGEST_WAIT_S * leeway


async def _attack(replica: Replica, every: int) -> tuple[Others, float]:
    """Return what another user noticed of one of so many texts, and the longest stall in seconds."""
    noticed = Others()
    agent = {"Authorization": f"Bearer {replica.ready['agent_key']}"}
    async with httpx2.AsyncClient(base_url=replica.url, headers=agent, timeout=300) as http:
        bob = asyncio.create_task(_others(http, noticed))
        pairs = enumerate(zip(hostile_texts(FILE_CHARS), hostile_texts(REMEMBERED_CHARS), strict=True))
        queue = islice(pairs, 0, TEXTS, every)

        async def send() -> None:
            for number, ((name, text), (_, remembered)) in queue:
                await _send(http, number, name, text, remembered)

        async with asyncio.TaskGroup() as group:
            for _ in range(SENDERS):
                group.create_task(send())
        bob.cancel()
        admin = {"Authorization": f"Bearer {replica.ready['admin_key']}"}
        exposed = (await http.get("/metrics", headers=admin)).raise_for_status().text
    return noticed, _metric(exposed, "memex_loop_longest_stall_seconds")
