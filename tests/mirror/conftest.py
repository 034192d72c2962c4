"""A service over HTTP, and folders that are pushed to it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.kit.http_service import Served, serving_http

from memex.api.documents import Documents
from memex.api.remote import RemoteMemex
from memex.call_context import CallContext
from memex.mirror.known_files import KnownFiles
from memex.mirror.push import FolderPush, PushReport
from memex.mirror.roots import PushedRoot
from memex.mirror.rules import PushPatterns
from memex.mirror.scan import FolderScan
from memex.mirror.watch import Watcher
from memex.store.identity import tenants

ALICE = CallContext("alice")


@dataclass(slots=True)
class Pushing:
    """Pushes one folder for alice, and reads what is stored of it."""

    remote: RemoteMemex
    root: PushedRoot
    known: KnownFiles
    push: FolderPush

    @property
    def scan(self) -> FolderScan:
        """What looks at the folder."""
        return FolderScan(self.root.folder, self.root.patterns, self.known)

    @property
    def documents(self) -> Documents:
        """The documents of alice."""
        return Documents(self.remote, ALICE)

    async def sync(self) -> PushReport:
        """Make the root equal to the folder."""
        return await self.push.sync()

    async def digests(self) -> dict[str, str]:
        """Return the digests of the documents of the root, by path."""
        found, cursor = {}, None
        while True:
            page = await self.documents.list(root=self.root.name, limit=1_000, cursor=cursor)
            found |= {one.path: one.sha256 for one in page.documents}
            if (cursor := page.next_cursor) is None:
                return found

    async def stored(self) -> dict[str, str]:
        """Return the documents of the root with their texts."""
        named = await self.digests()
        return {path: (await self.documents.read(self.root.name, path)).text for path in named}

    def close(self) -> None:
        """Forget what is held open, as a process that ends."""
        self.known.close()


@dataclass(slots=True)
class Watching:
    """A watcher that runs beside a test, and what it told."""

    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None

    def tell(self, event: str, values: dict[str, Any]) -> None:
        """Note an event."""
        self.told.append((event, values))
        self.news.set()

    async def until(self, *events: str) -> dict[str, Any]:
        """Return the values of the next event of these, which is not told again."""
        async with asyncio.timeout(30):
            while True:
                for at, (event, values) in enumerate(self.told):
                    if event in events:
                        del self.told[: at + 1]
                        return values
                self.news.clear()
                assert self.task is not None
                ended = asyncio.create_task(self.news.wait())
                await asyncio.wait([ended, self.task], return_when=asyncio.FIRST_COMPLETED)
                if self.task.done():
                    self.task.result()


@pytest.fixture
def served(conninfo: str) -> Iterator[Served]:
    """A Memex over real HTTP."""
    with serving_http(conninfo) as served:
        yield served


@pytest.fixture
def key(served: Served) -> str:
    """The key of an agent, for any user."""
    assert served.service is not None
    return served.run(tenants.create_key(served.service.database, "default", "agent"))[0]


@pytest.fixture
async def remote(served: Served, key: str) -> AsyncIterator[RemoteMemex]:
    """A client of it, with an agent's key."""
    async with RemoteMemex(served.url, key) as remote:
        yield remote


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """State and settings of a user of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to push."""
    (made := tmp_path / "repo").mkdir()
    return made.resolve()


@pytest.fixture
def pushing(remote: RemoteMemex, folder: Path) -> Callable[..., Pushing]:
    """Make what pushes the folder, with the patterns that are given."""

    def make(name: str = "repo", prune: bool = False, **patterns: Any) -> Pushing:
        root = PushedRoot(folder, name, patterns=PushPatterns(**patterns))
        known = KnownFiles(root.state_file("sqlite"))
        scan = FolderScan(folder, root.patterns, known)
        return Pushing(remote, root, known, FolderPush(remote, ALICE, root, scan, prune=prune))

    return make


@asynccontextmanager
async def watching(pushing: Pushing, **more: Any) -> AsyncIterator[Watching]:
    """Watch the folder until the end of the block, where the watcher is stopped at once."""
    watching = Watching()
    watcher = Watcher(pushing.remote, ALICE, pushing.root, watching.tell, **more)
    watching.task = asyncio.create_task(watcher.run())
    try:
        yield watching
    finally:
        watching.task.cancel()
        with suppress(asyncio.CancelledError):
            await watching.task


async def compared_with_a_fresh_push(
    make: Callable[..., Pushing], pushes: Pushing, queries: Sequence[str]
) -> None:
    """Check that a root has the counts and the search results, scores included, of a fresh push of its folder.

    The root is removed in between, since what a word is worth depends on all documents.
    """
    (root,) = (await pushes.documents.roots()).roots
    hits = await _found(pushes, queries)
    await pushes.documents.remove(root.root)
    fresh = make("fresh")
    await fresh.sync()
    (anew,) = (await fresh.documents.roots()).roots
    assert (root.documents, root.passages, root.text_bytes) == (
        anew.documents,
        anew.passages,
        anew.text_bytes,
    )
    assert hits == await _found(fresh, queries)


async def _found(pushing: Pushing, queries: Sequence[str]) -> list[list[tuple[str, float]]]:
    """Return the hits of some searches, with their scores."""
    hits = []
    for query in queries:
        answer = await pushing.documents.find(query, root=pushing.root.name, limit=50)
        hits.append([(one.document.path, one.score) for one in answer.hits])
    return hits
