"""Run the service for `memex serve`: in one process, or in several workers that are forked from it."""

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from memex import logging, postgres
from memex.cli.output import program_name
from memex.errors import MemexError
from memex.settings import Settings

if TYPE_CHECKING:
    from memex.http.workers import WorkerLine
    from memex.service.service import Service
    from memex.store.database import Database
    from memex.store.identity.tenants import FirstKeys

    Announce = Callable[[FirstKeys | None, str | None], None]

TENANT = "default"
OBJECTS_A_COLLECTION = (
    10_000  # made and not freed; with Python's default, 700, a search takes some percent longer
)
ENDING = (signal.SIGTERM, signal.SIGINT)


def run_alone(
    settings: Settings,
    listener: socket.socket,
    announce: "Announce",
    *,
    health: socket.socket | None = None,
    with_link: bool = False,
) -> None:
    """Answer in this process until one of the signals of `ENDING`.

    `announce` prints the address of the service, the keys if this start made them, and the sign-in link, which is
    made `with_link`. The socket `health` gets the health alone.
    """

    async def answer() -> None:
        _cancel_at(ENDING)
        started = postgres.start_in_background(settings)
        # Loading these modules takes most of the start; the database starts at the same time.
        from memex.http.serving import serve
        from memex.wiring import running_service

        _collect_seldom()
        async with running_service(settings, started=started, with_worker=True) as service:
            keys = await _prepare(service.database)
            link = await _make_link(service.database) if with_link else None
            await serve(service, settings, listener, lambda: announce(keys, link), ENDING, health)

    _run_until_cancelled(answer())


def run_workers(
    settings: Settings,
    size: int,
    listener: socket.socket,
    announce: "Announce",
    *,
    health: socket.socket | None = None,
    with_link: bool = False,
) -> None:
    """Answer in several processes until one of the signals of `ENDING`; see `run_alone`.

    This process has no thread, no loop and no connection, because they do not survive a fork. The workers share the
    memory of the modules that it loads. Meanwhile, a process of its own starts Postgres, brings the schema up to
    date, and holds the server until the workers hold it.

    Raises:
        MemexError: a worker cannot start, and all have been ended.
    """
    from memex.http.workers import Child, WorkerGroup
    from memex.store.identity.tenants import FirstKeys

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts threads as soon as it is loaded
    with ExitStack() as held:
        with Child.fork(lambda line: _hold_postgres(settings, line), "memex postgres") as starter:
            with _loading():
                from memex.counts import SharedCounts
                from memex.metrics import GAUGES
                from memex.service.identity.rate_limits import Buckets
                from memex.service.tools.call_locks import CallLocks, open_shared_file
                from memex.subagent.embedders.shared_model import open_model
                from memex.wiring import load_modules, running_service, shared_model_name

                import_module("memex.http.serving")
                load_modules(settings)
            _collect_seldom()
            counts, call_locks, buckets = SharedCounts(size), CallLocks(open_shared_file()), Buckets()
            shared_model = held.enter_context(open_model(shared_model_name(settings)))
            while starter.report() is None:
                pass

            def work(number: int, line: "WorkerLine", is_replacement: bool) -> None:
                share, more = divmod(settings.max_connections, size)
                own = settings.model_copy(update={"max_connections": share + (number < more)})
                counts.take(number)
                is_first = number == 0 and not is_replacement
                service = running_service(
                    own,
                    with_worker=number == 0,
                    counts=counts,
                    call_locks=call_locks,
                    buckets=buckets,
                    shared_model=shared_model,
                )
                _work(own, number, line, is_first, with_link and is_first, service, health)

            group = WorkerGroup(size, listener, work, on_death=lambda number: counts.clear(number, GAUGES))
            made = group.start()[0]
            announce(FirstKeys(**made["keys"]) if made["keys"] else None, made["link"])
            del made  # a worker that is forked later need not have the secrets
        group.run()
    if (data_dir := data_dir_of(settings)) is not None:
        postgres.await_stop(data_dir)


def _collect_seldom() -> None:
    """Let Python look for garbage in what is made from now on, and less often: a call makes few circles."""
    gc.freeze()
    gc.set_threshold(OBJECTS_A_COLLECTION)
    gc.enable()


def data_dir_of(settings: Settings) -> Path | None:
    """Return the data folder of the embedded Postgres; None if DATABASE_URL names another one."""
    return postgres.data_dir_of(settings) if settings.database_url is None else None


@contextmanager
def _loading() -> Iterator[None]:
    """Let a signal of `ENDING` wait while modules are loaded: some turn what a handler raises into an error."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _hold_postgres(settings: Settings, line: "WorkerLine") -> None:
    """Start Postgres and hold it until the other end of the line is closed."""
    log = logging.HeldLines(sys.stderr)
    logging.configure(settings.log_level, log)
    try:
        with closing(postgres.start(settings)):
            line.report({})
            line.wait_for_end()
    except MemexError as error:
        line.report_error(error)
    finally:
        log.release()


def _work(
    settings: Settings,
    number: int,
    line: "WorkerLine",
    is_first: bool,
    with_link: bool,
    opened: "AbstractAsyncContextManager[Service]",
    health: socket.socket | None,
) -> None:
    """Answer as one of several workers. The first one also carries out jobs, and makes the first keys."""
    from memex.http.serving import serve

    log = logging.HeldLines(sys.stderr)
    line.on_announced = log.release
    logging.configure(settings.log_level, log, worker=number)

    async def answer() -> None:
        _cancel_at([signal.SIGTERM])
        async with opened as service:
            keys = await _prepare(service.database) if is_first else None
            link = await _make_link(service.database) if with_link else None
            report = {"keys": asdict(keys) if keys else None, "link": link}
            await serve(service, settings, line, lambda: line.report(report), [signal.SIGTERM], health)

    try:
        _run_until_cancelled(answer())
    except MemexError as error:
        line.report_error(error)
        sys.exit(1)
    finally:
        log.release()


def _run_until_cancelled(work: Coroutine[None, None, None]) -> None:
    with suppress(asyncio.CancelledError), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(work)


def _loop_factory() -> "Callable[[], asyncio.AbstractEventLoop] | None":
    """Return what makes the event loop: uvloop, or None for asyncio's own where there is no uvloop."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _cancel_at(ending: Iterable[signal.Signals]) -> None:
    """Cancel the current task at one of these signals, until `serve` takes them over."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  # this is one
    for number in ending:
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)


async def _make_link(database: "Database") -> str:
    """Make a link that signs a browser in to the web UI, and return its secret."""
    from memex.service.identity.sessions import make_link

    return await make_link(database, TENANT)


async def _prepare(database: "Database") -> "FirstKeys | None":
    """Make the first keys, and log how many scopes another version of Memex indexed, if there are any."""
    import structlog

    from memex.store.identity import tenants
    from memex.store.upkeep import reindex

    keys = await tenants.first_keys(database, TENANT)
    async with database.maintenance() as connection:
        stale_scopes = await reindex.count_stale(connection)
    if stale_scopes:
        command = f"{program_name()} index rebuild --only-stale"
        structlog.get_logger("memex").warning(
            "index_of_another_version", scopes=stale_scopes, command=command
        )
    return keys
