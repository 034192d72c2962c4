"""The health of a service: each problem says what to do, and the figures are those of the tenant alone."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from tests.kit.memory import remember, run_tool, write
from tests.kit.rows import select

from memex.errors import Forbidden, MemexError
from memex.service.health.health import CheckResult, HealthResult, read_health
from memex.service.planners import Planners, builtin_planners
from memex.service.service import Caller, Service
from memex.store.log.hours import sum_hours
from memex.subagent.embedders.hashed import HashEmbedder

CallerOf = Callable[..., Awaitable[Caller]]


def problems(health: HealthResult) -> dict[str, CheckResult]:
    """Return what is wrong, by its name."""
    return {one.name: one for one in health.checks if one.state == "problem"}


async def test_a_service_that_works_says_so(service: Service, caller_of: CallerOf, alice: Caller) -> None:
    """With a file, a call that failed and a background that has summed: no problem, and the figures."""
    admin = await caller_of(None, role="admin")
    await write(service, alice, "user/tea.md", "Oolong.")
    with pytest.raises(MemexError):
        await run_tool(service, alice, "read", "r", path="user/none.md")
    await sum_hours(service.database, datetime.now(UTC) - timedelta(hours=1))

    health = await read_health(service, admin)

    assert health.ok
    assert problems(health) == {}
    tools = {one.tool: (one.calls, one.failed) for one in health.calls.tools}
    assert tools == {"memory_write": (1, 0), "memory_read": (1, 1)}
    assert all(0 < (one.p50_ms or 0) <= (one.p95_ms or 0) < 60_000 for one in health.calls.tools)
    assert len(health.calls.hours) == 25
    assert sum(hour.calls for hour in health.calls.hours) == 2
    assert (health.index.memories, health.index.stale) == (1, 0)
    assert {"files", "log", "search index"} <= {one.name for one in health.disk.tables}
    assert health.disk.database_bytes > sum(one.size_bytes for one in health.disk.tables) > 0
    assert health.oldest_call_at is not None


async def test_each_problem_says_what_to_do(service: Service, caller_of: CallerOf, alice: Caller) -> None:
    """A queue that stands still, a text that was given up, failing calls, spent money, an erasure, an old index."""
    admin = await caller_of(None, role="admin")
    await write(service, alice, "user/tea.md", "Oolong.")
    for number in range(20):
        with pytest.raises(MemexError):
            await run_tool(service, alice, "read", f"r{number}", path="user/none.md")
    await sum_hours(service.database, datetime.now(UTC) - timedelta(hours=1))
    if service.database.has_jobs:
        for number, status in enumerate(("queued", "quarantined")):
            await remember(service, alice, f"Text {number}.", wait=False, call=f"q{number}")
            await select(
                service.database,
                "update operation set status = %s, now = now - interval '1 hour' where tool_call_id = %s",
                status,
                f"q{number}",
            )
    await select(
        service.database,
        "insert into spend (tenant_id, day, model, usd) values (%s, (now() at time zone 'UTC')::date, 'm', 3)",
        admin.access.tenant_id,
    )
    await select(
        service.database,
        "insert into erasure (tenant_id, user_id, scope_ids) values (%s, 'zoe', '{}')",
        admin.access.tenant_id,
    )
    await select(service.database, "update scope set analyzer = 'old' where kind = 'user'")
    builtin = builtin_planners()
    limited = Service(
        service.database,
        max_files=10,
        planning=Planners(builtin.context, builtin.remember, daily_usd=Decimal(2)),
    )

    health = await read_health(limited, admin)

    assert not health.ok
    expected = {"calls", "spending", "erasure"} | ({"queue"} if service.database.has_jobs else set())
    assert set(problems(health)) == expected
    assert [one.name for one in health.checks if one.state != "ok" and not one.hint] == [
        "planner"
    ]  # not tried
    assert "index rebuild" in next(one.hint for one in health.checks if one.name == "index")
    assert health.index.stale == 1


@pytest.mark.both_servers
async def test_the_figures_are_those_of_the_tenant(
    service: Service, caller_of: CallerOf, alice: Caller
) -> None:
    """Another tenant's administrator sees nothing of these calls; an agent is refused."""
    theirs = await caller_of(None, role="admin", tenant="others")
    await write(service, alice, "user/tea.md", "Oolong.")
    if service.database.has_jobs:
        await remember(service, alice, "I prefer oolong.", wait=False)
    await sum_hours(service.database, datetime.now(UTC) - timedelta(hours=1))

    health = await read_health(service, theirs)

    assert health.calls.tools == []
    assert (health.queue.waiting, health.index.memories, health.jobs) == (0, 0, [])
    assert health.oldest_call_at is None
    with pytest.raises(Forbidden):
        await read_health(service, alice)


@pytest.mark.embedded_only
async def test_how_far_the_vectors_are_is_told(service: Service, caller_of: CallerOf, alice: Caller) -> None:
    """Memories with passages count, and a failure of the embedder is a problem with its name."""
    admin = await caller_of(None, role="admin")
    embedding = Service(service.database, max_files=10, embedder=HashEmbedder())
    await write(embedding, alice, "user/tea.md", "Oolong.")
    before = await read_health(embedding, admin)
    scope = alice.access.by_mount["user"]
    await select(
        service.database,
        "insert into embedding_progress (scope_id, tenant_id, model, rev, error, at)"
        " values (%s, %s, %s, 0, 'Timeout', now())",
        scope.scope_id,
        admin.access.tenant_id,
        HashEmbedder().name,
    )

    after = await read_health(embedding, admin)

    assert before.vectors is not None
    assert (before.vectors.memories, before.vectors.embedded, before.vectors.failed) == (1, 0, 0)
    assert [one.model_dump() for one in before.vectors.passages] == [
        {"kind": "memory", "passages": 1, "embedded": 0}
    ]
    assert set(problems(after)) == {"vectors"}
    assert "Timeout" in problems(after)["vectors"].detail
