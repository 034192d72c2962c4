"""A call of the log is run again with one thing changed, and stands beside what it was."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.kit.model_server import ModelServer, Usage, calls, fails, says

from memex.errors import LimitExceeded, ProjectNotFound, ValidationFailed
from memex.service.chunk_embedding import embed_scope
from memex.service.log.call_list import list_calls, read_attempts
from memex.service.log.replay.counterfactual import ReplayChange
from memex.service.log.replay.requests import replay_call, replay_changed, replayable
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.past import changes as changed
from memex.store.search.analyzer import Analyzer
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.limits import Limits
from memex.subagent.model.chat import ChatModel, ModelAccess, chat_model
from memex.subagent.model.planner import ModelPlanner

# One server is enough: what a model is asked is the same on each.
pytestmark = pytest.mark.embedded_only

TEA = "# Tea\n\nI like oolong tea.\n\n## Brewing\n\nAt 90 degrees, as in [[coffee]].\n"
FILES = {
    "user/tea.md": TEA,
    "user/coffee.md": "# Coffee\n\nHot tea is no coffee.\n",
    "user/shop.md": "# Shop\n\nThe tea shop in Hamburg opens at nine.\n",
}
ASKED = {"query": "Which tea do I like?"}
FIRST = {"lines": [1]}
BOTH = {"lines": [1, 2]}


@pytest.fixture
def chat(model_server: ModelServer) -> ChatModel:
    """A model behind OpenAI's own client, with a price."""
    return chat_model("openai:test-model", ModelAccess("secret", model_server.url), price="1/2")


@pytest.fixture
async def plain(database: Database, alice: Caller) -> Service:
    """A service by rules over three files."""
    service = Service(database, max_files=100)
    for path, text in FILES.items():
        await service.execute(alice, "memory_write", {"path": path, "content": text})
    return service


def modelled(database: Database, chat: ChatModel, **options: Any) -> Service:
    """Return a service whose model this is."""
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()), **options)
    return Service(database, max_files=100, planning=Planners(planner, planner))


@pytest.mark.slow
async def test_a_real_clients_call_gives_the_same_bytes(
    plain: Service, alice: Caller, chat: ChatModel, model_server: ModelServer
) -> None:
    """What OpenAI's client sent and got, failures and costs, is played without it."""
    searched = calls(("find", {"query": "hot drinks"}), usage=Usage(1_000, 100))
    model_server.play(searched, calls(("answer", BOTH), usage=Usage(2_000, 50)))
    asked = modelled(plain.database, chat)
    await asked.execute(alice, "memory_context", ASKED, tool_call_id="first")
    model_server.play(searched, *[fails(500)] * 20)
    await asked.execute(alice, "memory_context", ASKED, tool_call_id="second")
    await chat.close()
    sent = len(model_server.requests)
    results = [await replay_call(plain, alice, call) for call in ("first", "second")]

    assert [result.difference for result in results] == [None, None]
    assert all(result.is_equal for result in results)
    assert len(model_server.requests) == sent
    assert [result.result["degraded"] for result in results] == [None, "MODEL_UNAVAILABLE"]


async def test_the_rules_in_the_models_place(
    plain: Service, alice: Caller, chat: ChatModel, model_server: ModelServer
) -> None:
    """What they choose instead, what that saves, and nothing is asked."""
    model_server.play(says(FIRST, usage=Usage(1_000, 100)))
    asked = modelled(plain.database, chat, mode="single")
    answer = await asked.execute(alice, "memory_context", ASKED, tool_call_id="first")
    by_rules = await plain.execute(alice, "memory_context", ASKED)
    result = await replay_changed(plain, alice, "first", ReplayChange(planner="builtin"))
    await chat.close()

    assert (result.before.planner, result.after.planner) == ("openai:test-model", "builtin")
    assert (result.before.requests, result.after.requests) == (1, 0)
    assert (result.before.usd, result.after.usd) == (pytest.approx(0.0012), 0)
    assert (result.before.input_tokens, result.before.output_tokens) == (1_000, 100)
    assert result.is_replayed
    assert (result.before.chars, result.after.chars) == (len(answer["context"]), len(by_rules["context"]))
    assert {*result.kept, *result.removed} == {*result.before.items}
    assert {*result.kept, *result.added} == {*result.after.items}


