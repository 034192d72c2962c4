"""A model or an embedder that does not answer, over real HTTP: who waits how long, and what says so."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any

import pytest
from tests.kit.model_server import (
    Act,
    ModelServer,
    Request,
    Step,
    embeds,
    fails,
    filtered,
    hangs,
    resets,
    says,
)

from memex.call_context import CallContext
from memex.service.chunk_embedding import backfill
from memex.service.health.health import AnswersHealth, read_health
from memex.service.log.call_list import read_attempts
from memex.service.log.replay.requests import replay_call, replayable
from memex.service.service import Caller, Service
from memex.settings import Settings
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.subagent import breaker
from memex.subagent.breaker import MAX_FAILURES, NOT_ASKED
from memex.subagent.embedders import remote
from memex.subagent.model import chat as chat_models
from memex.wiring import running_service

# One server is enough, and it has vectors.
pytestmark = pytest.mark.embedded_only

MODEL, EMBEDDER = "openai:m", "openai:e@3"
DEGRADED = "MODEL_UNAVAILABLE"
DEADLINE_S = 1.0
LONG_S = 4.0  # in which sixty requests reach a server on a busy machine
AT_ONCE_S = 20.0  # under which a hundred answers by rules stay on a busy machine
PATIENCE_S = 30.0  # of one request, so that what should not wait is noticed
TEA = "# Tea\n\nI like oolong tea.\n"
ASKED = {"query": "Which tea do I like?"}
CHOSEN = says({"lines": [1]})

ServiceOf = Callable[..., Awaitable[Service]]
Asking = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens pauses before repeats, and loads the clients, so that no deadline passes meanwhile."""
    monkeypatch.setattr(chat_models, "FIRST_PAUSE_S", 0.001)
    import_module("pydantic_ai.models.openai")
    import_module("pydantic_ai.retries")


@pytest.fixture
async def service_of(conninfo: str, model_server: ModelServer) -> AsyncIterator[ServiceOf]:
    """What runs services as the environment would."""
    async with AsyncExitStack() as held:

        async def make(**settings: Any) -> Service:
            wanted = {
                "database_url": conninfo,
                "openai_base_url": model_server.url,
                "openai_api_key": "k",
                "embedder": "none",
                "model_mode": "single",
                "model_seconds": f"{DEADLINE_S}/{PATIENCE_S}",
            }
            return await held.enter_async_context(running_service(Settings(**(wanted | settings))))

        yield make


async def someone(service: Service, tenant: str = "default", user: str = "ann") -> Caller:
    """Return a user of a tenant who has written about tea."""
    tenant_id = await tenants.ensure_tenant(service.database, tenant)
    caller = await service.caller(Principal(tenant_id, "agent"), CallContext(user_id=user), makes_user=True)
    await service.execute(caller, "memory_write", {"path": "user/tea.md", "content": TEA, "overwrite": True})
    return caller


async def admin_of(service: Service) -> Caller:
    """Return an administrator of the tenant."""
    tenant_id = await tenants.ensure_tenant(service.database, "default")
    return await service.caller(Principal(tenant_id, "admin"), CallContext())


async def contexts(service: Service, caller: Caller, number: int) -> list[dict[str, Any]]:
    """Ask for so many contexts at the same time."""
    asked = (service.execute(caller, "memory_context", ASKED) for _ in range(number))
    return await asyncio.gather(*asked)


async def fail(service: Service, caller: Caller, model_server: ModelServer, act: Act) -> list[str]:
    """Let the model fail as often as it takes until it is left alone, and return the ids of the calls."""
    model_server.play(act, endless=True)
    answers = [(await contexts(service, caller, 1))[0] for _ in range(MAX_FAILURES)]
    assert {one["degraded"] for one in answers} == {DEGRADED}
    return [one["tool_call_id"] for one in answers]


