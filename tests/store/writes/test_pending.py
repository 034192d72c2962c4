"""The bounded delta: a search finds the same whether chunks are in the postings or wait for their merge."""

import asyncio
import random
import re
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.memory import put
from tests.kit.property_budget import costly

from memex.errors import Refused
from memex.service.service import Caller, Service
from memex.store import markdown
from memex.store.search import bm25, chunks, lexical
from memex.store.search.analyzer import Analyzer
from memex.store.search.lexical import Filters
from memex.store.sql import sql
from memex.store.writes import pending

CallerOf = Callable[..., Awaitable[Caller]]
ANALYZER = Analyzer()
WORDS = ["oolong", "tea", "getUserName", "running", "runs", "naïve", "検索", "v2.1", "apollo", "boat", "rare"]
PATHS = ["user/a.md", "user/b.md", "user/c.md", "user/d/a.md"]
Scores = dict[tuple[str, int, int], int]


def text(chance: random.Random) -> str:
    """Return a random file of some sections."""
    front = chance.choice(["", "", "---\ntags: [alpha]\n---\n"])
    return front + "".join(
        f"## {chance.choice(WORDS)}\n\n{' '.join(chance.choices(WORDS, k=chance.choice([1, 3, 30])))}\n\n"
        for _ in range(chance.randint(0, 4))
    )


async def edit(service: Service, caller: Caller, chance: random.Random) -> None:
    """Do one random write, patch, move, deletion or draft of several; a refusal changes nothing."""
    path, to = chance.choice(PATHS), chance.choice(PATHS)
    kind = chance.choice(["write", "write", "append", "insert", "move", "delete", "draft"])
    if kind == "draft":
        await put(service, caller, {one: text(chance) for one in chance.sample(PATHS, 3)})
        return
    arguments: dict[str, Any] = {"path": path}
    if kind == "write":
        arguments |= {"content": text(chance), "overwrite": True}
    elif kind in ("append", "insert"):
        arguments |= {"operation": kind, "text": text(chance) or "boat"}
    elif kind == "move":
        arguments |= {"to": to}
    try:
        await service.execute(
            caller, "memory_patch" if kind in ("append", "insert") else f"memory_{kind}", arguments
        )
    except Refused:
        return


async def scores(service: Service, caller: Caller, query: str, filters: Filters) -> Scores:
    """Return every chunk of the user's that a search scores."""
    [scope] = [scope for scope in caller.access.scopes if scope.mount == "user"]
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        weighed, views = await lexical.open_views(connection, [scope], query, filters=[filters])
        found = await lexical.best_chunks(connection, views, weighed, limit=1_000, filters=filters)
    return {(one.path, *one.span): one.score for one in found.candidates}


async def expected(service: Service, caller: Caller, query: str, filters: Filters) -> Scores:
    """Return the same by the formula over the texts that stand."""
    documents = {}
    for file in (await service.execute(caller, "memory_list", {"limit": 1_000}))["files"]:
        content = (await service.execute(caller, "memory_read", {"path": file["path"]}))["content"]
        path = file["path"].removeprefix("user/")
        document = markdown.parse(content)
        for chunk in chunks.split(path, content, markdown.describe(path, document), document):
            key = (file["path"], chunk.start, chunk.end)
            documents[key] = Counter(ANALYZER.passage_lexemes(chunk.indexed_text)), frozenset(file["tags"])
    weighed = bm25.weigh(
        ANALYZER.lexemes(query),
        n=len(documents),
        total_length=sum(tfs.total() for tfs, _ in documents.values()),
        df=Counter(lexeme for tfs, _ in documents.values() for lexeme in tfs),
        light=ANALYZER.light_lexemes,
    )
    seen = (
        (key, tfs, tfs.total())
        for key, (tfs, tags) in documents.items()
        if key[0].startswith(f"user/{filters.prefix}") and tags >= set(filters.tag_keys)
    )
    return dict(bm25.rank(weighed, seen))


async def merge(service: Service, caller: Caller) -> None:
    """Merge all that is pending of the caller's scopes."""
    async with service.database.transaction(caller.access) as connection:
        await pending.merge_scopes(connection, caller.access.writable_ids)


async def waiting(service: Service) -> list[tuple[int, int]]:
    """Return of each scope how many chunks wait to be added, and to be removed."""
    async with service.database.maintenance() as connection:
        cursor = await connection.execute(
            """select (select count(*) from chunk
                        where chunk.scope_id = stat.scope_id and chunk_id > merged_chunk_id) as added,
                      (select count(*) from chunk_removed where scope_id = stat.scope_id) as removed
                 from scope_stat stat where stat.n > 0 or stat.unmerged > 0 order by scope_id"""
        )
        return [(row["added"], row["removed"]) for row in await cursor.fetchall()]


FILTERS = [
    Filters(),
    Filters(prefix="d/"),
    Filters(tag_keys=("alpha",)),
    Filters(prefix="a", tag_keys=("alpha",)),
]


