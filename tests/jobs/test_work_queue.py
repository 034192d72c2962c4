"""The worker that has a model read sessions: what was said lately is read for each user, and counts at once."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.conftest import CallerOf
from tests.kit.model_server import ModelServer, fails, says
from tests.kit.rows import select, until
from tests.service.work.test_standing import refreshed

from memex.call_context import CallContext
from memex.jobs.work_queue import ModelPause, work_queue
from memex.jobs.worker import running_workers
from memex.service.call import Caller
from memex.service.conversations import putting
from memex.service.conversations.putting import ConversationInput, SourceInput
from memex.service.planners import builtin_planners
from memex.service.service import Service
from memex.service.work.loading import load_work
from memex.service.work.model_reading import read_recent
from memex.settings import Settings
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.subagent.model.chat import ModelAccess, chat_model
from memex.subagent.model.observing.reader import WorkReader
from memex.wiring import running_service

# The statements are tested on both servers beside the service.
pytestmark = pytest.mark.embedded_only


@pytest.fixture
async def reading(service: Service, model_server: ModelServer) -> AsyncIterator[Service]:
    """A service in which a model reads sessions."""
    chat = chat_model("openai:test-model", ModelAccess("secret", model_server.url))
    planning = replace(builtin_planners(), work=WorkReader(chat))
    yield Service(service.database, max_files=100, planning=planning)
    await chat.close()


async def say(service: Service, caller: Caller, text: str, *, days_ago: float = 0.0) -> Caller:
    """Store a session of one message of a person, which it ended with."""
    at = (datetime.now(UTC) - timedelta(days=days_ago)).isoformat()
    message = {"id": "1", "role": "user", "text": text, "human_authored": True, "said_at": at}
    read: dict[str, Any] = {"id": text, "title": text, "project": "apollo", "messages": [message]}
    read |= {"started_at": at, "last_at": at}
    await putting.put(service, caller, SourceInput(kind="codex"), [ConversationInput.model_validate(read)])
    return await refreshed(service, caller)


async def test_workers_read_what_was_said_lately(
    conninfo: str, reading: Service, caller_of: CallerOf, model_server: ModelServer
) -> None:
    """Two replicas ask once for each user; sessions of last year are left, and observations hold the answers."""
    await say(reading, await caller_of("alice"), "Our aim: offline mode", days_ago=1)
    await say(reading, await caller_of("alice"), "Our aim: faster builds", days_ago=400)
    await say(reading, await caller_of("bob", tenant="other"), "Our aim: offline mode")
    found = {"message": 1, "kind": "objective", "quotation": "offline mode"}
    model_server.play(says({"found": [found]}), endless=True)

    async with running_workers(conninfo, *(work_queue(reading) for _ in range(2))):
        await until(
            reading.database, "select count(*) = 2 from observation where by_model and kind = 'objective'"
        )
        await until(
            reading.database, "select count(*) = 0 from procrastinate_jobs where status <> 'succeeded'"
        )

    assert len(model_server.requests) == 2
    calls = await select(
        reading.database, "select principal ->> 'actor', status from operation where kind = 'work_read'"
    )
    assert calls == [("memex", "answered")] * 2


async def test_the_setting_alone_turns_it_on(conninfo: str, model_server: ModelServer) -> None:
    """A service without it asks no model, whatever else is configured; one with it reads what was said before."""
    beside: dict[str, Any] = {"database_url": conninfo, "openai_base_url": model_server.url}
    found = {"message": 1, "kind": "objective", "quotation": "offline mode"}
    model_server.play(says({"found": [found]}))

    async with running_service(Settings(**beside, model="openai:other"), with_worker=True) as off:
        principal = Principal(await tenants.ensure_tenant(off.database, "default"), "agent")
        alice = await off.caller(principal, CallContext("alice", "tests"), makes_user=True)
        alice = await say(off, alice, "Our aim: offline mode")
        await load_work(off, alice)
    silent = len(model_server.requests)
    async with running_service(Settings(**beside, work_model="openai:test-model"), with_worker=True) as on:
        await until(on.database, "select count(*) > 0 from observation where by_model")
        work = await load_work(on, await refreshed(on, alice))

    assert silent == 0
    assert len(model_server.requests) == 1
    assert [one.model for one in work.said if one.kind == "objective"] == ["openai:test-model"]


async def test_a_model_that_cannot_be_asked_is_left_alone(
    reading: Service, caller_of: CallerOf, model_server: ModelServer
) -> None:
    """One refused request ends the round for all users; pauses double up to an hour, and a success ends them."""
    for user in ("alice", "bob"):
        await say(reading, await caller_of(user), "Our aim: offline mode")
    model_server.play(fails(401))
    pause = ModelPause()

    failure = await read_recent(reading)
    pauses = []
    for _ in range(7):
        pause.note(failure)
        pauses.append(pause.length_s)

    assert failure == "its server answered 401"
    assert len(model_server.requests) == 1
    assert pauses == [120, 240, 480, 960, 1920, 3600, 3600]
    assert not pause.is_over
    pause.note(None)
    assert pause.is_over
