"""Postings as arrays: the integers of the formula, ties kept, and filters that change no score."""

import random
import struct
from collections.abc import Awaitable, Callable
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.memory import commit_draft

from memex.service.service import Caller, Service
from memex.store.search import bm25, lexical
from memex.store.search.dates import DateRange
from memex.store.search.lexical import NO_FILTERS, Filters
from memex.store.search.postings import Postings, ScoredChunks
from memex.store.writes import pending
from memex.store.writes.draft import Draft

CallerOf = Callable[..., Awaitable[Caller]]
WORDS = [f"word{n}" for n in range(40)]
WEIGHTS = [1 / (n + 1) for n in range(len(WORDS))]
FILTERS = [
    NO_FILTERS,
    Filters(prefix="a/"),
    Filters(tag_keys=("red",)),
    Filters(tag_keys=("no file has it",)),
    Filters(dated=DateRange(date(2026, 11, 3), date(2026, 11, 9))),
    Filters(prefix="b/", dated=DateRange(date(2026, 11, 3), date(2026, 11, 9)), undated=False),
]
CHUNKS = st.dictionaries(
    st.integers(0, 2**31 - 1),
    st.tuples(
        st.dictionaries(st.sampled_from("abcd"), st.integers(1, 40), min_size=1), st.integers(1, 70_000)
    ),
    max_size=30,
)


def run_of(chunks: dict[int, tuple[dict[str, int], int]], lexeme: str) -> bytes:
    """Return the postings of a lexeme as Postgres sends the elements of a bigint[]."""
    entries = [bm25.entry(key, length, tfs[lexeme]) for key, (tfs, length) in chunks.items() if lexeme in tfs]
    return b"".join(struct.pack(">iq", 8, entry) for entry in entries)


@given(chunks=CHUNKS, hidden=st.sets(st.integers(0, 5)))
def test_arrays_give_the_integers_of_the_formula(
    chunks: dict[int, tuple[dict[str, int], int]], hidden: set[int]
) -> None:
    """In whatever order the entries come, and without the chunks that are hidden."""
    chunks |= {one: ({"a": 2, "b": 1}, 9) for one in (1, 3)}
    seen = {key: chunk for key, chunk in chunks.items() if key not in hidden}
    postings = Postings({lexeme: run_of(chunks, lexeme) for lexeme in "abcd"}, hidden)

    df = {lexeme: sum(lexeme in tfs for tfs, _ in seen.values()) for lexeme in "abcd"}
    query = bm25.weigh("abca", n=len(chunks), total_length=7 * len(chunks), df=df)
    scored = postings.score(query)

    assert postings.df == {lexeme: count for lexeme, count in df.items() if count}
    expected = bm25.rank(query, ((key, tfs, length) for key, (tfs, length) in seen.items()))
    assert dict(zip(scored.chunk_ids.tolist(), scored.scores.tolist(), strict=True)) == dict(expected)
    assert scored.chunk_ids.tolist() == sorted(scored.chunk_ids.tolist())


def test_the_best_come_with_all_that_tie() -> None:
    """A limit never decides between equals; one above the number of chunks changes nothing."""
    scored = ScoredChunks(np.array([1, 2, 3, 4, 5]), np.array([7, 9, 7, 1, 7]))

    assert scored.best(1).chunk_ids.tolist() == [2]
    assert scored.best(2).chunk_ids.tolist() == [1, 2, 3, 5]
    assert scored.best(5).chunk_ids.tolist() == scored.best(99).chunk_ids.tolist() == [1, 2, 3, 4, 5]
    assert scored.among(np.array([4, 2, 77])).chunk_ids.tolist() == [2, 4]


async def fill(service: Service, caller: Caller, chance: random.Random) -> None:
    """Write files of random words, some of them alike to the letter."""
    draft = Draft(service.database, caller.access)
    texts: list[str] = []
    for number in range(80):
        if not texts or chance.random() < 0.7:
            front = chance.choice(
                ["", "---\ntags: [red]\n---\n", f"---\ndate: 2026-11-{number % 20 + 1:02}\n---\n"]
            )
            sections = (
                f"## x\n\n{' '.join(chance.choices(WORDS, WEIGHTS, k=chance.choice([2, 10, 60])))}\n\n"
                for _ in range(chance.randint(1, 5))
            )
            texts.append(front + "".join(sections))
        draft.write(f"user/{chance.choice('ab')}/{number}.md", chance.choice(texts[-3:]))
    await commit_draft(draft, caller)
    async with service.database.transaction(caller.access) as connection:
        await pending.merge_scopes(connection, caller.access.writable_ids)


