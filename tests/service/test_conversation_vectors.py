"""Vectors of conversations: off unless wanted, found by meaning under every filter, and gone with their texts."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.conftest import CallerOf
from tests.kit.documents import push
from tests.kit.rows import select

from memex.errors import ModelUnavailable, ValidationFailed
from memex.jobs import worker
from memex.jobs.embedding_queue import embedding_queue, sweep
from memex.service.chunk_embedding import backfill, embed_scope
from memex.service.conversations import finding, reading, removing
from memex.service.conversations.backfill import BACKFILL
from memex.service.health.health import read_health
from memex.service.service import Caller, Service
from memex.store.conversations.ingest import put_conversations
from memex.store.conversations.records import NewConversation, NewMessage, SourceName
from memex.store.database import Database
from memex.store.search import vector_indexes, vectors
from memex.store.upkeep import reindex
from memex.subagent.embedders.interface import STARTING, EmbeddedText, InputType

# The server must have pgvector.
pytestmark = pytest.mark.embedded_only

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
TOPICS = (("queue", "jobs", "worker", "backlog"), ("oolong", "camellia", "brew"), ("boat", "sail"))
SOURCE = SourceName("chatgpt", "ChatGPT")


class Topics:
    """An embedder that knows which words belong to a topic: texts of one topic lie near each other."""

    name = "topics@4"
    dimensions: int | None = 4
    gives_states = False

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return vectors of the topics, with a share that differs from text to text."""
        if kind == "document":
            self.sent += texts
        made = np.array([[*self._topics(text.lower()), 0.1 + len(text) % 7 / 50] for text in texts])
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return list(map(EmbeddedText, made.astype(np.float32)))

    def _topics(self, text: str) -> list[float]:
        return [float(sum(text.count(word) for word in words)) for words in TOPICS]

    async def close(self) -> None:
        """Hold nothing."""


def conversation(provider_id: str, *texts: str, days_ago: int = 1, **more: Any) -> NewConversation:
    """Return a conversation in which a person and an assistant speak in turn."""
    messages = [
        NewMessage(
            f"m{place}",
            "assistant" if place % 2 else "user",
            text,
            said_at=NOW - timedelta(days=days_ago) + timedelta(minutes=place),
            human_authored=not place % 2,
            **more,
        )
        for place, text in enumerate(texts)
    ]
    digest = hashlib.sha256(repr(texts).encode()).digest()
    return NewConversation(provider_id, provider_id.title(), messages, digest, last_at=messages[-1].said_at)


WORK = conversation("work", "How do we drain the backlog?", "Add a second consumer.", "Which worker first?")
TEA = conversation("tea", "How long shall I brew camellia leaves?", "Three minutes.", days_ago=40)
PROSE = conversation("prose", "Is queue spelled with two vowels in a row?", "With four of them.")


@pytest.fixture
def embedder() -> Topics:
    """The embedder of the service."""
    return Topics()


@pytest.fixture
async def both(database: Database, embedder: Topics) -> Service:
    """A service with an embedder, which has not embedded anything."""
    if not database.has_vectors:
        pytest.skip("no pgvector here")
    return Service(database, max_files=100, embedder=embedder)


@pytest.fixture
async def scope_id(both: Service, alice: Caller) -> int:
    """The scope of alice's conversations, of which three were imported."""
    access = await both.identities.open_conversations(alice)
    await put_conversations(
        both.database, access, SOURCE, [WORK, TEA, PROSE], reader_version=1, now=NOW, max_messages=100
    )
    assert access.conversations is not None
    return access.conversations.scope_id


async def again(service: Service, caller: Caller) -> Caller:
    """Return the caller with the scope of conversations that was made meanwhile."""
    return Caller(caller.principal, await service.identities.open_conversations(caller))


async def find(service: Service, caller: Caller, query: str, **more: Any) -> finding.FindMessagesResult:
    """Search, with a receipt in the log."""
    return await finding.FIND.call(service, await again(service, caller), {"query": query, **more})


def texts(found: finding.FindMessagesResult) -> list[str]:
    """Return the passages of the results."""
    return [hit.message.text for hit in found.hits]


