"""A folder is watched: what is saved is sent after 300 ms of quiet.

All of it is compared at the start, every ten minutes, and when somebody asks for a sync.
"""

import asyncio
import os
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_exponential_jitter
from watchfiles import awatch

from memex.api.protocol import CallsOperations
from memex.call_context import CallContext
from memex.errors import (
    Forbidden,
    MemexError,
    MostlyGone,
    ProjectNotFound,
    RateLimited,
    ScopeBusy,
    SyncInProgress,
    SyncSuperseded,
    Unauthenticated,
    Unavailable,
    error_document,
)
from memex.mirror.known_files import KnownFiles
from memex.mirror.locks import file_lock
from memex.mirror.push import FolderPush
from memex.mirror.requests import SyncRequests
from memex.mirror.roots import PushedRoot
from memex.mirror.rules import IGNORE_FILE, PROJECT_FILE
from memex.mirror.scan import FolderChanges, FolderScan

QUIET_MS = 300
MOST_MS = 1_600  # after which changes are sent without quiet too
TICK_MS = 1_000
MANY_EVENTS = 1_000  # behind which the whole folder is looked at
RECONCILE_S = 600.0
LOOK_S = 10.0  # between two looks where the system watches no more folders
POLL_S = 2.0
LONGEST_WAIT_S = 60.0
PASSING = (Unavailable, SyncInProgress, SyncSuperseded, ScopeBusy, RateLimited)
FINAL = (Unauthenticated, Forbidden, ProjectNotFound)  # no later attempt can succeed
# Linux watches folder by folder, so none of those that are left out. Other systems watch a tree at once.
IS_BY_FOLDER = sys.platform == "linux"

_log = structlog.get_logger("memex.mirror")

Tell = Callable[[str, dict[str, Any]], None]


