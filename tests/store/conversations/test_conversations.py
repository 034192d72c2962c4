"""Conversations in the store: put once, found, read in their order, and removed for good."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from psycopg.rows import tuple_row
from psycopg.sql import SQL, Identifier

from memex.errors import ConversationNotFound, LimitExceeded, UserErased
from memex.service.service import Caller, Service
from memex.store.access import Access
from memex.store.conversations.filters import MessageFilters
from memex.store.conversations.find import Searched, describe_search, find_messages
from memex.store.conversations.ingest import put_conversations
from memex.store.conversations.read import list_conversations, list_sources, read_thread
from memex.store.conversations.records import (
    MessageHit,
    NewConversation,
    NewMessage,
    SourceName,
    StoredConversation,
    make_conversation_id,
    parse_reference,
)
from memex.store.conversations.remove import remove_conversation, select_conversations
from memex.store.database import Database
from memex.store.upkeep import reindex
from memex.store.writes import pending

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
CHATGPT = SourceName("chatgpt", "ChatGPT", "alice@example.org")
TABLES = ("source", "conversation", "message", "conversation_stat", "chunk", "posting", "scope_stat")


def said(*turns: str | tuple[str, str], start: datetime = NOW, prefix: str = "m") -> list[NewMessage]:
    """Return messages: a person and an assistant in turn, a minute apart. A pair is a provider's id and a text."""
    messages: list[NewMessage] = []
    for place, turn in enumerate(turns):
        provider_id, text = turn if isinstance(turn, tuple) else (f"{prefix}{place}", turn)
        messages.append(
            NewMessage(
                provider_id,
                "assistant" if place % 2 else "user",
                text,
                parent=messages[-1].provider_id if messages else None,
                said_at=start + timedelta(minutes=place),
                human_authored=not place % 2,
                origin=f"conversations.json#{place}",
            )
        )
    return messages


def conversation(
    provider_id: str, title: str, messages: Sequence[NewMessage], **more: Any
) -> NewConversation:
    """Return a whole conversation."""
    told = [title, [(one.provider_id, one.text, one.on_path) for one in messages]]
    digest = hashlib.sha256(repr(told).encode())
    times = [one.said_at for one in messages if one.said_at]
    return NewConversation(
        provider_id,
        title,
        messages,
        digest.digest(),
        **{"started_at": min(times, default=None), "last_at": max(times, default=None)} | more,
    )


QUEUE = conversation(
    "c1",
    "Choosing a queue",
    said(
        "Kafka or Postgres for a small job queue?",
        "Postgres, with skip locked.",
        "And retries?",
        "Use backoff.",
    ),
)
TEA = conversation("c2", "Tea", said("How hot for oolong?", "Ninety degrees."), project="kitchen")


@pytest.fixture
async def access(service: Service, alice: Caller) -> Access:
    """The access of alice, who has a scope of conversations."""
    return await service.identities.open_conversations(alice)


async def put(database: Database, access: Access, *conversations: NewConversation, **more: Any) -> list[str]:
    """Put conversations and return what became of each."""
    stored: list[StoredConversation] = await put_conversations(
        database,
        access,
        more.pop("source", CHATGPT),
        conversations,
        **{"reader_version": 1, "now": NOW, "max_messages": 1_000} | more,
    )
    return [one.change for one in stored]


async def find(
    database: Database, access: Access, text: str, *, limit: int = 10, **filters: Any
) -> tuple[list[MessageHit], Searched]:
    """Search alice's conversations."""
    assert access.conversations is not None
    async with database.transaction(access.for_conversations(), snapshot=True) as connection:
        narrowed = MessageFilters(**filters)
        hits = await find_messages(connection, access.conversations, text, narrowed, limit=limit)
        return hits, await describe_search(connection, access.conversations, text, narrowed)


async def thread(database: Database, access: Access, provider_id: str, **more: Any) -> list[tuple[int, str]]:
    """Return number and text of the messages of a conversation as they are read."""
    named = make_conversation_id(CHATGPT.kind, CHATGPT.account, provider_id)
    async with database.transaction(access.for_conversations(), snapshot=True) as connection:
        read = await read_thread(connection, access.conversations, named, **{"limit": 100} | more)
    return [(one.number, one.text) for one in read.messages]


async def everything(database: Database) -> dict[str, list[Any]]:
    """Return all rows of all tables that an import writes."""
    async with database.maintenance() as connection:
        cursor = connection.cursor(row_factory=tuple_row)
        found = {}
        for table in TABLES:
            statement = SQL("select t::text from {} t order by 1").format(Identifier(table))
            await cursor.execute(statement)
            found[table] = await cursor.fetchall()
    return found


