"""Searching piece by piece: states are kept beside the vectors, and what they say orders the hits."""

from collections.abc import Sequence

import numpy as np
import pytest
from tests.kit.word_embedder import WordEmbedder

from memex.call_context import CallContext
from memex.errors import ModelUnavailable
from memex.service.chunk_embedding import backfill, embed_scope
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.memory import Memory
from memex.store.records import QueryVector
from memex.store.search.hybrid import late_interaction, token_states
from memex.subagent.embedders.interface import EmbeddedText, InputType

FILES = {
    "user/cluster.md": "# Kubernetes\n\nThe cluster runs on three nodes.",
    "user/garden.md": "# Garden\n\nTomatoes want sun and a cluster of stakes.",
    "user/tea.md": "# Tea\n\nOolong is brewed at ninety degrees.",
}


@pytest.fixture
async def searched(database: Database, alice: Caller) -> tuple[Service, Caller]:
    """A service whose embedder gives token states, with files that are embedded; with pgvector or without."""
    service = Service(database, max_files=100, embedder=WordEmbedder())
    caller = await service.caller(alice.principal, CallContext(user_id="alice"), makes_user=True)
    for path, content in FILES.items():
        await service.execute(caller, "memory_write", {"path": path, "content": content})
    await backfill(database, WordEmbedder())
    return service, caller


async def sizes(service: Service) -> list[tuple[int, int]]:
    """Return how many texts have states, and with how many pieces."""
    async with service.database.maintenance() as connection:
        return [(one.texts, one.pieces) for one in await token_states.sizes(connection)]


async def test_hits_carry_the_evidence_of_both(searched: tuple[Service, Caller]) -> None:
    """A misspelt word is near to the pieces of one file; known words have a share of what they could score."""
    service, caller = searched

    near = await service.execute(caller, "memory_find", {"query": "kubrnetes nods three"})
    both = await service.execute(caller, "memory_find", {"query": "oolong degrees"})
    words = await service.execute(caller, "memory_find", {"query": "oolong degrees", "mode": "bm25"})

    assert near["hits"][0]["path"] == "user/cluster.md"
    assert 0 < near["hits"][0]["match"]["share"] < 0.5
    best = both["hits"][0]
    assert best["path"] == "user/tea.md"
    assert 0.3 < best["match"]["share"] <= 1
    assert near["hits"][0]["match"]["interaction"] < best["match"]["interaction"] <= 1
    values = [hit["match"]["fused"] for hit in both["hits"]]
    assert values == sorted(values, reverse=True)
    assert "interaction" not in words["hits"][0]["match"]


async def test_more_of_a_search_comes_from_the_same_ranking(searched: tuple[Service, Caller]) -> None:
    """Who asks for more files of the same search gets those that a new search would find."""
    service, caller = searched
    query, embedder = "cluster of three nodes", WordEmbedder()
    [made] = await embedder.embed([query], "query")
    assert made.states is not None
    values = made.vector.tolist() if service.database.has_vectors else ()
    vectors = {query: QueryVector(embedder.name, values, late_interaction.round_states(made.states))}

    async with service.database.transaction(caller.access, snapshot=True) as connection:
        memory = Memory(connection, caller.access, vectors)
        few = await memory.find(query, limit=1, passages=2)
        more = await memory.find(query, limit=3, passages=2)
        elsewhere = await memory.find(query, limit=3, passages=2, prefix="user/garden")
        fresh = await Memory(connection, caller.access, vectors).find(query, limit=3, passages=2)

    assert len(few.hits) == 1
    assert len(more.hits) > 1
    assert more.ranking is few.ranking is not None
    assert (more.hits, more.near) == (fresh.hits, fresh.near)
    assert [hit.path for hit in elsewhere.hits] == ["user/garden.md"]


async def test_meaning_alone_needs_vectors(searched: tuple[Service, Caller]) -> None:
    """Without pgvector only what words find is compared; with it, what lies near is found too."""
    service, caller = searched

    found = await service.execute(caller, "memory_find", {"query": "kubrnetes"})

    paths = [hit["path"] for hit in found["hits"]]
    assert paths[:1] == (["user/cluster.md"] if service.database.has_vectors else [])


async def test_a_replay_takes_from_the_log_what_was_near(searched: tuple[Service, Caller]) -> None:
    """The same hits come back, though the states are gone."""
    service, caller = searched
    found = await service.execute(caller, "memory_find", {"query": "kubrnetes cluster"}, tool_call_id="x")
    await token_states.drop(service.database, WordEmbedder().name)

    again = await replay_call(service, caller, "x")

    assert found["hits"]
    assert again.is_equal


async def test_states_come_and_go_with_their_texts(searched: tuple[Service, Caller]) -> None:
    """A text that is gone takes its states along; texts without states get them, from one more pass."""
    service, caller = searched
    assert [texts for texts, _ in await sizes(service)] == [3]

    await service.execute(caller, "memory_delete", {"path": "user/tea.md"})
    await embed_scope(service.database, WordEmbedder(), caller.access.by_mount["user"].scope_id)
    assert [texts for texts, _ in await sizes(service)] == [2]

    assert await token_states.drop(service.database, WordEmbedder().name) == 2
    assert await sizes(service) == []
    assert await backfill(service.database, WordEmbedder()) == 2
    assert [texts for texts, _ in await sizes(service)] == [2]


