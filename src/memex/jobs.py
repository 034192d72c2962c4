"""Work in the background: a queue in the database, and the worker in this process that takes jobs from it.

A job holds ids only, and is deferred in the transaction of the write that makes it needed (`vectors.defer`). One
that is lost is not missed for long: a sweep defers jobs for all scopes that changed since they were embedded.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import procrastinate
import structlog
from procrastinate import BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ProcrastinateException
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memex.errors import MemexError
from memex.service.embedding import Embedded, embed_scope
from memex.store import vectors
from memex.store.database import Database
from memex.store.sql import sql
from memex.subagent.embedders.embedder import Embedder

QUEUE = "embedding"
EMBED, SWEEP = "embed_scope", "sweep"
SWEEP_TIMES = "*/2 * * * *"  # cron: every two minutes

MAX_TEXTS = 1_024  # of one scope in one go: then others have their turn
MAX_ATTEMPTS = 10  # over about half an hour; later the sweep begins anew
FIRST_PAUSE_S = 5
LONGEST_PAUSE_S = 600
GIVEN_UP_FOR_S = 3_600.0  # a scope whose job was given up waits so long for the sweep
FAILED_KEPT_H = 24 * 7
DEFERRED_AT_ONCE = 500  # scopes in one transaction

POLL_S = 1.0  # how long a new job waits at most: deferring it notifies nobody
SHUTDOWN_S = 2.0  # what a running job gets to end by itself
RESTART_S = 5.0

_log = structlog.get_logger("memex.jobs")


class Backoff(BaseRetryStrategy):
    """Another attempt after 5, 10, 20 … seconds, at most ten minutes, until ten have failed."""

    def get_retry_decision(
        self, *, exception: BaseException, job: procrastinate.jobs.Job
    ) -> RetryDecision | None:
        """Return when to try again; None gives the job up."""
        if isinstance(exception, asyncio.CancelledError):  # the worker ends: another takes it over
            return RetryDecision(retry_at=datetime.now(UTC))
        if job.attempts + 1 >= MAX_ATTEMPTS:
            return None
        return RetryDecision(retry_in={"seconds": min(FIRST_PAUSE_S * 2**job.attempts, LONGEST_PAUSE_S)})


@asynccontextmanager
async def working(
    conninfo: str, database: Database, embedder: Embedder, *, at_once: int = 1
) -> AsyncIterator[None]:
    """Take jobs from the queue in this process until the end of the block.

    Args:
        conninfo: of the database; the queue has two connections of its own.
        database: that has vectors.
        embedder: that jobs embed with.
        at_once: jobs at a time.
    """
    task = asyncio.create_task(_work(conninfo, database, embedder, at_once), name="worker")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def sweep(database: Database, model: str, *, failed_before_s: float = GIVEN_UP_FOR_S) -> int:
    """Defer a job for each scope that changed since a model embedded it, and return how many those are.

    Args:
        database: that has vectors.
        model: by its embedder's name.
        failed_before_s: scopes that failed less than so long ago wait for their own jobs.
    """
    async with database.maintenance() as connection:
        behind = await vectors.behind(connection, model, failed_before_s=failed_before_s)
    for start in range(0, len(behind), DEFERRED_AT_ONCE):
        async with database.maintenance() as connection:
            await vectors.defer(connection, behind[start : start + DEFERRED_AT_ONCE])
    if behind:
        _log.info("embedding_deferred", model=model, scopes=len(behind))
    return len(behind)


async def _work(conninfo: str, database: Database, embedder: Embedder, at_once: int) -> None:
    """Run a worker for good: one that ends, because the database went away, is followed by another."""
    app = _app(conninfo, database, embedder)
    while True:
        try:
            async with app.open_async():
                await _execute(app, "job_hasten", task=EMBED)
                await sweep(database, embedder.name, failed_before_s=0)
                await _run(app, at_once, wait=True)
        except Exception:  # noqa: BLE001  # whatever ends it: nobody else would start it again
            _log.warning("worker_failed", exc_info=True)
        await asyncio.sleep(RESTART_S)


async def _run(app: procrastinate.App, at_once: int, *, wait: bool) -> None:
    await app.run_worker_async(
        queues=[QUEUE],
        concurrency=at_once,
        wait=wait,
        listen_notify=False,
        fetch_job_polling_interval=POLL_S,
        shutdown_graceful_timeout=SHUTDOWN_S,
        delete_jobs="successful",
        install_signal_handlers=False,
    )


def _app(conninfo: str, database: Database, embedder: Embedder) -> procrastinate.App:
    connector = PsycopgConnector(
        conninfo=_in_its_schema(conninfo),
        kwargs={"application_name": "memex-jobs"},
        min_size=1,
        max_size=2,
        reconnect_timeout=RESTART_S,
    )
    app = procrastinate.App(connector=connector)

    @app.task(name=EMBED, queue=QUEUE, retry=Backoff())
    async def embed(scope_id: int) -> None:
        done = await _embed(database, embedder, scope_id)
        if done.is_complete:
            await _execute(app, "job_forget_failed", lock=f"{EMBED}:{scope_id}")
        else:
            async with database.maintenance() as connection:
                await vectors.defer(connection, [scope_id])

    @app.periodic(cron=SWEEP_TIMES)
    @app.task(name=SWEEP, queue=QUEUE, queueing_lock=SWEEP, lock=SWEEP)
    async def sweep_all(timestamp: int) -> None:  # noqa: ARG001  # which the library passes
        await _free_stalled(app)
        await app.job_manager.delete_old_jobs(
            FAILED_KEPT_H, queue=QUEUE, include_failed=True, include_cancelled=True, include_aborted=True
        )
        await sweep(database, embedder.name)

    return app


async def _embed(database: Database, embedder: Embedder, scope_id: int) -> Embedded:
    try:
        return await embed_scope(database, embedder, scope_id, max_texts=MAX_TEXTS)
    except Exception as error:
        reason = error.details.get("reason") if isinstance(error, MemexError) else None
        _log.warning(
            "embedding_failed",
            model=embedder.name,
            scope_id=scope_id,
            error=type(error).__name__,
            reason=reason,
        )
        raise


async def _execute(app: procrastinate.App, statement: str, **parameters: str) -> None:
    """Run `queries/{statement}.sql` on a connection that finds the library's tables, as its triggers must."""
    await app.connector.execute_query_async(sql(statement).decode(), **parameters)


async def _free_stalled(app: procrastinate.App) -> None:
    """Put jobs back into the queue whose worker was killed."""
    for job in await app.job_manager.get_stalled_jobs(queue=QUEUE):
        with suppress(ProcrastinateException):  # another worker was faster
            await app.job_manager.retry_job(job)


def _in_its_schema(conninfo: str) -> str:
    """Return how to connect so that the library finds its tables."""
    given: dict[str, Any] = dict(conninfo_to_dict(conninfo))
    options = " ".join(filter(None, [given.get("options"), "-c search_path=procrastinate"]))
    return make_conninfo(conninfo, options=options)
