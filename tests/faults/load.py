"""Load on a real service from many connections: `python -m tests.faults.load --clients 1 8 32`.

The service is `memex serve` in processes of its own, over a database of its own on the server of
`MEMEX_TEST_DATABASE_URL`. A client is a connection that sends its next request as soon as it has an answer; after a
503 it does so at once too, unless `--polite`.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

SERVER = os.environ.get("MEMEX_TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
FILES = 20
TOPICS = ("deploys", "the retry budget", "invoices", "tokens", "the roadmap", "backups", "travel", "tea")


@dataclass
class Answers:
    """How long requests took and how they ended."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    untold: int = 0  # refusals that do not say when to come back

    def percentile_ms(self, share: float) -> float:
        """Return a percentile of the times, in milliseconds."""
        if len(self.seconds) < 2:
            return 1000 * sum(self.seconds)
        return 1000 * statistics.quantiles(self.seconds, n=1000)[round(share * 1000) - 1]


@contextmanager
def own_database() -> Iterator[str]:
    """An empty database with a login of its own; both are dropped at the end."""
    name = f"memex_faults_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(SERVER, autocommit=True) as admin:
        admin.execute(f"create role {name} login createrole")
        admin.execute(f"create database {name} owner {name}")
        admin.execute(f"grant memex_agent, memex_admin to {name}") if _has_roles(admin) else None
    try:
        yield make_conninfo(SERVER, user=name, dbname=name)
    finally:
        with psycopg.connect(SERVER, autocommit=True) as admin:
            admin.execute(f"drop database {name} with (force)")
            with suppress(psycopg.Error):
                admin.execute(f"drop owned by {name}")
                admin.execute(f"drop role {name}")


def _has_roles(admin: "psycopg.Connection[Any]") -> bool:
    return bool(
        admin.execute("select from pg_roles where rolname in ('memex_agent', 'memex_admin')").rowcount
    )


@dataclass(frozen=True, slots=True)
class RunningService:
    """Where a `memex serve` listens, and its keys."""

    host: str
    port: int
    keys: Mapping[str, str]
    source: str = "127.0.0.1"  # from where clients come


@contextmanager
def service(conninfo: str, **settings: str) -> Iterator[RunningService]:
    """`memex serve` over a database."""
    process = subprocess.Popen(
        [sys.executable, "-m", "memex", "serve", "--json", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"DATABASE_URL": conninfo} | settings,
    )
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        host, _, port = ready["url"].removeprefix("http://").rpartition(":")
        yield RunningService(host, int(port), ready)
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


