"""memory_remember with wait: false: accepted once, carried out once, or given up for all to see."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import psycopg
import pytest
from tests.kit.rows import PATIENCE_S, POLL_S, select, until

from memex.call_context import CallContext
from memex.errors import (
    Forbidden,
    LimitExceeded,
    MemexError,
    ModelUnavailable,
    OperationNotFound,
    ProjectNotFound,
    RateLimited,
    ToolCallConflict,
    ToolCallInProgress,
    ValidationFailed,
)
from memex.service.log import queue
from memex.service.log.call_list import read_attempts
from memex.service.log.replay.requests import replay_call
from memex.service.planners import Planners, builtin_planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.identity import authentication, tenants
from memex.store.log import queue as stored_queue
from memex.store.migrate import migrate
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import Planner, RememberPlan, RememberRequest

CallerOf = Callable[..., Awaitable[Caller]]
Result = dict[str, Any]

# On both servers a call goes its whole way in the tests of the jobs.
pytestmark = pytest.mark.embedded_only

TEA = "I prefer oolong tea. Thanks!"


class Scripted:
    """A planner that does something of the test's before it plans by rules."""

    name = "scripted"
    is_slow = True
    config: ClassVar[dict[str, Any]] = {}

    def __init__(self, before: Callable[[], Awaitable[None]]) -> None:
        self.requests: list[RememberRequest] = []
        self._before = before

    async def until_asked(self, times: int) -> None:
        """Wait until it was asked so often."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.requests) < times:  # noqa: ASYNC110  # it tells nobody
                await asyncio.sleep(POLL_S)

    async def plan_context(self, *_: Any) -> Any:
        """Is not asked."""
        raise NotImplementedError

    async def plan_remember(self, request: RememberRequest, tools: MemoryTools) -> RememberPlan:
        """Plan by rules, after what the test does."""
        self.requests.append(request)
        await self._before()
        return await builtin_planners().remember.plan_remember(request, tools)


def planned_by(service: Service, planner: Planner) -> Service:
    """Return a service over the same database whose memory_remember another planner plans."""
    return Service(service.database, max_files=10_000, planning=Planners(builtin_planners().context, planner))


def failing(service: Service, error: Exception) -> Service:
    """Return a service over the same database whose memory_remember fails."""

    async def fail() -> None:
        raise error

    return planned_by(service, Scripted(fail))


async def later(
    service: Service, caller: Caller, text: str = TEA, *, call: str | None = "call-1", **more: Any
) -> Result:
    """Have a text remembered by the queue."""
    return await service.execute(
        caller, "memory_remember", {"text": text, "wait": False, **more}, tool_call_id=call
    )


async def now(service: Service, caller: Caller, text: str = TEA, *, call: str | None = "call-1") -> Result:
    """Have a text remembered, and wait for it."""
    return await service.execute(caller, "memory_remember", {"text": text}, tool_call_id=call)


async def queued(database: Database, call: str = "call-1") -> tuple[int, int]:
    """Return the scope and the id of a call that is in the queue."""
    statement = """
        select scope_id, operation_id
          from operation
         where tool_call_id = %s and status in ('queued', 'quarantined')"""
    [(scope_id, operation_id)] = await select(database, statement, call)
    return scope_id, operation_id


async def carry_out(service: Service, call: str = "call-1") -> float | None:
    """Do a call of the queue as a worker does, and return after how many seconds it is tried again."""
    pause = await queue.carry_out(service, *await queued(service.database, call))
    return pause.seconds if pause else None


async def statuses(service: Service, caller: Caller, call: str = "call-1") -> list[tuple[str, str | None]]:
    """Return how each attempt at a call ended, the newest first."""
    return [(one.status, one.error_code) for one in await read_attempts(service, caller, call)]


async def listed(service: Service, caller: Caller) -> list[tuple[str, str, int, str | None]]:
    """Return the calls that the queue shows to a caller."""
    found = await queue.list_queued_calls(service, caller)
    return [(one.tool_call_id, one.status, one.attempts, one.error_code) for one in found.calls]


async def preferences(service: Service, caller: Caller) -> int:
    """Return how often the tea stands in the user's pages."""
    found = await service.execute(caller, "memory_find", {"query": "oolong"})
    return sum(not hit["path"].startswith("user/journal/") for hit in found["hits"])


# --- accepting -----------------------------------------------------------------------------------------------


async def test_a_call_that_does_not_wait_is_queued(service: Service, alice: Caller) -> None:
    """Nothing is written yet; the log has the text, the job has two ids."""
    answer = await later(service, alice)

    assert answer == {
        "tool_call_id": "call-1",
        "status": "queued",
        "writes": [],
        "skipped": [],
        "replaced": [],
        "rivals": [],
        "candidates": [],
        "unresolved": [],
        "note": None,
        "planner": "builtin",
        "degraded": None,
    }
    assert await preferences(service, alice) == 0
    [logged] = await read_attempts(service, alice, "call-1")
    assert (logged.status, logged.request) == ("queued", {"text": TEA})
    scope_id, operation_id = await queued(service.database)
    [(job,)] = await select(
        service.database, "select to_jsonb(job) from procrastinate.procrastinate_jobs job"
    )
    assert job["args"] == {"scope_id": scope_id, "operation_id": operation_id}
    assert "oolong" not in str(job)
    assert await listed(service, alice) == [("call-1", "queued", 0, None)]


