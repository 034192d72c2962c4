"""A scope's index made anew: what is derived of its files, and who reads and writes meanwhile."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.property_budget import costly

from memex.errors import Refused, StoreUnavailable, ValidationFailed
from memex.service.service import Caller, Service
from memex.store.database import Connection, Database
from memex.store.search import vectors
from memex.store.search.analyzer import analyzer_of
from memex.store.search.index import index_version
from memex.store.upkeep import reindex
from memex.store.writes import pending

CallerOf = Callable[..., Awaitable[Caller]]
WORDS = ["oolong", "tea", "getUserName", "running", "naïve", "検索", "[[b]]", "[a](a.md)", "apollo", "boat"]
PATHS = ["user/a.md", "user/b.md", "user/2024-05-06.md", "user/d/a.md", "user/long.md"]
OLD = "analyzer-1 chunker-1"

# What stands in the index of a scope, without the ids that differ between two of the same files.
DERIVED = {
    "heads": """
        select path, title, tags, tag_keys, size_chars, path_key, name_key, pinned, dated
          from revision where scope_id = %s and rev_end is null and not deleted order by path""",
    "chunks": """
        select head.path, start_char, end_char, heading_path, chunk.sha256, lexemes, tfs, length
          from chunk join revision head using (scope_id, file_id)
         where scope_id = %s and rev_end is null order by path, start_char""",
    "postings": """
        select lexeme, head.path, chunk.start_char, entry & 65535 as tf, (entry >> 16) & 65535 as length
          from posting cross join lateral unnest(entries) entry
          join chunk on chunk.scope_id = posting.scope_id and chunk.chunk_id = entry >> 32
          join revision head on head.scope_id = chunk.scope_id and head.file_id = chunk.file_id
         where posting.scope_id = %s and rev_end is null order by lexeme, path, start_char""",
    "entries": "select coalesce(sum(n), 0) as n, coalesce(sum(cardinality(entries)), 0) as entries"
    " from posting where scope_id = %s",
    "links": """
        select head.path, ordinal, side, target_key, raw, anchor
          from link join revision head on head.scope_id = link.scope_id and head.file_id = source_file_id
         where link.scope_id = %s and rev_end is null order by path, ordinal, side""",
    "totals": """
        select n, total_length, files, unmerged, merged_chunk_id = next_chunk_id - 1 as is_merged,
               (select count(*) from chunk_removed where chunk_removed.scope_id = scope_stat.scope_id) as removed
          from scope_stat where scope_id = %s""",
}
WAITING = "datname = current_database() and wait_event_type = 'Lock'"
KEPT = "select * from revision where scope_id = %s order by path, version"


@dataclass(frozen=True, slots=True)
class Running:
    """A rebuild that has put its new index there and has not committed it; `finish` lets it."""

    task: "asyncio.Task[reindex.RebuildReport | None]"
    finish: Callable[[], Awaitable[Any]]


@pytest.fixture
def scope_id(alice: Caller) -> int:
    """The scope of alice's own files."""
    return alice.access.by_mount["user"].scope_id


@pytest.fixture
def held(database: Database, scope_id: int) -> Callable[..., Any]:
    """What begins a rebuild and holds it before its commit."""

    @asynccontextmanager
    async def hold(**options: Any) -> AsyncIterator[Running]:
        begun = asyncio.Event()
        async with AsyncExitStack() as holding:
            connection = await holding.enter_async_context(database.maintenance())
            # The last row that a rebuild changes.
            await connection.execute("select from scope where scope_id = %s for update", [scope_id])
            task = asyncio.create_task(
                reindex.rebuild(database, scope_id, on_files=lambda _: begun.set(), **options)
            )
            await begun.wait()
            await _blocked(connection, 1)
            yield Running(task, holding.aclose)
        await asyncio.gather(task, return_exceptions=True)

    return hold


async def _blocked(connection: Connection, number: int) -> None:
    """Return when so many sessions of this database wait for a lock."""
    waiting = f"select count(*) as n from pg_stat_activity where {WAITING}"  # noqa: S608  # our own words
    async with asyncio.timeout(30):
        while True:
            await connection.execute("select pg_stat_clear_snapshot()")
            found = await (await connection.execute(waiting)).fetchone()
            if found and found["n"] >= number:
                return


async def write(service: Service, caller: Caller, files: dict[str, str]) -> None:
    """Write some files."""
    for path, content in files.items():
        await service.execute(caller, "memory_write", {"path": path, "content": content, "overwrite": True})