async def find(service: Service, caller: Caller, **arguments: Any) -> dict[str, Any]:
    """Search by words, and by vectors if the embedder answers."""
    return await service.execute(caller, "memory_find", {"query": "oolong"} | arguments)


@pytest.mark.slow
# The deadline may come while a connection is made, and asyncio leaves that one to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_sixty_contexts_end_by_the_deadline_and_the_next_at_once(
    service_of: ServiceOf, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty wait together and no longer than a context may; nobody waits afterwards, and the log says why."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_S", 600)
    service = await service_of(context_model=MODEL, model_seconds=f"{LONG_S}/{PATIENCE_S}")
    ann = await someone(service)
    model_server.play(hangs(), endless=True)

    started_s = time.monotonic()
    first = await contexts(service, ann, 60)
    waited_s = time.monotonic() - started_s
    asked = len(model_server.requests)
    started_s = time.monotonic()
    later = await contexts(service, ann, 60)
    waited_later_s = time.monotonic() - started_s
    [last] = await read_attempts(service, ann, later[-1]["tool_call_id"])

    assert LONG_S <= waited_s < LONG_S + AT_ONCE_S
    assert waited_later_s < AT_ONCE_S
    assert asked == len(model_server.requests)
    assert {(one["planner"], one["degraded"]) for one in (*first, *later)} == {("builtin", DEGRADED)}
    assert {one["context"] for one in (*first, *later)} == {first[0]["context"]}
    assert "oolong" in first[0]["context"]
    assert last.config is not None
    assert last.config["failure"] == NOT_ASKED


@pytest.mark.slow
async def test_only_one_request_tries_a_model_and_an_answer_brings_it_back(
    service_of: ServiceOf, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the probe is under way, the rules answer others at once; when it is answered, the model plans again."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_S", 0)
    service = await service_of(context_model=MODEL, model_seconds=f"{LONG_S}/{PATIENCE_S}")
    ann = await someone(service)
    await fail(service, ann, model_server, fails(503))
    sent = len(model_server.requests)

    model_server.play(hangs(), endless=True)
    probing = await contexts(service, ann, 20)
    probes = len(model_server.requests) - sent
    model_server.play(CHOSEN, endless=True)
    back = [(await contexts(service, ann, 1))[0] for _ in range(3)]

    assert probes == 1
    assert {one["degraded"] for one in probing} == {DEGRADED}
    assert {(one["planner"], one["degraded"]) for one in back} == {(MODEL, None)}


@pytest.mark.parametrize(
    ("act", "is_to_blame"),
    [
        pytest.param(hangs(), True, id="hangs"),
        pytest.param(resets(), True, id="resets", marks=pytest.mark.slow),
        pytest.param(fails(500), True, id="500"),
        pytest.param(fails(429), True, id="429", marks=pytest.mark.slow),
        pytest.param(fails(400), False, id="400"),
        pytest.param(fails(401), False, id="401", marks=pytest.mark.slow),
        pytest.param(fails(422), False, id="422", marks=pytest.mark.slow),
        pytest.param(filtered(), False, id="filtered", marks=pytest.mark.slow),
        pytest.param(says("no plan"), False, id="no plan"),
    ],
)
async def test_only_failures_of_the_server_count(
    service_of: ServiceOf, model_server: ModelServer, act: Step, is_to_blame: bool
) -> None:
    """A request that is refused, or an answer of no use, says nothing of the next request."""
    service = await service_of(context_model=MODEL, model_seconds="0.5/30")
    ann = await someone(service)

    await fail(service, ann, model_server, act)

    assert service.metrics.is_left_alone(MODEL, "context") == is_to_blame


