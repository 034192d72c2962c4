"""Embedding in the background: what is deferred runs once after the commit, failures come back, nothing is lost."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import procrastinate
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.kit.model_server import ModelServer, embeds, fails
from tests.kit.rows import select, until

from memex.call_context import CallContext
from memex.errors import ModelUnavailable
from memex.jobs import embedding_queue as embedding_jobs
from memex.jobs import worker
from memex.jobs.embedding_queue import embedding_queue
from memex.service.service import Caller, Service
from memex.store.database import Database, rows
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.log.operations import EMBED
from memex.store.migrate import migrate
from memex.store.search import vectors
from memex.subagent.breaker import EMBEDDING, MAX_FAILURES, Breaker
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import EmbeddedText, InputType
from memex.subagent.embedders.remote import OpenAIEmbedder

# The server must have pgvector.
pytestmark = pytest.mark.embedded_only


class Scripted:
    """An embedder that does something of the test's before it answers."""

    name = "scripted@8"
    dimensions: int | None = 8
    gives_states = False

    def __init__(self, before: Callable[[], Awaitable[None]] | None = None) -> None:
        self.calls = 0
        self._before = before

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return hashed vectors."""
        self.calls += 1
        if self._before is not None:
            await self._before()
        return await HashEmbedder(8).embed(texts, kind)

    async def close(self) -> None:
        """Hold nothing."""


@pytest.fixture
def work_off(database: Database, conninfo: str) -> Callable[[Scripted], Awaitable[None]]:
    """What does the jobs that can be begun now, one after the other."""

    async def work_off(embedder: Scripted) -> None:
        queue = embedding_queue(database, embedder)
        app = worker.open_app(conninfo, queue)
        app.periodic_registry.periodic_tasks.clear()
        async with app.open_async():
            await worker.create_worker(app, queue, wait=False).run()

    return work_off


WorkOff = Callable[[Scripted], Awaitable[None]]


async def write(service: Service, caller: Caller, path: str, content: str = "# Tea\n\ngreen\n") -> None:
    """Write a file and have it embedded, in the write's own way."""
    await service.execute(caller, "memory_write", {"path": path, "content": content, "overwrite": True})
    async with service.database.transaction(caller.access) as connection:
        await vectors.defer(connection, [caller.access.log_scope_id])


async def queue(database: Database) -> list[tuple[Any, ...]]:
    """Return the jobs that there are: what they do, for which scope, and how often that was tried."""
    return await select(
        database,
        "select status::text, args ->> 'scope_id' as scope_id, attempts"
        " from procrastinate_jobs where task_name = 'embed_scope' order by id",
    )


async def make_due(database: Database) -> None:
    """Let the pause before another attempt be over."""
    async with database.maintenance() as connection:
        await connection.execute("update procrastinate.procrastinate_jobs set scheduled_at = null")


async def test_a_deferred_job_embeds_the_scope(service: Service, alice: Caller, work_off: WorkOff) -> None:
    """Many writes make one job that waits; when it is done it is gone."""
    for n in range(5):
        await write(service, alice, f"user/{n}.md", f"text {n}")
    waiting = await queue(service.database)

    await work_off(Scripted())

    assert waiting == [("todo", str(alice.access.log_scope_id), 0)]
    assert await queue(service.database) == []
    assert await select(service.database, "select count(*) from embedding") == [(5,)]


async def test_a_rolled_back_write_defers_nothing(service: Service, alice: Caller) -> None:
    """The job belongs to the transaction."""
    with pytest.raises(ZeroDivisionError):
        await _defer_and_fail(service, alice)

    assert await queue(service.database) == []


async def _defer_and_fail(service: Service, caller: Caller) -> None:
    async with service.database.transaction(caller.access) as connection:
        await vectors.defer(connection, [caller.access.log_scope_id])
        raise ZeroDivisionError


async def test_a_job_that_waits_is_held_until_the_commit(
    service: Service, alice: Caller, work_off: WorkOff
) -> None:
    """No worker takes it while a write that counts on it is under way, so that it sees what the write committed."""
    await write(service, alice, "user/a.md", "first")
    embedder = Scripted()

    async with service.database.transaction(alice.access) as connection:
        await vectors.defer(connection, [alice.access.log_scope_id])
        await work_off(embedder)
        calls_before_the_commit = embedder.calls
    await work_off(embedder)

    assert (calls_before_the_commit, embedder.calls) == (0, 1)