async def test_a_second_import_changes_nothing(database: Database, access: Access) -> None:
    """Every row is as it was."""
    assert await put(database, access, QUEUE, TEA) == ["created", "created"]
    before = await everything(database)

    assert await put(database, access, QUEUE, TEA) == ["unchanged", "unchanged"]
    assert await everything(database) == before


async def test_messages_keep_their_numbers(database: Database, access: Access) -> None:
    """A grown conversation gets only what is new; another text under a known id is a new message."""
    await put(database, access, QUEUE)
    grown = conversation("c1", "Choosing a queue", [*QUEUE.messages, *said("Thanks.", prefix="late")])
    assert await put(database, access, grown) == ["grown"]
    assert [number for number, _ in await thread(database, access, "c1")] == [1, 2, 3, 4, 5]

    edited = conversation(
        "c1", "Choosing a queue", said("Kafka or Postgres?", ("again", "Kafka, for replay."))
    )
    assert await put(database, access, edited) == ["grown"]
    assert await thread(database, access, "c1") == [(6, "Kafka or Postgres?"), (7, "Kafka, for replay.")]
    assert len(await thread(database, access, "c1", all_branches=True)) == 7
    hits, _ = await find(database, access, "skip locked")
    assert not hits
    hits, _ = await find(database, access, "skip locked", all_branches=True)
    assert hits[0].message.number == 2


async def test_an_answer_is_found_by_the_words_of_its_question(database: Database, access: Access) -> None:
    """A short message borrows words from those beside it, and the reference names its text."""
    await put(database, access, QUEUE, TEA)
    hits, searched = await find(database, access, "small job queue retries backoff")

    assert {hit.conversation.title for hit in hits} == {"Choosing a queue"}
    assert {hit.message.number for hit in hits[:2]} == {1, 3}
    assert any(hit.borrowed for hit in hits)
    assert (
        hits[0].reference == f"conversations/{hits[0].conversation.conversation_id}#{hits[0].message.number}"
    )
    assert parse_reference(hits[0].reference) == (
        hits[0].conversation.conversation_id,
        hits[0].message.number,
    )
    assert searched.chunks == 6


async def test_filters_leave_out_nothing_that_passes(database: Database, access: Access) -> None:
    """However many messages score higher, those that pass a filter are found."""
    many = [
        conversation(
            f"n{place}",
            f"Noise {place}",
            said(f"oolong tea {place}", "oolong, oolong tea", prefix=f"n{place}-"),
        )
        for place in range(120)
    ]
    await put(database, access, *many)
    await put(database, access, TEA)

    hits, _ = await find(database, access, "oolong tea", project="kitchen")
    assert {hit.conversation.title for hit in hits} == {"Tea"}
    hits, _ = await find(database, access, "oolong tea", human=True, limit=100)
    assert len(hits) == 100
    assert all(hit.message.human_authored for hit in hits)
    named = make_conversation_id(CHATGPT.kind, CHATGPT.account, "n7")
    hits, _ = await find(database, access, "oolong tea", conversation_id=named)
    assert {hit.conversation.title for hit in hits} == {"Noise 7"}
    hits, searched = await find(database, access, "oolong tea", source="claude_ai")
    assert not hits
    assert searched.unfiltered == 242


async def test_no_hit_says_what_was_searched(database: Database, access: Access) -> None:
    """Which words stand nowhere, and which are spelled like them."""
    await put(database, access, QUEUE, TEA)
    hits, searched = await find(database, access, "postgers")

    assert not hits
    assert searched.words == {"postgers": 0}
    assert searched.near == {"postgers": ("postgr",)}


async def test_a_thread_is_read_around_a_message(database: Database, access: Access) -> None:
    """Also page by page, to its end."""
    await put(database, access, QUEUE)

    assert [number for number, _ in await thread(database, access, "c1", around=3, before=1, limit=3)] == [
        2,
        3,
        4,
    ]
    with pytest.raises(ConversationNotFound):
        await thread(database, access, "c1", around=99)
    with pytest.raises(ConversationNotFound):
        await thread(database, access, "elsewhere")


async def test_conversations_are_listed_by_time(database: Database, access: Access) -> None:
    """The newest first, page by page, with the first words of a person."""
    later = conversation("c3", "Later", said("Hello.", start=NOW + timedelta(days=1)))
    await put(database, access, QUEUE, TEA, later)
    async with database.transaction(access.for_conversations()) as connection:
        first, after = await list_conversations(connection, access.conversations, limit=2)
        rest, end = await list_conversations(connection, access.conversations, limit=2, after=after)
        sources = await list_sources(connection, access.conversations)

    assert [one.title for one in (*first, *rest)] == ["Later", "Choosing a queue", "Tea"]
    assert end is None
    assert rest[0].first_words == "How hot for oolong?"
    assert (sources[0].conversations, sources[0].messages, sources[0].human_messages) == (3, 7, 4)


