"""Workers of the queue of memory_remember: in order, past kills and failures, each text exactly once."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import procrastinate
import pytest
from psycopg.conninfo import make_conninfo
from tests.kit.memory import remember
from tests.kit.read_only import switch_of
from tests.kit.rows import select, until

from memex.call_context import CallContext
from memex.errors import LimitExceeded, ModelUnavailable, StoreUnavailable
from memex.jobs import remember_queue as remember_jobs
from memex.jobs import worker
from memex.jobs.remember_queue import RetryLater, remember_queue
from memex.jobs.worker import running_workers
from memex.service.log import queue
from memex.service.log.queue import Pause
from memex.service.planners import Planners, builtin_planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.migrate import migrate
from memex.store.waiting import primary
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import RememberPlan, RememberRequest

CallerOf = Callable[..., Awaitable[Caller]]
WorkOff = Callable[..., Awaitable[None]]


# What is only said by the database is tested on both servers by the first test.
one_server = pytest.mark.embedded_only


class Scripted:
    """A planner that does something of the test's before it plans by rules."""

    name = "scripted"
    is_slow = True
    config: ClassVar[dict[str, Any]] = {}

    def __init__(self, before: Callable[[str], Awaitable[None]]) -> None:
        self.texts: list[str] = []
        self._before = before

    async def plan_context(self, *_: Any) -> Any:
        """Is not asked."""
        raise NotImplementedError

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Plan by rules, after what the test does."""
        self.texts.append(request.text)
        await self._before(request.text)
        return await builtin_planners().remember.plan_remember(request, tools)


def planned_by(service: Service, planner: Scripted) -> Service:
    """Return a service over the same database whose memory_remember another planner plans."""
    return Service(service.database, max_files=10_000, planning=Planners(builtin_planners().context, planner))


async def later(service: Service, caller: Caller, text: str, call: str) -> None:
    """Have a text remembered by the queue."""
    answer = await service.execute(
        caller, "memory_remember", {"text": text, "wait": False}, tool_call_id=call
    )
    assert answer["status"] == "queued"


async def jobs(database: Database) -> list[str]:
    """Return what the jobs do that there are: todo, doing, failed."""
    statement = "select status::text from procrastinate_jobs where task_name = 'remember' order by id"
    return [status for (status,) in await select(database, statement)]


async def make_due(database: Database) -> None:
    """Let the pause before another attempt be over."""
    await select(database, "update procrastinate_jobs set scheduled_at = null")


ALL_DONE = "select count(*) = 0 from operation where status = 'queued'"
PAGES_AND_ENTRIES = """
select count(*) filter (where not path like 'journal/%') as pages,
       count(*) filter (where path like 'journal/%') as entries
  from revision"""


@pytest.fixture
def work_off(conninfo: str) -> WorkOff:
    """What does the jobs that can be begun now, after what a worker begins with."""

    async def work_off(service: Service, *, at_once: int = 1) -> None:
        queue = remember_queue(service, at_once=at_once)
        app = worker.open_app(conninfo, queue)
        app.periodic_registry.periodic_tasks.clear()
        async with app.open_async():
            await queue.begin(app)
            await worker.create_worker(app, queue, wait=False).run()

    return work_off


async def test_a_worker_takes_texts_and_ends(service: Service, alice: Caller, conninfo: str) -> None:
    """Those that are there and those that come; it leaves no job and nothing running. It needs no pgvector."""
    await later(service, alice, "I prefer oolong tea.", "before")
    tasks = {task.get_name() for task in asyncio.all_tasks()}
    async with running_workers(conninfo, remember_queue(service)):
        await until(service.database, ALL_DONE)
        await later(service, alice, "I live in Lisbon.", "after")
        await until(service.database, ALL_DONE)

    assert await jobs(service.database) == []
    assert await select(service.database, PAGES_AND_ENTRIES) == [(2, 2)]
    assert await select(service.database, "select count(*) from procrastinate_workers") == [(0,)]
    assert {task.get_name() for task in asyncio.all_tasks()} == tasks


@one_server
async def test_a_worker_may_end_while_it_begins(service: Service, conninfo: str) -> None:
    """At any step: nothing of it goes on, which would keep the process from ending."""
    tasks = {task.get_name() for task in asyncio.all_tasks()}
    for steps in range(40):
        async with running_workers(conninfo, remember_queue(service)):
            for _ in range(steps):
                await asyncio.sleep(0)

        assert {task.get_name() for task in asyncio.all_tasks()} == tasks


@one_server
async def test_a_failed_call_comes_back_after_its_pause(
    service: Service, alice: Caller, work_off: WorkOff
) -> None:
    """The job waits so long; when it is due the call is tried again."""
    broken = True

    async def fail(_: str) -> None:
        if broken:
            raise ModelUnavailable("away")

    planner = Scripted(fail)
    await later(service, alice, "I prefer oolong tea.", "call-1")
    await work_off(planned_by(service, planner))
    await work_off(planned_by(service, planner))
    pause = await select(
        service.database, "select extract(epoch from scheduled_at - now()) from procrastinate_jobs"
    )
    broken = False
    await make_due(service.database)
    await work_off(planned_by(service, planner))

    assert len(planner.texts) == 2
    assert 0 < pause[0][0] <= queue.FIRST_PAUSE_S + 1
    assert await jobs(service.database) == []
    assert await select(service.database, PAGES_AND_ENTRIES) == [(1, 1)]


@one_server
async def test_a_call_that_is_given_up_leaves_no_job(
    service: Service, alice: Caller, work_off: WorkOff
) -> None:
    """Nor is one made for it later."""

    async def fail(_: str) -> None:
        raise LimitExceeded("too much")

    await later(service, alice, "I prefer oolong tea.", "call-1")
    await work_off(planned_by(service, Scripted(fail)))
    await work_off(service)

    assert await jobs(service.database) == []
    assert await select(service.database, "select status from operation where status <> 'failed'") == [
        ("quarantined",)
    ]


@one_server
async def test_the_calls_of_a_user_are_done_in_their_order(
    service: Service, alice: Caller, caller_of: CallerOf, work_off: WorkOff
) -> None:
    """Though many are done at once, and though the first one fails for a moment. Others go on."""
    bob = await caller_of("bob")
    broken = True

    async def fail_first(text: str) -> None:
        if broken and "blue" in text:
            raise ModelUnavailable("away")

    planner = Scripted(fail_first)
    service_of_workers = planned_by(service, planner)
    await later(service, alice, "My favorite color is blue.", "call-1")
    await later(service, alice, "My favorite color is red.", "call-2")
    await later(service, bob, "My favorite color is green.", "call-3")
    await work_off(service_of_workers, at_once=4)
    first = sorted(planner.texts)
    broken = False
    await make_due(service.database)
    for _ in range(2):
        await work_off(service_of_workers, at_once=4)

    assert first == ["My favorite color is blue.", "My favorite color is green."]
    assert planner.texts[-2:] == ["My favorite color is blue.", "My favorite color is red."]
    context = await service.execute(alice, "memory_context", {"query": "favorite color"})
    assert "color is red" in context["context"]
    assert "color is blue" not in context["context"]


@one_server
async def test_a_call_that_fails_for_long_holds_up_no_other(
    service: Service, alice: Caller, work_off: WorkOff
) -> None:
    """A minute after its acceptance the others of its user go on, and those that come then, while it waits.

    When it is done at last, the newer statement stays.
    """
    broken = True

    async def fail_first(text: str) -> None:
        if broken and "blue" in text:
            raise ModelUnavailable("away")

    planner = Scripted(fail_first)
    service_of_workers = planned_by(service, planner)
    await later(service, alice, "My favorite color is blue.", "call-1")
    await select(
        service.database,
        "update operation set now = now - make_interval(secs => %s) where tool_call_id = 'call-1'",
        queue.IN_TURN_S,
    )
    await later(service, alice, "My favorite color is red.", "call-2")
    for _ in range(2):
        await work_off(service_of_workers)
    await later(service, alice, "I live in Lisbon.", "call-3")
    await work_off(service_of_workers)
    meanwhile = list(planner.texts)
    broken = False
    await make_due(service.database)
    await work_off(service_of_workers)

    assert meanwhile == ["My favorite color is blue.", "My favorite color is red.", "I live in Lisbon."]
    assert planner.texts[3:] == ["My favorite color is blue."]
    assert await jobs(service.database) == []
    context = await service.execute(alice, "memory_read", {"path": "user/preferences.md"})
    assert "color is red" in context["content"]
    assert "color is blue" not in context["content"]


@one_server
async def test_a_lost_job_is_made_again(service: Service, alice: Caller, work_off: WorkOff) -> None:
    """A queue that was emptied loses no text; one that has its job gets no second."""
    await later(service, alice, "I prefer oolong tea.", "call-1")
    await select(service.database, "delete from procrastinate_jobs")
    await later(service, alice, "I live in Lisbon.", "call-2")

    await work_off(service)

    assert await select(service.database, ALL_DONE) == [(True,)]
    assert await select(service.database, "select count(*) from operation where status = 'repeated'") == [
        (0,)
    ]


@one_server
async def test_another_worker_takes_over_from_one_that_was_killed(
    service: Service, alice: Caller, work_off: WorkOff
) -> None:
    """When its heartbeat is old and its lease has ended, and not before."""
    await later(service, alice, "I prefer oolong tea.", "call-1")
    await select(service.database, "insert into procrastinate_workers (last_heartbeat) values (now())")
    await select(
        service.database,
        "update procrastinate_jobs set status = 'doing', worker_id = (select id from procrastinate_workers)",
    )
    await select(service.database, "update operation set tries = 1, lease_until = now() + interval '50 s'")

    await work_off(service)
    alive = await jobs(service.database)
    await select(service.database, "update procrastinate_workers set last_heartbeat = '-infinity'")
    await work_off(service)
    leased = await select(
        service.database,
        "select status::text, extract(epoch from scheduled_at - now()) > 30 from procrastinate_jobs",
    )
    await select(service.database, "update operation set lease_until = now()")
    await make_due(service.database)
    await work_off(service)

    assert alive == ["doing"]
    assert leased == [("todo", True)]
    assert await jobs(service.database) == []
    assert await select(service.database, PAGES_AND_ENTRIES) == [(1, 1)]


@one_server
async def test_the_end_of_a_worker_gives_its_call_back(
    service: Service, alice: Caller, conninfo: str, work_off: WorkOff, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who thinks longer than it may is cut short; the next worker begins at once, and no try is lost."""
    monkeypatch.setattr(worker, "SHUTDOWN_S", 0.1)
    hanging = asyncio.Event()

    async def hang(_: str) -> None:
        await hanging.wait()

    await later(service, alice, "I prefer oolong tea.", "call-1")
    async with running_workers(conninfo, remember_queue(planned_by(service, Scripted(hang)))):
        await until(service.database, "select lease_until is not null from operation")
    left = await select(service.database, "select status, tries, lease_until from operation")
    waiting = await jobs(service.database)
    await work_off(service)

    assert left == [("queued", 0, None)]
    assert waiting == ["todo"]
    assert await select(service.database, ALL_DONE) == [(True,)]


