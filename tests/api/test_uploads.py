"""Uploads of exports: where they lie, and the process that reads one within limits."""

import asyncio
import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from memex.api.uploads.folder import MAX_NAME_BYTES, UploadFolder, stored_name
from memex.api.uploads.lanes import ReadingLanes
from memex.api.uploads.process import UploadReader
from memex.errors import DiskLow, FileTooLarge, LimitExceeded, StoreUnavailable, error_of

OPTIONS = {"label": None, "include": {}, "again": False, "dry_run": False}


@pytest.fixture
def folder(tmp_path: Path) -> UploadFolder:
    """A folder of uploads that is not there yet."""
    return UploadFolder(tmp_path / "uploads")


async def test_an_upload_is_its_owners_alone_and_goes_when_it_is_closed(folder: UploadFolder) -> None:
    """Only the owner may read it, it never grows beyond its limit, and what a process left behind is swept away."""
    file = folder.receive("../data.zip", 2_000_000, 0)
    left_behind = folder.path / "upload-of-a-process-that-has-ended"
    left_behind.mkdir()
    (left_behind / "data.zip").write_bytes(b"x")

    await file.write(b"x" * 1_500_000)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder.path, file.path.parent, file.path)]
    swept = folder.sweep()
    with pytest.raises(FileTooLarge):
        await file.write(b"x" * 600_000)

    assert file.path.read_bytes() == b"x" * 1_500_000
    assert modes == [0o700, 0o700, 0o600]
    assert swept == 1
    file.close()
    file.close()
    assert list(folder.path.iterdir()) == []
    with pytest.raises(FileTooLarge):
        folder.receive("data.zip", 1_000, 1_001)


async def test_an_upload_leaves_space_on_the_disk(
    folder: UploadFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused when it would not fit, and given up when the disk fills while it comes; nothing stays."""
    free = 600 << 20
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(DiskLow):
        folder.receive("large.zip", 2 << 30, 400 << 20)
    file = folder.receive("data.zip", 2 << 30, 300 << 20)
    free = 100 << 20

    with pytest.raises(DiskLow):
        await file.write(b"x" * (2 << 20))
    file.close()

    assert list(folder.path.iterdir()) == []


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    """One in which others may write, one that a link names, and one that cannot be made."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()

    for name in ("open", "link", "file"):
        with pytest.raises(StoreUnavailable, match="folder of uploads"):
            UploadFolder(tmp_path / name).receive("data.zip", 1_000, 0)


@given(st.text(max_size=300))
def test_any_name_can_be_stored(name: str) -> None:
    """A name is one part of a path, and not too long for a file system."""
    stored = stored_name(name)

    assert 0 < len(stored.encode()) <= MAX_NAME_BYTES
    assert stored.isprintable() or not any(ord(one) < 32 for one in stored)
    assert "/" not in stored
    assert stored not in (".", "..")


async def test_users_take_turns_on_the_lanes(tmp_path: Path) -> None:
    """One lane: the user who had no turn goes before the one who had one, and who gives up waits no more."""
    lanes, order = ReadingLanes(tmp_path / "uploads", 1), []

    async def read(user: str) -> None:
        async with lanes.held((1, user)):
            order.append(user)
            await asyncio.sleep(0)

    async with lanes.held((1, "alice")):
        waiting = [asyncio.create_task(read(user)) for user in ("alice", "alice", "bob", "carol")]
        gone = asyncio.create_task(read("dave"))
        await asyncio.sleep(0)
        gone.cancel()
    await asyncio.gather(*waiting)

    assert sorted(order) == ["alice", "alice", "bob", "carol"]
    assert order.index("bob") < 3
    assert order[-1] == "alice"


def large_export() -> bytes:
    """Return an export whose reading takes some seconds."""
    said = [{"uuid": str(n), "sender": "human", "text": "word " * 2_000} for n in range(50)]
    chats = [
        {"uuid": f"c{n}", "name": "x", "account": {"uuid": "a"}, "chat_messages": said} for n in range(80)
    ]
    return json.dumps(chats).encode()


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A large export in a file."""
    path = tmp_path_factory.mktemp("export") / "conversations.json"
    path.write_bytes(large_export())
    yield path
    path.unlink()


def environment_of(pid: int) -> bytes:
    """Return the environment of a process; of one on a system that does not tell, nothing."""
    path = Path(f"/proc/{pid}/environ")
    return path.read_bytes() if path.exists() else b""


async def drained(reader: UploadReader) -> dict[str, Any]:
    """Answer a process until it is done; return its last frame."""
    try:
        while (frame := await reader.next()).said["kind"] != "done":
            wanted = [one["id"] for one in frame.said.get("asked", {}).get("conversations", [])]
            if frame.said["kind"] == "wanted":
                await reader.answer(
                    {"found": {"wanted": wanted, "known_files": [], "bookmarks": {}, "removed": {}}}
                )
            elif frame.said["kind"] == "put":
                stored = [{"change": "created"}] * frame.body.count(b"\n")
                found = {"conversations": stored[1:], "messages_added": 0, "secrets_count": 0}
                await reader.answer({"found": found})
        return frame.said
    finally:
        await reader.close()


@pytest.mark.slow
async def test_a_process_that_takes_too_much_is_ended(export: Path) -> None:
    """Time of the processor and memory; it has no environment, and an interrupt of the terminal leaves it alone."""
    late = await UploadReader.start(export, OPTIONS, cpu_s=1)
    with pytest.raises(LimitExceeded, match="more than 1 s of the processor"):
        await drained(late)
    fat = await UploadReader.start(export, OPTIONS, memory_bytes=1 << 20)
    with pytest.raises(LimitExceeded):
        raise error_of(**(await drained(fat))["error"])
    reader = await UploadReader.start(export, OPTIONS)
    first = await reader.next()
    environment = await asyncio.to_thread(environment_of, reader.pid)
    os.kill(reader.pid, signal.SIGINT)
    await reader.answer({"error": {"code": "QUOTA_EXCEEDED", "message": "full", "hint": "delete"}})
    done = await drained(reader)

    assert first.said["kind"] == "wanted"
    assert environment == b""
    assert done["error"] == {"code": "QUOTA_EXCEEDED", "message": "full", "hint": "delete"}


def test_a_process_that_ends_while_it_is_answered_is_named(export: Path) -> None:
    """In the event loop of the service too, the next frame says that the process has ended."""

    async def answer_the_dead() -> None:
        reader = await UploadReader.start(export, OPTIONS)
        await reader.next()
        await reader.close()
        await reader.answer({"found": {}})
        with pytest.raises(LimitExceeded, match="has ended"):
            await drained(reader)

    for loop in (uvloop.new_event_loop, asyncio.new_event_loop):
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(answer_the_dead())


async def test_a_process_that_ends_or_hangs_ends_the_import(export: Path) -> None:
    """A killed one is named at once, a stopped one after a while; neither stays."""
    killed = await UploadReader.start(export, OPTIONS)
    killed.kill()
    with pytest.raises(LimitExceeded, match="has ended"):
        await killed.next()
    stuck = await UploadReader.start(export, OPTIONS, silent_s=0.2)
    os.kill(stuck.pid, signal.SIGSTOP)
    with pytest.raises(LimitExceeded, match="nothing was read"):
        await stuck.next()
    await stuck.close()

    for one in (killed.pid, stuck.pid):
        with pytest.raises(ProcessLookupError):
            os.kill(one, 0)