async def edit(service: Service, caller: Caller, chance: random.Random) -> None:
    """Do one random write, patch, move or deletion; a refusal changes nothing."""
    kind = chance.choice(["write", "write", "write", "patch", "move", "delete"])
    arguments: dict[str, Any] = {"path": chance.choice(PATHS)}
    if kind == "write":
        arguments |= {"content": text(chance), "overwrite": True}
    elif kind == "patch":
        arguments |= {"operation": "append", "text": " ".join(chance.choices(WORDS, k=20))}
    elif kind == "move":
        arguments |= {"to": chance.choice(PATHS)}
    try:
        await service.execute(caller, f"memory_{kind}", arguments)
    except Refused:
        return


def text(chance: random.Random) -> str:
    """Return a random file of some sections."""
    front = chance.choice(["", "---\ntags: [Alpha, beta]\npinned: true\n---\n", "---\ntitle: Boat\n---\n"])
    data = " ".join(f"{chance.getrandbits(32):08x}" for _ in range(chance.choice([0, 60])))
    return front + "".join(
        f"## {chance.choice(WORDS)}\n\n{' '.join(chance.choices(WORDS, k=chance.choice([1, 30, 300])))} {data}\n\n"
        for _ in range(chance.randint(0, 4))
    )


async def derived(database: Database, scope_id: int) -> dict[str, Any]:
    """Return all that is derived of the files of a scope."""
    return {name: await read(database, scope_id, statement) for name, statement in DERIVED.items()}


async def read(database: Database, scope_id: int, statement: str) -> list[dict[str, Any]]:
    """Return what a statement finds in a scope."""
    async with database.maintenance() as connection:
        return await (await connection.execute(statement.encode(), [scope_id])).fetchall()


async def hits(service: Service, caller: Caller, query: str) -> list[tuple[str, Any]]:
    """Return what a query finds, with its scores."""
    found = await service.execute(caller, "memory_find", {"query": query})
    return [(hit["path"], hit["score"]) for hit in found["hits"]]


async def anew(service: Service, database: Database, source: Caller, target: Caller) -> dict[str, Any]:
    """Return what is derived where the files of one user are written by another for the first time."""
    found = await read(
        database,
        source.access.by_mount["user"].scope_id,
        "select path, content from revision where scope_id = %s and rev_end is null and not deleted",
    )
    await write(service, target, {f"user/{file['path']}": file["content"] for file in found})
    scope_id = target.access.by_mount["user"].scope_id
    async with database.maintenance() as connection:
        await pending.merge_scopes(connection, [scope_id])
    return await derived(database, scope_id)


