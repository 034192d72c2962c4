"""A disk that fills up: what would grow is refused, reading and deleting go on, and nothing is lost."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.kit.forked_commands import Forks
from tests.kit.http_service import Served, serving_http
from tests.test_crash import served

from memex import postgres
from memex.settings import Settings
from memex.store.identity import tenants

pytestmark = pytest.mark.slow

DISK = "400m"
LARGER_DISK = "1000m"
FILE_WORDS = 8_000
MOST_FILES = 2_000
CHATS, CHAT_WORDS = 2_000, 600
BARELY_ENOUGH_BYTES = 40 << 20
RECOVERY_S = 90
ALICE = {"context": {"userId": "alice"}}
CONTEXT = ALICE | {"arguments": {"query": "word13 of file 1", "budget": 2_000}}
# A long question has a long row in the log, for which Postgres soon needs another page.
LONG_QUESTION = ALICE | {"arguments": {"query": "word13 " * 400, "budget": 2_000}}


@pytest.fixture
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small disk of its own, which lies in memory."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = Path(f"/var/tmp/memex-full-disk-{os.getpid()}")  # reachable for the user of Postgres
    folder.mkdir(mode=0o755)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        folder.rmdir()
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def test_a_full_disk_stops_growth_alone(disk: Path, forked: Forks) -> None:
    """Until the reserve is reached everything is stored; then reading and deleting go on, and all comes back."""
    stored: dict[str, str] = {}
    with (
        served(disk / "data", forked) as service,
        _client(service.url, service.keys["agent_key"]) as client,
    ):
        refused = _write_until_refused(client, stored)

        assert (refused.status_code, refused.json()["code"]) == (507, "DISK_LOW"), refused.text
        assert "memex doctor" in refused.json()["hint"]
        _check_answers(client, degraded=None)
        assert client.get("/health/ready").is_success
        gone = stored.popitem()[0]
        assert client.delete("/v1/file", params={"path": gone}).is_success

        with _ballast(disk):
            _wait_for(lambda: client.get("/health/ready").status_code == 503)
            _check_answers(client, degraded="log")
            probed = client.get("/health/ready").json()
            assert (probed["code"], probed["reason"]) == ("STORE_UNAVAILABLE", "disk_full")
            assert client.get("/health/live").is_success
            path = next(iter(stored))
            assert client.delete("/v1/file", params={"path": path}).json()["code"] == "DISK_LOW"
            numbers = httpx2.get(f"{service.url}/metrics").text
            assert 'memex_unlogged_total{tool="memory_context"} 1.0' in numbers
            assert "memex_disk_low 1.0" in numbers

        subprocess.run(["mount", "-o", f"remount,size={LARGER_DISK}", str(disk)], check=True)
        _wait_for(lambda: client.get("/health/ready").is_success)
        _wait_for(lambda: client.put("/v1/file", params={"path": "user/after.md"}, content="room").is_success)
        _check_answers(client, degraded=None)
        for path, text in stored.items():
            assert client.get("/v1/file", params={"path": path}).json()["content"] == text
        assert client.get("/v1/file", params={"path": gone}).status_code == 404


def test_a_full_disk_that_only_postgres_notices_is_outlived(disk: Path) -> None:
    """A service that cannot see the disk goes by what Postgres says, and reads are served without the log."""
    stored: dict[str, str] = {}
    settings = Settings(data_dir=disk / "data")
    with (
        closing(postgres.start(settings)) as started,
        serving_http(started.conninfo) as service,
        _client(service.url, _agent_key(service)) as client,
    ):
        for number in range(3):
            _write(client, stored, number)

        with _ballast(disk):
            refused = _write_until_refused(client, stored)
            assert (refused.status_code, refused.json()["code"]) == (507, "DISK_LOW"), refused.text
            _check_answers(client, degraded="log")  # nothing is tried for a while
            _wait_for(lambda: _has_degraded_after_a_try(client, service))

        _wait_for(lambda: _is_written(client, "user/after.md"))
        _check_answers(client, degraded=None)
        for path, text in stored.items():
            assert client.get("/v1/file", params={"path": path}).json()["content"] == text


def test_an_import_that_fills_the_disk_is_finished_by_the_same_command(disk: Path, tmp_path: Path) -> None:
    """It stops with a code and says what stays stored; with room again, the rest follows, and nothing is double."""
    path = tmp_path / "chats.jsonl"
    with path.open("w") as file:
        for number in range(CHATS):
            words = " ".join(f"word{number * 7 + place * 13}" for place in range(CHAT_WORDS))
            one = {"id": f"c{number}", "messages": [{"role": "user", "content": words}]}
            file.write(f"{json.dumps(one)}\n")
    data = disk / "data"
    assert json.loads(_memex("sources", data=data).stdout)["sources"] == []

    with _ballast(disk, spare_bytes=BARELY_ENOUGH_BYTES):
        stopped = _memex("ingest", str(path), data=data)
    again = _memex("ingest", str(path), data=data)

    assert stopped.returncode == 1
    refused = json.loads(stopped.stderr.splitlines()[-1])
    assert refused["code"] in ("DISK_LOW", "STORE_UNAVAILABLE")
    assert "the same command goes on from there" in refused["hint"]
    assert "Traceback" not in stopped.stderr
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert report["failed"] == []
    assert 0 < report["conversations"]["created"] < CHATS, "a part was stored before"
    [source] = json.loads(_memex("sources", data=data).stdout)["sources"]
    assert (source["conversations"], source["messages"]) == (CHATS, CHATS)


def _memex(*words: str, data: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "memex", *words, "--json"]
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    environment |= {"MEMEX_DATA_DIR": str(data)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def _has_degraded_after_a_try(client: httpx2.Client, service: Served) -> bool:
    """Read until the row of a read was refused by Postgres itself; each read is answered."""
    assert service.service is not None
    is_tried = service.service.database.space.is_logged
    answer = client.post("/v1/tools/memory_context/execute", json=LONG_QUESTION)
    assert answer.is_success, answer.text
    return is_tried and answer.json()["degraded"] == "log"


def _agent_key(service: Served) -> str:
    assert service.service is not None
    secret, _ = service.run(tenants.create_key(service.service.database, "home", "agent", user_id="alice"))
    return secret


def _write_until_refused(client: httpx2.Client, stored: dict[str, str]) -> httpx2.Response:
    for number in range(len(stored), MOST_FILES):
        answer = _write(client, stored, number)
        if not answer.is_success:
            return answer
    raise AssertionError("nothing was refused")


def _write(client: httpx2.Client, stored: dict[str, str], number: int) -> httpx2.Response:
    words = " ".join(f"word{number * 7 + place * 13}" for place in range(FILE_WORDS))
    path, text = f"user/{number}.md", f"# File {number}\n\n{words}\n"
    answer = client.put("/v1/file", params={"path": path}, content=text)
    if answer.is_success:
        stored[path] = text
    return answer


def _is_written(client: httpx2.Client, path: str) -> bool:
    return client.put("/v1/file", params={"path": path}, headers={"If-Match": "*"}, content="room").is_success


def _check_answers(client: httpx2.Client, *, degraded: str | None) -> None:
    """Read, find, list and ask for a context."""
    read = client.get("/v1/file", params={"path": "user/1.md"})
    found = client.post("/v1/tools/memory_find/execute", json=ALICE | {"arguments": {"query": "word13"}})
    listed = client.post("/v1/tools/memory_list/execute", json=ALICE | {"arguments": {"prefix": "user/"}})
    context = client.post("/v1/tools/memory_context/execute", json=CONTEXT)

    for answer in (read, found, listed, context):
        assert answer.is_success, answer.text
        assert answer.json().get("degraded") == degraded, answer.text[-200:]
    assert found.json()["hits"]
    assert context.json()["context"]


@contextmanager
def _ballast(disk: Path, spare_bytes: int = 0) -> Iterator[None]:
    """Another program's file that takes all space of the disk, but for `spare_bytes`."""
    file = disk / "ballast"
    with file.open("wb") as ballast:
        found = os.statvfs(disk)
        os.posix_fallocate(ballast.fileno(), 0, found.f_bavail * found.f_frsize - spare_bytes)
    try:
        yield
    finally:
        file.unlink()


def _client(url: str, key: str) -> httpx2.Client:
    return httpx2.Client(base_url=url, headers=_bearer(key) | {"Memex-User": "alice"}, timeout=60)


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + RECOVERY_S
    while not condition():
        assert time.monotonic() < deadline, "it did not recover"