class Client:
    """One connection, which is opened again when it was lost."""

    def __init__(self, running: RunningService, key: str) -> None:
        self._address = running.host, running.port
        self._source = running.source
        self._key = key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(
        self, user: str, tool: str, arguments: Mapping[str, Any]
    ) -> tuple[int, dict[str, str], bytes]:
        """Return the status, the headers and the body of an answer."""
        body = json.dumps({"context": {"userId": user}, "arguments": arguments}).encode()
        head = (
            f"POST /v1/tools/{tool}/execute HTTP/1.1\r\nHost: {self._address[0]}\r\n"
            f"Authorization: Bearer {self._key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address, local_addr=(self._source, 0))
        reader, writer = self._streams
        try:
            writer.write(head.encode() + body)
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
            return int(lines[0].split()[1]), headers, await reader.readexactly(int(headers["content-length"]))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def request_of(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """Return a call of a usual mix: half finds, a fifth contexts, a fifth reads and a tenth writes."""
    draw, topic = chance.random(), chance.choice(TOPICS)
    if draw < 0.5:
        return "memory_find", {"query": f"what about {topic}"}
    if draw < 0.7:
        return "memory_context", {"query": f"What do I know of {topic}?"}
    if draw < 0.9:
        return "memory_read", {"path": f"user/note{chance.randrange(FILES)}.md"}
    text = f"# Note\n\nOn {topic}: {chance.random()}.\n"
    return "memory_write", {"path": f"user/new-{uuid.uuid4().hex}.md", "content": text}


async def fill(running: RunningService, users: Sequence[str]) -> None:
    """Write the files of users."""
    client = Client(running, running.keys["agent_key"])
    for user in users:
        edits = [
            {
                "path": f"user/note{number}.md",
                "content": f"# Note {number}\n\n"
                + "\n\n".join(
                    f"## {topic}\n\nWhat we said about {topic} in week {number}." for topic in TOPICS
                ),
            }
            for number in range(FILES)
        ]
        for edit in edits:
            status, _, body = await client.call(user, "memory_write", edit)
            assert status == 200, body
    client.close()


async def loaded(
    running: RunningService, users: Sequence[str], seconds: float, *, pause_s: float = 0, polite: bool = False
) -> Answers:
    """Return the answers to clients, one for each of `users`, that send requests for some seconds."""
    answers, end = Answers(), time.monotonic() + seconds

    async def run(number: int, user: str) -> None:
        chance, client = random.Random(number), Client(running, running.keys["agent_key"])
        while time.monotonic() < end:
            tool, arguments = request_of(chance)
            began = time.monotonic()
            try:
                status, headers, body = await client.call(user, tool, arguments)
            except (OSError, asyncio.IncompleteReadError):
                status, headers, body = 0, {}, b"{}"
            answers.seconds.append(time.monotonic() - began)
            answers.statuses[status] += 1
            if status >= 400:
                answers.codes[json.loads(body).get("code", "")] += 1
                answers.untold += status in (409, 429, 503) and "retry-after" not in headers
            if polite and status in (409, 503):
                await asyncio.sleep(float(headers.get("retry-after", 1)))
            elif pause_s:
                await asyncio.sleep(pause_s)
        client.close()

    await asyncio.gather(*(run(number, user) for number, user in enumerate(users)))
    return answers


def loaded_by_another_process(
    executor: ProcessPoolExecutor,
    running: RunningService,
    users: Sequence[str],
    seconds: float,
    *,
    polite: bool,
) -> "asyncio.Future[Answers]":
    """Do the same in a process of its own, whose work delays no client of this one."""
    work = partial(_load, running, tuple(users), seconds, polite=polite)
    return asyncio.get_running_loop().run_in_executor(executor, work)


def _load(running: RunningService, users: Sequence[str], seconds: float, *, polite: bool) -> Answers:
    return asyncio.run(loaded(running, users, seconds, polite=polite))


@contextmanager
def another_process() -> Iterator[ProcessPoolExecutor]:
    """A process for `loaded_by_another_process`, which has loaded this module already."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        executor.submit(shown, Answers([0.0]), 1.0).result()
        yield executor


def shown(answers: Answers, seconds: float) -> str:
    """Return a line about answers."""
    good = answers.statuses[200]
    return (
        f"{good / seconds:6.1f} answers/s  p50 {answers.percentile_ms(0.5):6.0f} ms  "
        f"p95 {answers.percentile_ms(0.95):6.0f}  max {1000 * max(answers.seconds):6.0f}  {dict(answers.statuses)}"
    )


async def measure(clients: Sequence[int], seconds: float, *, polite: bool) -> None:
    """Print the throughput by clients, and the times of a quiet user beside a noisy one."""
    users = [f"user{number}" for number in range(32)]
    with own_database() as conninfo, service(conninfo) as running, another_process() as executor:
        await fill(running, [*users, "quiet", "noisy"])
        for number in clients:
            made = await loaded(
                running, [users[one % len(users)] for one in range(number)], seconds, polite=polite
            )
            print(f"{number:4} clients      {shown(made, seconds)}", flush=True)
            await asyncio.sleep(2)
        alone = await loaded(running, ["quiet"], seconds, pause_s=0.05)
        print(f"   quiet, alone   {shown(alone, seconds)}", flush=True)
        noise = loaded_by_another_process(executor, running, ["noisy"] * 200, seconds + 2, polite=polite)
        await asyncio.sleep(2)
        beside = await loaded(running, ["quiet"], seconds, pause_s=0.05)
        print(f"   quiet, beside  {shown(beside, seconds)}", flush=True)
        print(f"   200 of noisy   {shown(await noise, seconds + 2)}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 8, 32, 128, 256])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--polite", action="store_true")
    options = parser.parse_args()
    asyncio.run(measure(options.clients, options.seconds, polite=options.polite))