async def test_what_was_removed_is_nowhere_and_does_not_return(database: Database, access: Access) -> None:
    """A scan over all tables finds the text nowhere; the next export brings it back only if that is asked for."""
    await put(database, access, QUEUE, TEA)
    [named] = await select_conversations(
        database, access, conversation_ids=[make_conversation_id(CHATGPT.kind, CHATGPT.account, "c1")]
    )
    removed = await remove_conversation(database, access, named, now=NOW)

    assert removed is not None
    assert (removed.messages, removed.passages) == (4, 4)
    stored = str(await everything(database)).lower()
    assert "oolong" in stored
    assert "kafka" not in stored
    assert "backoff" not in stored
    assert await remove_conversation(database, access, named, now=NOW) is None
    assert await put(database, access, QUEUE, TEA) == ["removed", "unchanged"]
    assert await put(database, access, QUEUE, again=True) == ["created"]


async def test_a_part_of_a_long_conversation_hides_nothing(database: Database, access: Access) -> None:
    """After its first part was put again the rest is read and found as before, marked incomplete.

    So it is after an import that was cut off, until the next one; the last part decides.
    """
    messages = said("one", "two", "three", "four", "five", "six")
    whole = [(number, one.text) for number, one in enumerate(messages, start=1)]
    await put(database, access, conversation("long", "Long", messages))
    first, last = messages[:2], [*messages[2:4], replace(messages[4], text="another five")]
    for _ in range(2):
        await put(database, access, conversation("long", "Long", first, is_complete=False))

        assert await thread(database, access, "long") == whole
        assert await thread(database, access, "long", around=5, before=1) == whole[3:]
        [hit], _ = await find(database, access, "six")
        assert not hit.conversation.is_complete
    await put(database, access, conversation("long", "Long", last, is_continued=True))

    assert await thread(database, access, "long") == [*whole[:4], (7, "another five")]
    assert (await thread(database, access, "long", all_branches=True))[-2:] == [
        (7, "another five"),
        (6, "six"),
    ]
    assert (await find(database, access, "six"))[0] == []


async def test_a_conversation_that_was_renamed_often_is_removed_whole(
    database: Database, access: Access
) -> None:
    """Only so many former titles are kept; passages under another one leave the postings too.

    A passage keeps the title under which it was indexed until the index is made anew.
    """
    await put(database, access, TEA)
    alone = await indexed(database)
    titles = [f"zq{first}{last}" for first in "abc" for last in "abcdefghij"]
    turns = said(*(f"turn{place} of many" for place in range(30)))
    for place, title in enumerate(titles, start=1):
        await put(database, access, conversation("renamed", title, turns[:place]))
        await indexed(database)  # merges, so that no passage has lexemes of its own
    for title, text in (("zqac", "turn2 of many"), ("zqcj", "turn29 of many")):
        assert [hit.message.text for hit in (await find(database, access, title))[0]] == [text]

    [named] = await select_conversations(
        database, access, conversation_ids=[make_conversation_id(CHATGPT.kind, CHATGPT.account, "renamed")]
    )
    await remove_conversation(database, access, named, now=NOW)
    left = await indexed(database)
    assert (left["chunks"], left["postings"]) == (alone["chunks"], alone["postings"])

    for title in titles[:2]:
        await put(database, access, conversation("renamed", title, turns), again=True)
    assert (await find(database, access, "zqab"))[0] == []
    assert access.conversations is not None
    await reindex.rebuild(database, access.conversations.scope_id)
    assert len((await find(database, access, "zqab", limit=50))[0]) == 30


# What stands in the index of conversations, without the ids of chunks, which go on behind the last after a rebuild,
# and without the lexemes of chunks, which stand beside them only until they are merged.
INDEXED = {
    "chunks": "select tenant_id, file_id, start_char, end_char, heading_path, sha256, length"
    " from chunk order by file_id, start_char",
    "postings": """
        select lexeme, posting.n, chunk.file_id, chunk.start_char, entry & 65535, (entry >> 16) & 65535
          from posting cross join lateral unnest(entries) entry
          join chunk on chunk.scope_id = posting.scope_id and chunk.chunk_id = entry >> 32
         order by lexeme, file_id, start_char""",
    "totals": "select n, total_length, files, next_file_id, unmerged, has_series from scope_stat order by scope_id",
    "made_by": "select language, analyzer from scope where kind = 'conversations'",
}