@settings(max_examples=costly(), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), bound=st.sampled_from([0, 3, 10, 10_000]))
async def test_a_merge_changes_no_score(
    service: Service, caller_of: CallerOf, monkeypatch: pytest.MonkeyPatch, seed: int, bound: int
) -> None:
    """After random edits, before and after a merge, every chunk scores as by the formula over all that stand."""
    chance = random.Random(seed)
    monkeypatch.setattr(pending, "BOUND", bound)
    caller = await caller_of(f"user-{uuid.uuid4()}")
    for _ in range(chance.randint(1, 3)):
        for _ in range(chance.randint(1, 8)):
            await edit(service, caller, chance)
        queries = [" ".join(chance.choices(WORDS, k=chance.randint(1, 5))) for _ in range(3)]
        asked = [(query, filters) for query in queries for filters in FILTERS]
        before = [await scores(service, caller, *one) for one in asked]
        by_formula = [await expected(service, caller, *one) for one in asked]
        assert before == by_formula
        if chance.random() < 0.6:
            await merge(service, caller)

            assert [await scores(service, caller, *one) for one in asked] == by_formula


async def test_a_write_leaves_the_postings_alone(service: Service, alice: Caller) -> None:
    """What it adds waits, and what it removes; what was added and removed since the last merge is just gone."""
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "one\n\n## b\n\ntwo\n"})
    assert await waiting(service) == [(2, 0)]
    await merge(service, alice)
    assert await waiting(service) == [(0, 0)]

    append = {"path": "user/a.md", "operation": "append", "text": "three"}
    await service.execute(alice, "memory_patch", append)
    assert await waiting(service) == [(1, 1)]
    await service.execute(alice, "memory_patch", append)

    assert await waiting(service) == [(1, 1)]


async def test_the_writer_who_finds_the_bound_reached_merges(service: Service, alice: Caller) -> None:
    """However small the edits, no more waits than the bound; a large commit waits for nothing."""
    for number in range(pending.BOUND + 20):
        note = {"path": f"user/{number % 7}.md", "content": f"note {number}\n", "overwrite": True}
        await service.execute(alice, "memory_write", note)
        [(added, removed)] = await waiting(service)
        assert added + removed <= pending.BOUND
    content = "".join(f"## {number}\n\nsection {number}\n\n" for number in range(pending.BOUND + 1))
    await service.execute(alice, "memory_write", {"path": "user/large.md", "content": content})

    assert await waiting(service) == [(0, 0)]


async def test_readers_wait_for_no_merge(service: Service, alice: Caller) -> None:
    """A search that runs beside a merge, before it is committed, finds what it found before."""
    for name in ("a", "b"):
        await service.execute(alice, "memory_write", {"path": f"user/{name}.md", "content": f"tea {name}\n"})
    before = await scores(service, alice, "tea", Filters())

    async with service.database.transaction(alice.access) as connection:
        await pending.merge_scopes(connection, alice.access.writable_ids)
        during = await asyncio.wait_for(scores(service, alice, "tea", Filters()), timeout=30)

    assert len(before) == 2
    assert during == before
    assert await scores(service, alice, "tea", Filters()) == before


async def test_a_merge_that_fails_leaves_all_as_it_was(service: Service, alice: Caller) -> None:
    """It is part of one transaction: without its commit the same chunks wait, and are found."""
    await service.execute(alice, "memory_write", {"path": "user/a.md", "content": "tea\n"})
    before = await scores(service, alice, "tea", Filters())

    with suppress(Refused):
        async with service.database.transaction(alice.access) as connection:
            await pending.merge_scopes(connection, alice.access.writable_ids)
            raise Refused("stopped")

    assert await waiting(service) == [(1, 0)]
    assert await scores(service, alice, "tea", Filters()) == before


async def test_what_waits_is_found_without_reading_all_chunks(service: Service, alice: Caller) -> None:
    """Even where one scope holds all chunks there are, those behind the last merge are read by their key."""
    scope_id = alice.access.by_mount["user"].scope_id
    async with service.database.maintenance() as connection:
        await connection.execute(
            """insert into chunk (scope_id, tenant_id, chunk_id, file_id, start_char, end_char, heading_path,
                                  sha256, lexemes, tfs, length)
               select %s, %s, n, n, 0, 1, '{}', '', array_fill('tea'::text, '{60}'), array_fill(1, '{60}'), 60
                 from generate_series(1, 5000) n
                order by md5(n::text)""",
            [scope_id, alice.access.tenant_id],
        )
        await connection.execute("analyze chunk")
    statement = re.sub(r"%\(scope_ids\)s", "$1", sql("search/posting_read").decode())
    statement = re.sub(r"%\(lexemes\)s", "$2", statement)

    async with service.database.transaction(alice.access) as connection:
        await connection.execute(f"prepare pending as {statement}".encode())
        cursor = await connection.execute(
            f"explain (costs off) execute pending('{{{scope_id}}}', '{{tea}}')".encode()
        )
        plan = "\n".join(row["QUERY PLAN"] for row in await cursor.fetchall())
        await connection.execute("deallocate pending")

    assert "Index Scan Backward using chunk_pkey on chunk" in plan
