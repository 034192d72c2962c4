"""Searching by words and by meaning, through the tools that agents call."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from memex.call_context import CallContext
from memex.errors import ModelUnavailable, ValidationFailed
from memex.service import query_embedding
from memex.service.chunk_embedding import backfill
from memex.service.log.replay.requests import replay_call
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import STARTING, EmbeddedText, InputType
from memex.subagent.embedders.names import LOCAL

FILES = {
    "user/cluster.md": "# Kubernetes\n\nThe cluster runs on three nodes.",
    "user/garden.md": "# Garden\n\nTomatoes want sun and a cluster of stakes.",
    "user/tea.md": "---\ntags: [drink]\n---\n# Tea\n\nOolong is brewed at ninety degrees.",
}


class Failing(HashEmbedder):
    """An embedder whose provider is away."""

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Fail."""
        raise ModelUnavailable("The embedder did not answer.", reason="timeout")


class Hanging(HashEmbedder):
    """An embedder that never answers."""

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Wait for ever."""
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


class Starting(HashEmbedder):
    """An embedder whose model is being loaded for the first `refused` calls."""

    refused = 2

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Refuse, or embed."""
        if self.refused:
            self.refused -= 1
            raise ModelUnavailable("The embedding model is being loaded.", reason=STARTING)
        return await super().embed(texts, kind)


async def service_with(
    database: Database, caller: Caller, embedder: HashEmbedder | None, **more: Any
) -> tuple[Service, Caller]:
    """Return a service that has an embedder, its caller, with the files written and embedded."""
    service = Service(database, max_files=100, embedder=embedder, **more)
    alice = await service.caller(caller.principal, CallContext(user_id="alice"), makes_user=True)
    for path, content in FILES.items():
        await service.execute(alice, "memory_write", {"path": path, "content": content, "overwrite": True})
    if embedder is not None and database.has_vectors:
        await backfill(database, HashEmbedder())
    return service, alice


async def find(service: Service, caller: Caller, query: str, **more: Any) -> list[dict[str, Any]]:
    """Return the hits of memory_find."""
    found = await service.execute(caller, "memory_find", {"query": query, **more})
    return list(found["hits"])


@pytest.fixture
def with_vectors(database: Database) -> Database:
    """A database that has pgvector."""
    if not database.has_vectors:
        pytest.skip("no pgvector here")
    return database


async def test_what_no_word_finds_is_found_by_its_vector(with_vectors: Database, alice: Caller) -> None:
    """A misspelt name is in no file; its vector is near, and the match says which list found it."""
    service, caller = await service_with(with_vectors, alice, HashEmbedder())

    [best, *_] = await find(service, caller, "kubrnetes")

    assert best["path"] == "user/cluster.md"
    assert (best["match"]["mode"], best["match"]["bm25_rank"], best["match"]["vector_rank"]) == (
        "hybrid",
        None,
        1,
    )
    assert best["match"]["fused"] == pytest.approx(0.4)
    assert best["reason"].startswith("near in meaning")
    assert "three nodes" in best["snippet"]
    assert await find(service, caller, "kubrnetes", mode="bm25") == []


async def test_both_lists_count(with_vectors: Database, alice: Caller) -> None:
    """A file that words and vectors find ranks above one that only words find."""
    service, caller = await service_with(with_vectors, alice, HashEmbedder())

    hits = await find(service, caller, "kubernetes cluster nodes", mode="hybrid")

    assert hits[0]["path"] == "user/cluster.md"
    assert hits[0]["match"]["fused"] == pytest.approx(1.4)
    assert hits[0]["match"]["bm25_rank"] == hits[0]["match"]["vector_rank"] == 1
    assert [hit["match"]["fused"] for hit in hits] == sorted(
        (hit["match"]["fused"] for hit in hits), reverse=True
    )