async def test_conversations_are_embedded_after_all_else(
    both: Service, alice: Caller, scope_id: int, conninfo: str
) -> None:
    """Their jobs run when no other waits, also those that go on with what a job left."""
    await push(both, alice, {"sea.md": "# Harbour\n\nWe sail at noon."})
    embedder = Topics()
    assert await sweep(both.database, embedder.name, conversations=True) == 2
    waiting = (
        "select args ->> 'scope_id', priority from procrastinate.procrastinate_jobs where status = 'todo'"
    )

    jobs = dict(await select(both.database, waiting))

    assert jobs.pop(str(scope_id)) == -1
    assert list(jobs.values()) == [0]


async def test_a_backfill_queues_the_callers_own_texts(
    both: Service, alice: Caller, caller_of: CallerOf, scope_id: int, conninfo: str
) -> None:
    """Conversations and own documents, in one job each; the answer says how far each kind is, and bob has none."""
    await push(both, alice, {"sea.md": "# Harbour\n\nWe sail at noon."})
    bob = await caller_of("bob")
    access = await both.identities.open_conversations(bob)
    await put_conversations(both.database, access, SOURCE, [TEA], reader_version=1, now=NOW, max_messages=9)
    caller = await again(both, alice)
    assert both.embedder is not None

    asked = [await BACKFILL.call(both, caller, {}) for _ in range(2)]
    waiting = await select(
        both.database,
        "select (args ->> 'scope_id')::bigint = %s from procrastinate_jobs where task_name = 'embed_scope'",
        scope_id,
    )
    queue = embedding_queue(both.database, both.embedder)
    app = worker.open_app(conninfo, queue)
    app.periodic_registry.periodic_tasks.clear()
    async with app.open_async():
        await worker.create_worker(app, queue, wait=False).run()
    done = await BACKFILL.call(both, caller, {})
    of_bob = await BACKFILL.call(both, await again(both, bob), {})
    health = await read_health(both, await caller_of(None, role="admin"))
    (told,) = [check.detail for check in health.checks if check.name == "vectors"]

    assert [
        [(one.kind, one.passages, one.embedded) for one in answer.coverage] for answer in (*asked, done)
    ] == [
        [("conversations", 7, 0), ("documents", 1, 0)],
        [("conversations", 7, 0), ("documents", 1, 0)],
        [("conversations", 7, 7), ("documents", 1, 1)],
    ]
    assert [answer.is_queued for answer in (*asked, done)] == [True, True, False]
    assert sorted(waiting) == [(False,), (True,)]
    assert [(one.kind, one.embedded) for one in of_bob.coverage] == [("conversations", 0)]
    assert told == "topics@4 has embedded 1 of 1 passages of documents, 7 of 9 passages of conversations"


async def test_a_backfill_needs_an_embedder(service: Service, alice: Caller) -> None:
    """Without one, nothing is queued, and the error says where to look."""
    with pytest.raises(ValidationFailed, match="no embedder is set") as refused:
        await BACKFILL.call(service, alice, {})

    assert "memex doctor" in refused.value.hint


async def test_an_operator_may_refuse_backfills(both: Service, alice: Caller) -> None:
    """Where nobody chose that conversations are embedded, a key of a user does not cause it either."""
    both.embeds_conversations = False
    with pytest.raises(ValidationFailed, match="embeds no conversations") as refused:
        await BACKFILL.call(both, alice, {})

    assert "MEMEX_EMBED_CONVERSATIONS" in refused.value.hint


async def test_no_vectors_are_made_unasked(
    both: Service, alice: Caller, scope_id: int, embedder: Topics
) -> None:
    """Neither the sweep nor the status counts conversations, until that is asked for."""
    database = both.database

    assert await sweep(database, embedder.name) == 0
    assert await backfill(database, embedder) == 0
    async with database.maintenance() as connection:
        [quiet] = await vectors.status(connection, embedder.name)
        [counted] = await vectors.status(connection, embedder.name, conversations=True)
        assert scope_id in await vectors.scopes(connection, conversations=True)
    assert (quiet.chunks, counted.chunks, counted.embedded) == (0, 7, 0)
    assert await sweep(database, embedder.name, conversations=True) == 1
    found = await find(both, alice, "queue")
    assert not found.by_vectors
    assert [hit.similarity for hit in found.hits] == [None]
    with pytest.raises(ValidationFailed, match="no vectors") as refused:
        await find(both, alice, "queue", mode="vectors")
    assert "memex conversations backfill" in refused.value.hint
    with pytest.raises(ValidationFailed, match="min_score"):
        await find(both, alice, "queue", min_score=0.5)