async def test_no_tenant_takes_the_model_from_another(
    service_of: ServiceOf, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests at which the server breaks close out the tenant that sends them, and nobody else."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_S", 600)
    service = await service_of(context_model=MODEL, model_seconds=f"{PATIENCE_S}/{PATIENCE_S}")
    ann, eve = await someone(service), await someone(service, "others", "eve")

    def break_at_poison(request: Request) -> Step:
        return fails(500) if "poison" in request.text else CHOSEN

    model_server.play(break_at_poison, endless=True)
    poison = ASKED | {"query": "poison in tea"}
    poisoned = [await service.execute(eve, "memory_context", poison) for _ in range(MAX_FAILURES)]
    sent = len(model_server.requests)
    [closed_out] = await contexts(service, eve, 1)
    sent_for_eve = len(model_server.requests) - sent
    [answer] = await contexts(service, ann, 1)

    assert {one["degraded"] for one in poisoned} == {DEGRADED}
    assert (closed_out["degraded"], sent_for_eve) == (DEGRADED, 0)
    assert (answer["planner"], answer["degraded"]) == (MODEL, None)


@pytest.mark.slow
async def test_a_slow_context_leaves_remembering_alone(
    service_of: ServiceOf, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is too slow for contexts may still be fast enough to remember, which may take longer."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_S", 600)
    service = await service_of(model=MODEL, model_seconds="0.5/30")
    ann = await someone(service)
    await fail(service, ann, model_server, hangs())
    model_server.play(says({"edits": [], "skipped": []}), endless=True)
    sent = len(model_server.requests)

    await service.execute(ann, "memory_remember", {"text": "I prefer green tea."})

    assert len(model_server.requests) > sent
    assert service.metrics.is_left_alone(MODEL, "context")
    assert not service.metrics.is_left_alone(MODEL, "remember")


async def test_calls_without_the_model_are_replayed_to_the_byte(
    service_of: ServiceOf, model_server: ModelServer
) -> None:
    """Those that waited for it, and those that did not ask it."""
    service = await service_of(model=MODEL, model_seconds="0.5/0.5")
    ann = await someone(service)
    ids = await fail(service, ann, model_server, hangs())
    unasked = await contexts(service, ann, 1)
    text = "I prefer green tea. " * 5
    remembered = [
        await service.execute(ann, "memory_remember", {"text": f"{text}{n}"}) for n in range(MAX_FAILURES + 1)
    ]
    ids += [one["tool_call_id"] for one in (*unasked, *remembered)]
    sent = len(model_server.requests)

    results = [await replay_call(service, ann, one) for one in ids]

    assert [result.difference for result in results] == [None] * len(ids)
    assert all(result.is_equal for result in results)
    assert {result.result["degraded"] for result in results} == {DEGRADED}
    assert len(model_server.requests) == sent


async def test_health_says_who_plans_and_how_many_answers_were_degraded(
    service_of: ServiceOf, model_server: ModelServer
) -> None:
    """Nine of eleven contexts, and the same in the numbers of `/metrics`; nothing failed."""
    service = await service_of(context_model=MODEL, model_seconds="30/30")
    ann, admin = await someone(service), await admin_of(service)
    model_server.play(CHOSEN, endless=True)
    await contexts(service, ann, 2)
    well = await read_health(service, admin)
    await fail(service, ann, model_server, fails(503))
    await contexts(service, ann, 6)

    ill = await read_health(service, admin)
    text = service.metrics.exposition({})[0].decode()

    checks = {one.name: one for one in ill.checks}
    assert well.answers[0] == AnswersHealth(
        tool="memory_context", model=MODEL, in_use=MODEL, answers=2, degraded=0
    )
    states = {one.name: one.state for one in well.checks}
    assert (states["planner"], states["degraded"]) == ("note", "ok")
    assert ill.answers == [
        AnswersHealth(tool="memory_context", model=MODEL, in_use="builtin", answers=11, degraded=9),
        AnswersHealth(tool="memory_remember", model="builtin", in_use="builtin", answers=0, degraded=0),
        AnswersHealth(tool="memory_find", model=None, in_use=None, answers=0, degraded=0),
    ]
    assert not ill.ok
    assert checks["planner"].state == checks["degraded"].state == "problem"
    assert "9 of 11 answers of memory_context (82%)" in checks["degraded"].detail
    assert f'memex_breaker_open{{model="{MODEL}",use="context"}} 1.0' in text
    assert 'memex_degraded_total{tool="memory_context"} 9.0' in text
    assert await replayable(service, ann, only_degraded=True, limit=20) != []