async def test_meaning_alone_down_to_a_similarity(with_vectors: Database, alice: Caller) -> None:
    """Words count nothing; what is less similar is left out, and a replay finds the same."""
    service, caller = await service_with(with_vectors, alice, HashEmbedder())
    asked = {"query": "kubrnetes cluster", "mode": "vectors"}

    every = await find(service, caller, **asked)
    similar = [hit["match"]["fused"] for hit in every]
    found = await service.execute(caller, "memory_find", asked | {"min_score": similar[0]}, tool_call_id="x")

    assert len(every) == 3
    assert similar == sorted(similar, reverse=True)
    assert every[0]["match"] | {"terms": {}} == {
        "mode": "vectors",
        "bm25_rank": None,
        "vector_rank": 1,
        "terms": {},
        "borrowed": {},
        "score": 0,
        "fused": similar[0],
    }
    assert [hit["path"] for hit in found["hits"]] == ["user/cluster.md"]
    assert (await replay_call(service, caller, "x")).is_equal


async def test_mode_vectors_says_what_it_needs(database: Database, alice: Caller) -> None:
    """An embedder, the present, and no smallest score for other modes."""
    service, caller = await service_with(database, alice, None)

    for arguments in (
        {"mode": "vectors"},
        {"mode": "vectors", "as_of": "2026-01-01T00:00:00Z"},
        {"min_score": 0.5},
        {"mode": "vectors", "min_score": 2},
    ):
        with pytest.raises(ValidationFailed):
            await service.execute(caller, "memory_find", {"query": "tea"} | arguments)


async def test_filters_hold_for_vectors_too(with_vectors: Database, alice: Caller) -> None:
    """A prefix or a tag leaves out what lies near elsewhere."""
    service, caller = await service_with(with_vectors, alice, HashEmbedder())

    assert [h["path"] for h in await find(service, caller, "kubrnetes", tags=["Drink"])] == ["user/tea.md"]
    assert [h["path"] for h in await find(service, caller, "x kubrnetes", prefix="user/g")] == [
        "user/garden.md"
    ]


async def test_a_context_is_gathered_by_meaning_too(with_vectors: Database, alice: Caller) -> None:
    """What only its vector finds is recalled, verbatim; without an embedder it is not."""
    service, caller = await service_with(with_vectors, alice, HashEmbedder())
    plain = Service(with_vectors, max_files=100)

    recalled = await service.execute(caller, "memory_context", {"query": "kubrnetes", "budget": 800})
    without = await plain.execute(caller, "memory_context", {"query": "kubrnetes", "budget": 800})

    assert "The cluster runs on three nodes." in recalled["context"]
    assert recalled["sources"][0]["path"] == "user/cluster.md"
    assert without["sources"] == []


async def test_a_small_memory_is_shown_whole_by_meaning_too(with_vectors: Database, alice: Caller) -> None:
    """Behind what answers best: a change is told in words that are near to no question."""
    service, caller = await service_with(with_vectors, alice, HashEmbedder())
    told = ("The cluster of the boat club runs on five nodes.", "Bought a lamp.")
    for text in told:
        await service.execute(caller, "memory_remember", {"text": text})

    recalled = await service.execute(caller, "memory_context", {"query": "How many nodes has the cluster?"})

    assert all(text in recalled["context"] for text in told)


async def test_an_embedder_that_fails_leaves_words(with_vectors: Database, alice: Caller) -> None:
    """Auto goes on by words and a context says that it is degraded; who asks for hybrid gets the error."""
    service, caller = await service_with(with_vectors, alice, Failing())

    hits = await find(service, caller, "oolong")
    recalled = await service.execute(caller, "memory_context", {"query": "oolong"})

    assert [(hit["path"], hit["match"]["mode"]) for hit in hits] == [("user/tea.md", "bm25")]
    assert (recalled["degraded"], "Oolong" in recalled["context"]) == ("MODEL_UNAVAILABLE", True)
    with pytest.raises(ModelUnavailable):
        await find(service, caller, "oolong", mode="hybrid")


async def test_nobody_waits_for_an_embedder_that_starts(with_vectors: Database, alice: Caller) -> None:
    """Until then answers are by words, and not degraded; who asks for hybrid waits."""
    starting = Starting()
    service, caller = await service_with(with_vectors, alice, starting)

    first = await find(service, caller, "oolong")
    recalled = await service.execute(caller, "memory_context", {"query": "oolong"})
    ready = await find(service, caller, "oolong")
    starting.refused = 3
    waited = await find(service, caller, "oolong", mode="hybrid")

    assert [hit["match"]["mode"] for hit in first] == ["bm25"]
    assert (recalled["degraded"], "Oolong" in recalled["context"]) == (None, True)
    assert {hit["match"]["mode"] for hit in (*ready, *waited)} == {"hybrid"}
    assert starting.refused == 0


