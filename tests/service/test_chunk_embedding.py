"""Embedding what was written: only what is new, nothing lost, and no connection held meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from memex.errors import ModelUnavailable
from memex.service.chunk_embedding import BATCH_CHUNKS, EmbeddingProgress, backfill, embed_scope
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.search import vectors
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.embedders.interface import EmbeddedText, InputType

# The server must have pgvector.
pytestmark = pytest.mark.embedded_only


class Scripted:
    """An embedder that keeps what it is sent, and does something of the test's before it answers."""

    name = "scripted@8"
    dimensions: int | None = 8
    gives_states = False

    def __init__(self, before: Callable[[list[str]], Awaitable[None]] | None = None) -> None:
        self.sent: list[list[str]] = []
        self._before = before

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return hashed vectors."""
        self.sent.append(list(texts))
        if self._before is not None:
            await self._before(list(texts))
        return await HashEmbedder(8).embed(texts, kind)

    async def close(self) -> None:
        """Hold nothing."""


async def write(service: Service, caller: Caller, path: str, content: str) -> None:
    """Write a whole file, whatever stands there."""
    arguments = {"path": path, "content": content, "overwrite": True}
    await service.execute(caller, "memory_write", arguments)


async def embedded(database: Database) -> dict[str, int]:
    """Return how many vectors there are of each model."""
    async with database.maintenance() as connection:
        cursor = await connection.execute("select model, count(*) as n from embedding group by model")
        return {row["model"]: row["n"] for row in await cursor.fetchall()}


def sections(*words: str) -> str:
    """Return a file of one section for each word."""
    return "".join(f"# {word}\n\n{word} text\n\n" for word in words)


async def test_only_what_is_new_is_embedded(service: Service, alice: Caller) -> None:
    """Of an edit the changed section, of a move nothing, and of a second run nothing."""
    scope_id, embedder = alice.access.log_scope_id, Scripted()
    await write(service, alice, "user/a.md", sections("tea", "boat", "soup"))
    first = await embed_scope(service.database, embedder, scope_id)
    await write(service, alice, "user/a.md", sections("tea", "car", "soup"))
    second = await embed_scope(service.database, embedder, scope_id)
    await service.execute(alice, "memory_move", {"path": "user/a.md", "to": "user/folder/a.md"})
    third = await embed_scope(service.database, embedder, scope_id)

    assert (first, second, third) == (
        EmbeddingProgress(3, True),
        EmbeddingProgress(1, True),
        EmbeddingProgress(0, True),
    )
    assert embedder.sent[1] == ["tea\ncar\na\n# car\n\ncar text"]
    assert await embedded(service.database) == {"scripted@8": 3}


async def test_a_run_that_fails_loses_nothing(service: Service, alice: Caller) -> None:
    """What was done stays, the failure is noted without any text, and the next run does the rest."""
    scope_id = alice.access.log_scope_id
    await write(service, alice, "user/a.md", sections(*(f"w{n}" for n in range(BATCH_CHUNKS * 3))))

    async def fail_later(_: list[str]) -> None:
        if len(embedder.sent) == 3:
            raise ModelUnavailable("a text", reason="RateLimitError 429")

    embedder = Scripted(fail_later)
    with pytest.raises(ModelUnavailable):
        await embed_scope(service.database, embedder, scope_id)
    after_failure = await embedded(service.database)
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select error, rev from embedding_progress")
        noted = await cursor.fetchall()
        behind = [
            await vectors.scopes_behind(connection, embedder.name, failed_before_s=seconds)
            for seconds in (0, 3600)
        ]
    rest = await embed_scope(service.database, embedder, scope_id)

    assert after_failure == {"scripted@8": 2 * BATCH_CHUNKS}
    assert noted == [{"error": "RateLimitError 429", "rev": -1}]
    assert behind == [[scope_id], []]
    assert rest == EmbeddingProgress(BATCH_CHUNKS, is_complete=True)
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select error, rev from embedding_progress")
        assert await cursor.fetchall() == [{"error": None, "rev": 1}]
        assert await vectors.scopes_behind(connection, embedder.name, failed_before_s=0) == []


async def test_no_connection_is_held_while_the_embedder_works(service: Service, alice: Caller) -> None:
    """With a pool of one, the database is free meanwhile."""
    await write(service, alice, "user/a.md", sections("tea"))
    single = await Database.open(service.database._pool.conninfo, max_connections=1)

    async def use_the_database(_: list[str]) -> None:
        async with single.connection() as connection:
            await connection.execute("select 1")

    try:
        async with asyncio.timeout(5):
            done = await embed_scope(single, Scripted(use_the_database), alice.access.log_scope_id)
    finally:
        await single.close()

    assert done == EmbeddingProgress(1, is_complete=True)


async def test_a_write_during_the_run_is_found_by_it_or_the_next(service: Service, alice: Caller) -> None:
    """The run tells only of the change that it began on as done."""
    scope_id = alice.access.log_scope_id
    await write(service, alice, "user/a.md", sections("tea"))

    async def write_another(_: list[str]) -> None:
        if len(embedder.sent) == 1:
            await write(service, alice, "user/b.md", sections("boat"))

    embedder = Scripted(write_another)
    await embed_scope(service.database, embedder, scope_id)
    async with service.database.maintenance() as connection:
        behind = await vectors.scopes_behind(connection, embedder.name, failed_before_s=0)
    await embed_scope(service.database, embedder, scope_id)

    assert behind == [scope_id]
    assert await embedded(service.database) == {"scripted@8": 2}
    async with service.database.maintenance() as connection:
        assert await vectors.scopes_behind(connection, embedder.name, failed_before_s=0) == []


async def test_a_text_that_went_meanwhile_gets_no_vector(service: Service, alice: Caller) -> None:
    """Deleted while it was with the embedder; vectors of what was deleted later go with the next run."""
    scope_id = alice.access.log_scope_id
    await write(service, alice, "user/a.md", sections("tea"))
    await write(service, alice, "user/b.md", sections("boat"))

    async def delete_one(_: list[str]) -> None:
        await service.execute(alice, "memory_delete", {"path": "user/a.md"})

    await embed_scope(service.database, Scripted(delete_one), scope_id)
    after_one = await embedded(service.database)
    await service.execute(alice, "memory_delete", {"path": "user/b.md"})
    await embed_scope(service.database, Scripted(), scope_id)

    assert after_one == {"scripted@8": 1}
    assert await embedded(service.database) == {}


async def test_vectors_of_other_models_go_with_their_texts(service: Service, alice: Caller) -> None:
    """A model that no longer serves keeps no vector of a text that was deleted."""
    scope_id = alice.access.log_scope_id
    await write(service, alice, "user/a.md", sections("tea"))
    await embed_scope(service.database, HashEmbedder(16), scope_id)
    await service.execute(alice, "memory_delete", {"path": "user/a.md"})

    await embed_scope(service.database, Scripted(), scope_id)

    assert await embedded(service.database) == {}


async def test_a_run_may_be_bounded(service: Service, alice: Caller) -> None:
    """It ends after so many texts and says that there is more."""
    scope_id, embedder = alice.access.log_scope_id, Scripted()
    await write(service, alice, "user/a.md", sections(*(f"w{n}" for n in range(BATCH_CHUNKS + 10))))

    first = await embed_scope(service.database, embedder, scope_id, max_texts=10)
    second = await embed_scope(service.database, embedder, scope_id, max_texts=BATCH_CHUNKS)

    assert first == EmbeddingProgress(BATCH_CHUNKS, is_complete=False)
    assert second == EmbeddingProgress(10, is_complete=True)


async def test_a_scope_that_is_gone_is_done(database: Database) -> None:
    """A job may come too late."""
    assert await embed_scope(database, Scripted(), 4711) == EmbeddingProgress(0, is_complete=True)


@pytest.mark.slow
async def test_long_files_are_read_in_batches(service: Service, alice: Caller) -> None:
    """Every chunk of a file with a thousand sections gets its vector, a repeated text one."""
    words = [f"w{n % 900}" for n in range(1_000)]
    await write(service, alice, "user/long.md", "".join(f"## {word}\n\ntext\n\n" for word in words))
    embedder = Scripted()

    done = await embed_scope(service.database, embedder, alice.access.log_scope_id)

    assert done.is_complete
    texts = [text for sent in embedder.sent for text in sent]
    assert len(texts) == len(set(texts)) == done.texts
    async with service.database.maintenance() as connection:
        cursor = await connection.execute("select count(distinct sha256) as n from chunk")
        [found] = await cursor.fetchall()
    assert await embedded(service.database) == {"scripted@8": found["n"]}


async def test_backfill_covers_every_scope(service: Service, caller_of: Any) -> None:
    """Of all tenants, for a second model beside the first, and what was lost by accident."""
    first, told = Scripted(), []
    for number, tenant in enumerate(["default", "default", "other"]):
        caller = await caller_of(f"user{number}", tenant=tenant)
        await write(service, caller, "user/a.md", sections("tea", f"own{number}"))
    done = await backfill(service.database, first, at_once=2, on_texts=told.append)
    second = await backfill(service.database, HashEmbedder(16))
    async with service.database.maintenance() as connection:
        await connection.execute("delete from embedding where model = %s", [first.name])
    again = await backfill(service.database, first)

    assert (done, second, again) == (6, 6, 6)
    assert sum(told) == 6
    assert await embedded(service.database) == {"scripted@8": 6, "hash:trigrams@16#1": 6}


async def test_backfill_reports_the_failure(service: Service, alice: Caller) -> None:
    """As the error that it was."""
    await write(service, alice, "user/a.md", sections("tea"))

    async def fail(_: list[str]) -> None:
        raise ModelUnavailable("The embedder is away.", reason="timeout")

    with pytest.raises(ModelUnavailable):
        await backfill(service.database, Scripted(fail))


async def test_what_goes_to_the_embedder_is_logged(
    service: Service, alice: Caller, capsys: pytest.CaptureFixture[str]
) -> None:
    """How many texts to which model, and never the texts."""
    await write(service, alice, "user/a.md", sections("confidential"))

    await embed_scope(service.database, Scripted(), alice.access.log_scope_id)

    said = capsys.readouterr()
    assert "texts_sent_to_embedder" in said.out + said.err
    assert "scripted@8" in said.out + said.err
    assert "confidential" not in said.out + said.err
