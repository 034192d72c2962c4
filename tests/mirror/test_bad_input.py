"""Folders, files and machines that are not as one wishes: the root stays right, and errors say what to do."""

import asyncio
import os
import pty
import resource
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kit.documents import digest
from tests.mirror.conftest import Pushing, watching

from memex.api.remote import RemoteMemex
from memex.errors import SyncInProgress, ValidationFailed
from memex.mirror.known_files import KnownFiles

pytestmark = pytest.mark.embedded_only
Make = Callable[..., Pushing]
DOCS = [sys.executable, "-m", "memex", "docs"]


def environment(remote: RemoteMemex, key: str) -> dict[str, str]:
    """Return what a command needs to reach the service."""
    return {**os.environ, "MEMEX_URL": remote.url, "MEMEX_API_KEY": key}


async def test_a_name_that_changes_its_case_is_a_rename(pushing: Make, folder: Path) -> None:
    """As on a file system without case, where both are one file; on others two files may differ by case alone."""
    for name in ("README.md", "Notes.md", "b.md"):
        (folder / name).write_text(name)
    pushes = pushing()
    await pushes.documents.put("repo", [_sent("README.md", "README.md", tags=["top"])])
    first = await pushes.sync()
    (folder / "README.md").rename(folder / "readme.md")
    second = await pushes.sync()
    async with watching(pushes) as watched:
        await watched.until("synced")
        (folder / "Notes.md").rename(folder / "NOTES.md")
        sent = await watched.until("sent")
    (folder / "readme.MD").write_text("another")
    (folder / "Readme.md").write_text("another one")
    third = await pushes.sync()
    listed = (await pushes.documents.list(root="repo")).documents

    assert (first.created, first.unchanged) == (2, 1)
    assert (second.renamed, second.created, second.removed) == (1, 0, 0)
    assert (sent["renamed"], sent["created"], sent["removed"]) == (1, 0, 0)
    assert third.created == 1
    assert [one.path for one in listed] == ["NOTES.md", "Readme.md", "b.md", "readme.md"]
    assert listed[-1].tags == ["top"]


@pytest.mark.slow
async def test_a_file_that_grows_while_it_is_read(pushing: Make, folder: Path) -> None:
    """Each push takes a text that fits its digest; when the file rests, the last one takes all of it."""
    grown = folder / "log.md"
    grown.write_text("# Log\n")
    done = threading.Event()

    def grow() -> None:
        with grown.open("a") as stream:
            while not done.is_set():
                stream.write("one more line\n" * 20)
                stream.flush()

    pushes = pushing()
    writer = threading.Thread(target=grow)
    writer.start()
    try:
        reports = [await pushes.sync() for _ in range(5)]
    finally:
        done.set()
        writer.join()
    large = await pushes.sync()
    grown.write_text("# Log\n\nat rest\n")
    await pushes.sync()

    assert {one["code"] for report in reports for one in report.refused} <= {"DIGEST_MISMATCH"}
    assert large.files == 1 or large.left_out == {"too_large": 1}
    assert await pushes.stored() == {"log.md": "# Log\n\nat rest\n"}


