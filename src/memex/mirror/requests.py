"""A watching client says that it watches a root, and hears of a sync that somebody asks for."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from memex.api.protocol import CallsOperations
from memex.call_context import CallContext
from memex.errors import MemexError
from memex.mirror.roots import PushedRoot

REST_S = 10.0  # between two syncs that others ask for
AWAY_S = 30.0  # before a service that refused, or was away, is asked again
FAREWELL_S = 1.0


class SyncRequests:
    """The requests for syncs of one root.

    While the folder is not there (`is_there`), nothing is said to be watched.
    """

    def __init__(
        self, api: CallsOperations, context: CallContext, root: PushedRoot, is_there: Callable[[], bool]
    ) -> None:
        self._api = api
        self._context = context
        self._named = {"root": root.name, "project": root.project}
        self._is_there = is_there
        self._wanted_at: str | None = (
            None  # as the service said last, and as it stood when the last sync began
        )
        self._answered: str | None = None
        self._rested_s = 0.0
        self._is_refused = (
            False  # as the service answered last; it does not know a root before its first sync
        )
        self._synced = asyncio.Event()

    @property
    def is_waiting(self) -> bool:
        """Return whether somebody waits for a sync, and the last one is not too near."""
        return self._wanted_at != self._answered and time.monotonic() >= self._rested_s

    def answer(self) -> None:
        """Note that a sync begins: it answers what was asked until now."""
        self._answered = self._wanted_at

    def rest(self) -> None:
        """Note that a sync ended."""
        self._rested_s = time.monotonic() + REST_S
        if self._is_refused:
            self._synced.set()

    async def ask(self) -> float:
        """Say that the root is watched, and return after how many seconds to say so again."""
        try:
            done = await self._api.call(self._context, "document_watch", self._named)
        except MemexError:  # what matters of it is told where documents are sent
            self._is_refused = True
            return AWAY_S
        self._is_refused = False
        self._wanted_at = done["wanted_at"]
        return float(done["next_in_s"])

    async def run(self) -> None:
        """Ask again and again, until this is cancelled; after a refusal also as soon as a sync ended."""
        while True:
            pause_s = await self.ask() if self._is_there() else AWAY_S
            self._synced.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._synced.wait()

    async def leave(self) -> None:
        """Say that the root is watched no longer."""
        with suppress(MemexError, TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self._api.call(self._context, "document_watch", self._named | {"is_over": True})
