"""The worker that removes old entries of journals: with all their versions and traces, and nobody else's."""

from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from tests.kit.rows import select, until

from memex.jobs.clock import clock_queue
from memex.jobs.worker import running_workers
from memex.service.journal.removing import remove_told_before
from memex.service.service import Caller, Service
from memex.store.journal.removal import remove_entries

CallerOf = Callable[..., Awaitable[Caller]]

# The statements are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

TODAY = datetime.now(UTC).date()
OLD, NEW = "I live in Lisbon.", "I prefer oolong tea."


@pytest.fixture
def service(service: Service) -> Service:
    """Return a service that keeps the journal."""
    service.keeps_journal = True
    return service


def day(days_ago: int) -> str:
    """Return the day so many days ago."""
    return (TODAY - timedelta(days=days_ago)).isoformat()


async def tell(service: Service, caller: Caller, text: str, days_ago: int) -> dict[str, Any]:
    """Tell a text that was said so many days ago."""
    arguments = {"text": text, "said_at": day(days_ago)}
    return await service.execute(caller, "memory_remember", arguments)


async def traces(service: Service, caller: Caller, days_ago: int) -> dict[str, int]:
    """Return how many rows there are of the entries of a user from a day."""
    [scope_id] = [scope.scope_id for scope in caller.access.scopes if scope.mount == "user"]
    path = f"journal/{day(days_ago)}/%"
    counts = {}
    for name, where in {
        "revision": "scope_id = %s and path like %s",
        "told_again": "scope_id = %s and path like %s",
        "statement": "entry_scope = %s and entry_path like %s",
        "chunk": "scope_id = %s and file_id in (select file_id from revision where path like %s)",
    }.items():
        statement = f"select count(*) from {name} where {where}"  # noqa: S608  # the names above
        [(counts[name],)] = await select(service.database, statement, scope_id, path)
    return counts


async def test_workers_remove_what_was_told_too_long_ago(
    conninfo: str, service: Service, alice: Caller, caller_of: CallerOf
) -> None:
    """Two replicas at once: old entries go with their versions and traces; pages and newer entries stay."""
    bob = await caller_of("bob")
    for caller in (alice, bob):
        await tell(service, caller, OLD, 40)
        await tell(service, caller, NEW, 20)
    await tell(service, alice, OLD, 39)
    assert all((await traces(service, alice, 40)).values())
    kept = await traces(service, alice, 20)

    async with running_workers(conninfo, *[clock_queue(service, journal_days=30) for _ in range(2)]):
        gone = "select count(*) = 0 from revision where path like %s"
        await until(service.database, gone, f"journal/{day(40)}/%")

    assert not any((await traces(service, alice, 40)).values())
    assert await traces(service, alice, 20) == kept
    pages = await service.execute(alice, "memory_find", {"query": "Lisbon"})
    assert [hit["path"] for hit in pages["hits"]] == ["user/profile.md"]
    listed = await service.execute(alice, "memory_list", {})
    assert [month["entries"] for month in listed["journal"]] == [1]


async def test_what_the_scope_stores_is_counted_anew(service: Service, alice: Caller) -> None:
    """The next write counts the versions that are left."""
    await tell(service, alice, OLD, 40)
    await remove_told_before(service, TODAY - timedelta(days=30))

    await tell(service, alice, NEW, 1)

    [(counted, stored)] = await select(
        service.database,
        "select scope.revisions, (select count(*) from revision where revision.scope_id = scope.scope_id)"
        " from scope where scope.kind = 'user' and scope.key = %s",
        alice.access.user_id,
    )
    assert counted == stored


async def test_a_removal_that_was_cut_off_is_finished(service: Service, alice: Caller) -> None:
    """An entry that is deleted and not removed, by a crash or by its user, goes with the next run."""
    told = await tell(service, alice, OLD, 40)
    path = told["entry"].partition("@")[0]
    [scope_id] = [scope.scope_id for scope in alice.access.scopes if scope.mount == "user"]
    assert await remove_entries(service.database, scope_id, [path.removeprefix("user/")]) == 0  # it stands
    await service.execute(alice, "memory_delete", {"path": path})

    assert await remove_told_before(service, TODAY - timedelta(days=30)) == 1
    assert await remove_told_before(service, TODAY - timedelta(days=30)) == 0
    assert not any((await traces(service, alice, 40)).values())


async def test_files_that_are_no_entries_stay(service: Service, alice: Caller) -> None:
    """A vault's own notes in a folder journal are not removed, however old their days."""
    path = "user/journal/1999-01-01/note.md"
    await service.execute(alice, "memory_write", {"path": path, "content": "# Note\n"})

    assert await remove_told_before(service, date(2000, 1, 1)) == 0
    assert (await service.execute(alice, "memory_read", {"path": path}))["content"] == "# Note\n"