@one_server
async def test_many_workers_do_each_call_once(service: Service, caller_of: CallerOf, conninfo: str) -> None:
    """Two processes with several at once, and one that comes to every call a second time."""
    callers = [await caller_of(f"user-{number}") for number in range(6)]
    for number in range(5):
        for caller in callers:
            await later(service, caller, f"I hate food {number}.", f"call-{number}")

    workers = [remember_queue(service, at_once=3) for _ in range(2)]
    rows = await select(service.database, "select scope_id, operation_id from operation")
    async with running_workers(conninfo, workers[0]), running_workers(conninfo, workers[1]):
        await asyncio.gather(*(queue.carry_out(service, *row) for row in rows))
        await until(service.database, ALL_DONE)

    committed = "from operation where status = 'committed'"
    counts = f"select count(*), count(distinct (user_id, tool_call_id)) as calls {committed}"
    assert await select(service.database, counts) == [(30, 30)]
    for caller in callers:
        read = await service.execute(caller, "memory_read", {"path": "user/preferences.md"})
        stated = [line.split(" (")[0] for line in read["content"].splitlines() if line.startswith("- ")]
        assert sorted(stated) == [f"- I hate food {number}." for number in range(5)]


@one_server
async def test_a_login_without_roles_has_a_queue_too(server: Any) -> None:
    """Where it may not make the roles it stays the owner: callers settle their calls by the same policy."""
    name, user = (f"{kind}_{uuid.uuid4().hex[:12]}" for kind in ("memex_test", "lone"))
    server._run(f"create role {user} login nocreaterole password 'lone'")
    server._run(f'create database "{name}" owner {user}')
    conninfo = make_conninfo(server.admin, dbname=name, user=user, password="lone")
    await migrate(conninfo)
    database = await Database.open(conninfo, max_connections=2)
    try:
        tenant_id = await tenants.ensure_tenant(database, "default")
        service = Service(database, max_files=10)
        alice = await service.caller(
            Principal(tenant_id, "agent"), CallContext(user_id="alice"), makes_user=True
        )
        await later(service, alice, "I prefer oolong tea.", "call-1")
        async with running_workers(conninfo, remember_queue(service)):
            await until(database, ALL_DONE)
        written = await select(database, PAGES_AND_ENTRIES)
    finally:
        await database.close()
        server.drop(name)
        server._run(f"drop role {user}")

    assert not database.acts_by_role
    assert written == [(1, 1)]