async def test_a_queued_call_is_carried_out_as_a_waiting_one(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """With the same result, under its id, by the clock of its acceptance; its own row is answered then."""
    bob = await caller_of("bob")
    before = datetime.now(UTC)
    await later(service, alice)
    accepted = datetime.now(UTC)
    again = await carry_out(service)
    waited = await now(service, bob)

    assert again is None
    done, asked = await read_attempts(service, alice, "call-1")
    told = await now(service, alice)
    assert (done.status, asked.status) == ("committed", "answered")
    assert before <= datetime.fromisoformat(done.started_at) <= accepted
    assert done.principal == asked.principal
    assert asked.request == {"text": TEA}
    assert done.request == {"text": {"$text": f"{told['entry']}:0-{len(TEA)}"}}
    assert asked.response["status"] == "queued"
    assert told == await later(service, alice) == waited | {"entry": told["entry"]}
    assert await listed(service, alice) == []


async def test_what_a_queued_call_wrote_can_be_reverted(service: Service, alice: Caller) -> None:
    """By its tool call id, as of any other."""
    await later(service, alice)
    await carry_out(service)

    reverted = await service.revert(alice, "call-1")

    assert reverted["writes"][0]["path"] == "user/preferences.md"
    assert [write["path"].partition("/journal/")[0] for write in reverted["writes"][1:]] == ["user"]
    assert await preferences(service, alice) == 0


async def test_a_call_without_an_id_gets_one(service: Service, alice: Caller) -> None:
    """By which the caller can ask what became of it."""
    answer = await later(service, alice, call=None)
    await carry_out(service, answer["tool_call_id"])

    assert (await later(service, alice, call=answer["tool_call_id"]))["status"] == "committed"


async def test_the_same_call_again_is_answered_alike_while_it_is_queued(
    service: Service, alice: Caller
) -> None:
    """Who waits hears that it is under way, and when to ask again; another request is a conflict."""
    first = await later(service, alice)
    again = await later(service, alice)

    assert first == again
    with pytest.raises(ToolCallInProgress) as refused:
        await now(service, alice)
    assert refused.value.details["retry_after_s"] > 0
    with pytest.raises(ToolCallConflict):
        await later(service, alice, "I prefer coffee.")
    with pytest.raises(ToolCallConflict):
        await now(service, alice, "I prefer coffee.")
    with pytest.raises(ToolCallConflict):
        await service.execute(
            alice, "memory_write", {"path": "user/a.md", "content": "a"}, tool_call_id="call-1"
        )
    assert await select(service.database, "select count(*) from procrastinate.procrastinate_jobs") == [(1,)]
    assert len(await listed(service, alice)) == 1


async def test_a_text_that_says_nothing_keeps_its_answer(service: Service, alice: Caller) -> None:
    """`nothing` is remembered as what became of the call, too."""
    await later(service, alice, "Thanks!")
    await carry_out(service)

    assert (await later(service, alice, "Thanks!"))["status"] == "nothing"
    assert (await now(service, alice, "Thanks!"))["status"] == "nothing"
    with pytest.raises(ToolCallConflict):
        await later(service, alice)


async def test_a_call_that_was_committed_is_not_queued(service: Service, alice: Caller) -> None:
    """It gets the result of its commit."""
    first = await now(service, alice)

    assert await later(service, alice) == first
    assert await listed(service, alice) == []


async def test_users_share_no_ids(service: Service, alice: Caller, caller_of: CallerOf) -> None:
    """The same id of two users is two calls."""
    bob = await caller_of("bob")
    await later(service, alice)
    await later(service, bob, "I prefer coffee.")

    assert len(await listed(service, alice)) == len(await listed(service, bob)) == 1


async def test_twenty_equal_calls_are_one(service: Service, alice: Caller) -> None:
    """At the same moment, waiting or not, with a worker at it: one row, one job, one commit, one answer at last."""

    async def attempt(number: int) -> Result | None:
        try:
            return await (now if number % 4 == 3 else later)(service, alice)
        except ToolCallInProgress:
            return None

    answers = await asyncio.gather(*(attempt(number) for number in range(20)))
    held = await select(
        service.database, "select count(*) from operation where status in ('queued', 'committed')"
    )
    jobs = await select(service.database, "select count(*) from procrastinate.procrastinate_jobs")
    rows = await select(
        service.database, "select scope_id, operation_id from operation where status = 'queued'"
    )
    await asyncio.gather(*(queue.carry_out(service, *row) for row in rows * 5))

    assert held == [(1,)]
    assert jobs == [(len(rows),)]
    assert {answer["status"] for answer in answers if answer} <= {"queued", "committed"}
    assert (await now(service, alice))["status"] == "committed"
    assert await select(service.database, "select count(*) from revision") == [(2,)]  # a page and an entry
    assert await select(service.database, "select count(*) from operation where status = 'committed'") == [
        (1,)
    ]


async def test_twenty_equal_calls_are_queued_once(service: Service, alice: Caller) -> None:
    """None of them waits: all are answered alike, and one row and one job are there."""
    answers = await asyncio.gather(*(later(service, alice) for _ in range(20)))

    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["status"] == "queued"
    found = await statuses(service, alice)
    assert sorted(found) == [("queued", None), *[("repeated", None)] * 19]
    assert await select(service.database, "select count(*) from procrastinate.procrastinate_jobs") == [(1,)]


async def test_a_queue_has_an_end(
    service: Service, alice: Caller, caller_of: CallerOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller whose calls fill the queue is told to wait; one that waits already, and others, are taken."""
    monkeypatch.setattr(stored_queue, "MAX_QUEUED", 2)
    for number in range(2):
        await service.execute(
            alice, "memory_remember", {"text": TEA, "wait": False}, tool_call_id=f"call-{number}"
        )

    with pytest.raises(RateLimited):
        await service.execute(alice, "memory_remember", {"text": TEA, "wait": False})

    arguments = {"text": TEA, "wait": False}
    again = await service.execute(alice, "memory_remember", arguments, tool_call_id="call-1")
    of_bob = await service.execute(await caller_of("bob"), "memory_remember", arguments)
    assert (again["status"], of_bob["status"]) == ("queued", "queued")


async def test_a_dry_run_is_not_queued(service: Service, alice: Caller) -> None:
    """It writes nothing, so there is nothing to wait for."""
    with pytest.raises(ValidationFailed):
        await later(service, alice, dry_run=True)

    assert await listed(service, alice) == []


async def test_a_project_of_others_is_refused_at_once(service: Service, alice: Caller) -> None:
    """What can be known at acceptance is not found out later."""
    with pytest.raises(ProjectNotFound):
        await later(service, alice, project="zeus")

    assert await listed(service, alice) == []


async def test_a_database_without_a_queue_says_so(server: Any) -> None:
    """Where the schema of the jobs could not be made: a clear refusal; who waits is served."""
    name = f"memex_test_{uuid.uuid4().hex[:12]}"
    conninfo = server.create_empty(name)
    with psycopg.connect(conninfo) as connection:
        connection.execute("create schema procrastinate")  # somebody else's
    await migrate(conninfo)
    database = await Database.open(conninfo, max_connections=2)
    try:
        tenant_id = await tenants.ensure_tenant(database, "default")
        service = Service(database, max_files=10)
        alice = await service.caller(
            authentication.Principal(tenant_id, "agent"), CallContext(user_id="alice"), makes_user=True
        )
        with pytest.raises(ValidationFailed) as refused:
            await later(service, alice)
        done = await now(service, alice)
    finally:
        await database.close()
        server.drop(name)

    assert "memex doctor" in refused.value.hint
    assert done["status"] == "committed"


# --- failing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelUnavailable("away"), "MODEL_UNAVAILABLE"),
        (RuntimeError("a bug"), "INTERNAL"),
        (RateLimited("slowly"), "RATE_LIMITED"),
    ],
    ids=["unavailable", "unexpected", "passing"],
)
async def test_a_call_that_fails_is_tried_again_and_given_up(
    service: Service, alice: Caller, error: Exception, code: str
) -> None:
    """After growing pauses, five times; each attempt is in the log, and the call stays to be seen with its code."""
    await later(service, alice)
    broken = failing(service, error)

    pauses = [await carry_out(broken) for _ in range(queue.MAX_TRIES)]

    assert pauses == [5, 10, 20, 40, None]
    assert await listed(service, alice) == [("call-1", "quarantined", 5, code)]
    assert await statuses(service, alice) == [*[("failed", code)] * 5, ("quarantined", code)]
    assert await queue.carry_out(service, *await queued(service.database)) is None
    assert await preferences(service, alice) == 0


async def test_a_call_that_failed_is_done_when_the_failure_is_over(service: Service, alice: Caller) -> None:
    """Its attempts are in the log; nothing else is left of them."""
    await later(service, alice)
    await carry_out(failing(service, ModelUnavailable("away")))
    again = await listed(service, alice)
    await carry_out(service)

    assert again == [("call-1", "queued", 1, None)]
    assert await statuses(service, alice) == [
        ("committed", None),
        ("failed", "MODEL_UNAVAILABLE"),
        ("answered", None),
    ]


async def test_what_is_refused_is_given_up_at_once(service: Service, alice: Caller) -> None:
    """It would be refused again."""
    await later(service, alice)

    assert await carry_out(failing(service, LimitExceeded("too much"))) is None
    assert await listed(service, alice) == [("call-1", "quarantined", 1, "LIMIT_EXCEEDED")]


async def test_a_membership_that_ended_ends_the_call(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Who may do what is looked up when the call is carried out, not when it was accepted."""
    admin = await caller_of(None, role="admin")

    async def administer(change: Callable[..., Awaitable[Any]], *names: str) -> None:
        await service.administer(admin, "x", {}, lambda c, a: change(c, a, *names))

    await administer(tenants.open_project, "apollo")
    await administer(tenants.add_member, "apollo", "alice")
    member = await caller_of("alice", project="apollo")
    await later(service, member, "We decided to use Postgres.", call="by-context")
    await later(service, member, "We decided to use Postgres.", call="by-argument", project="apollo")
    await administer(tenants.remove_member, "apollo", "alice")

    for call in ("by-context", "by-argument"):
        assert await carry_out(service, call) is None
        assert await statuses(service, alice, call) == [
            ("denied", "PROJECT_NOT_FOUND"),
            ("quarantined", "PROJECT_NOT_FOUND"),
        ]
    assert await select(service.database, "select count(*) from revision") == [(0,)]


async def test_a_key_that_was_revoked_ends_its_calls(service: Service) -> None:
    """They can be sent again under their ids by a valid key."""
    secret, key = await tenants.create_key(service.database, "default", "agent", user_id="alice")
    alice = await service.caller(
        await service.identities.authenticate(secret), CallContext(), makes_user=True
    )
    await later(service, alice)
    await tenants.revoke_key(service.database, "default", key.key_id)
    secret, _ = await tenants.create_key(service.database, "default", "agent", user_id="alice")

    assert await carry_out(service) is None

    renewed = await service.caller(
        await service.identities.authenticate(secret), CallContext(), makes_user=True
    )
    assert await listed(service, renewed) == [("call-1", "quarantined", 1, "UNAUTHENTICATED")]
    assert (await later(service, renewed))["status"] == "queued"
    await carry_out(service)
    assert (await now(service, renewed))["status"] == "committed"


async def test_a_user_who_is_gone_is_not_made_again(service: Service, caller_of: CallerOf) -> None:
    """An admin's call for a user who was erased meanwhile writes nothing."""
    admin = await caller_of("carol", role="admin")
    await later(service, admin)
    await select(service.database, "delete from scope where kind = 'user' and key = 'carol'")

    assert await carry_out(service) is None

    assert await select(service.database, "select count(*) from scope where key = 'carol'") == [(0,)]
    assert await select(
        service.database, "select error_code from operation where status = 'quarantined'"
    ) == [("FORBIDDEN",)]


async def test_a_call_that_kills_its_worker_each_time_is_given_up(service: Service, alice: Caller) -> None:
    """No try of it came back: it is not begun a sixth time."""
    await later(service, alice)
    statement = "update operation set tries = %s, lease_until = '-infinity' where status = 'queued'"
    await select(service.database, statement, queue.MAX_TRIES)

    assert await carry_out(service) is None

    assert (await listed(service, alice))[0][1::2] == ("quarantined", "INTERNAL")
    assert await preferences(service, alice) == 0


# --- given up ------------------------------------------------------------------------------------------------


@pytest.fixture
async def given_up(service: Service, alice: Caller) -> None:
    """Alice's call was given up."""
    await later(service, alice)
    await carry_out(failing(service, LimitExceeded("too much")))


@pytest.mark.usefixtures("given_up")
async def test_the_same_call_again_is_queued_anew(service: Service, alice: Caller) -> None:
    """Once, however many ask; the first one's row says that it failed."""
    answers = await asyncio.gather(*(later(service, alice) for _ in range(8)))
    waiting = await listed(service, alice)
    await carry_out(service)

    assert {answer["status"] for answer in answers} == {"queued"}
    assert waiting == [("call-1", "queued", 0, None)]
    assert (await now(service, alice))["status"] == "committed"
    found = await statuses(service, alice)
    assert found.count(("failed", "LIMIT_EXCEEDED")) == 2  # the attempt, and the call
    assert ("quarantined", "LIMIT_EXCEEDED") not in found


@pytest.mark.usefixtures("given_up")
async def test_who_waits_for_a_call_that_was_given_up_has_it_done(service: Service, alice: Caller) -> None:
    """Its commit takes it out of the queue."""
    done = await now(service, alice)

    assert done["status"] == "committed"
    assert await listed(service, alice) == []
    assert await later(service, alice) == done
    assert (await statuses(service, alice))[-1] == ("answered", None)


@pytest.mark.usefixtures("given_up")
async def test_a_call_that_was_given_up_keeps_its_id(service: Service, alice: Caller) -> None:
    """Another request under it is a conflict, and a waiting one that fails leaves it where it is."""
    with pytest.raises(ToolCallConflict):
        await later(service, alice, "I prefer coffee.")
    with pytest.raises(ToolCallConflict):
        await now(service, alice, "I prefer coffee.")
    with pytest.raises(ModelUnavailable):
        await now(failing(service, ModelUnavailable("away")), alice)

    assert await listed(service, alice) == [("call-1", "quarantined", 1, "LIMIT_EXCEEDED")]


@pytest.mark.usefixtures("given_up")
async def test_an_admin_puts_it_back(service: Service, alice: Caller, caller_of: CallerOf) -> None:
    """With five more tries, as the call that it was; what is not there to put back is not found."""
    admin = await caller_of(None, role="admin")
    done = await queue.retry_call(service, admin, "call-1")
    waiting = await listed(service, alice)
    jobs = await select(
        service.database, "select count(*) from procrastinate.procrastinate_jobs where status = 'todo'"
    )
    with pytest.raises(OperationNotFound):
        await queue.retry_call(service, admin, "call-1")
    await carry_out(service)

    assert [(one.tool_call_id, one.user, one.status) for one in done.calls] == [("call-1", "alice", "queued")]
    assert waiting == [("call-1", "queued", 0, None)]
    assert jobs == [(1,)]
    assert (await now(service, alice))["status"] == "committed"


async def test_an_admin_names_whose_call_is_put_back(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Of one user, or without one all of that id in the tenant; those of other tenants are out of reach."""
    bob, theirs = await caller_of("bob"), await caller_of("alice", tenant="theirs")
    broken = failing(service, LimitExceeded("too much"))
    for caller in (alice, bob, theirs):
        await later(service, caller)
        found = await select(
            service.database, "select scope_id, operation_id from operation where status = 'queued'"
        )
        await queue.carry_out(broken, *found[0])

    for_bob = await queue.retry_call(service, await caller_of("bob", role="admin"), "call-1")
    for_all = await queue.retry_call(service, await caller_of(None, role="admin"), "call-1")

    assert [one.user for one in for_bob.calls] == ["bob"]
    assert [one.user for one in for_all.calls] == ["alice"]
    assert [one[1] for one in await listed(service, theirs)] == ["quarantined"]


async def test_an_admin_puts_all_back_in_their_order(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Of one user, or of the tenant; in the order of acceptance, in which their jobs are done."""
    bob, theirs = await caller_of("bob"), await caller_of("alice", tenant="theirs")
    broken = failing(service, LimitExceeded("too much"))
    for number, caller in enumerate((alice, bob, alice, theirs)):
        await later(service, caller, f"I hate food {number}.", call=f"call-{number}")
    for number in (2, 0, 3, 1):
        await carry_out(broken, f"call-{number}")

    await select(service.database, "delete from procrastinate_jobs")  # a worker's jobs would be done
    of_bob = await queue.retry_all(service, await caller_of("bob", role="admin"))
    of_all = await queue.retry_all(service, await caller_of(None, role="admin"))
    of_none = await queue.retry_all(service, await caller_of(None, role="admin"))
    jobs = await select(
        service.database, "select args ->> 'operation_id' from procrastinate_jobs order by id desc limit 2"
    )
    first, second = [(await queued(service.database, call))[1] for call in ("call-0", "call-2")]

    assert [one.tool_call_id for one in of_bob.calls] == ["call-1"]
    assert [(one.tool_call_id, one.status, one.attempts) for one in of_all.calls] == [
        ("call-0", "queued", 0),
        ("call-2", "queued", 0),
    ]
    assert of_none.calls == []
    assert jobs == [(str(second),), (str(first),)]
    assert [one[1] for one in await listed(service, theirs)] == ["quarantined"]
    with pytest.raises(Forbidden):
        await queue.retry_all(service, alice)


# --- the order of acceptance ----------------------------------------------------------------------------------

OLD, NEW = "My address is 1 Elm Street.", "My address is 2 Oak Street."


async def pages(service: Service, caller: Caller) -> str:
    """Return the user's page of facts about them."""
    read = await service.execute(caller, "memory_read", {"path": "user/profile.md"})
    return str(read["content"])


@pytest.fixture
async def given_up_address(service: Service, alice: Caller) -> None:
    """An address of Alice's was given up, and then she told a newer one; the journal has both."""
    service.keeps_journal = True
    await later(service, alice, OLD, call="old")
    await carry_out(failing(service, LimitExceeded("too much")), "old")
    await now(service, alice, NEW, call="new")


@pytest.mark.usefixtures("given_up_address")
@pytest.mark.parametrize("how", ["put back", "sent again", "sent again and waited for"])
async def test_what_was_given_up_takes_no_newer_ones_place(
    service: Service, alice: Caller, caller_of: CallerOf, how: str
) -> None:
    """However it is tried again: it was said when it was accepted first, of which its entry has the time."""
    [(accepted_at,)] = await select(
        service.database, "select now from operation where tool_call_id = 'old' and status = 'quarantined'"
    )
    if how == "sent again and waited for":
        answer = await now(service, alice, OLD, call="old")
    else:
        if how == "put back":
            await queue.retry_all(service, await caller_of(None, role="admin"))
        else:
            await later(service, alice, OLD, call="old")
        await carry_out(service, "old")
        answer = await now(service, alice, OLD, call="old")
    entry = await select(service.database, "select path, said_at from revision where content = %s", OLD)

    assert answer["writes"] == []
    assert [skip["reason"] for skip in answer["skipped"]] == ["superseded"]
    assert "Oak" in await pages(service, alice)
    assert "Elm" not in await pages(service, alice)
    assert [said_at for _, said_at in entry] == [accepted_at]
    assert f"{accepted_at.astimezone(UTC):%Y-%m-%d/%H%M%S}-" in entry[0][0]


async def test_a_text_that_was_accepted_later_takes_the_place(service: Service, alice: Caller) -> None:
    """Also if it waited: nothing newer stands."""
    await later(service, alice, OLD, call="old")
    await later(service, alice, NEW, call="new")
    await carry_out(service, "old")
    await carry_out(service, "new")

    assert "Oak" in await pages(service, alice)
    assert "Elm" not in await pages(service, alice)


async def test_texts_that_are_done_in_any_order_leave_the_newest(service: Service, alice: Caller) -> None:
    """The order of acceptance counts, and not that of the attempts."""
    texts = {f"call-{number}": f"My address is {number} Elm Street." for number in range(4)}
    for call, text in texts.items():
        await later(service, alice, text, call=call)
    for call in ("call-2", "call-0", "call-3", "call-1"):
        await carry_out(service, call)

    assert next(line for line in (await pages(service, alice)).splitlines() if "Elm" in line).startswith(
        "- My address is 3 Elm Street."
    )
    assert (await pages(service, alice)).count("Elm") == 1


async def test_what_was_said_again_is_as_new_as_the_last_time(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """A, B and A again: B, which comes last, was accepted before A was said again."""
    await now(service, alice, NEW, call="first")
    await later(service, alice, OLD, call="old")
    await carry_out(failing(service, LimitExceeded("too much")), "old")
    await now(service, alice, NEW, call="again")
    await queue.retry_call(service, await caller_of(None, role="admin"), "old")
    await carry_out(service, "old")

    assert "Oak" in await pages(service, alice)
    assert "Elm" not in await pages(service, alice)


async def test_an_older_request_to_forget_leaves_what_was_said_since(service: Service, alice: Caller) -> None:
    """Neither the page nor the journal loses it."""
    service.keeps_journal = True
    await later(service, alice, "Forget that my address is 2 Oak Street.", call="forget")
    await now(service, alice, NEW, call="new")
    await carry_out(service, "forget")
    entry = await select(service.database, "select max(version) from revision where content = %s", NEW)

    assert "Oak" in await pages(service, alice)
    assert entry == [(1,)]


async def test_an_older_value_beside_a_newer_one_stands_before_it(service: Service, alice: Caller) -> None:
    """Of statements of one day the lower one counts as the newer one; so the older one goes above."""
    await later(service, alice, "I prefer oolong tea.", call="old")
    await now(service, alice, "I prefer green tea.", call="new")
    await now(service, alice, "I prefer window seats.", call="other")
    await carry_out(service, "old")
    read = await service.execute(alice, "memory_read", {"path": "user/preferences.md"})
    found = [word for line in read["content"].splitlines() for word in ("oolong", "green") if word in line]

    assert found in (["oolong", "green"], ["green"])


async def test_a_model_that_thinks_for_long_takes_no_newer_ones_place(
    service: Service, alice: Caller
) -> None:
    """A call that waits for a model is as old as its beginning, too; here another one is done meanwhile."""

    async def tell_newer() -> None:
        await now(service, alice, NEW, call="new")

    answer = await now(planned_by(service, Scripted(tell_newer)), alice, OLD, call="old")

    assert answer["writes"] == []
    assert "Oak" in await pages(service, alice)


async def test_the_order_holds_without_a_journal(service: Service, alice: Caller) -> None:
    """No entry says when the standing line was said; its row does."""
    plain = Service(service.database, max_files=10_000, keeps_journal=False)
    await later(plain, alice, OLD, call="old")
    await now(plain, alice, NEW, call="new")
    await carry_out(plain, "old")

    assert "Oak" in await pages(service, alice)
    assert await select(service.database, "select count(*) from revision where origin is not null") == [(0,)]


@pytest.mark.usefixtures("given_up_address")
async def test_a_late_text_is_replayed_as_it_went(service: Service, alice: Caller) -> None:
    """The log says which statements it left, as they were said later."""
    await now(service, alice, OLD, call="old")
    [logged] = [one for one in await read_attempts(service, alice, "old") if one.status == "committed"]
    replayed = await replay_call(service, alice, "old")

    assert list(logged.config["said_later"]) == ["user/profile.md"]
    assert replayed.is_equal


async def test_an_older_text_of_a_project_gives_way_to_a_members(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Who said the newer one does not matter, though nobody reads the journal of another."""
    admin = await caller_of(None, role="admin")
    await service.administer(admin, "x", {}, lambda c, a: tenants.open_project(c, a, "apollo"))
    for user in ("alice", "bob"):
        await caller_of(user)
        await service.administer(
            admin, "x", {}, lambda c, a, user=user: tenants.add_member(c, a, "apollo", user)
        )
    alice, bob = await caller_of("alice", project="apollo"), await caller_of("bob", project="apollo")
    await later(service, alice, "The deadline is May 3.", call="old")
    await now(service, bob, "The deadline is June 9.", call="new")
    await carry_out(service, "old")
    done = await now(service, alice, "The deadline is May 3.", call="old")
    found = await service.execute(bob, "memory_find", {"query": "deadline", "prefix": "projects/apollo/"})
    read = await service.execute(bob, "memory_read", {"path": found["hits"][0]["path"]})
    lines = [line for line in read["content"].splitlines() if "deadline" in line]

    assert "June 9" in lines[-1], (lines, done)


# --- the lease -----------------------------------------------------------------------------------------------


@pytest.fixture
def released() -> asyncio.Event:
    """Lets planners that wait for it go on."""
    return asyncio.Event()


@pytest.fixture
def waiting_planner(released: asyncio.Event) -> Scripted:
    """A planner that thinks until it is released."""

    async def wait() -> None:
        await released.wait()

    return Scripted(wait)


async def test_a_call_is_one_workers_at_a_time(
    service: Service, alice: Caller, waiting_planner: Scripted, released: asyncio.Event
) -> None:
    """The second one hears for how long it is taken, and does not ask the planner."""
    await later(service, alice)
    place = await queued(service.database)
    slow = planned_by(service, waiting_planner)
    first = asyncio.create_task(queue.carry_out(slow, *place))
    await until(service.database, "select lease_until is not null from operation")
    left_s = await queue.carry_out(slow, *place)
    released.set()

    assert await first is None
    assert left_s is not None
    assert 0 < left_s.seconds <= queue.LEASE_S
    assert len(waiting_planner.requests) == 1


async def test_a_lease_is_renewed_and_nothing_else_is_held(
    service: Service,
    alice: Caller,
    waiting_planner: Scripted,
    released: asyncio.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While the planner thinks no transaction is open and no lock is taken; the lease moves on."""
    monkeypatch.setattr(queue, "HEARTBEAT_S", 0.02)
    await later(service, alice)
    work = asyncio.create_task(carry_out(planned_by(service, waiting_planner)))
    await until(service.database, "select lease_until is not null from operation")
    [(lease_until,)] = await select(service.database, "select lease_until from operation")
    await until(service.database, "select lease_until > %s from operation", lease_until)
    monkeypatch.setattr(queue, "HEARTBEAT_S", 60)
    held = """
        select count(*) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'"""
    await until(service.database, held.replace("count(*)", "count(*) = 0"))
    locks = await select(
        service.database,
        "select count(*) from pg_locks where locktype in ('advisory', 'tuple') and pid <> pg_backend_pid()",
    )
    released.set()

    assert await work is None
    assert locks == [(0,)]
    assert await preferences(service, alice) == 1


async def test_a_lease_that_was_lost_ends_the_work(
    service: Service, alice: Caller, waiting_planner: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was asleep for too long finds that another has the call, and leaves it alone."""
    monkeypatch.setattr(queue, "HEARTBEAT_S", 0.02)
    await later(service, alice)
    work = asyncio.create_task(carry_out(planned_by(service, waiting_planner)))
    await until(service.database, "select lease_until is not null from operation")
    await select(service.database, "update operation set tries = tries + 1 where status = 'queued'")

    assert await work == queue.LEASE_S
    assert await listed(service, alice) == [("call-1", "queued", 2, None)]
    assert await statuses(service, alice) == [("queued", None)]


async def test_a_beat_that_finds_the_call_done_lets_the_work_end(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the commit and the end of the work, the call is in no queue, and no other worker has it."""
    monkeypatch.setattr(queue, "HEARTBEAT_S", 0.0)
    await later(service, alice)
    resume = service.resume

    async def end_late(*given: Any) -> Result:
        result = await resume(*given)
        for _ in range(50):  # as many beats come meanwhile
            await select(service.database, "select 1")
        return result

    monkeypatch.setattr(service, "resume", end_late)

    assert await carry_out(service) is None
    assert await preferences(service, alice) == 1


async def test_two_workers_on_one_call_commit_it_once(
    service: Service,
    alice: Caller,
    waiting_planner: Scripted,
    released: asyncio.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A lease that ended while its worker was still at it: both come to the end, one commits."""
    monkeypatch.setattr(queue, "HEARTBEAT_S", 600)  # the first renews its lease at no time
    await later(service, alice)
    place = await queued(service.database)
    slow = planned_by(service, waiting_planner)
    first = asyncio.create_task(queue.carry_out(slow, *place))
    await waiting_planner.until_asked(1)
    await select(service.database, "update operation set lease_until = '-infinity' where status = 'queued'")
    second = asyncio.create_task(queue.carry_out(slow, *place))
    await waiting_planner.until_asked(2)
    released.set()

    assert await first is None
    assert await second is None
    assert len(waiting_planner.requests) == 2
    assert await statuses(service, alice) == [("repeated", None), ("committed", None), ("answered", None)]
    assert await select(service.database, "select count(*) from revision") == [(2,)]  # a page and an entry


async def test_a_worker_that_ends_gives_the_call_back(
    service: Service, alice: Caller, waiting_planner: Scripted
) -> None:
    """At once, and the try does not count."""
    await later(service, alice)
    work = asyncio.create_task(carry_out(planned_by(service, waiting_planner)))
    await until(service.database, "select lease_until is not null from operation")
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    assert await select(service.database, "select status, tries, lease_until from operation") == [
        ("queued", 0, None)
    ]
    assert await carry_out(service) is None
    assert await preferences(service, alice) == 1


# --- seeing it -----------------------------------------------------------------------------------------------


async def test_callers_see_their_own_calls(service: Service, alice: Caller, caller_of: CallerOf) -> None:
    """An agent those of its user; an admin those of the tenant, or of the user whom it names; never the text."""
    bob, theirs = await caller_of("bob"), await caller_of("alice", tenant="theirs")
    for number, caller in enumerate((alice, bob, theirs)):
        await later(service, caller, call=f"call-{number}")
    admin, for_bob = await caller_of(None, role="admin"), await caller_of("bob", role="admin")
    await later(service, for_bob, call="call-3")

    seen = {
        name: [one.tool_call_id for one in (await queue.list_queued_calls(service, caller)).calls]
        for name, caller in {
            "alice": alice,
            "bob": bob,
            "theirs": theirs,
            "admin": admin,
            "for_bob": for_bob,
        }.items()
    }

    assert seen == {
        "alice": ["call-0"],
        "bob": ["call-1"],
        "theirs": ["call-2"],
        "admin": ["call-0", "call-1", "call-3"],
        "for_bob": ["call-1", "call-3"],
    }
    assert "oolong" not in (await queue.list_queued_calls(service, admin)).model_dump_json()


async def test_the_queue_is_shown_a_page_at_a_time(service: Service, alice: Caller) -> None:
    """The oldest first; a cursor leads on."""
    for number in range(5):
        await later(service, alice, call=f"call-{number}")

    seen, cursor = [], None
    for _ in range(3):
        page = await queue.list_queued_calls(service, alice, limit=2, cursor=cursor)
        seen.append([one.tool_call_id for one in page.calls])
        cursor = page.next_cursor

    assert seen == [["call-0", "call-1"], ["call-2", "call-3"], ["call-4"]]
    assert cursor is None
    with pytest.raises(ValidationFailed):
        await queue.list_queued_calls(service, alice, cursor="x")


async def test_a_role_settles_its_calls_and_changes_nothing_else(
    service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """An agent cannot touch the calls of others, nor what was asked or when, nor make a commit of a call."""
    bob = await caller_of("bob")
    for caller in (alice, bob):
        await later(service, caller)
    await now(service, alice, call="call-2")

    async def attempt(change: str) -> int:
        try:
            async with service.database.transaction(alice.access) as connection:
                statement = f"update operation set {change}"  # noqa: S608
                return (await connection.execute(statement.encode())).rowcount
        except psycopg.errors.InsufficientPrivilege:
            return -1

    for column in (
        "request",
        "principal",
        "tool_call_id",
        "user_id",
        "scope_id",
        "tenant_id",
        "now",
        "response",
    ):
        assert await attempt(f"{column} = {column}") == -1, column
    for status in ("committed", "running", "quarantined", "denied"):
        assert await attempt(f"status = '{status}'") == -1, status
    assert await attempt("status = 'queued'") == 1


async def test_errors_of_the_queue_are_ours(service: Service, alice: Caller, caller_of: CallerOf) -> None:
    """An agent puts nothing back; an id that is none is refused."""
    admin = await caller_of(None, role="admin")
    with pytest.raises(MemexError, match="admin"):
        await queue.retry_call(service, alice, "call-1")
    with pytest.raises(ValidationFailed):
        await queue.retry_call(service, admin, "no id")


async def test_a_call_waits_for_its_turn_as_long_as_it_takes(service: Service, alice: Caller) -> None:
    """A week later it is dated by the day on which it was accepted."""
    await later(service, alice)
    week = timedelta(days=7)
    await select(service.database, "update operation set now = now - %s", week)
    await carry_out(service)

    read = await service.execute(alice, "memory_read", {"path": "user/preferences.md"})
    assert f"({(datetime.now(UTC) - week):%Y-%m-%d})" in read["content"]