async def test_few_files_and_many_are_filtered_alike(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the chunks of the files that pass are listed first, or the best chunks are tried, and then all."""
    await fill(service, alice, random.Random(5))
    [scope] = [scope for scope in alice.access.scopes if scope.mount == "user"]
    sizes = []
    for text in ("word0 word1 word7", "word2 word30"):
        for filters in FILTERS:
            found = []
            for few, tried in ((0, 1), (0, 4), (20, 1), (1_000, 4)):
                monkeypatch.setattr(lexical, "FEW_FILES", few)
                monkeypatch.setattr(lexical, "TRIED", tried)
                async with service.database.transaction(alice.access, snapshot=True) as connection:
                    query, views = await lexical.open_views(connection, [scope], text, filters=[filters])
                    best = await lexical.best_chunks(connection, views, query, limit=4, filters=filters)
                found.append(best)
            assert found[0] == found[1] == found[2] == found[3]
            sizes.append(len(found[0].candidates))

    assert sizes.count(0) == 2
    assert max(sizes) >= 4


async def test_a_long_query_reads_only_postings_that_can_count(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more lexemes than are weighed, the answer is that of reading the postings of all of them."""
    chance = random.Random(11)
    await fill(service, alice, chance)
    await service.execute(
        alice, "memory_write", {"path": "user/new.md", "content": " ".join(WORDS[:20] * 3) + "\n"}
    )
    await service.execute(alice, "memory_delete", {"path": (await paths(service, alice))[0]})
    found = []
    for most in (bm25.MAX_QUERY_LEXEMES, 0, 5):
        monkeypatch.setattr(bm25, "MAX_QUERY_LEXEMES", 10)
        monkeypatch.setattr(lexical, "MAX_QUERY_LEXEMES", most if most > 5 else 10)
        if most == 0:
            monkeypatch.setattr(lexical, "_seldom", everything)
        answer = await service.execute(alice, "memory_find", {"query": " ".join(WORDS)})
        found.append(answer["hits"])
        monkeypatch.undo()

    assert found[0] == found[1] == found[2]


async def everything(_connection: object, lexemes: list[str], _deltas: object) -> list[str]:
    """Return all lexemes, as if the postings of all of them were wanted."""
    return lexemes


async def paths(service: Service, caller: Caller) -> list[str]:
    """Return the paths of the caller's files."""
    listed = await service.execute(caller, "memory_list", {"limit": 1_000})
    return [file["path"] for file in listed["files"]]


async def test_a_scope_knows_whether_it_has_series(service: Service, caller_of: CallerOf) -> None:
    """Two short files side by side make one, which stays known; a file alone or a long one makes none."""
    long = " ".join(f"word{n}" for n in range(200)) + "\n"
    made = []
    for name, files in {
        "alone": {"1.md": "tea\n", "4.md": "tea\n", "tea.md": "tea\n"},
        "long": {"1.md": "tea\n", "2.md": long, "3.md": long, "4.md": "tea\n"},
        "near": {"1.md": "tea\n", "3.md": "coffee\n"},
    }.items():
        caller = await caller_of(name)
        for path, content in files.items():
            await service.execute(caller, "memory_write", {"path": f"user/{path}", "content": content})
        made.append(await has_series(service, caller))
    moved = await caller_of("alone")
    await service.execute(moved, "memory_move", {"path": "user/4.md", "to": "user/2.md"})
    made.append(await has_series(service, moved))
    await service.execute(moved, "memory_delete", {"path": "user/2.md"})
    made.append(await has_series(service, moved))

    assert made == [False, False, True, True, True]


async def has_series(service: Service, caller: Caller) -> bool:
    """Return what is noted of the user's scope."""
    async with service.database.transaction(caller.access) as connection:
        cursor = await connection.execute(
            "select has_series from scope_stat where scope_id = %s",
            [caller.access.by_mount["user"].scope_id],
        )
        [row] = await cursor.fetchall()
    return bool(row["has_series"])
