"""Work on long texts, kept off the event loop: `run` hands it to a process of the text pool.

A pattern holds the lock of the interpreter until it has matched, so a thread would not help: while one text is read
there, no other call gets an answer. See docs/decisions/0025-texts-in-processes.md.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from memex.store.text_pool.pool import TextPool
from memex.store.text_pool.turns import Owner
from memex.store.text_pool.weight import is_light

T = TypeVar("T")

SHORT_CHARS = 8 * 1024  # at most some 50 ms of work, whatever the text is made of
# A program that serves nobody else does without the start of a process, of some 0.4 s, up to here.
UNSERVED_CHARS = 64 * 1024
PROCESSES = 2

NOBODY: Owner = (0, "")  # for whom the service works on its own account
_OWNER: ContextVar[Owner] = ContextVar("memex_text_owner", default=NOBODY)


async def run(chars: int, work: Callable[..., T], *arguments: Any) -> T:
    """Return `work(*arguments)`, done here and now if the text is short, else in a process of the text pool.

    Never call this while the lock of a scope is held: the work may wait for that of others.

    Args:
        chars: the length of the texts that are worked on. The time that the work may take grows with it.
        work: a function of a module, or an object that can be pickled and called.
        arguments: plain data, which is copied there; and so is the result back.

    Raises:
        LimitExceeded: the work took too long, or too much memory.
    """
    return await _run(is_short(chars), chars, work, arguments)


async def run_on(text: str, work: Callable[..., T], *arguments: Any) -> T:
    """Return `work(*arguments)`, which reads one text, as `run` does: here and now if the text is light."""
    return await _run(is_quick(text), len(text), work, arguments)


async def run_apart(chars: int, work: Callable[..., T], *arguments: Any) -> T:
    """Return `work(*arguments)`, done in a process; see `run`."""
    return await _run(False, chars, work, arguments)


def wait_apart(chars: int, work: Callable[..., T], *arguments: Any) -> T:
    """Return `work(*arguments)`, done in a process, in a thread that waits for it; see `run`."""
    done: Future[T] = _pool.submit(_OWNER.get(), chars, work, arguments)
    return done.result()


async def _run(is_here: bool, chars: int, work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    if is_here:
        return work(*arguments)
    return await asyncio.wrap_future(_pool.submit(_OWNER.get(), chars, work, arguments))


async def run_in_thread(chars: int, work: Callable[..., T], *arguments: Any) -> T:
    """Return `work(*arguments)`, done here and now if the texts are short, else in a thread, one work at a time.

    For work on what cannot be copied, and for stored texts, which were read within the limits when they came. No
    single step of such work may take long.
    """
    if chars <= SHORT_CHARS:
        return work(*arguments)
    return await asyncio.get_running_loop().run_in_executor(_thread, work, *arguments)


def is_short(chars: int) -> bool:
    """Return whether work on so many characters is done here and now."""
    return chars <= (SHORT_CHARS if _pool.is_kept else UNSERVED_CHARS)


def is_quick(text: str) -> bool:
    """Return whether a text is read here and now; a longer ordinary one may be, one of marks alone not."""
    return is_light(text) if _pool.is_kept else len(text) <= UNSERVED_CHARS


@contextmanager
def on_behalf_of(tenant_id: int, user_id: str | None) -> Iterator[None]:
    """Let the work that is begun in the block take turns as that of a user of a tenant."""
    token = _OWNER.set((tenant_id, user_id or ""))
    try:
        yield
    finally:
        _OWNER.reset(token)


def current_owner() -> Owner:
    """Return the tenant and the user for whom this task works; `NOBODY` if the service works for itself."""
    return _OWNER.get()


def keep_process(work: Callable[..., Any], *arguments: Any) -> None:
    """Start a process, and keep one from now on, so that no long text waits for a start.

    Args:
        work: what the process does first, so that its modules are loaded.
        arguments: of the work.
    """
    _pool.keep_process()
    _pool.submit(NOBODY, 0, work, arguments)


def _begin_anew() -> None:
    """Forget the processes of the parent, in a process that was forked."""
    global _pool, _thread  # noqa: PLW0603  # threads do not survive a fork
    _pool.abandon()
    _pool = TextPool(PROCESSES)
    _thread = ThreadPoolExecutor(1, thread_name_prefix="stored-text")


_pool = TextPool(PROCESSES)
_thread = ThreadPoolExecutor(1, thread_name_prefix="stored-text")
os.register_at_fork(after_in_child=_begin_anew)