async def test_another_model_is_asked_and_logged(
    plain: Service, alice: Caller, chat: ChatModel, model_server: ModelServer
) -> None:
    """In the state of then; paid, and under a call of its own, since it has seen memory."""
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    await plain.execute(alice, "memory_write", {"path": "user/new.md", "content": "Tea, tea, tea!"})
    model_server.play(says(BOTH, usage=Usage(1_000, 100)))
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()), mode="single")
    change = ReplayChange(model="openai:test-model")
    result = await replay_changed(plain, alice, "first", change, planner=planner)
    await chat.close()
    [newest] = (await list_calls(plain, alice, limit=1)).operations
    [attempt] = await read_attempts(plain, alice, newest.tool_call_id)

    assert result.after.requests == 1
    assert result.after.usd == pytest.approx(0.0012)
    assert not any("new.md" in item for item in result.after.items)
    assert "new.md" not in model_server.requests[0].text
    assert newest.tool == "memory_replay"
    assert [one.model for one in attempt.inner if one.tool == "model_request"] == ["openai:test-model"]


async def test_another_prompt_is_tried(
    plain: Service, alice: Caller, chat: ChatModel, model_server: ModelServer
) -> None:
    """With the same model, the same memory and the same question."""
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    text = prompts.load("context").text.replace(
        "# Instructions\n", "# Instructions\n\nAnswer like a pirate.\n"
    )
    model_server.play(says(FIRST))
    prompt = prompts.parse("context", text)
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()), mode="single", load=lambda _: prompt)
    result = await replay_changed(plain, alice, "first", ReplayChange(prompt=text), planner=planner)
    await chat.close()

    assert "Answer like a pirate." in model_server.requests[0].text
    assert result.change["prompt"].endswith("characters")


async def test_another_budget(plain: Service, alice: Caller) -> None:
    """Takes away what does not fit, and gives the rest as it is."""
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    result = await replay_changed(plain, alice, "first", ReplayChange(budget=220))

    assert result.after.chars <= 220 < result.before.chars
    assert not result.is_same_answer
    assert result.removed
    assert result.diff.startswith("---")


async def test_recorded_answers_to_other_requests_are_counted(
    plain: Service, alice: Caller, chat: ChatModel, model_server: ModelServer
) -> None:
    """A model was told another budget: what it would say now, only asking tells."""
    model_server.play(says(BOTH))
    await modelled(plain.database, chat, mode="single").execute(
        alice, "memory_context", ASKED, tool_call_id="first"
    )
    await chat.close()
    result = await replay_changed(plain, alice, "first", ReplayChange(budget=400))

    assert result.stale_answers == 1
    assert result.after.chars <= 400


async def test_words_alone_in_place_of_meaning(database: Database, plain: Service, alice: Caller) -> None:
    """What vectors added goes, and the other way round it comes."""
    if not database.has_vectors:
        pytest.skip("no pgvector here")
    embedder = HashEmbedder()
    both = Service(database, max_files=100, embedder=embedder)
    await embed_scope(database, embedder, alice.access.log_scope_id)
    await both.execute(alice, "memory_context", ASKED, tool_call_id="by-both")
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="by-words")
    words = await replay_changed(both, alice, "by-both", ReplayChange(search_mode="bm25"))
    meaning = await replay_changed(both, alice, "by-words", ReplayChange(search_mode="hybrid"))
    [newest, before] = (await list_calls(both, alice, limit=2)).operations

    assert words.is_replayed
    assert (newest.tool, newest.request["search_mode"]) == ("memory_replay", "hybrid")
    assert newest.config == {"embedder": embedder.name}
    assert before.tool == "memory_context"
    assert meaning.is_replayed
    assert words.after.items == meaning.before.items
    assert words.before.items == meaning.after.items