@settings(max_examples=costly(), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
async def test_a_rebuild_makes_what_writing_makes(
    service: Service, database: Database, caller_of: CallerOf, seed: int
) -> None:
    """After random edits the index is as if the files that stand were written then, and finds what it found."""
    chance = random.Random(seed)
    caller, other = await caller_of(f"one-{uuid.uuid4()}"), await caller_of(f"two-{uuid.uuid4()}")
    scope_id = caller.access.by_mount["user"].scope_id
    for _ in range(chance.randint(1, 15)):
        await edit(service, caller, chance)
    queries = [" ".join(chance.choices(WORDS, k=3)) for _ in range(3)]
    before = [await hits(service, caller, query) for query in queries]

    rebuilt = await reindex.rebuild(database, scope_id)

    after = await derived(database, scope_id)
    assert after == await anew(service, database, caller, other)
    assert rebuilt == reindex.RebuildReport("english", after["totals"][0]["files"], after["totals"][0]["n"])
    assert [await hits(service, caller, query) for query in queries] == before


async def test_revisions_stay_as_they_are(
    service: Service, database: Database, alice: Caller, scope_id: int
) -> None:
    """No version is added, no text changed; what was derived wrongly beside it is put right, with new chunks."""
    await write(service, alice, {"user/a.md": "---\ntags: [x]\n---\n# Tea\n\n[[b]]\n", "user/b.md": "old"})
    await write(service, alice, {"user/b.md": "# Boat\n"})
    before, chunks = await read(database, scope_id, KEPT), "select * from chunk where scope_id = %s"
    last = max(chunk["chunk_id"] for chunk in await read(database, scope_id, chunks))
    async with database.maintenance() as connection:
        await connection.execute(
            "update revision set title = '', tags = '{}', pinned = true where rev_end is null"
        )
        await connection.execute("update scope_stat set n = 7, total_length = 7, files = 7")
        await connection.execute("delete from link")

    await reindex.rebuild(database, scope_id)

    assert await read(database, scope_id, KEPT) == before
    assert min(chunk["chunk_id"] for chunk in await read(database, scope_id, chunks)) > last
    [totals] = (await derived(database, scope_id))["totals"]
    assert (totals["n"], totals["files"], totals["unmerged"]) == (2, 2, 0)
    assert len((await derived(database, scope_id))["links"]) == 1


async def test_another_language_finds_its_inflected_forms(
    service: Service, database: Database, caller_of: CallerOf, alice: Caller, scope_id: int
) -> None:
    """In what stood there before, and in what is written afterwards, also by a call that began before."""
    await write(service, alice, {"user/a.md": "Die Häuser stehen leer.\n"})
    before = await hits(service, alice, "Haus")

    await reindex.rebuild(database, scope_id, language="german")
    await write(service, alice, {"user/b.md": "Wir wohnten in alten Häusern.\n"})

    after = await hits(service, await caller_of("alice"), "Haus")
    assert before == []
    assert {path for path, _ in after} == {"user/a.md", "user/b.md"}
    [scope] = [one for one in await _scopes(database) if one.scope_id == scope_id]
    assert (scope.language, scope.analyzer) == ("german", index_version(analyzer_of("german")))


async def test_readers_wait_for_no_rebuild(
    service: Service,
    database: Database,
    alice: Caller,
    scope_id: int,
    held: Callable[..., Any],
) -> None:
    """One that reads while it runs finds what it found before, and so does one that began before, after its end."""
    await write(service, alice, {"user/a.md": "tea\n\n## b\n\nboat\n", "user/b.md": "tea\n"})
    old, found = await derived(database, scope_id), await hits(service, alice, "tea")
    ids = "select chunk_id from chunk where scope_id = %s order by chunk_id"
    old_ids = await read(database, scope_id, ids)

    async with database.transaction(alice.access, snapshot=True) as connection:
        await connection.execute("select")
        begun_before = await (await connection.execute(ids.encode(), [scope_id])).fetchall()
        async with held() as rebuild:
            during = await derived(database, scope_id), await hits(service, alice, "tea")
            assert not rebuild.task.done()
            await rebuild.finish()
        assert await (await connection.execute(ids.encode(), [scope_id])).fetchall() == begun_before

    assert during == (old, found)
    assert begun_before == old_ids
    assert {row["chunk_id"] for row in await read(database, scope_id, ids)} & {
        row["chunk_id"] for row in old_ids
    } == set()
    assert await hits(service, alice, "tea") == found


@pytest.mark.parametrize("added", ["more oolong\n", "oolong. " * 3_000], ids=["short", "long"])
async def test_writers_wait_for_a_rebuild(
    service: Service,
    database: Database,
    caller_of: CallerOf,
    alice: Caller,
    scope_id: int,
    held: Callable[..., Any],
    added: str,
) -> None:
    """A write that was planned over the old index is made over the new one, in its language."""
    await write(service, alice, {"user/a.md": "tea\n\n## b\n\nHäuser\n", "user/b.md": "tea\n"})
    arguments = {"path": "user/a.md", "operation": "append", "text": f"Wege {added}"}

    async with held(language="german") as rebuild:
        writing = asyncio.create_task(service.execute(alice, "memory_patch", arguments))
        async with database.connection() as connection:
            await _blocked(connection, 2)
        assert not writing.done()
        await rebuild.finish()
    written = await writing

    assert written["version"] == 2
    async with database.maintenance() as connection:
        await pending.merge_scopes(connection, [scope_id])
    index = await derived(database, scope_id)
    bob = await caller_of("bob")
    await reindex.rebuild(database, bob.access.by_mount["user"].scope_id, language="german")
    assert index == await anew(service, database, alice, bob)


async def test_a_rebuild_that_dies_changes_nothing(
    service: Service, database: Database, alice: Caller, scope_id: int, held: Callable[..., Any]
) -> None:
    """Whether it fails, or its connection is cut: the old index stays whole, and the next one succeeds."""
    await write(service, alice, {"user/a.md": "tea [[b]]\n", "user/b.md": "# Boat\n"})
    old = await derived(database, scope_id)

    def fail(_: int) -> None:
        raise Refused("stopped")

    with pytest.raises(Refused):
        await reindex.rebuild(database, scope_id, language="german", on_files=fail)
    assert await derived(database, scope_id) == old

    async with held(language="german") as rebuild:
        async with database.connection() as connection:
            await connection.execute(
                f"select pg_terminate_backend(pid) from pg_stat_activity where {WAITING}"  # noqa: S608
            )
        with pytest.raises(StoreUnavailable):
            await rebuild.task

    assert await derived(database, scope_id) == old
    assert [scope.language for scope in await _scopes(database)] == ["english"] * 2
    assert await reindex.rebuild(database, scope_id) == reindex.RebuildReport("english", 2, 2)


async def test_an_index_of_another_version_is_stale(
    service: Service, database: Database, alice: Caller, scope_id: int
) -> None:
    """Until it is rebuilt, whatever is written meanwhile; one that was never written is not."""
    await write(service, alice, {"user/a.md": "tea\n"})
    assert await _stale(database) == []
    async with database.maintenance() as connection:
        await connection.execute("update scope set analyzer = %s where scope_id = %s", [OLD, scope_id])
    await write(service, alice, {"user/b.md": "tea\n"})
    [stale] = await _stale(database)

    rebuilt = await reindex.rebuild(database, scope_id, only_stale=True)
    again = await reindex.rebuild(database, scope_id, only_stale=True)

    assert (stale.kind, stale.key, stale.analyzer, stale.files) == ("user", "alice", OLD, 2)
    assert rebuilt == reindex.RebuildReport("english", 2, 2)
    assert again is None
    assert await _stale(database) == []


async def test_a_language_is_stale_where_it_is_another(
    service: Service, database: Database, caller_of: CallerOf, alice: Caller
) -> None:
    """A scope that is never written changes its language too, and is in it from its first write on."""
    bob = await caller_of("bob")
    bobs = bob.access.by_mount["user"].scope_id
    await write(service, alice, {"user/a.md": "tea\n"})

    async with database.maintenance() as connection:
        wanted = await reindex.scopes(connection, kind="user", only_stale=True, language="german")
    for scope in wanted:
        await reindex.rebuild(database, scope.scope_id, language="german", only_stale=True)
    [empty] = [scope for scope in await _scopes(database) if scope.scope_id == bobs]
    await write(service, bob, {"user/a.md": "Häuser\n"})
    async with database.maintenance() as connection:
        left = await reindex.scopes(connection, kind="user", only_stale=True, language="german")

    assert {scope.key for scope in wanted} == {"alice", "bob"}
    assert (empty.language, empty.analyzer) == ("german", None)
    assert [hit for hit, _ in await hits(service, await caller_of("bob"), "Haus")] == ["user/a.md"]
    assert left == []


async def test_scopes_are_chosen(database: Database, service: Service, caller_of: CallerOf) -> None:
    """By tenant, kind and key; the admins' log is none."""
    await caller_of("alice")
    await caller_of("alice", tenant="other")
    await caller_of(None, role="admin", tenant="other")

    async with database.maintenance() as connection:
        everything = await reindex.scopes(connection)
        other = await reindex.scopes(connection, tenant="other")
        one = await reindex.scopes(connection, tenant="other", kind="user", key="alice")
        first = await reindex.scopes(connection, limit=1)

    names = [(scope.tenant, scope.kind, scope.key) for scope in everything]
    assert names == [
        (tenant, kind, key)
        for tenant in ("default", "other")
        for kind, key in (("shared", ""), ("user", "alice"))
    ]
    assert other == everything[2:]
    assert one == everything[3:]
    assert first == everything[:1]


def test_an_unknown_language_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(ValidationFailed) as refused:
        reindex.check_language("klingon")

    assert "german" in refused.value.hint
    assert reindex.check_language("neutral") == "neutral"


async def test_new_texts_are_embedded(
    service: Service, database: Database, alice: Caller, scope_id: int
) -> None:
    """By a job, in a scope that a model embedded before; also where that job is lost."""
    if not database.has_vectors:
        pytest.skip("this server has no pgvector")
    await write(service, alice, {"user/a.md": "tea\n"})
    await reindex.rebuild(database, scope_id)
    async with database.maintenance() as connection:
        none = await vectors.job_status(connection, "embed_scope")
        begun = await vectors.begin(connection, scope_id)
        assert begun is not None
        await vectors.finish(connection, scope_id, "m", begun.rev)
        up_to_date = await vectors.scopes_behind(connection, "m", failed_before_s=0)

    await reindex.rebuild(database, scope_id)

    async with database.maintenance() as connection:
        assert (none, up_to_date) == ({}, [])
        assert await vectors.job_status(connection, "embed_scope") == {"todo": 1}
        assert await vectors.scopes_behind(connection, "m", failed_before_s=0) == [scope_id]


async def _scopes(database: Database) -> list[reindex.IndexedScope]:
    async with database.maintenance() as connection:
        return await reindex.scopes(connection)


async def _stale(database: Database) -> list[reindex.IndexedScope]:
    async with database.maintenance() as connection:
        found = await reindex.scopes(connection, only_stale=True)
        assert await reindex.count_stale(connection) == len(found)
        return found
