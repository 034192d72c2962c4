"""Times in queries: `last week` looks at the files of last week, where files say of which day they are."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.memory import write_each
from tests.kit.vectors import vectors_of

from memex.service.chunk_embedding import embed_scope
from memex.service.service import Caller, Service
from memex.service.snapshots import MemoryView, memory_at
from memex.store.records import Hit, QueryVector
from memex.subagent.embedders.hashed import HashEmbedder

EMBEDDER = HashEmbedder(64)
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)  # a Wednesday

TEXT = "Walked to the boathouse.\n"
FILES = {
    "user/journal/2026-11-17.md": TEXT,
    "user/journal/2026-11-20.md": "Stayed at home.\n",
    "user/journal/2026-11-24.md": TEXT * 3,
    "user/old.md": f"---\ndate: 2025-01-02\n---\n{TEXT}",
    "user/meeting.md": f"---\ndate: 2026-11-18\n---\n{TEXT}",
    "user/places.md": f"---\ncreated: 2026-01-02\nupdated: 2026-11-24\n---\n# Places\n\n{TEXT * 2}",
}


async def search(
    service: Service, caller: Caller, query: str, as_of: Any = None, **more: Any
) -> tuple[Hit, ...]:
    """Return the hits of a call at NOW."""
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        memory = await memory_at(connection, caller.access, MemoryView(as_of, NOW))
        return (await memory.find(query, **more)).hits


async def find(service: Service, caller: Caller, query: str, **more: Any) -> set[str]:
    """Return the paths of the hits of a call at NOW."""
    return {hit.path for hit in await search(service, caller, query, **more)}


async def test_a_time_narrows_to_its_days_and_to_files_of_none(service: Service, alice: Caller) -> None:
    """By front matter or name, not by when it was made; the reason says so, of a file without a day too."""
    await write_each(service, alice, FILES)
    hits = await search(service, alice, "who walked to the boathouse last week?")

    assert {hit.path for hit in hits} == {
        *("user/journal/2026-11-17.md", "user/meeting.md", "user/places.md")
    }
    for hit in hits:
        days = "dated within 2026-11-16 … 2026-11-22"
        said = f"; undated, beside files {days}" if hit.path == "user/places.md" else f"; {days}"
        assert hit.reason.endswith(said)
    assert await find(service, alice, "walked yesterday", prefix="user/journal/") == {
        "user/journal/2026-11-24.md"
    }


async def test_a_time_without_a_file_of_its_days_narrows_nothing(service: Service, alice: Caller) -> None:
    """Nor one whose files do not match, nor a query that names no time or a day outright."""
    await write_each(service, alice, FILES)
    everything = {path for path in FILES if "11-20" not in path}

    for query in ("walked in June", "walked 5 days ago", "walked today", "walked", "walked in May 2025"):
        assert await find(service, alice, query) == everything, query


async def test_a_limit_leaves_room_for_those_of_the_days(service: Service, alice: Caller) -> None:
    """However many files of other days rank above."""
    await write_each(service, alice, {f"user/other/2026-01-{n:02}.md": "boathouse\n" for n in range(1, 29)})
    await write_each(service, alice, {"user/2026-11-17.md": f"The boathouse, and {'more words ' * 80}.\n"})

    assert await find(service, alice, "boathouse last week", limit=1) == {"user/2026-11-17.md"}


async def test_what_lies_near_is_narrowed_alike(service: Service, alice: Caller) -> None:
    """A file that only its vector finds is left out when it is of another day."""
    if not service.database.has_vectors:
        pytest.skip("no pgvector here")
    await write_each(service, alice, FILES | {"user/2026-11-18.md": "Boats and houses.\n"})
    await embed_scope(service.database, EMBEDDER, alice.access.by_mount["user"].scope_id)
    [values] = await vectors_of(EMBEDDER, ["boathouse last week"])
    vectors = {"boathouse last week": QueryVector(EMBEDDER.name, [float(value) for value in values])}
    async with service.database.transaction(alice.access, snapshot=True) as connection:
        memory = await memory_at(connection, alice.access, MemoryView(now=NOW, vectors=vectors))
        hits = (await memory.find("boathouse last week")).hits

    assert {hit.path for hit in hits} == {
        *("user/journal/2026-11-17.md", "user/journal/2026-11-20.md", "user/2026-11-18.md"),
        *("user/meeting.md", "user/places.md"),
    }
    by_vector = next(hit for hit in hits if hit.path == "user/2026-11-18.md")
    assert by_vector.reason.endswith("of the vectors; dated within 2026-11-16 … 2026-11-22")


async def test_the_day_follows_edits_and_moves(service: Service, alice: Caller) -> None:
    """It is that of the newest version; what is no day is none."""
    dated = "---\ndate: 2026-11-{}\n---\nboathouse\n"
    await write_each(service, alice, {"user/a.md": dated.format(17), "user/b.md": "boathouse\n"})
    assert await find(service, alice, "boathouse this week") == {"user/a.md", "user/b.md"}
    await write_each(service, alice, {"user/a.md": dated.format(32)})
    await service.execute(alice, "memory_move", {"path": "user/b.md", "to": "user/2026-11-23.md"})
    assert await find(service, alice, "boathouse this week") == {"user/a.md", "user/2026-11-23.md"}
    await write_each(service, alice, {"user/a.md": dated.format(17)})

    assert await find(service, alice, "boathouse this week") == {"user/2026-11-23.md"}
    assert await find(service, alice, "boathouse last week") == {"user/a.md"}


async def test_the_past_is_narrowed_alike(service: Service, alice: Caller) -> None:
    """By the days of then; from the time in as_of, in its own zone, and with a state from the call's clock."""
    await write_each(service, alice, FILES)
    before = await search(service, alice, "boathouse last week")
    state = {"user": len(FILES)}
    await write_each(service, alice, dict.fromkeys(FILES, "gone\n"))
    await write_each(service, alice, {"user/old.md": f"---\ndate: 2026-11-17\n---\n{TEXT}"})
    again = await search(service, alice, "boathouse last week", as_of=state)
    await write_each(service, alice, FILES)
    later = (NOW + timedelta(days=7)).isoformat()

    assert again == before
    assert await find(service, alice, "boathouse last week", as_of=later) == {
        *("user/journal/2026-11-24.md", "user/places.md")
    }


