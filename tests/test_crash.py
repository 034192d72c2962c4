"""Kills under write load: what was acknowledged is there, what was not is whole or absent."""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from tests.kit import clusters
from tests.kit.forked_commands import Forks, Printing
from tests.kit.inconsistencies import INCONSISTENCIES
from tests.kit.property_budget import is_thorough

from memex.store.embedded import server as embedded

WRITERS = 4
CALLERS = 8 if is_thorough() else 4
PATIENCE_S = 60


@dataclass
class Served:
    """A service in a process of its own."""

    process: Printing
    url: str
    keys: dict[str, str]


@dataclass
class Load:
    """Writers who remember what was acknowledged to them."""

    url: str
    key: str
    acknowledged: dict[str, str] = field(default_factory=dict)
    enough: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)
    target: int = 0

    def write_until_stopped(self, writer: int, round_number: int) -> None:
        """Write new files and append to one that all share, through broken connections, until `stopped`."""
        headers = {"Authorization": f"Bearer {self.key}", "Memex-User": "alice"}
        with httpx2.Client(base_url=self.url, headers=headers, timeout=30) as client:
            for number in range(100_000):
                name = f"{round_number}-{writer}-{number}"
                line = f"line {name} of a log"
                try:
                    if number % 3 == 2:
                        body = {"operation": "append", "text": line}
                        answer = client.patch("/v1/file", params={"path": "user/log.md"}, json=body)
                    else:
                        text = f"# Note {name}\n\nSome words about {name}.\n"
                        answer = client.put("/v1/file", params={"path": f"user/{name}.md"}, content=text)
                except httpx2.TransportError:
                    answer = None
                if answer is not None and answer.status_code == 200:
                    self.acknowledged[line if number % 3 == 2 else f"user/{name}.md"] = name
                    if len(self.acknowledged) >= self.target:
                        self.enough.set()
                if self.stopped.is_set():
                    return


@contextmanager
def served(folder: Path, forked: Forks) -> Iterator[Served]:
    """`memex serve` on a free port; killed at the end if it still runs."""
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    arguments = ["serve", "--json", "--port", "0", "--data-dir", str(folder)]
    with Path(os.devnull).open("wb") as nothing:
        process = forked.spawn(arguments, environment, stderr=nothing.fileno(), timeout_s=PATIENCE_S)
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield Served(process, ready["url"], ready)
    finally:
        process.kill()
        process.communicate(PATIENCE_S)


