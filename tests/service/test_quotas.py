"""Quotas: what is stored is counted exactly, and nothing grows over a limit, whoever writes at the same moment."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.kit.memory import open_project, put, remember, write

from memex.errors import Forbidden, MemexError, QuotaExceeded, ValidationFailed
from memex.service.identity import quotas
from memex.service.identity.quotas import QuotaLimits, QuotaResult
from memex.service.service import Caller, Service
from memex.store.writes.quota import Kind

CallerOf = Callable[..., Awaitable[Caller]]


async def read(service: Service, caller: Caller, kind: Kind, name: str = "") -> QuotaResult:
    """Return a quota of a caller's tenant."""
    return await quotas.read_quota(service, caller.access.tenant_id, kind, name)


async def used(service: Service, caller: Caller, kind: Kind, name: str = "") -> dict[str, int]:
    """Return what is stored."""
    found = (await read(service, caller, kind, name)).used
    assert found is not None
    return found.model_dump()


async def test_what_is_stored_is_counted(service: Service, caller_of: CallerOf) -> None:
    """Files and bytes as they stand, and both over the whole history; the tenant has the sum of its scopes."""
    alice, bob = await caller_of("alice"), await caller_of("bob")
    await write(service, alice, "user/a.md", "Grüße")
    await write(service, alice, "user/a.md", "Grüße!")
    await put(service, alice, {"user/b.md": "b", "user/c.md": "cc"})
    await put(service, alice, {"user/c.md": None})
    await write(service, bob, "user/d.md", "dddd")

    counted = {"files": 2, "bytes": 9, "revisions": 5, "stored_bytes": 18}
    assert await used(service, alice, "user", "alice") == counted
    assert await used(service, alice, "tenant") == {
        "files": 3,
        "bytes": 13,
        "revisions": 6,
        "stored_bytes": 22,
    }


async def test_a_version_that_does_not_count_is_counted_after(service: Service, alice: Caller) -> None:
    """A process of the version before raises the rev alone; then the numbers are counted anew."""
    await write(service, alice, "user/a.md", "aaa")
    async with service.database.maintenance() as connection:
        await connection.execute("update scope set counted_rev = -1, stored_bytes = 7, revisions = 7")
    counted = {"files": 1, "bytes": 3, "revisions": 1, "stored_bytes": 3}
    assert await used(service, alice, "user", "alice") == counted
    assert await used(service, alice, "tenant") == counted

    await put(service, alice, {"user/b.md": "b", "user/c.md": "c"})

    assert await used(service, alice, "user", "alice") == {
        "files": 3,
        "bytes": 5,
        "revisions": 3,
        "stored_bytes": 5,
    }
    async with service.database.maintenance() as connection:
        [stored] = await (await connection.execute("select * from scope where kind = 'user'")).fetchall()
    assert (stored["counted_rev"], stored["stored_bytes"]) == (stored["rev"], 5)


async def test_nothing_grows_over_a_limit(service: Service, caller_of: CallerOf) -> None:
    """The error names the quota, what is used and the limit; another user and another project are not limited."""
    admin, alice, bob = await caller_of(None, role="admin"), await caller_of("alice"), await caller_of("bob")
    await open_project(service, admin, "apollo", "bob")
    bob = await caller_of("bob")
    await write(service, alice, "user/a.md", "aaaa")
    await quotas.set_quota(service, admin, "user", "alice", QuotaLimits(bytes=6))
    await quotas.set_quota(service, admin, "project", "", QuotaLimits(files=1))

    with pytest.raises(QuotaExceeded) as refused:
        await write(service, alice, "user/b.md", "bbb")
    await write(service, alice, "user/b.md", "bb")
    await write(service, bob, "user/b.md", "bbbbbbbb")
    await write(service, bob, "projects/apollo/a.md", "aaaaaaaa")
    with pytest.raises(QuotaExceeded) as second:
        await write(service, bob, "projects/apollo/b.md", "b")

    assert refused.value.details == {"quota": "user.bytes", "used": 4, "limit": 6}
    assert second.value.details == {"quota": "projects.files", "used": 1, "limit": 1}


async def test_the_limits_of_one_go_before_those_of_all(service: Service, caller_of: CallerOf) -> None:
    """Limit by limit: one that the user's own quota leaves open is that of all users."""
    admin, alice = await caller_of(None, role="admin"), await caller_of("alice")
    await quotas.set_quota(service, admin, "user", "", QuotaLimits(files=1, bytes=3))
    await quotas.set_quota(service, admin, "user", "alice", QuotaLimits(bytes=100))
    await write(service, alice, "user/a.md", "more than three")

    with pytest.raises(QuotaExceeded, match="1 files"):
        await write(service, alice, "user/b.md", "b")

    assert (await read(service, admin, "user", "alice")).limits == QuotaLimits(files=1, bytes=100)


