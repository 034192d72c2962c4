"""Work on long texts: kept off the event loop, and done one at a time."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

LONG_CHARS = 64 * 1024
_ONE_AT_A_TIME = threading.Lock()  # 1 MiB of hostile Markdown can take 0.8 GB while it is parsed


async def run(chars: int, work: Callable[..., T], *arguments: Any) -> T:
    """Return `work(*arguments)`, done here and now when it is over at most 64 Ki characters of text."""
    if chars <= LONG_CHARS:
        return work(*arguments)
    return await asyncio.to_thread(_alone, partial(work, *arguments))


def _alone(work: Callable[[], T]) -> T:
    with _ONE_AT_A_TIME:
        return work()
