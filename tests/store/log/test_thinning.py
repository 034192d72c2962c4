"""Thinning: of old versions the last text of each day stays, and every one that something names."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.memory import person, remember, run_tool, write
from tests.kit.rows import until

from memex.errors import VersionThinned
from memex.jobs.clock import clock_queue
from memex.jobs.worker import running_workers
from memex.service.log.blame import BLAME
from memex.service.log.replay.bundle import export_call
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.store.log.retention import keep
from memex.store.log.thinning import ThinReport, thin
from memex.store.memory import Memory
from memex.store.records import Reference

pytestmark = pytest.mark.embedded_only

PAGE = "user/tea.md"
FIRST, SECOND, THIRD = (
    "# Tea\n\nOolong.\n\nEnd.\n",
    "# Tea\n\nOolong.\n\nGreen.\n\nEnd.\n",
    "# Tea\n\nBlack.\n\nEnd.\n",
)
YEAR = timedelta(days=365)


async def age(service: Service, days: int) -> None:
    """Make everything that was written so far older by so many days."""
    async with service.database.maintenance() as connection:
        await connection.execute(
            "update revision set created_at = created_at - make_interval(days => %s)", [days]
        )


async def history(service: Service, caller: Caller, path: str = PAGE) -> dict[int, bool]:
    """Return the versions of a file, and whether each is thinned."""
    listed = await service.execute(caller, "memory_history", {"path": path})
    return {one["version"]: one.get("thinned", False) for one in listed["revisions"]}


async def thinned(service: Service, **more: Any) -> ThinReport:
    """Thin what is older than a year."""
    return await thin(service.database, datetime.now(UTC) - YEAR, **more)


@pytest.fixture
async def alice(service: Service, alice: Caller) -> Caller:
    """Return a caller whose page got three texts on one day, 400 days ago, and one on the next."""
    for text in (FIRST, SECOND, THIRD):
        await write(service, alice, PAGE, text)
    await run_tool(service, alice, "read", "first", path=PAGE, version=1)
    await age(service, 1)
    await write(service, alice, PAGE, "# Tea\n\nWhite.\n")
    await age(service, 400)
    return alice


async def test_the_last_text_of_each_day_stays(service: Service, alice: Caller) -> None:
    """A dry run counts the same and changes nothing; a second run finds nothing."""
    dry = await thinned(service, is_dry_run=True)
    before = await history(service, alice)
    done, again = await thinned(service), await thinned(service)
    texts = [
        (await service.execute(alice, "memory_read", {"path": PAGE, "version": version}))["content"]
        for version in (3, 4)
    ]

    assert not any(before.values())
    assert dry == done == ThinReport(2, len(FIRST + SECOND))
    assert again == ThinReport()
    assert await history(service, alice) == {4: False, 3: False, 2: True, 1: True}
    assert texts == [THIRD, "# Tea\n\nWhite.\n"]


async def test_a_version_without_its_text_says_so(service: Service, alice: Caller) -> None:
    """To read, restore, compare, revert, replay and export it; a bundle of it is not made."""
    written = (await service.execute(alice, "memory_history", {"path": PAGE}))["revisions"]
    calls = {one["version"]: one["tool_call_id"] for one in written}
    await thinned(service)
    asked = [
        ("memory_read", {"path": PAGE, "version": 1}),
        ("memory_restore", {"path": PAGE, "version": 2}),
        ("memory_diff", {"path": PAGE, "from_version": 1, "to_version": 3}),
    ]
    for tool, arguments in asked:
        with pytest.raises(VersionThinned):
            await service.execute(alice, tool, arguments)
    with pytest.raises(VersionThinned):
        await service.revert(alice, calls[2])
    replayed = await replay_call(service, alice, "first")
    with pytest.raises(VersionThinned):
        await export_call(service, alice, "first")

    assert (replayed.is_equal, replayed.difference and replayed.difference.what) == (False, "thinned")


async def test_what_stands_in_the_kept_version_is_read_there(service: Service, alice: Caller) -> None:
    """Spans in its beginning and its end; a span of what was changed says that it is gone."""
    await thinned(service)
    start, end = FIRST.index("End"), len(FIRST)
    spans = [Reference(PAGE, 1, (0, 7)), Reference(PAGE, 1, (start, end)), Reference(PAGE, 2, (0, 5))]
    async with service.database.transaction(alice.access, snapshot=True) as connection:
        memory = Memory(connection, alice.access)
        texts = await memory.spans(spans)
        with pytest.raises(VersionThinned):
            await memory.spans([Reference(PAGE, 1, (7, 13))])

    assert texts == ["# Tea\n\n", "End.\n", "# Tea"]


async def test_what_is_named_stays(service: Service, alice: Caller) -> None:
    """A line that was removed, and what a kept call saw; the same pages of others are thinned."""
    service.keeps_journal = True
    await remember(service, alice, "I live in Lyon.", said_at="2026-01-01")
    await remember(service, alice, "I prefer oolong tea.", said_at="2026-01-01")
    await remember(service, alice, "Forget that I live in Lyon.")
    await write(service, alice, "user/kept.md", "one\n")
    await run_tool(service, alice, "read", "kept", path="user/kept.md")
    await write(service, alice, "user/kept.md", "two\n")
    async with service.database.maintenance() as connection:
        await keep(connection, alice.access, "kept")
    await age(service, 500)
    await thinned(service)
    removed = await service.execute(person(alice), "memory_removed", {"state": "forgotten"})

    assert [line["text"] for line in removed["lines"]] == ["I live in Lyon."]
    assert not any((await history(service, alice, "user/kept.md")).values())
    back = await service.execute(alice, "memory_put_back", {"id": removed["lines"][0]["id"]})
    assert "Lyon" in (await service.execute(alice, "memory_read", {"path": back["path"]}))["content"]


async def test_the_past_at_the_end_of_a_day_is_as_it_was(service: Service, alice: Caller) -> None:
    """Lists stay true at any time, and a search at a time between two versions of a day says what is gone."""
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=400)
    await thinned(service)
    at = {"as_of": midnight.isoformat()}
    listed = await service.execute(alice, "memory_list", {**at})
    read = await service.execute(alice, "memory_read", {"path": PAGE, **at})
    found = await service.execute(alice, "memory_find", {"query": "black", **at})

    assert [file["path"] for file in listed["files"]] == [PAGE]
    assert read["content"] == THIRD
    assert [hit["path"] for hit in found["hits"]] == [PAGE]


async def test_blame_goes_by_the_versions_that_have_their_texts(service: Service, alice: Caller) -> None:
    """A line is of the version that it stood in first, of those; nothing fails."""
    await age(service, 10)
    await write(service, alice, PAGE, "# Tea\n\nWhite.\n\nMate.\n")
    await write(service, alice, PAGE, "# Tea\n\nWhite.\n\nMate.\n\nRed.\n")
    await age(service, 380)
    await thinned(service)
    shown = (await BLAME.call(service, alice, {"path": PAGE})).body()

    assert [line["wrote"] for line in shown["lines"] if line["text"].strip()] == [
        f"{PAGE}@3",  # # Tea
        f"{PAGE}@4",  # White.
        f"{PAGE}@6",  # Mate.
        f"{PAGE}@6",  # Red.
    ]


async def test_writers_at_the_same_moment_lose_nothing(service: Service, alice: Caller) -> None:
    """And the bytes that count for the quota are those that are stored."""
    writes = [write(service, alice, f"user/{number}.md", f"page {number}\n") for number in range(8)]
    done, other, *_ = await asyncio.gather(thinned(service), thinned(service), *writes)
    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            """select scope.stored_bytes, sum(octet_length(revision.content)) as bytes
                 from scope join revision using (scope_id) where scope.kind = 'user' group by scope_id"""
        )
        [row] = await cursor.fetchall()

    assert done.versions + other.versions == 2
    assert row["stored_bytes"] == row["bytes"]
    for number in range(8):
        read = await service.execute(alice, "memory_read", {"path": f"user/{number}.md"})
        assert read["content"] == f"page {number}\n"


async def test_the_job_thins_in_the_background(service: Service, alice: Caller, conninfo: str) -> None:
    """At its start, and two replicas at once."""
    queues = [clock_queue(service, thin_days=365) for _ in range(2)]
    async with running_workers(conninfo, *queues):
        await until(service.database, "select count(*) = 2 from revision where thinned is not null")

    assert await history(service, alice) == {4: False, 3: False, 2: True, 1: True}


KILLED = """
import asyncio, os, signal, sys
from datetime import UTC, datetime
from memex.store.database import Database
from memex.store.log import thinning

async def main():
    thinning.VERSIONS_A_BATCH = 1
    database = await Database.open(sys.argv[1])
    await thinning.thin(
        database, datetime.now(UTC), on_versions=lambda _: os.kill(os.getpid(), signal.SIGKILL)
    )

asyncio.run(main())
"""


async def test_a_killed_run_is_finished_by_the_next(service: Service, alice: Caller, conninfo: str) -> None:
    """The first of two transactions stays, the rest comes later."""
    killed = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", KILLED, conninfo], capture_output=True, text=True, check=False
    )
    half = sum((await history(service, alice)).values())
    rest = await thinned(service)

    assert (killed.returncode, half, rest.versions) == (-9, 1, 1), killed.stderr