async def test_a_write_during_a_run_makes_the_next(
    service: Service, alice: Caller, work_off: WorkOff
) -> None:
    """One that has begun does not count as waiting."""

    async def write_another() -> None:
        if embedder.calls == 1:
            await write(service, alice, "user/b.md", "second")
            during.extend(await queue(service.database))

    during: list[tuple[Any, ...]] = []
    embedder = Scripted(write_another)
    await write(service, alice, "user/a.md", "first")
    await work_off(embedder)

    assert [status for status, *_ in during] == ["doing", "todo"]
    assert embedder.calls == 2
    assert await select(service.database, "select count(*) from embedding") == [(2,)]
    assert await queue(service.database) == []


async def fail() -> None:
    """Fail as an embedder does."""
    raise ModelUnavailable("a text of the memory", reason="RateLimitError 429")


async def test_a_failed_job_comes_back(service: Service, alice: Caller, work_off: WorkOff) -> None:
    """Later, with its attempts counted; writes meanwhile wait behind it, and it says what failed."""
    await write(service, alice, "user/a.md", "first")
    await work_off(Scripted(fail))
    failed_once = await queue(service.database)
    await work_off(Scripted(fail))
    await write(service, alice, "user/b.md", "second")
    await work_off(Scripted(fail))
    with_another = await queue(service.database)
    pause = await select(
        service.database,
        "select extract(epoch from scheduled_at - now()) from procrastinate.procrastinate_jobs where attempts > 0",
    )
    await make_due(service.database)
    await work_off(Scripted())

    assert [(status, attempts) for status, _, attempts in failed_once] == [("todo", 1)]
    assert [(status, attempts) for status, _, attempts in with_another] == [("todo", 1), ("todo", 0)]
    assert 0 < pause[0][0] <= embedding_jobs.FIRST_PAUSE_S
    assert await queue(service.database) == []
    assert await select(service.database, "select count(*) from embedding") == [(2,)]
    assert await select(service.database, "select error from embedding_progress") == [(None,)]


async def test_a_write_during_a_run_that_fails_is_not_lost(
    service: Service, alice: Caller, work_off: WorkOff
) -> None:
    """Both the failed job and the one that was deferred meanwhile are in the queue, and neither is stuck."""

    async def write_and_fail() -> None:
        await write(service, alice, "user/b.md", "second")
        await fail()

    await write(service, alice, "user/a.md", "first")
    await work_off(Scripted(write_and_fail))
    after_failure = await queue(service.database)
    await make_due(service.database)
    await work_off(Scripted())

    assert [(status, attempts) for status, _, attempts in after_failure] == [("todo", 1), ("todo", 0)]
    assert await queue(service.database) == []
    assert await select(service.database, "select count(*) from embedding") == [(2,)]


async def test_a_job_is_given_up_at_last(service: Service, alice: Caller, work_off: WorkOff) -> None:
    """It stays to be seen; the sweep leaves the scope alone for an hour; success takes the trace away."""
    await write(service, alice, "user/a.md")
    for _ in range(embedding_jobs.MAX_ATTEMPTS):
        await make_due(service.database)
        await work_off(Scripted(fail))
    given_up = await queue(service.database)
    swept = await embedding_jobs.sweep(service.database, "scripted@8")
    at_start = await embedding_jobs.sweep(service.database, "scripted@8", failed_before_s=0)
    await work_off(Scripted())

    assert [(status, attempts) for status, _, attempts in given_up] == [
        ("failed", embedding_jobs.MAX_ATTEMPTS)
    ]
    assert (swept, at_start) == (0, 1)
    assert await queue(service.database) == []


async def test_a_lost_job_loses_nothing(service: Service, alice: Caller, work_off: WorkOff) -> None:
    """A process that died between the write and its job, or a queue that was emptied: the sweep finds the scope."""
    await write(service, alice, "user/a.md")
    await select(service.database, "delete from procrastinate_jobs returning id")

    swept = await embedding_jobs.sweep(service.database, "scripted@8")
    await work_off(Scripted())
    again = await embedding_jobs.sweep(service.database, "scripted@8")

    assert (swept, again) == (1, 0)
    assert await select(service.database, "select count(*) from embedding") == [(1,)]


