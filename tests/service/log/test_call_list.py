"""Lists of calls with filters: a user's own, and for an admin those of the whole tenant."""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg.types.json import Jsonb
from tests.kit.memory import run_tool
from tests.kit.plans import plan_nodes

from memex.errors import FileNotFound, Forbidden, ValidationFailed
from memex.service.log.call_list import CallQuery, list_calls, read_attempts
from memex.service.service import Caller, Service
from memex.store.log.call_search import NEWEST_TIME, OLDEST_TIME, CallFilters, CallPlace, search_calls
from memex.store.sql import sql

CallerOf = Callable[..., Awaitable[Caller]]
ROWS = 6_000
SPREAD = """
    insert into operation (scope_id, tenant_id, tool_call_id, user_id, kind, status, principal, request,
                           request_sha256, response, engine, now, started_at, duration_ms)
    select %(scope_id)s, %(tenant_id)s, 'made-' || n, %(user_id)s, 'memory_find', 'answered',
           '{"actor": "maker"}', jsonb_build_object('query', 'oars ' || n), '\\x00', %(response)s, 'engine',
           at, at, 1
      from generate_series(1, %(rows)s) as n
     cross join lateral (select %(last)s::timestamptz - n * interval '1 second') as made (at)
     order by n desc
"""


async def listed(service: Service, caller: Caller, cursor: str | None = None, **query: Any) -> list[str]:
    """Return the ids of the calls of all pages, each of at most two calls."""
    found: list[str] = []
    while True:
        page = await list_calls(service, caller, CallQuery(**query), limit=2, cursor=cursor)
        found += [one.tool_call_id for one in page.operations]
        if (cursor := page.next_cursor) is None:
            return found


async def make_rows(
    service: Service, caller: Caller, *, last: datetime, rows: int = ROWS, response: Any = None
) -> None:
    """Put many calls of a user into the log, one a second, the last at this time."""
    async with service.database.maintenance() as connection:
        await connection.execute(
            SPREAD,
            {
                "scope_id": caller.access.log_scope_id,
                "tenant_id": caller.access.tenant_id,
                "user_id": caller.access.user_id or "",
                "rows": rows,
                "last": last,
                "response": None if response is None else Jsonb(response),
            },
        )


async def test_filters_choose_calls_and_pages_miss_none(service: Service, caller_of: CallerOf) -> None:
    """Each filter alone and together, for one user and for everybody, whatever the case of the text."""
    alice, bob, admin = await caller_of("alice"), await caller_of("bob"), await caller_of(None, role="admin")
    made: Sequence[tuple[Caller, str, dict[str, Any], str]] = (
        (alice, "write", {"path": "user/a.md", "content": "x"}, "a-1"),
        (bob, "find", {"query": 'The "Red" Oars 100%'}, "b-1"),
        (alice, "find", {"query": "oars"}, "a-2"),
        (alice, "list", {"prefix": "user/"}, "a-3"),
    )
    for caller, tool, arguments, call_id in made:
        await run_tool(service, caller, tool, call_id, **arguments)
    with pytest.raises(FileNotFound):
        await service.execute(alice, "memory_read", {"path": "user/none.md"}, tool_call_id="a-4")
    second = (await read_attempts(service, alice, "a-2"))[0].started_at

    assert await listed(service, alice) == ["a-4", "a-3", "a-2", "a-1"]
    assert (await listed(service, admin, everyone=True))[:5] == ["a-4", "a-3", "a-2", "b-1", "a-1"]
    for caller, anyone in ((alice, False), (admin, True)):
        assert await listed(service, caller, everyone=anyone, tool="find", text="OARS", since=second) == [
            "a-2"
        ]
        assert await listed(service, caller, everyone=anyone, status="failed") == ["a-4"]
        assert await listed(service, caller, everyone=anyone, text="user/a.md@1") == ["a-1"]
        assert await listed(service, caller, everyone=anyone, tool="memory_find", since=second) == ["a-2"]
        assert await listed(service, caller, everyone=anyone, actor="nobody") == []
    assert await listed(service, admin, everyone=True, text='"red" oars 100%') == ["b-1"]
    assert (await listed(service, admin, everyone=True, until=second))[:2] == ["b-1", "a-1"]
    assert await listed(service, alice, until=second) == ["a-1"]


async def test_only_an_admin_sees_the_calls_of_everybody(service: Service, caller_of: CallerOf) -> None:
    """An agent is refused, and row-level security would show it its own rows alone."""
    alice, bob = await caller_of("alice"), await caller_of("bob")
    for_alice = await caller_of("alice", role="admin")
    for caller, call_id in ((alice, "a-1"), (bob, "b-1")):
        await run_tool(service, caller, "write", call_id, path="user/a.md", content="x")

    with pytest.raises(Forbidden):
        await list_calls(service, alice, CallQuery(everyone=True))
    with pytest.raises(ValidationFailed):
        await list_calls(service, for_alice, CallQuery(everyone=True))
    admin = await caller_of(None, role="admin")
    with pytest.raises(ValidationFailed, match="cursor"):
        await list_calls(service, admin, CallQuery(everyone=True), cursor="WyIyMDI2IiwxXQ")
    async with service.database.transaction(alice.access) as connection:
        found = await search_calls(
            connection, alice.access, CallFilters(), limit=10, after=CallPlace(), by_anyone=True
        )
    assert [one.tool_call_id for one in found.calls] == ["a-1"]