@contextmanager
def loaded(load: Load, round_number: int) -> Iterator[None]:
    """Writers at work until the end of the block."""
    writers = [
        threading.Thread(target=load.write_until_stopped, args=(writer, round_number))
        for writer in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    try:
        yield
    finally:
        load.stopped.set()
        for writer in writers:
            writer.join()


def check_consistency(folder: Path) -> dict[str, str]:
    """Nothing is half; return what the user's files say."""
    with embedded.start(folder) as lease:
        conninfo = psycopg.conninfo.make_conninfo(lease.admin_conninfo, dbname="memex")
        with psycopg.connect(conninfo) as connection:
            for name, statement in INCONSISTENCIES.items():
                assert connection.execute(statement).fetchall() == [], name
            return dict(
                connection.execute(
                    "select 'user/' || path, content from revision where rev_end is null and not deleted"
                ).fetchall()
            )


def check(folder: Path, acknowledged: dict[str, str]) -> None:
    """Nothing acknowledged is lost, and nothing is half."""
    heads = check_consistency(folder)
    lines = heads["user/log.md"].splitlines()
    assert len(lines) == len(set(lines))
    lost = [name for name in acknowledged if name not in heads and name not in lines]
    assert lost == []


@pytest.mark.parametrize("victim", ["service", "server"])
def test_acknowledged_writes_survive_a_kill(
    server_folder: Path, made_data_dir: Path, forked: Forks, victim: str
) -> None:
    """SIGKILL of the service, or of its Postgres, under load: acknowledged writes are there, none is half."""
    folder = server_folder / f"crash-{victim}"
    clusters.copy(made_data_dir, folder)
    chance = random.Random(11)
    acknowledged: dict[str, str] = {}
    key = ""
    for round_number in range(4 if is_thorough() else 1):
        with served(folder, forked) as service:
            key = service.keys.get("agent_key", key)
            first = httpx2.put(
                f"{service.url}/v1/file",
                params={"path": "user/log.md"},
                headers={"Authorization": f"Bearer {key}", "Memex-User": "alice", "If-None-Match": "*"},
                content="# Log\n",
            )
            assert first.status_code == (200 if round_number == 0 else 409)
            load = Load(service.url, key, acknowledged, target=len(acknowledged) + chance.randint(20, 80))
            with loaded(load, round_number):
                assert load.enough.wait(60)
                if victim == "service":
                    service.process.kill()
                else:
                    pid = embedded.inspect(folder).pid
                    assert pid is not None
                    os.kill(pid, signal.SIGKILL)
                    # The supervisor starts it again, and the service goes on by itself.
                    load.enough.clear()
                    load.target = len(acknowledged) + 20
                    assert load.enough.wait(60)
    check(folder, acknowledged)


@dataclass
class Rememberers:
    """Callers of memory_remember who keep each call that they make, and send it again until it is answered."""

    url: str
    key: str
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    enough: threading.Event = field(default_factory=threading.Event)

    def remember(self, caller: int, numbers: Iterable[int]) -> None:
        """Remember one statement a number that nobody else makes, and one value that all give."""
        headers = {"Authorization": f"Bearer {self.key}"}
        with httpx2.Client(base_url=self.url, headers=headers, timeout=30) as client:
            for number in numbers:
                call_id = f"call-{caller}-{number}"
                answer = self._sent(client, call_id, f"{caller}x{number}")
                if answer is None:
                    return
                assert self.answers.setdefault(call_id, answer) == answer
                if len(self.answers) >= (40 if is_thorough() else 8):
                    self.enough.set()

    def _sent(self, client: httpx2.Client, call_id: str, name: str) -> dict[str, Any] | None:
        text = f"I hate food {name}. My favorite color is color {name}. I live in Lisbon."
        call = {"context": {"userId": "alice", "toolCallId": call_id}, "arguments": {"text": text}}
        try:
            answer = client.post("/v1/tools/memory_remember/execute", json=call)
            while answer.status_code == 503:  # a busy machine: nothing was done, and it is sent again
                time.sleep(0.1)
                answer = client.post("/v1/tools/memory_remember/execute", json=call)
        except httpx2.TransportError:
            return None
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body


def test_a_text_sent_again_after_a_kill_is_remembered_once(
    server_folder: Path, made_data_dir: Path, forked: Forks
) -> None:
    """SIGKILL with many calls under way; all of them again under their ids: each statement stands exactly once.

    What was acknowledged before the kill is answered alike after it.
    """
    folder = server_folder / "crash-remember"
    clusters.copy(made_data_dir, folder)
    with served(folder, forked) as service:
        load = Rememberers(service.url, service.keys["agent_key"])
        with ThreadPoolExecutor(CALLERS) as pool:
            calling = [pool.submit(load.remember, caller, range(1_000)) for caller in range(CALLERS)]
            assert load.enough.wait(60)
            service.process.kill()
            for caller in calling:
                caller.result(60)
    before = dict(load.answers)
    sent = {
        caller: 1 + sum(name.startswith(f"call-{caller}-") for name in before) for caller in range(CALLERS)
    }
    with served(folder, forked) as service:
        load.url = service.url
        with ThreadPoolExecutor(CALLERS) as pool:
            for caller in [pool.submit(load.remember, caller, range(n)) for caller, n in sent.items()]:
                caller.result(60)

    assert len(load.answers) == sum(sent.values())
    heads = check_consistency(folder)
    foods = [line.split()[4] for line in heads["user/preferences.md"].splitlines() if "hate food" in line]
    assert sorted(foods) == sorted(f"{caller}x{n}." for caller, count in sent.items() for n in range(count))
    assert heads["user/preferences.md"].count("favorite color") == 1
    assert heads["user/profile.md"].count("Lisbon") == 1