async def test_messages_are_found_by_meaning(
    both: Service, alice: Caller, scope_id: int, embedder: Topics
) -> None:
    """Words alone, words with vectors, and vectors alone find what each of them can, under every filter."""
    done = await embed_scope(both.database, embedder, scope_id)
    assert (done.texts, done.is_complete) == (7, True)
    assert "Tea\nuser\n2026-10-15\nHow long shall I brew camellia leaves?" in embedder.sent

    by_words = await find(both, alice, "queue", mode="words")
    hybrid = await find(both, alice, "queue")
    near = await find(both, alice, "queue", mode="vectors", min_score=0.9)
    assert texts(by_words) == ["Is queue spelled with two vowels in a row?"]
    assert texts(hybrid)[0] == "Is queue spelled with two vowels in a row?"
    assert {"How do we drain the backlog?", "Which worker first?"} <= set(texts(hybrid))
    assert set(texts(near)) == {*texts(by_words), "How do we drain the backlog?", "Which worker first?"}
    assert all(hit.similarity is not None and hit.similarity >= 0.9 for hit in near.hits)
    assert hybrid.by_vectors
    words_first = await find(both, alice, "spelled worker", semantic_weight=0)
    assert words_first.hits[0].score == max(hit.score for hit in words_first.hits)

    assert texts(await find(both, alice, "oolong", mode="vectors", limit=1)) == [TEA.messages[0].text]
    since = (NOW - timedelta(days=30)).isoformat()
    for filters, text in (
        ({"since": since}, TEA.messages[0].text),
        ({"role": "assistant"}, TEA.messages[0].text),
        ({"source": "Claude"}, TEA.messages[0].text),
    ):
        left = texts(await find(both, alice, "oolong", mode="vectors", limit=100, **filters))
        assert text not in left
    assert len(texts(await find(both, alice, "oolong", mode="vectors", human=True, limit=100))) == 4


