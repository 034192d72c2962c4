"""A statement and the entry that it was made from are one hit of a search; what says more is a hit of its own."""

from typing import Any

import pytest
from tests.kit.memory import remember, write

from memex.service.chunk_embedding import backfill
from memex.service.log.replay.requests import replay_call
from memex.service.search.explanation import explain_search
from memex.service.service import Caller, Service
from memex.service.tools.files import render_hit
from memex.store.database import Database
from memex.store.entry_path import is_entry_at
from memex.store.memory import Memory
from memex.subagent.embedders.hashed import HashEmbedder

Result = dict[str, Any]

# The statements that these calls make are tested on both servers by the tests of the store.
pytestmark = pytest.mark.embedded_only

TOLD = (
    "I prefer oolong tea.",
    "I live in Lisbon. The oolong tea shop opens at nine.",
    "My cat is called Mina. I have a dog.",
    "My sister Anna is allergic to peanuts. We had a walk.",
)


@pytest.fixture
async def entries(service: Service, alice: Caller) -> list[str]:
    """Return the entries of what a user told, who has a note too."""
    service.keeps_journal = True
    await write(service, alice, "user/notes/tea.md", "# Tea\n\nOolong tea is half oxidised.\n")
    told = [await remember(service, alice, text) for text in TOLD]
    return [answer["entry"].rpartition("@")[0] for answer in told]


async def find(service: Service, caller: Caller, query: str, **more: Any) -> list[Result]:
    """Return the hits of a search; a replay of it finds the same."""
    found = await service.execute(caller, "memory_find", {"query": query} | more)
    assert (await replay_call(service, caller, found["tool_call_id"])).is_equal
    return list(found["hits"])


def shown(hits: list[Result]) -> list[tuple[str, list[str]]]:
    """Return the paths of hits, each with the entries that it names."""
    return [(hit["path"], hit.get("entries", [])) for hit in hits]


async def test_a_statement_and_its_entry_are_one_hit(
    service: Service, alice: Caller, entries: list[str]
) -> None:
    """The page stands and names the entry; an entry that says more of the question, or another thing, stays."""
    tea, shop, cat, anna = entries
    preferences, profile, note = "user/preferences.md", "user/profile.md", "user/notes/tea.md"
    cases: list[tuple[str, list[tuple[str, list[str]]]]] = [
        ("What do I prefer?", [(preferences, [tea])]),
        ("Which tea do I prefer?", [(preferences, [tea]), (note, []), (shop, [])]),
        ("Where do I live?", [(profile, [shop])]),
        ("cat called Mina", [(profile, [cat])]),
        ("Mina dog Lisbon", [(profile, [cat, shop])]),
        ("Who is allergic to peanuts?", [(profile, [anna])]),
        ("peanuts walk", [(anna, []), (profile, [])]),
    ]

    for query, expected in cases:
        found = shown(await find(service, alice, query))
        assert [(path, sorted(named)) for path, named in found] == [
            (path, sorted(named)) for path, named in expected
        ], query


async def test_the_hit_has_the_better_rank_of_the_two(service: Service, alice: Caller) -> None:
    """A short entry ranks before the long page that holds its statement, and brings the page there."""
    service.keeps_journal = True
    lines = "".join(f"- I own a kettle of kind {number}, made of brass and wood.\n" for number in range(12))
    await write(service, alice, "user/profile.md", f"# Profile\n\n{lines}")
    await write(
        service, alice, "user/notes/shop.md", "# Shop\n\nA shop in Lisbon sells kettles and much else.\n"
    )
    told = await remember(service, alice, "I live in Lisbon.")
    entry = told["entry"].rpartition("@")[0]
    with_journal = await service.execute(alice, "memory_find", {"query": "Lisbon"})
    alone = await service.execute(alice, "memory_find", {"query": "Lisbon", "prefix": "user/journal/"})

    ranks = {hit["path"]: hit["match"]["bm25_rank"] for hit in with_journal["hits"]}
    assert shown(with_journal["hits"]) == [("user/profile.md", [entry]), ("user/notes/shop.md", [])]
    assert ranks == {"user/profile.md": 3, "user/notes/shop.md": 2}
    assert shown(alone["hits"]) == [(entry, [])]


async def test_the_limit_is_filled(service: Service, alice: Caller) -> None:
    """Entries that are no hits of their own make room for others, whatever the limit is."""
    service.keeps_journal = True
    causes = (
        "peanuts",
        "pollen",
        "milk",
        "eggs",
        "dust",
        "wheat",
        "soy",
        "latex",
        "mangos",
        "kiwis",
        "apples",
    )
    for cause in causes:
        await remember(service, alice, f"I am allergic to {cause}.")
    for number in range(30):
        await write(
            service, alice, f"user/notes/{number}.md", f"# Note {number}\n\nAllergic people avoid hills.\n"
        )

    for limit in (2, 10, 31):
        hits = await find(service, alice, "What am I allergic to?", limit=limit)
        assert len(hits) == limit
        assert not any(is_entry_at(hit["path"]) for hit in hits)
        assert len(hits[0]["entries"]) == len(causes)
    assert len(await find(service, alice, "What am I allergic to?", limit=100)) == 31


