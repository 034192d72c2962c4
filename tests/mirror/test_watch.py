"""A watched folder: what is saved is stored soon, and nothing is lost or removed by mistake."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.kit.documents import digest
from tests.kit.http_service import Served
from tests.mirror.conftest import Pushing, watching

from memex.errors import SyncSuperseded
from memex.mirror import requests, watch
from memex.store.documents import watches

Make = Callable[..., Pushing]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Watchers look more often and gather changes for a shorter time, so that a test waits less for them."""
    monkeypatch.setattr(watch, "QUIET_MS", 50)
    monkeypatch.setattr(watch, "TICK_MS", 200)
    monkeypatch.setattr(watch, "POLL_S", 0.2)


async def settled(pushing: Pushing, expected: dict[str, str]) -> None:
    """Wait until the root holds these documents."""
    digests = {path: digest(text) for path, text in expected.items()}
    for _ in range(200):
        if (stored := await pushing.digests()) == digests:
            return
        await asyncio.sleep(0.1)
    assert stored == digests


async def test_what_is_saved_is_stored(pushing: Make, folder: Path) -> None:
    """Also by an editor that renames, in a new folder, in one that was moved; and a copy of a file stays."""
    (folder / "a.md").write_text("one")
    (folder / "docs").mkdir()
    (folder / "docs" / "b.md").write_text("b")
    pushes = pushing()
    async with watching(pushes) as watched:
        await watched.until("synced")
        (folder / "a.md.swp").write_text("two")
        (folder / "a.md.swp").rename(folder / "a.md")
        await settled(pushes, {"a.md": "two", "docs/b.md": "b"})
        (folder / "new" / "deep").mkdir(parents=True)
        (folder / "new" / "deep" / "c.md").write_text("c")
        await settled(pushes, {"a.md": "two", "docs/b.md": "b", "new/deep/c.md": "c"})
        (folder / "new" / "deep" / "c.md").write_text("see")
        await settled(pushes, {"a.md": "two", "docs/b.md": "b", "new/deep/c.md": "see"})
        (folder / "docs").rename(folder / "notes")
        await settled(pushes, {"a.md": "two", "notes/b.md": "b", "new/deep/c.md": "see"})
        (folder / "notes" / "b.md").write_text("bee")
        await settled(pushes, {"a.md": "two", "notes/b.md": "bee", "new/deep/c.md": "see"})
        (folder / ".gitignore").write_text("new/\n")
        await settled(pushes, {"a.md": "two", "notes/b.md": "bee"})


async def test_a_folder_that_disappears_is_not_taken_for_an_empty_one(pushing: Make, folder: Path) -> None:
    """Nothing is removed while the root is away, or when most of it goes at once; when it is back, work goes on."""
    for name in "abc":
        (folder / f"{name}.md").write_text(name)
    pushes = pushing()
    all_three = {f"{name}.md": name for name in "abc"}
    async with watching(pushes) as watched:
        await watched.until("synced")
        away = folder.with_name("away")
        shutil.move(folder, away)
        await watched.until("folder_missing")
        assert await pushes.stored() == all_three
        shutil.move(away, folder)
        await watched.until("synced")
        for name in "ab":
            (folder / f"{name}.md").unlink()
        refused = await watched.until("refused")
        assert await pushes.stored() == all_three
        (folder / "d.md").write_text("d")
        await settled(pushes, all_three | {"d.md": "d"})

    assert refused["code"] == "MOSTLY_GONE"
    shutil.rmtree(folder)


async def test_a_service_that_is_away_is_waited_for(
    pushing: Make, folder: Path, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved meanwhile is stored when the service is back."""
    from memex import http_client

    monkeypatch.setattr(http_client, "ATTEMPTS", 1)
    (folder / "a.md").write_text("a")
    pushes = pushing()
    async with watching(pushes) as watched:
        await watched.until("synced")
        url, pushes.remote.url = pushes.remote.url, "http://127.0.0.1:9"
        await pushes.remote.close()
        (folder / "b.md").write_text("b")
        said = await watched.until("waiting")
        pushes.remote.url = url
        await pushes.remote.close()
        await watched.until("synced")
        assert await pushes.stored() == {"a.md": "a", "b.md": "b"}

    assert said["code"] == "STORE_UNAVAILABLE"


@pytest.mark.slow
async def test_one_process_of_a_machine_watches_a_root(pushing: Make, folder: Path) -> None:
    """Another one waits, and takes over."""
    (folder / "a.md").write_text("a")
    pushes = pushing()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(watching(pushes))
        await first.until("synced")
        async with watching(pushes) as second:
            await second.until("elsewhere")
            await stack.aclose()
            await second.until("synced")
            (folder / "b.md").write_text("b")
            await settled(pushes, {"a.md": "a", "b.md": "b"})


@pytest.mark.slow
async def test_somebody_else_asks_for_a_sync(
    pushing: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root counts as watched while it is, and the watcher compares the whole folder once for each request."""
    monkeypatch.setattr(watches, "POLL_S", 1)
    monkeypatch.setattr(requests, "REST_S", 0.0)
    (folder / "a.md").write_text("a")
    pushes = pushing()
    before = await pushes.documents.request_sync()
    async with watching(pushes) as watched:
        await watched.until("synced")
        while not (asked := (await pushes.documents.request_sync()).asked):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        await watched.until("synced")
        [during] = (await pushes.documents.roots()).roots
        told = len(watched.told)
        await asyncio.sleep(1.5)
    [after] = (await pushes.documents.roots()).roots

    assert (before.asked, before.not_watched, asked) == ([], [], ["repo"])
    assert [event for event, _ in watched.told[told:]] == []
    assert (during.is_watched, after.is_watched) == (True, False)


async def test_what_a_killed_client_sent_is_not_stored_behind_a_later_sync(
    pushing: Make, folder: Path
) -> None:
    """A request of it may arrive late: it has the number of an older sync, and is refused."""
    (folder / "a.md").write_text("a")
    first, second = pushing(), pushing()
    await first.sync()
    (folder / "old.md").write_text("old")
    late = first.scan.all()
    await second.sync()

    with pytest.raises(SyncSuperseded):
        await first.push.send(late)
    assert await second.stored() == {"a.md": "a", "old.md": "old"}
