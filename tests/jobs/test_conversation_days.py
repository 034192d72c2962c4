"""The worker that deletes old conversations: with a receipt in the log, for good, and for nobody else's account."""

import hashlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.rows import select, until

from memex.jobs.clock import clock_queue
from memex.jobs.worker import running_workers
from memex.service.conversations.removing import delete_ended_before
from memex.service.service import Caller, Service
from memex.store.conversations.ingest import put_conversations
from memex.store.conversations.records import NewConversation, NewMessage, SourceName

# The statements are tested on both servers beside the store.
pytestmark = pytest.mark.embedded_only

NOW = datetime.now(UTC)
SOURCE = SourceName("chatgpt", "ChatGPT")


def ended(provider_id: str, days_ago: int | None) -> NewConversation:
    """Return a conversation that ended so many days ago, or at no known time."""
    at = None if days_ago is None else NOW - timedelta(days=days_ago)
    message = NewMessage("m1", "user", f"Oolong of {provider_id}.", said_at=at, human_authored=True)
    digest = hashlib.sha256(provider_id.encode()).digest()
    return NewConversation(provider_id, provider_id.title(), [message], digest, started_at=at, last_at=at)


async def put(service: Service, caller: Caller, *conversations: NewConversation, **more: Any) -> list[str]:
    """Put conversations of a user, and return what became of each."""
    access = await service.identities.open_conversations(caller)
    stored = await put_conversations(
        service.database,
        access,
        SOURCE,
        conversations,
        reader_version=1,
        now=NOW,
        max_messages=100,
        **more,
    )
    return [one.change for one in stored]


async def test_workers_delete_what_ended_too_long_ago(conninfo: str, service: Service, alice: Caller) -> None:
    """Two replicas at once: what is old goes with a receipt, and does not return; the rest stays."""
    old, new, timeless = ended("old", 31), ended("new", 29), ended("timeless", None)
    await put(service, alice, old, new, timeless)
    queues = [clock_queue(service, conversation_days=30) for _ in range(2)]

    async with running_workers(conninfo, *queues):
        await until(service.database, "select count(*) = 2 from conversation")
        await until(service.database, "select count(*) > 0 from operation where kind = 'conversation_delete'")

    left = await select(service.database, "select provider_id from conversation order by provider_id")
    assert left == [("new",), ("timeless",)]
    receipts = await select(
        service.database,
        "select principal->>'actor' as actor, principal->>'user' as user_id,"
        " jsonb_array_length(response->'result'->'conversations') as n"
        " from operation where kind = 'conversation_delete' order by n desc",
    )
    assert receipts[0] == ("memex", alice.access.user_id, 1)
    assert await put(service, alice, old, new) == ["removed", "unchanged"]
    assert await put(service, alice, old, again=True) == ["created"]


async def test_each_user_has_a_receipt(
    service: Service, alice: Caller, caller_of: Callable[..., Awaitable[Caller]]
) -> None:
    """What is old of one user goes like that of another, and a second look finds nothing."""
    before, bob = NOW - timedelta(days=7), await caller_of("bob")
    await put(service, alice, ended("a", 8), ended("b", 9))
    await put(service, bob, ended("a", 8), ended("c", 1))

    assert await delete_ended_before(service, before) == 3
    assert await delete_ended_before(service, before) == 0
    receipts = await select(
        service.database,
        "select principal->>'user' as user_id, (response->'result'->>'messages')::integer as n from operation"
        " where kind = 'conversation_delete' order by 1",
    )
    assert sorted(receipts) == sorted([(alice.access.user_id, 2), (bob.access.user_id, 1)])