async def test_an_entry_of_what_does_not_hold_any_more_is_no_hit(service: Service, alice: Caller) -> None:
    """Once no page holds the statement, nothing shows it; in the past the page stood for its entry."""
    service.keeps_journal = True
    first = await remember(service, alice, "I live in Lisbon.")
    entry = first["entry"].rpartition("@")[0]
    before = await service.execute(alice, "memory_find", {"query": "Lisbon"})
    page = await service.execute(alice, "memory_read", {"path": "user/profile.md"})
    await service.execute(
        alice,
        "memory_patch",
        {
            "path": page["path"],
            "operation": "replace",
            "match": "I live in Lisbon",
            "text": "Lisbon was my home",
        },
    )
    after = await find(service, alice, "Lisbon")
    past = await find(service, alice, "Lisbon", as_of=page["updated_at"])

    assert shown(before["hits"]) == [("user/profile.md", [entry])]
    assert shown(after) == [("user/profile.md", [])]
    assert shown(past) == [("user/profile.md", [entry])]
    assert (await replay_call(service, alice, before["tool_call_id"])).is_equal


async def test_without_a_journal_hits_are_those_of_the_search(service: Service, alice: Caller) -> None:
    """They name no entries, and are as the search ranked them, with its scores."""
    service.keeps_journal = False
    for text in TOLD:
        await remember(service, alice, text)
    await write(service, alice, "user/notes/tea.md", "# Tea\n\nOolong tea is half oxidised.\n")

    for limit in (1, 10):
        hits = (await service.execute(alice, "memory_find", {"query": "oolong tea", "limit": limit}))["hits"]
        async with service.database.transaction(alice.access, snapshot=True) as connection:
            found = await Memory(connection, alice.access).find("oolong tea", limit=limit)
        assert hits == [render_hit(hit).model_dump(mode="json") for hit in found.hits]
        assert not any("entries" in hit for hit in hits)


async def test_a_search_is_explained_as_it_answers(
    service: Service, alice: Caller, entries: list[str]
) -> None:
    """An entry that a page stands for is shown with it, and what moves up for it is shown."""
    given = {"query": "Which tea do I prefer?", "limit": 2}
    hits = await find(service, alice, **given)
    paths = [hit["path"] for hit in hits]

    told = await explain_search(service, alice, given | {"path": entries[0]})
    second = await explain_search(service, alice, given | {"path": paths[1]})
    third = await explain_search(service, alice, given | {"path": entries[1]})

    assert paths == ["user/preferences.md", "user/notes/tea.md"]
    assert (told["is_shown"], told["reason"]) == (
        True,
        "The entry is shown with user/preferences.md, which holds its statement.",
    )
    assert (second["is_shown"], second["rank"], third["is_shown"]) == (True, 3, False)


@pytest.mark.parametrize("mode", ["hybrid", "vectors"])
async def test_a_search_by_meaning_shows_a_statement_once(
    database: Database, alice: Caller, mode: str
) -> None:
    """Where an entry was found by its meaning, any further word of it says more; a replay finds the same."""
    if not database.has_vectors:
        pytest.skip("this server has no vectors")
    service = Service(database, max_files=100, embedder=HashEmbedder())
    told = [await remember(service, alice, text) for text in TOLD]
    tea, shop, _, _ = (answer["entry"].rpartition("@")[0] for answer in told)
    await backfill(database, HashEmbedder())

    found = await service.execute(alice, "memory_find", {"query": "I prefer oolong tea", "mode": mode})
    replayed = await replay_call(service, alice, found["tool_call_id"])

    hits = dict(shown(found["hits"]))
    assert hits["user/preferences.md"] == [tea]
    assert tea not in hits
    assert shop in hits
    assert mode == "vectors" or replayed.is_equal


async def test_an_entry_without_words_is_no_hit_and_far_ones_are_named_so(
    database: Database, alice: Caller
) -> None:
    """All words of an entry were forgotten; no word of the query stands in memory."""
    if not database.has_vectors:
        pytest.skip("this server has no vectors")
    service = Service(database, max_files=100, embedder=HashEmbedder())
    for text in (
        "I like figs.",
        "We met Bruno near the harbour.",
        "Please forget that we met Bruno near the harbour.",
    ):
        await remember(service, alice, text)
    await backfill(database, HashEmbedder())

    far = await service.execute(alice, "memory_find", {"query": "quantum chromodynamics", "mode": "hybrid"})
    near = await service.execute(alice, "memory_find", {"query": "figs", "mode": "hybrid"})

    assert [hit["path"] for hit in far["hits"]] == ["user/preferences.md"]
    assert "may not answer" in far["note"]
    assert "note" not in near