async def test_what_makes_memory_smaller_goes_through(service: Service, caller_of: CallerOf) -> None:
    """Over every limit: deletions, reverts of what was added, and forgetting."""
    admin, alice = await caller_of(None, role="admin"), await caller_of("alice")
    await write(service, alice, "user/a.md", "a")
    added = await service.execute(alice, "memory_write", {"path": "user/b.md", "content": "b"})
    await remember(service, alice, "I prefer oolong tea. My cat is called Mina.")
    nothing = QuotaLimits(files=0, bytes=0, revisions=0, stored_bytes=0)
    await quotas.set_quota(service, admin, "user", "alice", nothing)
    await quotas.set_quota(service, admin, "tenant", "", nothing)

    await service.revert(alice, added["tool_call_id"])
    forgotten = await remember(service, alice, "Forget this: My cat is called Mina.")
    await service.execute(alice, "memory_delete", {"path": "user/a.md"})

    assert forgotten["writes"]
    move = {"path": forgotten["writes"][0]["path"], "to": "user/moved.md"}
    with pytest.raises(QuotaExceeded):
        await service.execute(alice, "memory_move", move)


async def test_a_tenant_is_limited_exactly(service: Service, caller_of: CallerOf) -> None:
    """Users who share no lock write at the same moment, and exactly as many files fit as the limit says."""
    admin = await caller_of(None, role="admin")
    callers = [await caller_of(f"user-{number}") for number in range(8)]
    await quotas.set_quota(service, admin, "tenant", "", QuotaLimits(files=10))

    done: list[Any] = await asyncio.gather(
        *(write(service, caller, f"user/{number}.md", "text") for number in range(3) for caller in callers),
        return_exceptions=True,
    )

    refused = [error for error in done if error is not None]
    assert len(refused) == 14
    assert all(isinstance(error, QuotaExceeded) for error in refused)
    assert refused[0].details == {"quota": "tenant.files", "used": 10, "limit": 10}
    assert (await used(service, admin, "tenant"))["files"] == 10


async def test_who_sets_which_quota(service: Service, caller_of: CallerOf) -> None:
    """Agents set none, a key none of its tenant, and a name must be one."""
    admin, alice = await caller_of(None, role="admin"), await caller_of("alice")

    async def refused(caller: Caller, kind: Kind, name: str) -> str:
        with pytest.raises(MemexError) as error:
            await quotas.set_quota(service, caller, kind, name, QuotaLimits(files=1))
        return error.value.code

    assert await refused(alice, "user", "alice") == Forbidden.code
    assert await refused(admin, "tenant", "other") == ValidationFailed.code
    assert await refused(admin, "project", "a/b") == ValidationFailed.code
    listed = await quotas.list_quotas(service, admin)
    assert [quota.kind for quota in listed.quotas] == ["tenant"]


async def test_the_journal_has_a_limit_of_its_own(service: Service, caller_of: CallerOf) -> None:
    """Entries are no files and count in no bytes of files; a text beyond their limit is refused whole."""
    admin, alice = await caller_of(None, role="admin"), await caller_of("alice")
    service.keeps_journal, service.max_journal_bytes = True, 60
    first = "We walked along the Elbe, süß."
    await remember(service, alice, first)
    size = len(first.encode())
    before = await read(service, admin, "user", "alice")

    with pytest.raises(QuotaExceeded) as refused:
        await remember(service, alice, "I prefer oolong tea, and I always drink it in the morning.")
    found = await service.execute(alice, "memory_find", {"query": "oolong tea"})
    repeated = await remember(service, alice, first)

    assert before.used is not None
    assert before.journal is not None
    assert (before.used.files, before.used.bytes, before.used.revisions) == (0, 0, 1)
    assert (before.used.stored_bytes, before.journal.bytes, before.journal.max_bytes) == (size, size, 60)
    assert refused.value.details == {"quota": "user.journal_bytes", "used": size, "limit": 60}
    assert "MEMEX_JOURNAL_BYTES" in str(refused.value.hint)
    assert found["hits"] == []
    assert repeated["entry"]
    tenant = await read(service, admin, "tenant")
    assert tenant.journal is not None
    assert (tenant.journal.bytes, tenant.journal.max_bytes) == (size, None)
    assert await read(service, admin, "user", "alice") == before


async def test_a_full_quota_of_files_takes_entries(service: Service, caller_of: CallerOf) -> None:
    """Files at their limit leave the journal alone, and a deleted entry makes room in it."""
    admin, alice = await caller_of(None, role="admin"), await caller_of("alice")
    service.keeps_journal, service.max_journal_bytes = True, 40
    await write(service, alice, "user/a.md", "aaaa")
    await quotas.set_quota(service, admin, "user", "alice", QuotaLimits(files=1, bytes=4))

    told = await remember(service, alice, "We walked along the river Elbe.")
    with pytest.raises(QuotaExceeded):
        await remember(service, alice, "Then we had a coffee.")
    await service.execute(alice, "memory_delete", {"path": told["entry"].rpartition("@")[0]})
    await remember(service, alice, "Then we had a coffee.")

    async with service.database.maintenance() as connection:
        await connection.execute("update scope set counted_rev = -1, journal_bytes = 7, standing_bytes = 7")
    counted = await read(service, admin, "user", "alice")
    assert counted.used is not None
    assert counted.journal is not None
    assert (counted.used.files, counted.used.bytes, counted.journal.bytes) == (1, 4, 21)
    assert (await used(service, admin, "tenant"))["bytes"] == 4
    await remember(service, alice, "It was raining.")
    counted = await read(service, admin, "user", "alice")
    assert counted.journal is not None
    assert counted.journal.bytes == 36