@pytest.mark.slow
async def test_a_search_waits_once_for_an_embedder_that_hangs(
    service_of: ServiceOf, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers say that they are degraded, and are replayed so."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_S", 600)
    monkeypatch.setitem(remote.DEADLINES_S, "query", DEADLINE_S)
    service = await service_of(embedder=EMBEDDER)
    ann, admin = await someone(service), await admin_of(service)
    model_server.play(embeds, endless=True)
    before = await find(service, ann)  # also loads the client
    model_server.play(hangs(), endless=True)

    started_s = time.monotonic()
    first = await find(service, ann)
    waited_s = time.monotonic() - started_s
    sent = len(model_server.requests)
    started_s = time.monotonic()
    later = [await find(service, ann) for _ in range(20)]
    recalled = await service.execute(ann, "memory_context", ASKED)
    waited_later_s = time.monotonic() - started_s
    health = await read_health(service, admin)
    replayed = await replay_call(service, ann, later[-1]["tool_call_id"])
    [logged] = await read_attempts(service, ann, later[-1]["tool_call_id"])

    assert "degraded" not in before
    assert DEADLINE_S <= waited_s < DEADLINE_S + AT_ONCE_S
    assert waited_later_s < AT_ONCE_S
    assert sent == len(model_server.requests)
    assert {one["degraded"] for one in (first, *later, recalled)} == {DEGRADED}
    assert [hit["path"] for hit in first["hits"]] == ["user/tea.md"]
    assert replayed.is_equal
    assert logged.response is not None
    assert logged.response["degraded"] == DEGRADED
    assert health.answers[2] == AnswersHealth(
        tool="memory_find", model=EMBEDDER, in_use=None, answers=22, degraded=21
    )


async def test_a_search_brings_an_embedder_back(
    service_of: ServiceOf, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the pause one search asks it, and its answer is complete, as the next ones are."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_S", 0)
    monkeypatch.setitem(remote.DEADLINES_S, "query", DEADLINE_S)
    service = await service_of(embedder=EMBEDDER)
    ann = await someone(service)
    model_server.play(resets(), endless=True)
    first = await find(service, ann)
    sent = len(model_server.requests)
    model_server.play(hangs(), endless=True)
    probing = await asyncio.gather(*(find(service, ann) for _ in range(20)))
    probes = len(model_server.requests) - sent
    model_server.play(embeds, endless=True)
    assert service.embedder is not None
    await backfill(service.database, service.embedder)
    back = [await find(service, ann) for _ in range(3)]

    assert probes == 1
    assert {one["degraded"] for one in (first, *probing)} == {DEGRADED}
    assert not any("degraded" in one for one in back)
    assert {one["hits"][0]["match"]["mode"] for one in back} == {"hybrid"}


async def test_a_text_that_the_embedders_server_cannot_take_closes_nobody_out(
    service_of: ServiceOf, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A status, also 500, that answers one question is one failure; the next answer forgets it."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_S", 600)
    monkeypatch.setitem(remote.DEADLINES_S, "query", DEADLINE_S)
    service = await service_of(embedder=EMBEDDER)
    ann = await someone(service)

    def break_at_poison(request: Request) -> Step:
        return fails(500) if "poison" in str(request.body) else embeds(request)

    model_server.play(break_at_poison, endless=True)
    answers = [
        await find(service, ann, query=query) for _ in range(MAX_FAILURES) for query in ("poison", "oolong")
    ]

    assert [one.get("degraded") for one in answers] == [DEGRADED, None] * MAX_FAILURES