async def test_times_are_told_in_the_language_of_the_scopes(service: Service, alice: Caller) -> None:
    """By its tables alone."""
    await write_each(service, alice, FILES)
    assert len(await find(service, alice, "boathouse letzte Woche")) == 5
    async with service.database.maintenance() as connection:
        await connection.execute("update scope set language = 'german' where kind = 'user'")
    scopes = [replace(scope, language="german") for scope in alice.access.scopes]
    german = replace(alice, access=replace(alice.access, scopes=tuple(scopes)))

    assert len(await find(service, german, "boathouse letzte Woche")) == 3


async def test_a_call_counts_from_its_clock(service: Service, alice: Caller) -> None:
    """Of find and context; a text that is remembered is not narrowed: its duplicate may stand in any file."""
    today = datetime.now(UTC).date()
    days = [f"user/journal/{today - timedelta(days=back)}.md" for back in (1, 9)]
    fact = "We decided today to walk to the boathouse."
    await write_each(service, alice, dict.fromkeys(days, f"---\ntags: [x]\n---\n{TEXT}"))
    await write_each(service, alice, {"user/facts.md": f"---\ndate: 2025-01-01\n---\n# Facts\n\n- {fact}\n"})
    question = {"query": "Who walked to the boathouse yesterday?"}
    hits = (await service.execute(alice, "memory_find", question))["hits"]
    sources = (await service.execute(alice, "memory_context", question | {"max_hops": 0}))["sources"]
    remembered = await service.execute(alice, "memory_remember", {"text": fact})

    assert [hit["path"] for hit in hits] == days[:1]
    assert [source["path"] for source in sources] == days[:1]
    assert [skip["known_in"] for skip in remembered["skipped"]] == ["user/facts.md@1"]