async def test_a_killed_worker_gives_its_job_back(service: Service, alice: Caller, conninfo: str) -> None:
    """The sweep puts the job of a worker without a heartbeat into the queue again."""
    await write(service, alice, "user/a.md")
    await select(
        service.database,
        "insert into procrastinate_workers (last_heartbeat) values ('-infinity') returning id",
    )
    await select(
        service.database,
        "update procrastinate_jobs set status = 'doing', worker_id = (select id from procrastinate_workers)"
        " returning id",
    )
    await write(service, alice, "user/b.md")
    app = worker.open_app(conninfo, embedding_queue(service.database, Scripted()))
    async with app.open_async():
        await app.tasks[embedding_jobs.SWEEP].func(timestamp=0)

    assert [status for status, *_ in await queue(service.database)] == ["todo", "todo"]


async def test_a_large_scope_lets_others_have_their_turn(
    service: Service, caller_of: Any, work_off: WorkOff, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a bound of texts it goes to the end of the queue."""
    monkeypatch.setattr(embedding_jobs, "MAX_TEXTS", 1)
    order: list[str] = []
    alice, bob = await caller_of("alice"), await caller_of("bob")
    await write(service, alice, "user/long.md", "".join(f"# {n}\n\ntext\n\n" for n in range(100)))
    await write(service, bob, "user/short.md")

    async def note() -> None:
        order.append(
            str(
                (
                    await select(
                        service.database,
                        "select args ->> 'scope_id' from procrastinate.procrastinate_jobs where status = 'doing'",
                    )
                )[0][0]
            )
        )

    await work_off(Scripted(note))

    ids = [str(caller.access.log_scope_id) for caller in (alice, bob, alice)]
    assert order == ids
    assert await select(service.database, "select count(*) from embedding") == [(101,)]


async def test_callers_reach_the_queue_by_one_function_alone(service: Service, alice: Caller) -> None:
    """Its tables are closed to the roles of requests."""
    for statement in (
        "select * from procrastinate.procrastinate_jobs",
        "delete from procrastinate.procrastinate_jobs",
        "select procrastinate.procrastinate_defer_jobs_v1('{}')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with service.database.transaction(alice.access) as connection:
                await connection.execute(statement.encode())


async def test_a_login_without_roles_defers_too(server: Any) -> None:
    """Where it may not make the roles it stays the owner: requests reach the queue by the same function."""
    name, user = (f"{kind}_{uuid.uuid4().hex[:12]}" for kind in ("memex_test", "lone"))
    server._run(f"create role {user} login nocreaterole password 'lone'")
    server._run(f'create database "{name}" owner {user}')
    conninfo = make_conninfo(server.admin, dbname=name, user=user, password="lone")
    await migrate(conninfo, superuser=server.admin)
    database = await Database.open(conninfo, max_connections=2)
    try:
        tenant_id = await tenants.ensure_tenant(database, "default")
        service = Service(database, max_files=10)
        caller = await service.caller(
            Principal(tenant_id, "agent"), CallContext(user_id="alice"), makes_user=True
        )
        await write(service, caller, "user/a.md")
        waiting = await queue(database)
        async with database.transaction(caller.access) as connection:
            [seen] = await rows(
                connection, "vectors/embedding_hnsw_list", scope_ids=[1], model="m", dimensions=64
            ) or [None]
    finally:
        await database.close()
        server.drop(name)
        server._run(f"drop role {user}")

    assert not database.acts_by_role
    assert [status for status, *_ in waiting] == ["todo"]
    assert seen is None


@pytest.fixture
async def hanging() -> AsyncIterator[Scripted]:
    """An embedder that never answers."""
    released = asyncio.Event()

    async def hang() -> None:
        await released.wait()

    yield Scripted(hang)
    released.set()


async def test_a_worker_takes_jobs_and_ends(service: Service, alice: Caller, conninfo: str) -> None:
    """It sweeps when it starts, takes what is deferred later, and leaves nothing running."""
    await service.execute(alice, "memory_write", {"path": "user/before.md", "content": "before"})
    tasks = {task.get_name() for task in asyncio.all_tasks()}
    async with worker.running_workers(conninfo, embedding_queue(service.database, Scripted())):
        await until(service.database, "select count(*) = 1 from embedding")
        await write(service, alice, "user/after.md", "after")
        await until(service.database, "select count(*) = 2 from embedding")

    assert await select(service.database, "select count(*) from procrastinate.procrastinate_workers") == [
        (0,)
    ]
    assert {task.get_name() for task in asyncio.all_tasks()} == tasks


async def test_a_hanging_provider_delays_no_write(
    service: Service, alice: Caller, conninfo: str, hanging: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes commit while the embedder hangs; the end of the worker gives the job back."""
    monkeypatch.setattr(worker, "SHUTDOWN_S", 0.1)
    await write(service, alice, "user/0.md", "text")
    async with worker.running_workers(conninfo, embedding_queue(service.database, hanging)):
        await until(
            service.database,
            "select count(*) = 1 from procrastinate.procrastinate_jobs where status = 'doing'",
        )
        for n in range(1, 4):
            await write(service, alice, f"user/{n}.md", f"text {n}")

    assert hanging.calls == 1
    assert await select(service.database, "select count(*) from revision") == [(4,)]
    assert [status for status, *_ in await queue(service.database)] == ["todo", "todo"]


async def test_a_worker_outlives_the_database(
    service: Service, alice: Caller, conninfo: str, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connections may be cut: it comes back by itself."""
    monkeypatch.setattr(worker, "RESTART_S", 0.05)
    async with worker.running_workers(conninfo, embedding_queue(service.database, Scripted())):
        await until(service.database, "select count(*) = 1 from procrastinate.procrastinate_workers")
        with psycopg.connect(server.admin, autocommit=True) as connection:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'memex-jobs'"
            )
        await write(service, alice, "user/a.md")
        await until(service.database, "select count(*) = 1 from embedding")


@pytest.mark.parametrize(("attempts", "pause_s"), [(0, 5), (1, 10), (6, 320), (7, 600), (8, 600), (9, None)])
def test_pauses_grow(attempts: int, pause_s: int | None) -> None:
    """From five seconds to ten minutes, ten attempts in all."""
    job = procrastinate.jobs.Job(
        id=1, queue="q", lock=None, queueing_lock=None, task_name="t", attempts=attempts
    )
    decision = embedding_jobs.ExponentialBackoff().get_retry_decision(exception=ValueError(), job=job)

    if pause_s is None or decision is None:
        assert decision is pause_s is None
    else:
        now = procrastinate.utils.utcnow()
        assert (decision.retry_at - now).total_seconds() == pytest.approx(pause_s, abs=1)


async def test_a_job_for_an_embedder_that_is_left_alone_is_put_off(
    service: Service, conninfo: str, alice: Caller, model_server: ModelServer
) -> None:
    """That is no attempt, nothing is sent, and no failure is noted; a word of ours shows when it is back."""
    now_s = 0.0
    breaker = Breaker("openai:e@3", EMBEDDING, clock=lambda: now_s)
    embedder = OpenAIEmbedder("e", dimensions=3, base_url=model_server.url, backoff_s=0.001, breaker=breaker)

    async def work() -> list[tuple[Any, ...]]:
        await make_due(service.database)
        jobs = embedding_queue(service.database, embedder, breaker=breaker)
        app = worker.open_app(conninfo, jobs)
        app.periodic_registry.periodic_tasks.clear()
        async with app.open_async():
            await worker.create_worker(app, jobs, wait=False).run()
        return await queue(service.database)

    scope = str(alice.access.log_scope_id)
    await write(service, alice, "user/a.md", "first")
    model_server.play(fails(503), endless=True)
    failed = [await work() for _ in range(MAX_FAILURES)]
    sent = len(model_server.requests)
    put_off = [await work() for _ in range(20)]
    sent_meanwhile = len(model_server.requests) - sent
    logged = await select(service.database, "select count(*) from operation where kind = %s", EMBED)
    now_s = 60.0
    model_server.play(embeds, endless=True)
    done = await work()
    await embedder.close()

    assert failed == [[("todo", scope, attempts)] for attempts in range(1, MAX_FAILURES + 1)]
    assert put_off == [[("todo", scope, 0)]] * 20
    assert sent_meanwhile == 0
    assert logged == [(MAX_FAILURES,)]
    assert [request.body["input"] for request in model_server.requests[sent:]] == [["memex"], ["a\nfirst"]]
    assert done == []
