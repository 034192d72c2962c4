"""At most so many uploads are read at once by all workers of a service; users take turns."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from memex.errors import StoreUnavailable
from memex.store.text_pool.turns import Owner, Turns

LANES = 2
LOOK_EVERY_S = 0.2  # for a lane that another worker gives back


class ReadingLanes:
    """Lanes, each of which is a locked file of a folder that the workers share.

    Within a worker, tenants and their users take turns. The system gives a lane back when a worker ends.
    """

    def __init__(self, folder: Path, size: int = LANES) -> None:
        self._folder = folder
        self._size = size
        self._turns: Turns[asyncio.Future[int]] = Turns(1)
        self._waiting = 0
        self._dealing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def held(self, owner: Owner) -> AsyncIterator[None]:
        """Wait for a lane, and hold it in the block."""
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._turns.add(owner, turn)
        self._waiting += 1
        if self._dealing is None or self._dealing.done():
            self._dealing = asyncio.create_task(self._deal())
        try:
            lane = await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it came in the same moment
                self._give_back(owner, turn.result())
            raise
        try:
            yield
        finally:
            self._give_back(owner, lane)

    async def _deal(self) -> None:
        """Give lanes to who waits, until nobody does."""
        while self._waiting:
            try:
                lane = self._free_lane()
            except OSError as error:
                self._refuse(error)
                return
            taken = self._turns.take() if lane is not None else None
            if lane is None or taken is None:
                if lane is not None:
                    os.close(lane)
                await asyncio.sleep(LOOK_EVERY_S)
                continue
            owner, turn = taken
            self._waiting -= 1
            if turn.cancelled():
                self._give_back(owner, lane)
            else:
                turn.set_result(lane)

    def _refuse(self, error: OSError) -> None:
        """Fail whoever waits: there is no folder with lanes any more."""
        for turn in self._turns.drain():
            self._waiting -= 1
            if not turn.cancelled():
                turn.set_exception(
                    StoreUnavailable(f"The folder of uploads cannot be used: {error.strerror}.")
                )

    def _give_back(self, owner: Owner, lane: int) -> None:
        os.close(lane)
        self._turns.end(owner)

    def _free_lane(self) -> int | None:
        """Return the descriptor of a lane that nobody holds, locked."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(self._size):
            lane = os.open(self._folder / f"lane-{number}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lane, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(lane)
            else:
                return lane
        return None
