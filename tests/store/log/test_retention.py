"""How long the log lasts: old calls go, with what is inside them; what is kept or not done stays."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memex.errors import OperationNotFound
from memex.service.log.call_list import read_attempts
from memex.service.service import Caller, Service
from memex.service.tools.prompt_block import PROMPT_BLOCK
from memex.store.log import retention
from memex.store.log.call import Call, CallAnswer, CallRequest, InnerOperation
from memex.store.log.operations import MODEL_REQUEST, add
from memex.store.log.retention import PruneReport, keep, prune
from memex.subagent.engine import ENGINE

CallerOf = Callable[..., Awaitable[Caller]]
NOW = datetime(2026, 11, 22, tzinfo=UTC)
CUTOFF = NOW - timedelta(days=90)
OLD, RECENT = NOW - timedelta(days=91), NOW - timedelta(days=89)


async def log(
    service: Service, caller: Caller, call_id: str, when: datetime, status: Any = "answered", *prompts: str
) -> None:
    """Log a call with an operation on memory inside it, and a request to a model for each prompt."""
    call = Call(
        CallRequest(call_id, "memory_context", {"query": call_id}, caller.logged, when, engine=ENGINE)
    )
    call.record.inner.append(InnerOperation("memory_find", {}, {"hits": []}, None, None, when, 1.0))
    for prompt in prompts:
        sha256 = prompt.encode().ljust(32)
        call.record.prompts[sha256] = prompt
        call.record.inner.append(
            InnerOperation(MODEL_REQUEST, {}, {}, None, None, when, 1.0, prompt_sha256=sha256)
        )
    async with service.database.transaction(caller.access) as connection:
        answer = None if status in ("failed", "repeated") else CallAnswer({}, {}, {})
        await add(connection, caller.access, call, status=status, answer=answer)


async def stored(service: Service, table: str = "operation", column: str = "tool_call_id") -> list[str]:
    """Return what stands in a column, sorted."""
    async with service.database.maintenance() as connection:
        cursor = await connection.execute(f"select {column} as value from {table} order by 1")  # type: ignore[arg-type]  # noqa: S608
        return [row["value"] for row in await cursor.fetchall()]


async def test_old_calls_go_with_what_is_inside_them(service: Service, alice: Caller) -> None:
    """Calls that began before the time go, operations inside them too; what is counted was removed."""
    await log(service, alice, "old", OLD)
    await log(service, alice, "recent", RECENT)

    pruned = await prune(service.database, CUTOFF)

    assert (pruned.calls, pruned.operations, pruned.prompts) == (1, 2, 0)
    assert 200 < pruned.size_bytes < 2_000
    assert await stored(service) == ["recent"]
    assert await stored(service, column="jsonb_array_length(inside)") == [1]
    assert await prune(service.database, CUTOFF) == PruneReport()


async def test_a_dry_run_counts_the_same_and_removes_nothing(service: Service, alice: Caller) -> None:
    """What it says is what the real one does."""
    for number in range(5):
        await log(service, alice, f"old-{number}", OLD)
    before = await stored(service)

    told = await prune(service.database, CUTOFF, is_dry_run=True)

    assert await stored(service) == before
    assert told == await prune(service.database, CUTOFF)


@pytest.mark.parametrize("status", ["queued", "quarantined", "running"])
async def test_what_is_not_done_stays_whatever_its_age(service: Service, alice: Caller, status: str) -> None:
    """A call that is in the queue, was given up there, or runs can still be carried out."""
    await log(service, alice, "held", OLD, status)

    pruned = await prune(service.database, CUTOFF)

    assert pruned == PruneReport()
    assert await stored(service) == ["held"]


async def test_what_is_kept_stays_until_it_is_released(service: Service, alice: Caller) -> None:
    """All attempts at a call are kept, and released; unknown ones cannot be."""
    await log(service, alice, "case", OLD, "failed")
    await log(service, alice, "case", OLD)
    async with service.database.maintenance() as connection:
        assert await keep(connection, alice.access, "case") == 2
        with pytest.raises(OperationNotFound):
            await keep(connection, alice.access, "unknown")

    assert (await prune(service.database, CUTOFF)).calls == 0
    async with service.database.maintenance() as connection:
        await keep(connection, alice.access, "case", kept=False)
    assert (await prune(service.database, CUTOFF)).calls == 2


async def test_nobody_keeps_the_calls_of_others(service: Service, alice: Caller, caller_of: CallerOf) -> None:
    """Another user has no such call; an admin who names the user has."""
    await log(service, alice, "mine", OLD)
    bob, admin = await caller_of("bob"), await caller_of("alice", role="admin")

    async with service.database.maintenance() as connection:
        with pytest.raises(OperationNotFound):
            await keep(connection, bob.access, "mine")
        assert await keep(connection, admin.access, "mine") == 1


async def test_a_call_that_is_still_repeated_stays_whole(service: Service, alice: Caller) -> None:
    """While its last attempt is young the id answers as at first: the old commit is not taken from under it."""
    await log(service, alice, "again", OLD, "committed")
    await log(service, alice, "again", RECENT, "repeated")

    assert (await prune(service.database, CUTOFF)).calls == 0
    assert (await prune(service.database, NOW)).calls == 2


async def test_a_prompt_goes_with_the_last_call_that_names_it(service: Service, alice: Caller) -> None:
    """One that a remaining call names stays, whether a model was asked with it or a prompt block took its words."""
    await log(service, alice, "old", OLD, "answered", "first prompt", "second prompt")
    await log(service, alice, "recent", RECENT, "answered", "second prompt")
    await PROMPT_BLOCK.call(service, alice, {})

    pruned = await prune(service.database, CUTOFF)

    assert pruned.prompts == 1
    [kept, block] = await stored(service, "prompt", "text")
    assert "second prompt" in (kept, block)
    assert any("long-term memory" in text for text in (kept, block))


async def test_a_tenant_is_pruned_alone(service: Service, alice: Caller, caller_of: CallerOf) -> None:
    """Calls and prompts of other tenants stay; without a tenant all go."""
    theirs = await caller_of("alice", tenant="theirs")
    await log(service, alice, "ours", OLD, "answered", "prompt")
    await log(service, theirs, "theirs", OLD, "answered", "prompt")

    pruned = await prune(service.database, CUTOFF, tenant_id=alice.access.tenant_id)

    assert (pruned.calls, pruned.prompts) == (1, 1)
    assert set(await stored(service)) == {"theirs"}
    assert (await prune(service.database, CUTOFF)).calls == 1


async def test_a_pruned_id_may_be_used_again(service: Service, alice: Caller) -> None:
    """The file that the call wrote stays; the id is free, and the call can be neither shown nor undone."""
    write = {"path": "user/a.md", "content": "one"}
    await service.execute(alice, "memory_write", write, tool_call_id="spent")
    await prune(service.database, datetime.now(UTC) + timedelta(minutes=1))

    with pytest.raises(OperationNotFound):
        await read_attempts(service, alice, "spent")
    with pytest.raises(OperationNotFound):
        await service.revert(alice, "spent")
    again = {"path": "user/b.md", "content": "two"}
    assert (await service.execute(alice, "memory_write", again, tool_call_id="spent"))["version"] == 1
    assert (await service.execute(alice, "memory_read", {"path": "user/a.md"}))["content"] == "one"


async def test_many_calls_go_in_batches_while_others_are_logged(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each transaction is small, none of the new calls is lost, and no prompt that one names."""
    monkeypatch.setattr(retention, "CALLS_A_BATCH", 10)
    for number in range(45):
        await log(service, alice, f"old-{number}", OLD, "answered", f"prompt {number % 3}")
    batches: list[int] = []

    async def others() -> None:
        for number in range(30):
            await log(service, alice, f"new-{number}", RECENT, "answered", f"prompt {number % 3}")

    pruned, _ = await asyncio.gather(prune(service.database, CUTOFF, on_calls=batches.append), others())

    assert (pruned.calls, sum(batches), max(batches)) == (45, 45, 10)
    assert set(await stored(service)) == {f"new-{number}" for number in range(30)}
    assert await stored(service, "prompt", "text") == ["prompt 0", "prompt 1", "prompt 2"]
