"""Memory at a moment: the ranking of the formula over what stood then, and reads that see nothing else."""

import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.memory import commit_draft, put
from tests.kit.property_budget import costly

from memex.errors import FileNotFound, LimitExceeded, VersionNotFound
from memex.service.service import Caller, Service
from memex.store import markdown
from memex.store.memory import Memory
from memex.store.past import changes as changed
from memex.store.past.memory import PastMemory, open_past
from memex.store.records import NearLink, Reference
from memex.store.search import bm25, chunks
from memex.store.search.analyzer import Analyzer
from memex.store.search.bm25 import Query
from memex.store.search.find import MAX_PASSAGES
from memex.store.writes.draft import Draft

CallerOf = Callable[..., Awaitable[Caller]]
Texts = dict[str, str]
ANALYZER = Analyzer()
WORDS = [
    "oolong",
    "tea",
    "getUserName",
    "the",
    "running",
    "runs",
    "naïve",
    "検索エンジン",
    "v2.1",
    "apollo",
    "boat",
]


@asynccontextmanager
async def past(service: Service, caller: Caller, moment: datetime | int) -> AsyncIterator[PastMemory]:
    """Memory as it stood at a time, or after a number of changes of the user's scope."""
    as_of = moment if isinstance(moment, datetime) else {"user": moment}
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        yield await open_past(connection, caller.access, as_of)


# Ranking.


def text(chance: random.Random) -> str:
    """Return a random file: sections, tags, now and then more than a chunk holds, sometimes nothing."""
    sections = (
        f"## {chance.choice(WORDS)}\n\n{' '.join(chance.choices(WORDS, k=chance.choice([2, 9, 300])))}\n\n"
        for _ in range(chance.randint(0, 4))
    )
    return chance.choice(["", "---\ntags: [alpha]\n---\n"]) + "".join(sections)


async def commit(service: Service, caller: Caller, chance: random.Random, texts: Texts) -> None:
    """Write, patch, move, delete and restore several files in one commit; `texts` is what stands afterwards."""
    draft = Draft(service.database, caller.access)
    for _ in range(chance.randint(1, 4)):
        path, to = (f"user/{chance.choice(['a', 'b', 'c', 'd/a', 'd/b'])}.md" for _ in range(2))
        kind = chance.choice(["write", "append", "move", "delete", "restore"])
        if kind == "write" or path not in texts:
            texts[path] = text(chance)
            draft.write(path, texts[path], overwrite=True)
        elif kind == "append":
            texts[path] = (
                f"{texts[path].rstrip()}\nboat and tea\n" if texts[path].strip() else "boat and tea\n"
            )
            draft.write(path, texts[path], overwrite=True)
        elif kind == "move" and to not in texts:
            texts[to] = texts.pop(path)
            draft.move(path, to)
        elif kind == "delete":
            del texts[path]
            draft.delete(path)
    await commit_draft(draft, caller)


Ranked = list[tuple[str, tuple[int, int], int]]


def ranked(texts: Texts, query: str, prefix: str = "") -> Ranked:
    """Return path, best span and score of each file, by the formula over all chunks of all files."""
    documents = []
    for path, content in texts.items():
        document = markdown.parse(content)
        for chunk in chunks.split(path, content, markdown.describe(path, document), document):
            tfs = Counter(ANALYZER.passage_lexemes(chunk.indexed_text))
            documents.append(((path, chunk.start, chunk.end), tfs, tfs.total()))
    weighed = bm25.weigh(
        ANALYZER.lexemes(query),
        n=len(documents),
        total_length=sum(length for _, _, length in documents),
        df=Counter(lexeme for _, tfs, _ in documents for lexeme in tfs),
        light=ANALYZER.light_lexemes,
    )
    best: dict[str, tuple[str, tuple[int, int], int]] = {}
    for (path, start, end), score in bm25.rank(weighed, documents):
        if path.startswith(prefix):
            best.setdefault(path, (path, (start, end), score))
    return list(best.values())


@given(seed=st.integers(0, 2**32))
@settings(max_examples=costly(), deadline=None, suppress_health_check=list(HealthCheck), database=None)
async def test_past_scores_are_those_of_the_formula(service: Service, caller_of: CallerOf, seed: int) -> None:
    """To the integer, over all chunks of all files that stood, after any change of a random history."""
    chance = random.Random(seed)
    alice = await caller_of(uuid.uuid4().hex)
    texts: Texts = {}
    history = [{}]
    for _ in range(12):
        await commit(service, alice, chance, texts)
        rev = await rev_of(service, alice)
        history += [dict(texts)] * (rev + 1 - len(history))
    for rev, then in enumerate(history):
        async with past(service, alice, rev) as memory:
            for prefix in ("", "user/d/"):
                query = " ".join(chance.choices(WORDS, k=chance.randint(1, 5)))
                found = await memory.find(query, limit=100, prefix=prefix)

                assert [(hit.path, hit.span, hit.score) for hit in found.hits] == ranked(then, query, prefix)
                assert {hit.match.mode for hit in found.hits} <= {"bm25"}


async def rev_of(service: Service, caller: Caller) -> int:
    """Return how many changes the user's scope has seen."""
    async with service.database.transaction(caller.access) as connection:
        return (await Memory(connection, caller.access).state())["user"]


