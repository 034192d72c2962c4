"""Imports that are merged at once: their passages keep no words beside the postings, and go again all the same."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memex.service.service import Caller, Service
from memex.store.access import Access
from memex.store.conversations import remove
from memex.store.conversations.filters import MessageFilters
from memex.store.conversations.find import find_messages
from memex.store.conversations.indexing import index_message
from memex.store.conversations.ingest import put_conversations
from memex.store.conversations.records import NewConversation, NewMessage, SourceName, make_conversation_id
from memex.store.conversations.remove import remove_conversation, select_conversations
from memex.store.database import Database
from memex.store.search.analyzer import analyzer_of
from memex.store.search.bm25 import rank, weigh
from memex.store.upkeep import reindex

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
CHATGPT = SourceName("chatgpt", "ChatGPT")
WORDS = [f"word{number}" for number in range(60)]


def talk(
    provider_id: str, title: str, chance: random.Random, *, day: int, count: int = 120
) -> NewConversation:
    """Return a conversation of random messages, a minute apart."""
    messages = [
        NewMessage(
            f"m{place}",
            "user",
            " ".join(chance.choices(WORDS, k=chance.choice([3, 20, 200]))),
            said_at=NOW + timedelta(days=day, minutes=place),
        )
        for place in range(count)
    ]
    return NewConversation(provider_id, title, messages, bytes(32))


async def put(database: Database, access: Access, *conversations: NewConversation) -> None:
    """Put conversations in one transaction."""
    await put_conversations(
        database, access, CHATGPT, conversations, reader_version=1, now=NOW, max_messages=10_000
    )


async def stored(database: Database, statement: str) -> list[dict[str, Any]]:
    """Return rows, as the owner sees them."""
    async with database.maintenance() as connection:
        return await (await connection.execute(statement)).fetchall()


POSTINGS = """
    select lexeme, entry >> 32 as chunk_id, entry & 4294967295 as counts
      from posting cross join lateral unnest(entries) entry
     order by 1, 2"""
CHUNKS = """
    select chunk.chunk_id, chunk.length, cardinality(chunk.lexemes) as lexemes, conversation.provider_id
      from chunk
      join message on message.scope_id = chunk.scope_id and message.message_id = chunk.file_id
      join conversation
        on conversation.scope_id = chunk.scope_id and conversation.conversation_no = message.conversation_no
     order by 1"""


@pytest.mark.parametrize(
    "way",
    [
        "analysed again",
        "too many to analyse",
        *(
            pytest.param(way, marks=pytest.mark.slow)
            for way in ("under another title", "of an older version")
        ),
    ],
)
async def test_what_goes_leaves_the_postings_of_the_rest(
    service: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Removed passages are taken out of the postings, whether their words can be made again or not."""
    database, access = service.database, await service.identities.open_conversations(alice)
    chance = random.Random(3)
    before = talk("waiting", "Waiting", chance, day=0, count=20)
    await put(database, access, before)
    kept = talk("kept", "Kept", chance, day=2)
    gone = talk("gone", "Gone", chance, day=1)
    await put(database, access, gone, kept, talk("gone too", "Also", chance, day=3))
    chunks = await stored(database, CHUNKS)
    postings = await stored(database, POSTINGS)
    assert len(chunks) > 256
    assert not any(one["lexemes"] for one in chunks)
    assert sum(one["counts"] & 65535 for one in postings) == sum(one["length"] for one in chunks)
    if way == "too many to analyse":
        monkeypatch.setattr(remove, "MAX_ANALYSED", 10)
    if way == "under another title":
        for title in ("Second", "Third"):
            await put(
                database, access, NewConversation("gone", title, gone.messages, title.encode().ljust(32))
            )
    if way == "of an older version":
        async with database.maintenance() as connection:
            await connection.execute("update scope set analyzer = 'older' where kind = 'conversations'")

    ids = [make_conversation_id("chatgpt", "", name) for name in ("gone", "gone too")]
    for named in await select_conversations(database, access, conversation_ids=ids):
        await remove_conversation(database, access, named, now=NOW)
    left = {one["chunk_id"] for one in chunks if one["provider_id"] in ("kept", "waiting")}
    assert {one["chunk_id"] for one in await stored(database, CHUNKS)} == left
    assert await stored(database, POSTINGS) == [one for one in postings if one["chunk_id"] in left]
    assert await stored(database, "select * from chunk_removed") == []


@pytest.mark.slow
async def test_search_scores_as_the_formula_says(service: Service, alice: Caller) -> None:
    """A search scores what was merged at once, what waits and what was made anew alike; a time takes none away."""
    database, access = service.database, await service.identities.open_conversations(alice)
    assert access.conversations is not None
    chance = random.Random(5)
    talks = [talk(f"c{day}", f"Title {day}", chance, day=day, count=90) for day in range(4)]
    await put(database, access, *talks[:3])
    await put(
        database,
        access,
        NewConversation("c1", "Renamed", [*talks[1].messages, said_late()], bytes(31) + b"1"),
    )
    await put(database, access, talks[3])
    messages = [(one.title, message) for one in talks for message in one.messages]
    messages.append(("Renamed", said_late()))
    analyzer = analyzer_of("english")
    bounds = [(None, None), (NOW + timedelta(days=2), None), (NOW + timedelta(days=8), None), (None, NOW)]
    bounds.append((NOW + timedelta(days=1, minutes=30), NOW + timedelta(days=2, minutes=7)))
    text = "word1 word2 word3 late"
    for is_rebuilt in (False, True):
        if is_rebuilt:
            await reindex.rebuild(database, access.conversations.scope_id)
            messages = [("Renamed" if title == "Title 1" else title, one) for title, one in messages]
        for since, until in bounds:
            async with database.transaction(access.for_conversations(), snapshot=True) as connection:
                filters = MessageFilters(since=since, until=until)
                hits = await find_messages(connection, access.conversations, text, filters, limit=100)
            documents = [
                ((place, chunk.start), dict(zip(chunk.lexemes, chunk.tfs, strict=True)), chunk.length)
                for place, (title, message) in enumerate(messages)
                for chunk in index_message(title, message, analyzer).added
            ]
            query = weigh(
                analyzer.lexemes(text),
                n=len(documents),
                total_length=sum(length for _, _, length in documents),
                df={word: sum(word in tfs for _, tfs, _ in documents) for word in analyzer.lexemes(text)},
            )
            best: dict[int, int] = {}
            for (place, _), score in rank(query, documents):
                said_at = messages[place][1].said_at
                assert said_at is not None
                if (since is None or said_at >= since) and (until is None or said_at < until):
                    best.setdefault(place, score)

            found = sorted((hit.score - sum(hit.borrowed.values()) for hit in hits), reverse=True)
            assert all(hit.score == sum(hit.terms.values()) + sum(hit.borrowed.values()) for hit in hits)
            assert len(hits) == min(100, len(best))
            if len(best) <= 100:
                assert found == sorted(best.values(), reverse=True)
            else:
                assert hits[0].score >= max(best.values())


def said_late() -> NewMessage:
    """Return a message that is the newest of its conversation, and of all."""
    return NewMessage("late", "user", "word1 said late", said_at=NOW + timedelta(days=9))