async def test_the_models_of_a_service_are_asked(
    plain: Service, alice: Caller, chat: ChatModel, model_server: ModelServer
) -> None:
    """By name, or with another prompt; a model that is not set up is none."""
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()), mode="single")
    service = Service(plain.database, max_files=100, planning=Planners(planner, planner, None, (chat,)))
    text = prompts.load("context").text.replace(
        "# Instructions\n", "# Instructions\n\nAnswer like a pirate.\n"
    )
    model_server.play(says(BOTH), says(FIRST))
    named = await replay_changed(service, alice, "first", ReplayChange(model="openai:test-model"))
    prompted = await replay_changed(service, alice, "first", ReplayChange(prompt=text))
    with pytest.raises(ValidationFailed, match="No model can be asked here"):
        await replay_changed(service, alice, "first", ReplayChange(model="openai:another"))
    await chat.close()

    assert service.planners.models == ("openai:test-model",)
    assert (named.after.planner, prompted.after.planner) == ("openai:test-model", "openai:test-model")
    assert ["pirate" in request.text for request in model_server.requests] == [False, True]


async def test_another_moment(plain: Service, alice: Caller) -> None:
    """Memory as it is now, at a time, or in a state; what is not changed stays as it was."""
    before = datetime.now(UTC)
    await plain.execute(alice, "memory_write", {"path": "user/new.md", "content": "Tea, tea, which tea!"})
    answer = await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    await plain.execute(alice, "memory_delete", {"path": "user/tea.md"})
    now = await replay_changed(plain, alice, "first", ReplayChange(as_of="now"))
    then = await replay_changed(plain, alice, "first", ReplayChange(as_of=before.isoformat()))
    same = await replay_changed(plain, alice, "first", ReplayChange(as_of=answer["state"]))

    assert now.is_replayed
    assert any(item.startswith("user/tea.md@") for item in now.removed)
    assert any(item.startswith("user/new.md@") for item in now.kept)
    assert [item for item in then.removed if not item.startswith("user/new.md@")] == []
    assert then.removed
    assert same.is_same_answer
    assert (now.change, then.change["as_of"]) == ({"as_of": "now"}, before.isoformat())


@pytest.mark.parametrize("moment", ["yesterday", "2026-11-22T09:30:00", {"user": 10**6}, {"attic": 1}])
async def test_a_moment_that_is_none_is_refused(plain: Service, alice: Caller, moment: Any) -> None:
    """A time without a zone, and a state that memory never had."""
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")

    with pytest.raises(ValidationFailed):
        await replay_changed(plain, alice, "first", ReplayChange.of(as_of=moment))


async def test_another_moment_shows_no_project_that_the_call_did_not_see(
    plain: Service, database: Database, alice: Caller
) -> None:
    """Who became a member since reads in the comparison what the call could read."""
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    admin = await plain.caller(
        type(alice.principal)(alice.principal.tenant_id, "admin"), identity_of("alice")
    )
    async with database.transaction(admin.access) as connection:
        await tenants.open_project(connection, admin.access, "apollo")
        await tenants.add_member(connection, admin.access, "apollo", "alice")
    member = await plain.caller(alice.principal, identity_of("alice"))
    plan = {"path": "projects/apollo/plan.md", "content": "# Plan\n\nWhich tea do I like?\n"}
    await plain.execute(member, "memory_write", plan)
    now = await replay_changed(plain, member, "first", ReplayChange(as_of="now"))

    assert not any("projects/" in item for item in now.after.items)


@pytest.mark.parametrize(
    ("call", "change", "told"),
    [
        ("text", ReplayChange(as_of="now"), "no moment"),
        ("first", ReplayChange(), "Nothing was chosen"),
        ("first", ReplayChange(planner="builtin", model="openai:x"), "The rules ask no model"),
        ("first", ReplayChange(model="openai:x"), "No model can be asked here"),
        ("first", ReplayChange(search_mode="hybrid"), "no vectors"),
        ("text", ReplayChange(budget=300), "no budget"),
    ],
)
async def test_a_change_that_is_none_is_refused(
    plain: Service, alice: Caller, call: str, change: ReplayChange, told: str
) -> None:
    """With what to do instead."""
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    await plain.execute(alice, "memory_remember", {"text": "I prefer tea."}, tool_call_id="text")

    with pytest.raises(ValidationFailed, match=told) as refused:
        await replay_changed(plain, alice, call, change)
    assert refused.value.hint