@pytest.mark.slow
async def test_two_machines_push_one_root(
    pushing: Make, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one is told to wait while the first one syncs; what came last stands, whole."""
    for number in range(1_200):
        (folder / f"{number}.md").write_text(f"file {number}")
    first = pushing()
    first.push.prune = True
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    second = pushing()
    results = await asyncio.gather(first.sync(), second.sync(), return_exceptions=True)
    (folder / "0.md").write_text("of the second")
    later = await second.sync()
    last = await first.sync()

    [refused] = [one for one in results if isinstance(one, BaseException)]
    assert isinstance(refused, SyncInProgress)
    assert 0 < refused.details["retry_after_s"] <= 60
    assert (later.changed, last.unchanged) == (1, 1_200)
    assert (await pushing().digests())["0.md"] == digest("of the second")


async def test_names_that_cannot_be_sent(pushing: Make, folder: Path) -> None:
    """No UTF-8, a line break, a backslash, too long; also of folders, and while the folder is watched."""
    (folder / "a.md").write_text("a")
    for name in (b"caf\xe9.md", b"two\nlines.md", b"back\\slash.md"):
        (folder / os.fsdecode(name)).write_text("x")
    (other := folder / os.fsdecode(b"f\xf6lder")).mkdir()
    (other / "b.md").write_text("b")
    deep = folder.joinpath(*["d" * 200] * 6)
    deep.mkdir(parents=True)
    (deep / "c.md").write_text("c")
    pushes = pushing()
    report = await pushes.sync()
    async with watching(pushes) as watched:
        await watched.until("synced")
        (folder / os.fsdecode(b"late\xff.md")).write_text("x")
        (folder / "late.md").write_text("late")
        await watched.until("sent")

    assert report.refused == []
    assert report.left_out == {"name": 5}
    assert await pushes.stored() == {"a.md": "a", "late.md": "late"}


def test_the_disk_of_the_client_is_full(tmp_path: Path) -> None:
    """What is known of the files is kept in a database: if it cannot grow, or is damaged, an error says so."""
    known = KnownFiles(tmp_path / "known.sqlite")
    pages = known._rows.execute("pragma page_count").fetchone()[0]  # no disk is full at will
    known._rows.execute(f"pragma max_page_count = {pages + 1}")
    with pytest.raises(ValidationFailed, match="full") as full:
        _ = [known.add_folder(f"{number:0200}/") for number in range(10_000)]
    known.close()
    (tmp_path / "broken.sqlite").write_bytes(b"no database at all" * 1_000)
    with pytest.raises(ValidationFailed, match="not a database") as broken:
        KnownFiles(tmp_path / "broken.sqlite")

    assert "Make room on the disk" in (full.value.hint or "")
    assert "remove it" in (broken.value.hint or "")


@pytest.mark.slow
def test_a_command_whose_disk_is_full(remote: RemoteMemex, key: str, folder: Path) -> None:
    """It ends with a code and a hint, and no traceback."""
    for number in range(2_000):
        (folder / f"{number:0100}.md").write_text("x")
    done = subprocess.run(
        [*DOCS, "push", str(folder), "--user", "alice", "--json"],
        env=environment(remote, key),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )

    assert done.returncode == 1, done
    assert '"VALIDATION_ERROR"' in done.stderr
    assert "Make room on the disk" in done.stderr
    assert "Traceback" not in done.stderr


def ask(folder: Path, given: dict[str, str], answer: bytes) -> tuple[int, str]:
    """Push a folder on a terminal of its own, and answer the question; return the exit code and what was shown."""
    program, terminal = pty.openpty()
    process = subprocess.Popen(
        [*DOCS, "push", str(folder), "--user", "alice"],
        env=given,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown, is_answered = b"", False
    try:
        while select.select([program], [], [], 30)[0]:
            try:
                shown += os.read(program, 4_096)
            except OSError:  # the command closed the terminal
                break
            if b"[y/N]" in shown and not is_answered:
                is_answered = True
                os.write(program, answer)
        return process.wait(30), shown.decode()
    finally:
        process.kill()
        os.close(program)


@pytest.mark.slow
async def test_on_a_terminal_a_person_decides_about_most_of_a_folder(
    remote: RemoteMemex, key: str, pushing: Make, folder: Path
) -> None:
    """The question says how many documents are gone. Without a yes nothing is removed."""
    given = environment(remote, key) | {"TERM": "xterm"}
    for name in "abc":
        (folder / f"{name}.md").write_text(name)
    pushes = pushing()
    await pushes.sync()
    for name in "ab":
        (folder / f"{name}.md").unlink()
    refused = await asyncio.to_thread(ask, folder, given, b"\n")
    kept = await pushes.digests()
    agreed = await asyncio.to_thread(ask, folder, given, b"y\n")

    assert "2 of the 3 documents of repo are gone" in refused[1]
    assert (refused[0], len(kept)) == (1, 3)
    assert (agreed[0], await pushes.stored()) == (0, {"c.md": "c"})


def _sent(path: str, text: str, **more: object) -> dict[str, object]:
    return {"path": path, "sha256": digest(text), "text": text} | more
