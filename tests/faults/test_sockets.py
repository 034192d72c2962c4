"""Thousands of hostile sockets from one address: health and others are answered meanwhile."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.faults import load
from tests.faults.load import RunningService
from tests.time_limit import slowness

FULL, SHORT = 5_000, 300
SECONDS = {"full": 15.0, "short": 4.0}
MAX_HEALTH_MS = 50
MAX_RATIO = 3.0  # of another user's p95 beside the attack and alone
MAX_UNANSWERED = 0.02
PUT = "PUT /v1/file?path=user/a.md HTTP/1.1\r\nHost: x\r\n"
BODY = PUT + "Authorization: Bearer {key}\r\nContent-Length: 90000\r\n\r\n"
ATTACKS = {  # what a socket sends first; then a byte a second
    "half heads": "GET /v1/me HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    "slow bodies by one key": BODY,
    "bodies after the answer": BODY.replace("{key}", "mx_nobody"),
    "nothing": "",
}
ATTACK = """
import asyncio, sys
host, first = sys.argv[1], sys.argv[5]
port, sockets, seconds = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
async def one(number):
    end = asyncio.get_running_loop().time() + seconds
    await asyncio.sleep(number / sockets)
    while asyncio.get_running_loop().time() < end:
        try:
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(first.encode())
            while asyncio.get_running_loop().time() < end and not reader.at_eof():
                await asyncio.sleep(1)
                if first:
                    writer.write(b"x")
                    await writer.drain()
            writer.close()
        except OSError:
            pass
        await asyncio.sleep(0.5)
async def all():
    await asyncio.gather(*(one(number) for number in range(sockets)))
asyncio.run(all())
"""


@contextmanager
def attacked(running: RunningService, sockets: int, seconds: float, first: str) -> Iterator[None]:
    """Let a process hold so many sockets, each of which sends a byte a second and is opened again when it ends."""
    where = (running.host, str(running.port), str(sockets), str(seconds))
    process = subprocess.Popen([sys.executable, "-c", ATTACK, *where, first])
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


async def health(host: str, port: int, seconds: float) -> load.Answers:
    """Ask for the health on a new connection each time, as probes do."""
    answers, end = load.Answers(), time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            said = await reader.read()
            writer.close()
        except OSError:
            said = b""
        answers.seconds.append(time.monotonic() - began)
        answers.statuses[int((said.split() or [b"", b"0"])[1])] += 1
        await asyncio.sleep(0.05)
    return answers


@pytest.mark.faults
@pytest.mark.parametrize("kind", ATTACKS)
async def test_hostile_sockets_keep_nobody_out(
    conninfo: str, faults: str, figures: list[str], kind: str
) -> None:
    """Health answers within 50 ms, and the p95 of others is at most three times that of before."""
    sockets, seconds = (FULL if faults == "full" else SHORT), SECONDS[faults]
    few = {} if faults == "full" else {"MEMEX_HTTP_CONNECTIONS": str(SHORT // 8)}
    with socket.create_server(("127.0.0.1", 0)) as free:
        health_port = free.getsockname()[1]
    settings = {"MEMEX_WORKERS": "1", "MEMEX_HEALTH_PORT": str(health_port), **few}
    with load.service(conninfo, **settings) as served:
        running = replace(served, source="127.0.0.2")  # others than the attackers
        await load.fill(running, ["quiet"])
        alone = await load.loaded(running, ["quiet"], seconds / 3, pause_s=0.05)
        first = ATTACKS[kind].replace("{key}", running.keys["agent_key"])
        with attacked(running, sockets, seconds + 4, first):
            await asyncio.sleep(3)
            probed, beside = await asyncio.gather(
                health(running.host, health_port, seconds),
                load.loaded(running, ["quiet"], seconds, pause_s=0.05),
            )

    figures += [
        f"{sockets} sockets, {kind}, load {os.getloadavg()[0]:.1f}: health {load.shown(probed, seconds)}",
        f"   a call of another beside {load.shown(beside, seconds)}",
        f"   and alone                {load.shown(alone, seconds / 3)}",
    ]
    for answers in (probed, beside):
        assert answers.statuses[200] >= (1 - MAX_UNANSWERED) * answers.statuses.total(), answers.statuses
    assert probed.percentile_ms(0.95) <= MAX_HEALTH_MS * slowness()
    assert beside.percentile_ms(0.95) <= MAX_RATIO * alone.percentile_ms(0.95) * slowness()