class Watcher:
    """Watches one root until it is cancelled.

    What happens is told as the name of an event with its values: `elsewhere` (another process of this machine
    watches the root; this one waits), `synced` and `sent` (with a PushReport), `waiting` (the service is away),
    `refused` (`code`, `message` and `hint` say what was not done), `folder_missing`, and `few_watches` (the system
    watches no more folders: Memex looks every ten seconds).

    With `prune` documents are removed also if more than half of them are gone.
    """

    def __init__(
        self,
        api: CallsOperations,
        context: CallContext,
        root: PushedRoot,
        tell: Tell,
        *,
        prune: bool = False,
    ) -> None:
        self._root = root
        self._tell = tell
        self._known = KnownFiles(root.state_file("sqlite"))
        self._scan = FolderScan(root.folder, root.patterns, self._known)
        self._push = FolderPush(api, context, root, self._scan, prune=prune)
        self._requests = SyncRequests(api, context, root, self._is_there)
        self._identity: tuple[int, int] | None = None
        self._is_behind = True  # whether a sync is needed, beyond what is seen to change

    async def run(self) -> None:
        """Watch.

        Raises:
            Unauthenticated, Forbidden, ProjectNotFound: the service does not take this root.
            ValidationFailed: the state of this user cannot be written.
        """
        mine = self._root.state_file("watch")
        try:
            async with (
                file_lock(mine, step_s=POLL_S, waiting=lambda: self._tell("elsewhere", {})),
                self._listening(),
            ):
                while True:
                    await self._until_there()
                    await self._sync()
                    end = time.monotonic() + RECONCILE_S
                    while not self._is_due(end):
                        await self._watch(end)
        finally:
            self._known.close()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        """Say meanwhile that the root is watched, and hear of syncs that are asked for."""
        self._identity = self._find()
        if self._is_there():
            await self._requests.ask()
        task = asyncio.create_task(self._requests.run())
        try:
            yield
        finally:
            task.cancel()
            await self._requests.leave()

    def _is_due(self, end: float) -> bool:
        """Return whether the whole folder is to be compared now, or is not there."""
        return time.monotonic() >= end or self._requests.is_waiting or not self._is_there()

    async def _until_there(self) -> None:
        """Wait for the folder: one that is not there is not taken for an empty one."""
        is_told = False
        while (identity := self._find()) is None:
            if not is_told:
                self._tell("folder_missing", {"folder": str(self._root.folder)})
            is_told = True
            await asyncio.sleep(POLL_S)
        self._identity = identity

    def _find(self) -> tuple[int, int] | None:
        try:
            status = self._root.folder.stat()
        except OSError:
            return None
        return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None

    def _is_there(self) -> bool:
        return self._identity is not None and self._find() == self._identity

    async def _sync(self) -> None:
        """Make the root equal to the folder; wait as long as the service is away."""
        attempts = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, PASSING)),
            wait=_wait_s,
            before_sleep=self._tell_waiting,
        )
        try:
            async for attempt in attempts:
                with attempt:
                    async with file_lock(self._root.state_file("lock")):
                        self._requests.answer()
                        report = await self._push.sync()
                        self._requests.rest()
                        self._is_behind = False
                        self._tell("synced", report.document())
        except FINAL:
            raise
        except MemexError as error:
            self._is_behind = True
            self._tell_refused(error)

    async def _watch(self, end: float) -> None:
        """Watch the folders as they are now, until there are other ones, or the time is over."""
        folders = [self._root.folder / folder for folder in self._known.folders()] if IS_BY_FOLDER else []
        watching = awatch(
            *(folders or [self._root.folder]),
            watch_filter=None,
            debounce=MOST_MS,
            step=QUIET_MS,
            rust_timeout=TICK_MS,
            yield_on_timeout=True,
            recursive=not IS_BY_FOLDER,
            ignore_permission_denied=True,
        )
        is_first = True  # what changed before the watch began is found by a look
        try:
            async with aclosing(watching):
                async for events in watching:
                    if self._is_due(end):
                        return
                    paths = [path for _, path in events]
                    if (is_first or paths) and await self._look_and_send(paths, is_all=is_first):
                        return
                    is_first = False
        except FileNotFoundError:  # a folder went meanwhile
            await self._look_and_send([], is_all=True)
        except ExceptionGroup as group:
            if not all(isinstance(error, RuntimeError) for error in group.exceptions):
                raise
            await self._look_and_send([], is_all=True)  # watchfiles gives up at a name that is no UTF-8
        except OSError as error:
            self._tell("few_watches", {"message": error.strerror or str(error)})
            while not self._is_due(end):
                await self._look_and_send([], is_all=True)
                await asyncio.sleep(LOOK_S)

    async def _look_and_send(self, paths: Iterable[str], *, is_all: bool) -> bool:
        """Send what changed; tell whether other folders are to be watched from now on."""
        if self._is_behind:
            before = self._known.folders()
            await self._sync()
            return self._known.folders() != before
        given = [_inner(self._root.folder, path) for path in paths]
        inner = [path for path in given if path is not None]
        has_moved = any(self._known.has_folder(f"{path}/") for path in inner)
        is_all = is_all or has_moved or len(inner) > MANY_EVENTS or any(map(_is_rule, inner))
        try:
            async with file_lock(self._root.state_file("lock")):
                changes = await asyncio.to_thread(self._look, inner, is_all)
                if changes.written or changes.gone:
                    report = await self._push.send(changes)
                    self._tell("sent", report.document())
        except FINAL:
            raise
        except MemexError as error:
            if not isinstance(error, MostlyGone):
                self._is_behind = True
            if not isinstance(error, PASSING):
                self._tell_refused(error)
                return False
            await self._sync()
            return True
        return has_moved or changes.has_new_folders

    def _look(self, paths: list[str], is_all: bool) -> FolderChanges:
        if is_all:
            return self._scan.all()
        folders = {self._known_above(path) for path in paths}
        return self._scan.some(folders, frozenset(paths))

    def _known_above(self, path: str) -> str:
        """Return the nearest folder above a path that is looked at."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder and self._known.has_folder(f"{folder}/"):
                return f"{folder}/"
        return ""

    def _tell_waiting(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, MemexError):
            wait_s = round(state.next_action.sleep) if state.next_action else 0
            said = {"code": error.code, "message": error.message, "attempt": state.attempt_number}
            self._tell("waiting", said | {"next_in_s": wait_s})

    def _tell_refused(self, error: MemexError) -> None:
        self._tell("refused", error_document(error))


@asynccontextmanager
async def watching(
    api: CallsOperations, context: CallContext, roots: Iterable[PushedRoot]
) -> AsyncIterator[Callable[[PushedRoot], None]]:
    """Watch roots meanwhile, and those that the given function adds.

    What happens is logged, and an error ends nothing but the watch of its root.
    """

    def tell(root: PushedRoot, event: str, values: dict[str, Any]) -> None:
        shown = {name: value for name, value in values.items() if isinstance(value, int | float | str)}
        _log.info("documents_watched", **(shown | {"root": root.shown, "what": event}))

    async def watch(root: PushedRoot) -> None:
        try:
            await Watcher(api, context, root, partial(tell, root)).run()
        except MemexError as error:
            _log.warning("documents_not_watched", root=root.shown, code=error.code, message=error.message)
        except Exception:  # noqa: BLE001  # the tools of memory go on without documents
            _log.exception("documents_not_watched", root=root.shown)

    tasks: dict[tuple[str, str, str, str], asyncio.Task[None]] = {}

    def add(root: PushedRoot) -> None:
        if root.place not in tasks:
            tasks[root.place] = asyncio.create_task(watch(root))

    for root in roots:
        add(root)
    try:
        yield add
    finally:
        for task in tasks.values():
            task.cancel()
        if tasks:
            await asyncio.wait(tasks.values())


def _inner(root: Path, path: str) -> str | None:
    """Return a path within a root; None for the root itself, or a name that is no UTF-8."""
    inner = os.path.relpath(path, root)
    try:
        inner.encode()
    except UnicodeEncodeError:
        return None
    return None if inner == "." or inner.startswith("../") else inner


def _is_rule(path: str) -> bool:
    return path.rpartition("/")[2] in (IGNORE_FILE, PROJECT_FILE)


def _wait_s(state: RetryCallState) -> float:
    backoff = wait_exponential_jitter(initial=1, max=LONGEST_WAIT_S, jitter=1)(state)
    error = state.outcome.exception() if state.outcome else None
    asked = error.details.get("retry_after_s", 0) if isinstance(error, MemexError) else 0
    return min(max(backoff, float(asked)), LONGEST_WAIT_S)