async def test_a_stored_vector_stands_for_that_of_a_query(
    both: Service, alice: Caller, scope_id: int, embedder: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a message that is named; nothing is embedded anew. A message without one has its words embedded."""
    await embed_scope(both.database, embedder, scope_id)
    [hit] = (await find(both, alice, "drain", mode="words", limit=1)).hits
    queries: list[str] = []
    embed = embedder.embed

    async def counted(texts: Sequence[str], kind: InputType = "document") -> Any:
        queries.extend(texts)
        return await embed(texts, kind)

    monkeypatch.setattr(embedder, "embed", counted)
    near = await find(both, alice, "no such words", mode="vectors", near=hit.reference)
    assert (near.hits[0].reference, queries) == (hit.reference, [])
    assert near.hits[0].similarity == pytest.approx(1, abs=1e-3)
    unknown = await find(both, alice, "oolong", mode="vectors", near="0" * 12 + "#1", limit=1)
    assert (texts(unknown), queries) == ([TEA.messages[0].text], ["oolong"])
    with pytest.raises(ValidationFailed):
        await find(both, alice, "oolong", mode="vectors", near="nothing")


async def test_the_index_of_a_large_scope_finds_the_same(
    both: Service, alice: Caller, scope_id: int, embedder: Topics
) -> None:
    """An approximate index of its own answers where no filter is set."""
    await embed_scope(both.database, embedder, scope_id)
    exact = await find(both, alice, "sail the queue", mode="vectors")

    assert await vector_indexes.build_indexes(both.database, embedder.name, from_vectors=1) == 1

    near = await find(both, alice, "sail the queue", mode="vectors")
    assert [hit.reference for hit in near.hits] == [hit.reference for hit in exact.hits]


async def test_a_backfill_may_begin_at_a_day(
    both: Service, alice: Caller, scope_id: int, embedder: Topics
) -> None:
    """What is older stays to be done, as coverage says; the log of the user names what was sent."""
    since = NOW - timedelta(days=30)

    assert await backfill(both.database, embedder, scope_ids=[scope_id], since=since) == 5
    answer = await reading.SOURCES.call(both, await again(both, alice), {})
    assert answer.vectors is not None
    assert (answer.vectors.passages, answer.vectors.embedded) == (7, 5)
    assert await backfill(both.database, embedder, scope_ids=[scope_id]) == 2
    assert await sweep(both.database, embedder.name, conversations=True) == 0
    sent = await select(
        both.database,
        "select scope_id = %s as is_own, array_length(saw, 1) as n from operation where kind = 'embed'"
        " order by operation_id",
        alice.access.log_scope_id,
    )
    assert sent == [(True, 5), (True, 2)]

    access = (await again(both, alice)).access
    boat = conversation("boat", "Shall we sail?")
    await put_conversations(
        both.database, access, SOURCE, [boat], reader_version=1, now=NOW, max_messages=100
    )
    assert await sweep(both.database, embedder.name, conversations=True) == 1


async def test_vectors_go_with_their_conversation_and_stay_in_a_rebuild(
    both: Service, alice: Caller, scope_id: int, embedder: Topics
) -> None:
    """In the transaction that deletes the texts; those of other conversations stay."""
    await embed_scope(both.database, embedder, scope_id)
    await reindex.rebuild(both.database, scope_id)
    assert await select(both.database, "select count(*) from embedding") == [(7,)]

    caller = await again(both, alice)
    before = (NOW - timedelta(days=30)).isoformat()
    receipt = await removing.DELETE.call(both, caller, {"before": before})

    assert receipt.messages == 2
    assert await select(both.database, "select count(*) from embedding") == [(5,)]
    assert (await embed_scope(both.database, embedder, scope_id)).texts == 0
    assert TEA.messages[0].text not in texts(await find(both, alice, "oolong", mode="vectors", limit=100))


async def test_the_newest_conversations_are_embedded_first(
    both: Service, alice: Caller, scope_id: int, embedder: Topics
) -> None:
    """A run that ends early has embedded what was said last."""
    await embed_scope(both.database, embedder, scope_id, max_texts=1)

    sent = " ".join(embedder.sent[:6])
    assert "drain the backlog" in sent
    assert "camellia" not in sent


async def test_a_search_says_what_it_did_without(
    both: Service, alice: Caller, scope_id: int, embedder: Topics
) -> None:
    """A weight without vectors, filters in force, coverage, and how near the nearest message is."""
    weighed = await find(both, alice, "backlog", semantic_weight=3)
    await embed_scope(both.database, embedder, scope_id)
    far = await find(both, alice, "sail boat")
    filtered = await find(both, alice, "camellia", role="assistant", mode="words")

    nowhere = await find(both, alice, "zzxqyv", role="user", until="2020-01-01T00:00:00Z")

    assert "Filters are in force, which hid no word of the query: role, until." in nowhere.guidance
    assert "No message with a vector passes the filters." in nowhere.guidance
    assert "The search was by words alone." not in nowhere.guidance
    assert weighed.guidance == ["The weight of vectors did nothing: the search was by words alone."]
    assert far.hits == []
    assert "7 of 7 passages have vectors." in far.guidance
    assert any(
        line.startswith("The nearest message in meaning has a similarity of 0.") for line in far.guidance
    )
    assert any("Leave out a filter (role)." in line for line in filtered.guidance)


@pytest.mark.slow
async def test_a_brief_process_waits_a_moment_for_its_model(
    both: Service, alice: Caller, scope_id: int, embedder: Topics
) -> None:
    """It asks the model only where there are vectors, and says so where the model is late."""
    brief = Service(both.database, max_files=100, embedder=embedder, is_brief=True)
    without = await find(brief, alice, "which worker drains the jobs")
    await embed_scope(both.database, embedder, scope_id)
    found = await find(brief, alice, "which worker drains the jobs")
    late = Service(both.database, max_files=100, embedder=LateTopics(), is_brief=True)
    by_words = await find(late, alice, "which worker drains the jobs")

    assert (without.by_vectors, without.degraded) == (False, None)
    assert (found.by_vectors, found.degraded) == (True, None)
    assert (by_words.by_vectors, by_words.degraded) == (False, "by_words")


class LateTopics(Topics):
    """An embedder that is starting, and stays so."""

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Say that the model is not ready."""
        raise ModelUnavailable("The model is being loaded.", reason=STARTING)