async def test_an_embedder_that_hangs_is_given_up(
    with_vectors: Database, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search waits for a while and goes on by words."""
    monkeypatch.setattr(query_embedding, "QUERY_TIMEOUT_S", 0.05)
    service, caller = await service_with(with_vectors, alice, Hanging())

    assert [hit["match"]["mode"] for hit in await find(service, caller, "oolong")] == ["bm25"]
    recalled = await service.execute(caller, "memory_context", {"query": "oolong"})
    assert recalled["degraded"] == "MODEL_UNAVAILABLE"


async def test_without_vectors_everything_else_works(database: Database, alice: Caller) -> None:
    """No embedder: auto searches by words, and hybrid is refused with what to do."""
    service, caller = await service_with(database, alice, None)

    assert [hit["match"]["mode"] for hit in await find(service, caller, "oolong", mode="auto")] == ["bm25"]
    with pytest.raises(ValidationFailed, match="no vectors"):
        await find(service, caller, "oolong", mode="hybrid")


async def test_the_setting_is_the_mode_where_a_call_names_none(with_vectors: Database, alice: Caller) -> None:
    """With bm25 set, vectors are used only by calls that ask for them."""
    service, caller = await service_with(with_vectors, alice, HashEmbedder(), search_mode="bm25")

    assert await find(service, caller, "kubrnetes") == []
    assert (await find(service, caller, "kubrnetes", mode="auto"))[0]["path"] == "user/cluster.md"


async def test_the_past_is_searched_by_words(with_vectors: Database, alice: Caller) -> None:
    """as_of ranks by BM25 alone, and says so."""
    service, caller = await service_with(with_vectors, alice, HashEmbedder())
    state = (await service.execute(caller, "memory_context", {"query": "oolong"}))["state"]

    hits = await find(service, caller, "oolong", as_of=state, mode="hybrid")

    assert [hit["match"]["mode"] for hit in hits] == ["bm25"]


async def test_a_commit_defers_the_embedding_of_its_scope(with_vectors: Database, alice: Caller) -> None:
    """One job waits for a scope, however many writes made it needed, and it holds no text."""
    service, caller = await service_with(with_vectors, alice, HashEmbedder())
    await service.execute(caller, "memory_write", {"path": "user/new.md", "content": "secret words"})

    async with with_vectors.maintenance() as connection:
        cursor = await connection.execute(
            "select task_name, args::text as args from procrastinate.procrastinate_jobs where status = 'todo'"
        )
        jobs = await cursor.fetchall()

    assert [job["task_name"] for job in jobs] == ["embed_scope"]
    assert "secret" not in jobs[0]["args"]


@pytest.mark.parametrize(
    ("language", "query", "mode"),
    [
        ("english", "kubrnetes", "hybrid"),
        ("german", "kubrnetes", "bm25"),
        ("neutral", "kubrnetes", "bm25"),
        ("english", "oolong です", "bm25"),
    ],
)
async def test_a_model_for_english_is_asked_of_english_alone(
    with_vectors: Database, alice: Caller, language: str, query: str, mode: str
) -> None:
    """In other languages it finds less than words do; whoever asks for it gets it."""
    embedder = HashEmbedder()
    embedder.name = LOCAL
    service = Service(with_vectors, max_files=100, embedder=embedder, language=language)
    reader = await service.caller(alice.principal, CallContext(user_id="reader"), makes_user=True)
    for path, content in FILES.items():
        await service.execute(reader, "memory_write", {"path": path, "content": content})
    await backfill(with_vectors, embedder)

    found = await find(service, reader, query)
    asked = await find(service, reader, query, mode="hybrid")

    assert {hit["match"]["mode"] for hit in found} == ({mode} if found else set())
    assert bool(found) == (query != "kubrnetes" or mode == "hybrid")
    assert {hit["match"]["mode"] for hit in asked} == {"hybrid"}