async def test_what_was_changed_since_is_bounded(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond so many characters a search and backlinks say what to do; reading and listing go on."""
    await put(service, alice, {f"user/{name}.md": "oolong " * 200 for name in "abc"})
    await put(service, alice, {f"user/{name}.md": "black tea" for name in "abc"})
    monkeypatch.setattr(changed, "MAX_CHARS", 4_000)
    async with past(service, alice, 1) as memory:
        with pytest.raises(LimitExceeded, match="4,200 characters") as found:
            await memory.find("oolong")
        with pytest.raises(LimitExceeded):
            await memory.links("user/a.md")

        assert "later moment" in found.value.hint
        assert len(await memory.list_files()) == 3
        assert (await memory.links("user/a.md", direction="out")) == []
        assert (await memory.read("user/a.md")).version == 1


async def test_long_texts_are_read_in_parts(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of any size, and the answer is the same."""
    await put(service, alice, {f"user/{name}.md": f"oolong {name}" for name in "abcd"})
    await put(service, alice, {f"user/{name}.md": None for name in "abc"})
    async with past(service, alice, 1) as memory:
        whole = await memory.find("oolong c")
    monkeypatch.setattr(changed, "PART_CHARS", 9)
    async with past(service, alice, 1) as memory:
        parts = await memory.find("oolong c")

    assert whole == parts
    assert [hit.path for hit in whole.hits] == ["user/c.md", "user/a.md", "user/b.md", "user/d.md"]


# Passages, links, spans.


async def test_passages_are_those_that_stood(service: Service, alice: Caller) -> None:
    """The first of each file, scored; in the order of the paths; files that stand only now are left out."""
    sections = "".join(f"## {n}\n\noolong {n}\n\n" for n in range(MAX_PASSAGES + 3))
    await put(service, alice, {"user/a.md": sections, "user/b.md": "tea", "user/c.md": "oolong"})
    async with past(service, alice, 1) as memory:
        query = (await memory.find("oolong")).query
        before = await memory.passages(query, ["user/b.md", "user/a.md", "user/c.md"])
    await put(service, alice, {"user/a.md": "short", "user/b.md": None, "user/new.md": "oolong"})
    await service.execute(alice, "memory_move", {"path": "user/c.md", "to": "user/d.md"})
    paths = ["user/b.md", "user/new.md", "user/a.md", "user/d.md", "user/c.md"]
    async with past(service, alice, 1) as memory:
        found = await memory.passages(query, paths)
        nothing = await memory.passages(Query((), (), 0.3, 0.0), ["user/new.md"])

    assert found == before
    assert [len(file.passages) for file in found] == [1, MAX_PASSAGES, 1]
    assert nothing == []


async def test_links_lead_to_what_stood(service: Service, alice: Caller) -> None:
    """To the files of then by their names of then, from the files of then; unchanged ones too."""
    await put(service, alice, {"user/a.md": "[[b]] [[c]]", "user/b.md": "[[a]]", "user/x.md": "[[b]]"})
    await put(service, alice, {"user/a.md": "[[x]]", "user/c.md": "", "user/b.md": None})
    await service.execute(alice, "memory_move", {"path": "user/x.md", "to": "user/y.md"})
    async with past(service, alice, 1) as memory:
        near = await memory.near_links({"user/a.md": "[[b]]", "user/c.md": "", "user/x.md": "[[b]]"})
        around = await memory.links("user/b.md", depth=2)
        back = await memory.back_links(["user/b.md"])

        assert near == [
            NearLink("user/a.md", "user/b.md", None),
            NearLink("user/x.md", "user/b.md", None),
        ]
        assert {(link.source, link.target, link.exists) for link in around} == {
            *(("user/b.md", "user/a.md", True), ("user/a.md", "user/b.md", True)),
            *(("user/x.md", "user/b.md", True), ("user/a.md", "[[c]]", False)),
        }
        assert [link.source for link in back] == ["user/a.md", "user/x.md"]
        with pytest.raises(FileNotFound):
            await memory.links("user/c.md")


async def test_only_versions_of_then_are_read(service: Service, alice: Caller) -> None:
    """A span or a whole text of a version that came later is not found."""
    await put(service, alice, {"user/a.md": "oolong"})
    await put(service, alice, {"user/a.md": "black tea"})
    async with past(service, alice, 1) as memory:
        assert await memory.spans([Reference("user/a.md", 1, (0, 3))]) == ["ool"]
        assert (await memory.read("user/a.md", version=1)).content == "oolong"
        with pytest.raises(VersionNotFound):
            await memory.spans([Reference("user/a.md", 2, (0, 3))])
        with pytest.raises(VersionNotFound, match="no version 2 then"):
            await memory.read("user/a.md", version=2)
        with pytest.raises(VersionNotFound):
            await memory.read("user/a.md", version=3)


# Times.


async def test_a_time_is_the_last_change_up_to_it(service: Service, alice: Caller) -> None:
    """To the microsecond, after any number of changes; before the first nothing stood."""
    for n in range(9):
        await put(service, alice, {"user/a.md": f"text {n}", f"user/{n}.md": "x"})
    async with service.database.transaction(alice.access) as connection:
        history = await Memory(connection, alice.access).history("user/a.md")
    tick = timedelta(microseconds=1)
    for revision in history:
        async with past(service, alice, revision.created_at) as memory:
            assert (await memory.state())["user"] == revision.rev
            assert (await memory.read("user/a.md")).version == revision.version
        async with past(service, alice, revision.created_at - tick) as memory:
            assert (await memory.state())["user"] == revision.rev - 1
    async with past(service, alice, history[-1].created_at - tick) as memory:
        assert await memory.list_files() == []
        assert (await memory.find("text")).hits == ()
        with pytest.raises(FileNotFound, match="no such file then"):
            await memory.read("user/a.md")
    async with past(service, alice, datetime.max.replace(tzinfo=UTC)) as memory:
        assert (await memory.state())["user"] == 9
