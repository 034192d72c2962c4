"""The queue of scopes whose texts need embeddings.

A sweep defers jobs for all scopes that changed since they were embedded.
"""

import asyncio
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import procrastinate
import structlog
from procrastinate import BaseRetryStrategy, RetryDecision
from procrastinate.exceptions import AlreadyEnqueued

from memex.errors import MemexError, ModelUnavailable, StoreUnavailable
from memex.jobs.worker import JobQueue, add_periodic, execute
from memex.service.chunk_embedding import EmbeddingProgress, embed_scope, estimate
from memex.store.database import Database
from memex.store.search import vectors
from memex.store.sql import sql
from memex.store.waiting.failures import is_away
from memex.subagent.breaker import Breaker, is_not_asked
from memex.subagent.embedders.interface import Embedder

QUEUE = "embedding"
EMBED, SWEEP = "embed_scope", "sweep"
SWEEP_TIMES = "*/2 * * * *"  # cron: every two minutes

MAX_TEXTS = 1_024  # of one scope for each job, so that other scopes get a turn
MAX_ATTEMPTS = 10  # in about half an hour; after that, the sweep defers a new job
FIRST_PAUSE_S = 5
LONGEST_PAUSE_S = 600
GIVEN_UP_FOR_S = 3_600.0  # after its job is given up, a scope waits so long for the sweep
DEFERRED_AT_ONCE = 500  # scopes in one transaction
PROBE = "memex"  # is embedded to see whether the embedder answers again
PROGRESS_EVERY_S = 30.0  # of a job that is not done by one run

_log = structlog.get_logger("memex.jobs")


class ExponentialBackoff(BaseRetryStrategy):
    """Try a failed job again after 5, 10, 20 … seconds, at most ten minutes, until ten attempts have failed."""

    def get_retry_decision(
        self, *, exception: BaseException, job: procrastinate.jobs.Job
    ) -> RetryDecision | None:
        """Return when to try again, or None to give the job up."""
        if isinstance(exception, asyncio.CancelledError):  # another worker takes the job over
            return RetryDecision(retry_at=datetime.now(UTC))
        if job.attempts + 1 >= MAX_ATTEMPTS:
            return None
        return RetryDecision(retry_in={"seconds": min(FIRST_PAUSE_S * 2**job.attempts, LONGEST_PAUSE_S)})


def embedding_queue(
    database: Database,
    embedder: Embedder,
    *,
    at_once: int = 1,
    conversations: bool = False,
    breaker: Breaker | None = None,
) -> JobQueue:
    """Return the queue whose jobs embed scopes.

    Args:
        database: a database that has vectors; without them, only token states are made.
        embedder: the embedder that the jobs use.
        at_once: the number of scopes that are embedded at the same time.
        conversations: also users' conversations.
        breaker: says whether the embedder is asked at present. While it is not, a job is put off, which is no
            attempt; None if the embedder is always asked.
    """
    progress = _ProgressLog(database, embedder.name, conversations=conversations)

    def add_tasks(app: procrastinate.App) -> None:
        @app.task(name=EMBED, queue=QUEUE, retry=ExponentialBackoff())
        async def embed(scope_id: int) -> None:
            done = await _embed(database, embedder, scope_id) if await _answers(embedder, breaker) else None
            if done is None:
                left_s = math.ceil(breaker.seconds_left) if breaker else 0
                await _put_off(app, scope_id, max(FIRST_PAUSE_S, left_s))
            elif done.is_complete:
                await execute(app, "jobs/job_forget_failed", lock=f"{EMBED}:{scope_id}")
            else:
                await _defer(database, [scope_id])
                await progress.write()

        async def sweep_all(_: int) -> None:
            await sweep(database, embedder.name, conversations=conversations)

        add_periodic(app, QUEUE, SWEEP, SWEEP_TIMES, sweep_all)

    async def begin(app: procrastinate.App) -> None:
        await execute(app, "jobs/job_hasten", task=EMBED)
        await sweep(database, embedder.name, failed_before_s=0, conversations=conversations)

    return JobQueue(QUEUE, at_once, add_tasks, begin)


