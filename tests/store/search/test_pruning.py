"""MaxScore: reading the postings of a query's rare lexemes alone finds what reading all of them finds."""

import random
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.memory import commit_draft
from tests.kit.property_budget import costly

from memex.service.service import Caller, Service
from memex.store.database import Connection, Rows, batch
from memex.store.search import lexical, pruning
from memex.store.search.bm25 import Query, weigh
from memex.store.search.dates import DateRange
from memex.store.search.pruning import Filters, Postings
from memex.store.writes import pending
from memex.store.writes.draft import Draft

CallerOf = Callable[..., Awaitable[Caller]]
WORDS = [f"word{n}" for n in range(40)]
WEIGHTS = [1 / (n + 1) for n in range(len(WORDS))]
FILTERS = [
    Filters(),
    Filters(prefix="a/"),
    Filters(tag_keys=("red",)),
    Filters(dated=DateRange(date(2026, 11, 3), date(2026, 11, 9))),
    Filters(prefix="b/", dated=DateRange(date(2026, 11, 3), date(2026, 11, 9)), undated=False),
]


async def fill(service: Service, caller: Caller, chance: random.Random) -> None:
    """Write files of random words, some of them alike to the letter."""
    draft = Draft(service.database, caller.access)
    texts = []
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


def comparable(records: Rows) -> list[tuple[object, ...]]:
    """Return rows in an order that counts nothing."""
    return sorted(tuple(record.items()) for record in records)


async def views_of(
    connection: Connection, caller: Caller, text: str, removed: Sequence[int]
) -> tuple[Query, Postings]:
    """Return a query over the user's files, and their postings without some chunks."""
    [scope] = [scope for scope in caller.access.scopes if scope.mount == "user"]
    _, [view] = await lexical.open_views(connection, [scope], text)
    return view.query, Postings(scope.scope_id, view.postings.df, removed)


@settings(max_examples=costly(), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
async def test_pruning_changes_no_row(
    service: Service, caller_of: CallerOf, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Wherever a query is split, with filters, ties and removed chunks: the same rows, or none at all."""
    chance = random.Random(seed)
    caller = await caller_of(f"user-{uuid.uuid4()}")
    await fill(service, caller, chance)
    monkeypatch.setattr(pruning, "CHUNK_COST", chance.choice([1, 1, 20]))
    pays = 0
    async with service.database.transaction(caller.access, snapshot=True) as connection:
        for _ in range(12):
            text = " ".join(chance.choices(WORDS, k=chance.randint(2, 7)))
            removed = chance.sample(range(1, 150), chance.choice([0, 5, 60]))
            query, postings = await views_of(connection, caller, text, removed)
            filters, limit = chance.choice(FILTERS), chance.choice([1, 3, 20])
            [expected] = await batch(
                connection, pruning.exhaustive_statement(query, postings, limit=limit, filters=filters)
            )
            for size in range(1, len(query.lexemes)):
                [found] = await batch(
                    connection, pruning.pruned_statement(query, postings, size, limit=limit, filters=filters)
                )
                pays += bool(found)
                if found:
                    assert comparable(found) == comparable(expected)

    assert pays


async def test_what_does_not_pay_is_read_whole(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where too few chunks pass the filter, or too many come near, the search has the same rows all the same."""
    await fill(service, alice, random.Random(7))
    monkeypatch.setattr(pruning, "MIN_POSTINGS", 0)
    monkeypatch.setattr(pruning, "GAIN", 1_000)
    monkeypatch.setattr(pruning, "FILTERED_GAIN", 1_000)
    missed = 0
    async with service.database.transaction(alice.access, snapshot=True) as connection:
        for words in ([WORDS[0], WORDS[39]], [WORDS[0], WORDS[1], WORDS[30]], [WORDS[0], WORDS[1], WORDS[2]]):
            query, postings = await views_of(connection, alice, " ".join(words), ())
            for filters in FILTERS:
                whole = pruning.exhaustive_statement(query, postings, limit=3, filters=filters)
                [expected] = await batch(connection, whole)
                if size := pruning.choose_rare_count(query, postings.df, 3, gain=1_000):
                    tried = pruning.pruned_statement(query, postings, size, limit=3, filters=filters)
                    missed += (await batch(connection, tried)) == [[]]
                [found] = await pruning.best_chunks(connection, query, [postings], limit=3, filters=filters)
                assert comparable(found) == comparable(expected)

    assert missed


async def test_few_files_and_many_are_filtered_alike(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the files that pass are listed first, or chunks are looked up until enough have passed."""
    await fill(service, alice, random.Random(5))
    found = []
    async with service.database.transaction(alice.access, snapshot=True) as connection:
        for text in ("word0 word1 word7", "word2 word30"):
            query, postings = await views_of(connection, alice, text, range(3, 30))
            for filters in FILTERS:
                rows = []
                for few in (1, 20, 1_000):
                    monkeypatch.setattr(pruning, "FEW_FILES", few)
                    whole = pruning.exhaustive_statement(query, postings, limit=4, filters=filters)
                    rows.append(comparable((await batch(connection, whole))[0]))
                assert rows[0] == rows[1] == rows[2]
                found.append(len(rows[0]))

    assert min(found) > 0


def test_only_long_lists_are_pruned() -> None:
    """A common lexeme is left out where rare ones decide; not in a small scope, nor where they decide little."""
    df = {"rare": 70, "seldom": 900, "common": 40_000}
    query = weigh(df, n=100_000, total_length=6_000_000, df=df)

    assert pruning.choose_rare_count(query, df, 60) == 2
    assert pruning.choose_rare_count(query, {"rare": 7, "seldom": 90, "common": 3_000}, 60) == 0
    assert pruning.choose_rare_count(query, df, 5_000) == 0
    alike = {"one": 20_000, "two": 21_000, "three": 22_000}
    assert (
        pruning.choose_rare_count(weigh(alike, n=100_000, total_length=6_000_000, df=alike), alike, 60) == 0
    )


async def test_bound_counts_only_what_stands_in_the_scope(service: Service, alice: Caller) -> None:
    """A lexeme of other scopes alone cannot add to a chunk of this one."""
    await fill(service, alice, random.Random(3))
    async with service.database.transaction(alice.access) as connection:
        query, postings = await views_of(connection, alice, " ".join(WORDS[:4]), ())
    without = {lexeme: df for lexeme, df in postings.df.items() if lexeme != query.lexemes[-1]}

    _, parameters = pruning.pruned_statement(
        query, Postings(postings.scope_id, without), 1, limit=3, filters=Filters()
    )

    assert parameters["common"] == list(query.lexemes[1:-1])
    assert parameters["bound"] == sum(query.weights[1:-1])
