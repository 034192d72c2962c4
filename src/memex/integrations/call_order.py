"""The order of a model's calls in one answer: what it tells memory is stored before it reads memory.

Models call `memory_remember` and `memory_context` in one answer, and frameworks run both at once. A call waits for
those of the same memory that write and have begun before it; one that reads lets the others of its answer begin.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from memex.api.memex import UserMemory

TURNS = 10  # of the event loop, in which the other calls of the same answer begin

_writing: WeakKeyDictionary[UserMemory, set[asyncio.Event]] = WeakKeyDictionary()


@asynccontextmanager
async def in_order(memory: UserMemory, *, reads: bool) -> AsyncIterator[None]:
    """Run a call of a memory in the block: one that reads after those that write, and these one after the other.

    Args:
        memory: the one that the framework's tools share.
        reads: the call changes nothing.
    """
    others = _writing.setdefault(memory, set())
    if reads:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        await _all(others)
        yield
        return
    before, done = tuple(others), asyncio.Event()
    others.add(done)
    try:
        await _all(before)
        yield
    finally:
        others.discard(done)
        done.set()


async def _all(events: Collection[asyncio.Event]) -> None:
    for done in tuple(events):
        await done.wait()