@pytest.mark.parametrize(
    ("error", "pause_s"),
    [(RetryLater(Pause(40)), 41), (RuntimeError(), remember_jobs.PAUSE_S + 1), (asyncio.CancelledError(), 0)],
    ids=["told", "outside", "ended"],
)
def test_the_call_says_when_it_is_tried_again(error: BaseException, pause_s: float) -> None:
    """What fails outside of a call is tried again after a pause, for ever; a worker's end is no failure."""
    job = procrastinate.jobs.Job(
        id=1,
        queue="q",
        lock="remember:1",
        queueing_lock=None,
        task_name="t",
        task_kwargs={"scope_id": 1, "operation_id": 2},
        attempts=99,
    )
    decision = remember_jobs.CallRetryStrategy().get_retry_decision(exception=error, job=job)

    now = procrastinate.utils.utcnow()
    assert (decision.retry_at - now).total_seconds() == pytest.approx(pause_s, abs=1)
    assert decision.lock == ("remember:1:2" if isinstance(error, RuntimeError) else None)


@one_server
async def test_a_failover_burns_no_attempt(
    service: Service, alice: Caller, conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that is under way when the database turns read-only is done once it takes writes, as one attempt."""
    monkeypatch.setattr(worker, "RESTART_S", 0.2)
    monkeypatch.setattr(remember_jobs.queue, "FIRST_PAUSE_S", 0.2)
    monkeypatch.setattr(primary, "LOOK_EVERY_S", 0.1)
    is_read_only = asyncio.Event()

    async def lose_the_primary(_: str) -> None:
        if not is_read_only.is_set():
            await switch.set(read_only=True)
            is_read_only.set()

    planner = Scripted(lose_the_primary)
    await later(service, alice, "I prefer oolong tea.", "call-1")
    async with (
        switch_of(conninfo) as switch,
        running_workers(conninfo, remember_queue(planned_by(service, planner))),
    ):
        await is_read_only.wait()
        with pytest.raises(StoreUnavailable):  # so the worker and its call see it as well
            await remember(service, alice, "I like milk.")
        await asyncio.sleep(1)
        assert await select(service.database, "select status from operation where tries > 0") == [("queued",)]
        await switch.set(read_only=False, ends_sessions=False)
        await until(service.database, ALL_DONE)

    tries = await select(
        service.database, "select status, tries from operation where tool_call_id = 'call-1'"
    )
    assert ("answered", 1) in tries
    assert {attempts for _, attempts in tries} <= {0, 1}