async def test_states_that_are_missing_are_no_evidence_against_a_file(
    searched: tuple[Service, Caller],
) -> None:
    """While states are made, a file without any counts as typical of the others, and is found by its words."""
    service, caller = searched
    async with service.database.maintenance() as connection:
        await connection.execute(
            "delete from token_state where signs in (select signs from token_state order by signs limit 1)"
        )

    for query, path in (
        ("oolong", "user/tea.md"),
        ("tomatoes", "user/garden.md"),
        ("nodes", "user/cluster.md"),
    ):
        found = await service.execute(caller, "memory_find", {"query": query})
        assert found["hits"][0]["path"] == path


async def test_pieces_of_nothing_are_compared_with_nothing(searched: tuple[Service, Caller]) -> None:
    """A query, and a text, of which the tokenizer leaves no piece."""

    class Empty(WordEmbedder):
        async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
            return [EmbeddedText(vector, np.zeros((0, 384), np.float32)) for vector in self._embed(texts)]

    service, caller = searched
    nothing = Service(service.database, max_files=100, embedder=Empty())
    await token_states.drop(service.database, Empty().name)

    found = await nothing.execute(caller, "memory_find", {"query": "oolong"})
    await backfill(service.database, Empty())
    after = await service.execute(caller, "memory_find", {"query": "oolong"})

    assert found["hits"][0]["path"] == after["hits"][0]["path"] == "user/tea.md"
    assert "interaction" not in after["hits"][0]["match"]


@pytest.mark.parametrize(
    "made",
    [
        [EmbeddedText(np.full(384, np.nan, np.float32))],
        [EmbeddedText(np.ones(384, np.float32), np.full((2, 384), np.inf, np.float32))],
        [EmbeddedText(np.ones(8, np.float32))],
        [],
    ],
    ids=["NaN", "infinite states", "another width", "nothing"],
)
async def test_what_is_no_vector_is_refused(
    searched: tuple[Service, Caller], made: list[EmbeddedText]
) -> None:
    """Nothing of it is stored, the failure is noted, and a search goes on by words and says that it is degraded."""

    class Broken(WordEmbedder):
        async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
            return made

    service, caller = searched
    broken = Service(service.database, max_files=100, embedder=Broken())
    await token_states.drop(service.database, Broken().name)

    with pytest.raises(ModelUnavailable, match="no usable vectors"):
        await backfill(service.database, Broken())
    found = await broken.execute(caller, "memory_find", {"query": "oolong"})

    assert await sizes(service) == []
    assert [hit["path"] for hit in found["hits"]] == ["user/tea.md"]
    assert found["hits"][0]["match"]["mode"] == "bm25"


async def test_a_query_of_ten_thousand_characters_is_compared(searched: tuple[Service, Caller]) -> None:
    """And a text of hundreds of pieces that are all the same word."""
    service, caller = searched
    long = {"path": "user/long.md", "content": "oolong " * 300}
    await service.execute(caller, "memory_write", long)
    await backfill(service.database, WordEmbedder())

    found = await service.execute(caller, "memory_find", {"query": "oolong " * 1_428})

    assert {hit["path"] for hit in found["hits"]} >= {"user/tea.md", "user/long.md"}
    assert all(-1 <= hit["match"]["interaction"] <= 1 for hit in found["hits"])


async def test_states_of_two_models_stand_side_by_side(searched: tuple[Service, Caller]) -> None:
    """Each process compares with those of its own embedder, whatever another one stores."""

    class Other(WordEmbedder):
        def __init__(self) -> None:
            super().__init__(64)

    service, caller = searched
    first = await service.execute(caller, "memory_find", {"query": "oolong degrees"})
    await backfill(service.database, Other())
    other = Service(service.database, max_files=100, embedder=Other())

    again = await service.execute(caller, "memory_find", {"query": "oolong degrees"})
    by_other = await other.execute(caller, "memory_find", {"query": "oolong degrees"})

    assert again["hits"] == first["hits"]
    assert by_other["hits"][0]["path"] == "user/tea.md"
    assert by_other["hits"][0]["match"]["interaction"] != first["hits"][0]["match"]["interaction"]
    assert [texts for texts, _ in await sizes(service)] == [3, 3]


async def test_words_alone_rank_until_nearly_all_is_embedded(searched: tuple[Service, Caller]) -> None:
    """Of some texts meaning knows which is nearest; of the others, which may answer better, it knows nothing."""
    service, caller = searched
    for number in range(6):
        content = f"# Note {number}\n\nA cluster of {number} grapes.{' Grapes.' * number}"
        await service.execute(caller, "memory_write", {"path": f"user/{number}.md", "content": content})
    asked = {"query": "kubrnetes cluster nodes"}

    words = await service.execute(caller, "memory_find", asked | {"mode": "bm25"})
    early = await service.execute(caller, "memory_find", asked)
    await backfill(service.database, WordEmbedder())
    later = await service.execute(caller, "memory_find", asked)

    assert [hit["path"] for hit in early["hits"]] == [hit["path"] for hit in words["hits"]]
    assert {hit["match"]["mode"] for hit in early["hits"]} == {"bm25"}
    assert {hit["match"]["mode"] for hit in later["hits"]} == {"hybrid"}
