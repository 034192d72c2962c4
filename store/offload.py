"""Work on long texts: kept off the event loop, and done one at a time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

LONG_CHARS = 64 * 1024
# One at a time: 1 MiB of hostile Markdown can take 0.8 GB while it is parsed. In a thread of its own, so that what
# waits here takes none of those that others work in, such as the embedder of a query.
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="long-text")


async def run(chars: int, work: Callable[..., T], *arguments: Any) -> T:
    """Return `work(*arguments)`, done here and now when it is over at most 64 Ki characters of text."""
    if chars <= LONG_CHARS:
        return work(*arguments)
    return await asyncio.get_running_loop().run_in_executor(_THREAD, work, *arguments)