async def test_a_filter_reads_a_bounded_part_of_the_log_and_says_so(
    service: Service, caller_of: CallerOf
) -> None:
    """The answer says after how many calls it stopped, and its cursor goes on behind them."""
    alice, admin = await caller_of("alice"), await caller_of(None, role="admin")
    await run_tool(service, alice, "write", "a-1", path="user/a.md", content="x")
    now = datetime.now(UTC)
    await make_rows(service, alice, last=now - timedelta(days=1))

    for caller, anyone in ((alice, False), (admin, True)):
        async with service.database.transaction(caller.access) as connection:
            pages, place = 0, CallPlace()
            while True:
                found = await search_calls(
                    connection,
                    caller.access,
                    CallFilters(text="oars 5999"),
                    limit=10,
                    after=place,
                    by_anyone=anyone,
                    max_rows=2_500,
                )
                pages += 1
                if found.next_place is None:
                    break
                assert found.is_cut
                assert not found.calls
                place = found.next_place
        assert pages == 3
        assert [one.tool_call_id for one in found.calls] == ["made-5999"]
    # What ended before the time that is asked for is not read further.
    async with service.database.transaction(alice.access) as connection:
        found = await search_calls(
            connection,
            alice.access,
            CallFilters(since=now - timedelta(hours=1)),
            limit=10,
            after=CallPlace(),
            max_rows=100,
        )
    assert (found.calls, found.next_place) == ([], None)


async def test_a_page_of_everybodys_calls_reads_few_rows(service: Service, caller_of: CallerOf) -> None:
    """By the index of a tenant's newest calls, whatever else the log holds; a window of time is its range."""
    alice, admin = await caller_of("alice"), await caller_of(None, role="admin")
    await run_tool(service, alice, "write", "a-1", path="user/a.md", content="x")
    last = datetime.now(UTC)
    await make_rows(service, alice, last=last)
    async with service.database.maintenance() as connection:
        await connection.execute("analyze operation")
    where: dict[str, Any] = {
        "tenant_id": admin.access.tenant_id,
        "before": 2**62,
        "before_time": NEWEST_TIME,
        "since": OLDEST_TIME,
        "until": last - timedelta(seconds=3_000),
        "kinds": None,
        "status": None,
        "actor": None,
        "text": None,
        "window": 51,
        "limit": 51,
    }
    for name, most in (("operation_search_tenant", 60), ("operation_window_tenant", 60)):
        async with service.database.transaction(admin.access) as connection:
            cursor = await connection.execute(b"explain (analyze, format json) " + sql(f"log/{name}"), where)
            [row] = await cursor.fetchall()
        nodes = list(plan_nodes(row["QUERY PLAN"][0]["Plan"]))
        read = [node for node in nodes if node.get("Relation Name") == "operation"]

        assert [node["Index Name"] for node in read] == ["operation_newest"], nodes
        assert sum(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) for node in read) <= most


async def test_a_text_that_is_nowhere_is_looked_for_in_few_pages(
    service: Service, caller_of: CallerOf
) -> None:
    """The long answers of calls that wrote nothing are not read for it."""
    alice, admin = await caller_of("alice"), await caller_of(None, role="admin")
    await run_tool(service, alice, "write", "a-1", path="user/a.md", content="x")
    last = datetime.now(UTC)
    long = {"result": [secrets.token_hex(20) for _ in range(200)]}
    await make_rows(service, alice, last=last, rows=1_000, response=long)
    async with service.database.maintenance() as connection:
        await connection.execute("analyze operation")
    where: dict[str, Any] = {
        "tenant_id": admin.access.tenant_id,
        "scope_ids": alice.access.visible_logs,
        "user_id": "alice",
        "before": 2**62,
        "before_time": NEWEST_TIME,
        "since": OLDEST_TIME,
        "until": NEWEST_TIME,
        "kinds": None,
        "status": None,
        "actor": None,
        "text": None,
        "window": 10_000,
        "limit": 51,
    }
    for name, caller in (("operation_search", alice), ("operation_search_tenant", admin)):
        read = []
        for filters in ({"status": "denied"}, {"text": "nowhere"}):
            async with service.database.transaction(caller.access) as connection:
                cursor = await connection.execute(
                    b"explain (analyze, buffers, format json) " + sql(f"log/{name}"), where | filters
                )
                [row] = await cursor.fetchall()
            plan = row["QUERY PLAN"][0]["Plan"]
            assert plan["Actual Rows"] == 0
            read.append(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])
        by_status, by_text = read
        assert by_text < by_status + 1_000, (name, read)  # a long answer is in three pages or more


async def test_the_index_of_newest_calls_costs_little(service: Service, caller_of: CallerOf) -> None:
    """At most a twentieth of the rows that ordinary calls leave in the log."""
    alice = await caller_of("alice")
    await run_tool(service, alice, "write", "a-1", path="user/oars.md", content="# Oars\n\nRed ones.\n")
    await run_tool(service, alice, "find", "a-2", query="Which oars?")
    await run_tool(service, alice, "context", "a-3", query="Which oars?")

    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            "select sum(pg_column_size(operation.*)) / count(*) filter (where parent_id is null) as call_bytes"
            "  from operation"
        )
        [row] = await cursor.fetchall()
    await make_rows(service, alice, last=datetime.now(UTC))
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select pg_relation_size('operation_newest') as index_bytes")
        [index] = await cursor.fetchall()
    assert index["index_bytes"] / ROWS <= row["call_bytes"] / 20, (index, row)