@pytest.mark.parametrize("call", ["write", "failed"])
async def test_what_has_nothing_to_compare_is_refused(plain: Service, alice: Caller, call: str) -> None:
    """A direct write, and a call that failed."""
    written = {"path": "user/x.md", "content": "x"}
    await plain.execute(alice, "memory_write", written, tool_call_id="write")
    with pytest.raises(ValidationFailed):
        await plain.execute(alice, "memory_context", {"query": 7}, tool_call_id="failed")

    with pytest.raises(ValidationFailed) as refused:
        await replay_call(plain, alice, call)
    assert refused.value.hint


async def test_a_past_too_far_away_is_restored_elsewhere(
    plain: Service, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where too much was changed since; the tenant is gone afterwards, and who may not wait is told."""
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="first")
    await plain.execute(alice, "memory_remember", {"text": "I prefer black tea."}, tool_call_id="text")
    for path in FILES:
        await plain.execute(alice, "memory_write", {"path": path, "content": "Gone.", "overwrite": True})
    monkeypatch.setattr(changed, "MAX_CHARS", 50)
    results = [await replay_call(plain, alice, call) for call in ("first", "text")]
    with pytest.raises(LimitExceeded) as refused:
        await replay_call(plain, alice, "first", may_restore=False)
    async with plain.database.maintenance() as connection:
        cursor = await connection.execute(b"select count(*) as n from tenant")
        left = await cursor.fetchone()

    assert [result.difference for result in results] == [None, None]
    assert refused.value.hint
    assert left == {"n": 1}


async def test_what_may_not_be_read_any_more_is_not_replayed(
    plain: Service, alice: Caller, database: Database
) -> None:
    """Who left a project does not get it back by way of the log; an admin does."""
    admin = await plain.caller(
        type(alice.principal)(alice.principal.tenant_id, "admin"), identity_of("alice")
    )
    async with database.transaction(admin.access) as connection:
        await tenants.open_project(connection, admin.access, "apollo")
        await tenants.add_member(connection, admin.access, "apollo", "alice")
    member = await plain.caller(alice.principal, identity_of("alice"))
    plan = {"path": "projects/apollo/plan.md", "content": "# Plan\n\nTea for the crew.\n"}
    await plain.execute(member, "memory_write", plan)
    await plain.execute(member, "memory_context", ASKED, tool_call_id="first")
    async with database.transaction(admin.access) as connection:
        await tenants.remove_member(connection, admin.access, "apollo", "alice")
    admin = await plain.caller(admin.principal, identity_of("alice"))
    left = await plain.caller(alice.principal, identity_of("alice"))

    with pytest.raises(ProjectNotFound):
        await replay_call(plain, left, "first")
    assert (await replay_call(plain, admin, "first")).is_equal


def identity_of(user: str) -> Any:
    """Return the context of a user's calls."""
    from memex.call_context import CallContext

    return CallContext(user_id=user, actor="tests")


async def test_calls_are_found_by_time_tool_and_failure(
    plain: Service, alice: Caller, chat: ChatModel, model_server: ModelServer
) -> None:
    """Each once, the newest first; only those that gave an answer."""
    started = datetime.now(UTC)
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="one")
    await plain.execute(alice, "memory_remember", {"text": "I prefer tea."}, tool_call_id="two")
    await plain.execute(alice, "memory_context", ASKED, tool_call_id="one")
    model_server.play(*[fails(500)] * 20)
    asked = modelled(plain.database, chat, limits=Limits(seconds=5))
    await asked.execute(alice, "memory_context", ASKED, tool_call_id="three")
    await chat.close()

    assert await replayable(plain, alice) == ["three", "one", "two"]
    assert await replayable(plain, alice, which="context") == ["three", "one"]
    assert await replayable(plain, alice, only_degraded=True) == ["three"]
    assert await replayable(plain, alice, since=started, limit=1) == ["three"]
    assert await replayable(plain, alice, since=datetime.now(UTC) + timedelta(hours=1)) == []