async def sweep(
    database: Database, model: str, *, failed_before_s: float = GIVEN_UP_FOR_S, conversations: bool = False
) -> int:
    """Defer a job for each scope that changed since a model embedded it, and return the number of these scopes.

    Args:
        database: a database that has vectors; without them, only token states are made.
        model: the name of the embedder.
        failed_before_s: the sweep leaves out scopes that failed more recently than this; their own jobs try again.
        conversations: also users' conversations.
    """
    async with database.maintenance() as connection:
        behind = await vectors.scopes_behind(
            connection,
            model,
            failed_before_s=failed_before_s,
            conversations=conversations,
            has_vectors=database.has_vectors,
        )
    for start in range(0, len(behind), DEFERRED_AT_ONCE):
        await _defer(database, behind[start : start + DEFERRED_AT_ONCE])
    if behind:
        _log.info("embedding_deferred", model=model, scopes=len(behind))
    return len(behind)


async def _defer(database: Database, scope_ids: Sequence[int]) -> None:
    """Defer jobs; those of conversations, which have the most texts, run when no other job waits."""
    async with database.maintenance() as connection:
        await vectors.defer(connection, scope_ids, has_vectors=database.has_vectors)
        await connection.execute(
            sql("jobs/job_of_conversations_last"), {"task": EMBED, "scope_ids": list(scope_ids)}
        )


async def _put_off(app: procrastinate.App, scope_id: int, seconds: int) -> None:
    """Defer a job anew that could not begin; its attempts are counted from 0."""
    lock = f"{EMBED}:{scope_id}"
    later = app.configure_task(
        EMBED, queue=QUEUE, lock=lock, queueing_lock=lock, schedule_in={"seconds": seconds}
    )
    with suppress(AlreadyEnqueued):  # a write made one meanwhile
        await later.defer_async(scope_id=scope_id)


async def _answers(embedder: Embedder, breaker: Breaker | None) -> bool:
    """Return whether the embedder may be sent texts; one that was left alone first shows it with a word of ours."""
    if breaker is None or not breaker.is_open:
        return True
    try:
        await embedder.embed([PROBE], "query")
    except ModelUnavailable:
        return False
    return True


async def _embed_when_writable(database: Database, embedder: Embedder, scope_id: int) -> EmbeddingProgress:
    """Embed a scope, and wait while no server takes writes: that is no failed attempt of the job."""
    while True:
        try:
            return await embed_scope(database, embedder, scope_id, max_texts=MAX_TEXTS)
        except StoreUnavailable as error:
            if not is_away(error):
                raise
        await asyncio.sleep(FIRST_PAUSE_S)


async def _embed(database: Database, embedder: Embedder, scope_id: int) -> EmbeddingProgress | None:
    """Embed texts of a scope; None if the embedder is left alone."""
    try:
        return await _embed_when_writable(database, embedder, scope_id)
    except Exception as error:
        if is_not_asked(error):
            return None
        reason = error.details.get("reason") if isinstance(error, MemexError) else None
        _log.warning(
            "embedding_failed",
            model=embedder.name,
            scope_id=scope_id,
            error=type(error).__name__,
            reason=reason,
        )
        raise


class _ProgressLog:
    """Writes into the process log how far the embedding of many texts is, with an estimate."""

    def __init__(self, database: Database, model: str, *, conversations: bool) -> None:
        self._database = database
        self._model = model
        self._conversations = conversations
        self._next_s = 0.0

    async def write(self) -> None:
        """Write a line, unless one was written a moment ago."""
        now = time.monotonic()
        if now < self._next_s:
            return
        self._next_s = now + PROGRESS_EVERY_S
        found = await estimate(self._database, self._model, conversations=self._conversations)
        _log.info(
            "embedding_progress",
            model=self._model,
            missing=found.missing,
            texts_a_second=None if found.texts_a_second is None else round(found.texts_a_second, 1),
            seconds_left=found.seconds_left,
        )
