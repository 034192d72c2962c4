"""Clients and services that are killed during a push: the next sync makes the root equal to the folder."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.faults.rig.replica import Replica
from tests.kit.documents import digest
from tests.mirror.conftest import Pushing, compared_with_a_fresh_push

from memex.api.remote import RemoteMemex

pytestmark = pytest.mark.embedded_only
Make = Callable[..., Pushing]
DOCS = [sys.executable, "-m", "memex", "docs"]
FILES = 2_500  # five batches
QUERIES = ("kestrel 7", "file 1200", "changed", "oolong 11")


def fill(folder: Path) -> dict[str, str]:
    """Write the files of a folder; return their digests by path."""
    made = {}
    for number in range(FILES):
        path = f"{number // 100:02}/{number:04}.md"
        text = f"# File {number}\n\nThe kestrel {number % 13} and the oolong {number % 17}.\n" * 8
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
        made[path] = digest(text)
    return made


@contextmanager
def docs(url: str, key: str, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a command of documents in a process of its own, and kill it at the end."""
    environment = {**os.environ, "MEMEX_URL": url, "MEMEX_API_KEY": key}
    command = [*DOCS, *words, "--user", "alice"]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def until_stored(pushing: Pushing, documents: int) -> str:
    """Wait until so many documents are stored, and return the state of the root."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        roots = (await pushing.documents.roots()).roots
        if roots and roots[0].documents >= documents:
            return roots[0].state
        await asyncio.sleep(0.01)
    raise AssertionError("nothing was stored")


@pytest.mark.slow
async def test_a_client_that_is_killed_while_it_pushes(
    pushing: Make, folder: Path, remote: RemoteMemex, key: str
) -> None:
    """After each of four kills the push goes on where it was; in the end all is there once, with its index."""
    expected = fill(folder)
    pushes = pushing()
    states = []
    for stored in (1, 600, 1_100, 1_700):
        with docs(remote.url, key, "push", str(folder)) as process:
            states.append(await until_stored(pushes, stored))
            os.kill(process.pid, signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
    partly = len(await pushes.digests())
    with docs(remote.url, key, "push", str(folder), "--json") as process:
        said, _ = process.communicate(timeout=120)

    assert states == ["syncing"] * 4
    assert partly < FILES
    assert process.returncode == 0, said
    assert await pushes.digests() == expected
    await compared_with_a_fresh_push(pushing, pushes, QUERIES)


@pytest.mark.slow
async def test_a_service_that_is_killed_between_two_batches(
    pushing: Make, folder: Path, conninfo: str, key: str, tmp_path: Path
) -> None:
    """A watching client waits for it, says so, and goes on by itself."""
    expected = fill(folder)
    pushes = pushing()
    replica = Replica("killed", conninfo, tmp_path)
    replica.start()
    try:
        with docs(replica.url, key, "watch", str(folder)) as process:
            for stored in (1, 900):
                await until_stored(pushes, stored)
                replica.kill()
                partly = len(await pushes.digests())
                await asyncio.sleep(0.5)
                assert len(await pushes.digests()) == partly
                replica.start()
            while (await pushes.documents.roots()).roots[0].state != "complete":
                assert process.poll() is None
                await asyncio.sleep(0.1)
    finally:
        replica.kill()

    assert await pushes.digests() == expected
    await compared_with_a_fresh_push(pushing, pushes, QUERIES)


@pytest.mark.slow
async def test_a_watcher_that_is_killed_while_files_change(
    pushing: Make, folder: Path, remote: RemoteMemex, key: str
) -> None:
    """Files are written, renamed and deleted before, between and after the kills; one push mends it all."""
    expected = fill(folder)
    pushes = pushing()
    await pushes.sync()
    dice = random.Random(7)
    for _ in range(5):
        with docs(remote.url, key, "watch", str(folder)) as process:
            for number in range(40):
                path = dice.choice(sorted(expected))
                file, sha256 = folder / path, expected.pop(path)
                match dice.choice(("edit", "move", "delete")):
                    case "edit":
                        file.write_text(f"changed {number}")
                        expected[path] = digest(f"changed {number}")
                    case "move":
                        file.rename(file.with_name(f"moved-{number}-{file.name}"))
                        expected[str(Path(path).with_name(f"moved-{number}-{file.name}"))] = sha256
                    case _:
                        file.unlink()
                await asyncio.sleep(dice.choice((0, 0.01, 0.1)))
            process.send_signal(signal.SIGKILL)
    with docs(remote.url, key, "push", str(folder), "--json") as process:
        said, _ = process.communicate(timeout=120)

    assert process.returncode == 0, said
    assert await pushes.digests() == expected
    await compared_with_a_fresh_push(pushing, pushes, QUERIES)