async def indexed(database: Database) -> dict[str, list[Any]]:
    """Return all that stands in the index, after what waits is merged."""
    async with database.maintenance() as connection:
        cursor = connection.cursor(row_factory=tuple_row)
        await cursor.execute("select scope_id from scope_stat")
        await pending.merge_scopes(connection, [scope_id for (scope_id,) in await cursor.fetchall()])
        found = {}
        for name, statement in INDEXED.items():
            await cursor.execute(statement)
            found[name] = await cursor.fetchall()
    return found


async def test_an_index_is_made_anew_as_an_import_makes_it(database: Database, access: Access) -> None:
    """An index of another version stays out of date after an import, until it is rebuilt from the messages."""
    long = conversation("c3", "Long", said("word " * 1_000, "green tea and nothing else"))
    early = datetime(2026, 11, 24, 1, tzinfo=timezone(timedelta(hours=9)))  # another day in UTC
    await put(database, access, QUEUE, TEA, long, conversation("c4", "Night", said("Late.", start=early)))
    fresh = await indexed(database)
    assert access.conversations is not None
    async with database.maintenance() as connection:
        for statement in (
            "update scope set analyzer = 'analyzer-1' where kind = 'conversations'",
            "update chunk set lexemes = array['old'], tfs = array[1], length = 1 where start_char = 0",
            "delete from posting",
        ):
            await connection.execute(statement)
    await put(database, access, TEA)
    async with database.maintenance() as connection:
        [stale] = await reindex.scopes(connection, kind="conversations", only_stale=True)
        assert await reindex.count_stale(connection) == 1

    counted: list[int] = []
    report = await reindex.rebuild(database, stale.scope_id, only_stale=True, on_files=counted.append)

    assert report is not None
    assert (stale.files, report.files, sum(counted), report.chunks) == (9, 9, 9, len(fresh["chunks"]))
    assert await indexed(database) == fresh
    assert await reindex.rebuild(database, stale.scope_id, only_stale=True) is None
    hits, _ = await find(database, access, "skip locked")
    assert hits[0].message.text == "Postgres, with skip locked."


async def test_an_import_after_a_rebuild_speaks_the_new_language(database: Database, access: Access) -> None:
    """Also one whose texts were analysed in the language of before, because it waited for the rebuild."""
    assert access.conversations is not None
    await reindex.rebuild(database, access.conversations.scope_id, language="german")
    await put(database, access, conversation("c5", "Wohnen", said("Wir wohnten in alten Häusern.")))
    german = replace(access, conversations=replace(access.conversations, language="german"))

    hits, _ = await find(database, german, "Haus")

    assert [hit.message.text for hit in hits] == ["Wir wohnten in alten Häusern."]


async def test_a_user_may_have_so_many_messages(database: Database, access: Access) -> None:
    """One more is refused, and nothing of the import is stored."""
    with pytest.raises(LimitExceeded):
        await put(database, access, QUEUE, TEA, max_messages=5)

    assert not (await everything(database))["message"]
    assert await put(database, access, QUEUE, max_messages=4) == ["created"]


async def test_an_import_that_an_erasure_overtakes_is_told_so(database: Database, access: Access) -> None:
    """Its scope is gone when it takes the lock: that is an answer, and no failure of the service."""
    assert access.conversations is not None
    gone = replace(access, conversations=replace(access.conversations, scope_id=2**40))

    with pytest.raises(UserErased):
        await put(database, gone, conversation("c1", "Tea", said("Oolong?")))


async def test_search_in_steps_finds_what_a_search_of_everything_finds(
    database: Database, access: Access, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few messages pass a filter, hits and scores are the same as if all chunks were looked at at once."""
    many = [
        conversation(
            f"n{place}",
            f"Tea {place}",
            said(
                *(f"oolong {'tea ' * (turn % 5)} number{turn}" for turn in range(8)),
                start=NOW + timedelta(days=place),
                prefix=f"n{place}-",
            ),
            project="kitchen" if place % 9 == 4 else "",
        )
        for place in range(60)
    ]
    await put(database, access, *many)
    filters: list[dict[str, Any]] = [
        {},
        {"project": "kitchen"},
        {"since": NOW + timedelta(days=57)},
        {"until": NOW + timedelta(days=1), "human": True},
        {"role": "assistant", "source": "ChatGPT"},
        {"source": "elsewhere"},
    ]
    found = {}
    for looked_at in (3, 10_000):
        monkeypatch.setattr("memex.store.conversations.find.MIN_LOOKED_AT", looked_at)
        found[looked_at] = [
            (await find(database, access, "oolong tea", limit=2, **one))[0] for one in filters
        ]

    assert found[3] == found[10_000]
    assert [len(hits) for hits in found[3]] == [2, 2, 2, 2, 2, 0]
