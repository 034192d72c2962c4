"""memory_context with a chat model that misbehaves, over HTTP: an answer always comes, and the log tells why."""

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.kit.model_server import (
    ERROR_TEXT,
    Act,
    ModelServer,
    Request,
    Step,
    Turn,
    Usage,
    calls,
    choiceless,
    cut,
    cut_off,
    drips,
    empty,
    fails,
    filtered,
    garbage,
    hangs,
    refuses,
    resets,
    says,
    serving,
)
from tests.kit.postgres_servers import Server
from tests.kit.property_budget import costly, in_turn

from memex.call_context import CallContext
from memex.errors import ValidationFailed
from memex.service.conversations import putting
from memex.service.conversations.putting import ConversationInput, SourceInput
from memex.service.log.call_list import read_attempts
from memex.service.log.operations import OperationResult
from memex.service.service import Caller, Service
from memex.settings import Settings
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.subagent.model import chat as chat_models
from memex.wiring import running_service

QUERY = "Which tea do I like?"
DEADLINE_S = 0.8  # of a model that is slow on purpose; a busy machine comes to the last request before it
PATIENCE_S = 30  # no call may take so long, whatever its deadline
DEGRADED = "MODEL_UNAVAILABLE"
MODEL = "openai:small"
KEY = "sk-of-these-tests"
TEA = "# Tea\n\nI like oolong tea.\n\n## Brewing\n\nAt 90 degrees. See [[kettle]].\n"
FILES = {
    "user/tea.md": TEA,
    "user/kettle.md": "# Kettle\n\nThe blue kettle is for tea.\n",
    "user/coffee.md": "# Coffee\n\nI do not like coffee after tea.\n",
}
READING = {
    "memory_find",
    "memory_links",
    "memory_list",
    "memory_passages",
    "memory_statements",
    "memory_pinned",
    "memory_read",
}
EVERY_TOOL = (
    ("find", {"query": "kettle"}),
    ("read", {"place": "user/kettle.md"}),
    ("read", {"place": "1", "heading": "Brewing"}),
    ("links", {"place": "user/tea.md"}),
)

Found = dict[str, Any]
Ask = Callable[..., Awaitable[tuple[Found, OperationResult]]]


def answers(*lines: object, reasons: Sequence[str] = (), **turn: Any) -> Callable[[Request], Step]:
    """Return a step that picks lines: by the tool for answers, or as a document where none is offered."""
    document = {"lines": lines, "reasons": reasons} if reasons else {"lines": lines}
    return lambda request: (
        calls(("answer", document), **turn) if "answer" in request.tools else says(document, **turn)
    )


def unless_single(step: Step) -> Callable[[Request], Step]:
    """Return a step for as long as there are tools; asked for one answer at once, the model gives it."""
    return lambda request: step if "find" in request.tools else says({"lines": [1]})


@pytest.fixture(autouse=True)
def quick_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the pauses before a request is repeated."""
    monkeypatch.setattr(chat_models, "FIRST_PAUSE_S", 0.001)


@pytest.fixture(scope="module")
def module_conninfo(embedded_server: Server) -> Iterator[str]:
    """One database for the module: each test has a user of its own."""
    name = f"memex_models_{uuid.uuid4().hex[:12]}"
    yield embedded_server.create(name)
    embedded_server.drop(name)


class KeptDatabase(Database):
    """The pool that the services of these tests share: none of them closes it."""

    async def close(self) -> None:
        """Do nothing."""


@pytest.fixture(scope="module")
async def module_database(module_conninfo: str) -> AsyncIterator[KeptDatabase]:
    """The pool over the database of the module."""
    database = await KeptDatabase.open(module_conninfo, max_connections=5)
    yield database
    await Database.close(database)


ServiceOf = Callable[..., Awaitable[Service]]


@pytest.fixture(scope="module", autouse=True)
def client_is_loaded() -> None:
    """The first call's deadline does not pass while a model's client is imported."""
    import_module("pydantic_ai.models.openai")
    import_module("pydantic_ai.retries")


@pytest.fixture
async def service_of(
    module_database: KeptDatabase,
    module_conninfo: str,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[ServiceOf]:
    """What runs services as the environment would: `service_of(model_mode="single")`.

    They share their connections, but for one that asks for a number of its own.
    """

    async def shared(*_: Any, **__: Any) -> Database:
        return module_database

    async with AsyncExitStack() as held:

        async def make(**settings: Any) -> Service:
            wanted = {
                "database_url": module_conninfo,
                "context_model": MODEL,
                "openai_base_url": model_server.url,
                "openai_api_key": KEY,
            }
            with monkeypatch.context() as patched:
                if "max_connections" not in settings:
                    patched.setattr(Database, "open", shared)
                return await held.enter_async_context(running_service(Settings(**(wanted | settings))))

        yield make


@pytest.fixture
async def failing(service_of: ServiceOf) -> Service:
    """A service that asks its model for one answer, and always anew."""
    return await service_of(model_mode="single")


async def someone(service: Service, files: Mapping[str, str] = FILES) -> Caller:
    """Return a user whose memory holds files, by default those of these tests."""
    tenant_id = await tenants.ensure_tenant(service.database, "default")
    user = CallContext(user_id=f"user-{uuid.uuid4().hex[:8]}")
    caller = await service.caller(Principal(tenant_id, "agent"), user, makes_user=True)
    for path, content in files.items():
        await service.execute(caller, "memory_write", {"path": path, "content": content})
    return caller


@dataclass(slots=True)
class Reader:
    """A user whose memory nobody changes, and what the rules answered."""

    caller: Caller
    builtin: Service
    ruled: dict[int, Found] = field(default_factory=dict)

    async def by_rules(self, budget: int) -> Found:
        """Return the answer of the rules within a budget."""
        if budget not in self.ruled:
            arguments = {"query": QUERY, "budget": budget}
            self.ruled[budget] = await self.builtin.execute(self.caller, "memory_context", arguments)
        return self.ruled[budget]


@pytest.fixture(scope="module")
async def reader(module_database: KeptDatabase) -> Reader:
    """The user of all tests that only ask."""
    builtin = Service(module_database, max_files=100)
    return Reader(await someone(builtin), builtin)


@pytest.fixture
async def ask(service_of: ServiceOf, model_server: ModelServer, reader: Reader) -> Ask:
    """What asks a question of a model that plays a script, and checks what holds for every answer."""

    async def make(*script: Act, endless: bool = False, budget: int = 8_000, **settings: Any) -> Any:
        service = await service_of(**settings)
        model_server.play(*script, endless=endless)
        async with asyncio.timeout(PATIENCE_S):
            answer = await service.execute(
                reader.caller, "memory_context", {"query": QUERY, "budget": budget}
            )
        [operation] = await read_attempts(service, reader.caller, answer["tool_call_id"])
        check(answer, await reader.by_rules(budget), operation)
        return answer, operation

    return make


def check(answer: Found, ruled: Found, operation: OperationResult) -> None:
    """Fail unless an answer is verbatim, or the rules' own and marked, and its log says how it came about.

    A model that was not asked, since the rules are sure, is no failure.
    """
    requests = requests_of(operation)
    assert answer["budget"]["used"] == len(answer["context"]) <= answer["budget"]["limit"]
    for source in answer["sources"]:
        for span in source["spans"]:
            text = FILES[source["path"]][span["start"] : span["end"]]
            assert hashlib.sha256(text.encode()).hexdigest() == span["sha256"]
            assert text in answer["context"]
    if answer["degraded"] is None and not requests:
        assert answer["planner"] == "builtin"
        assert bare(answer) == bare(ruled)
    elif answer["degraded"] is None:
        assert answer["planner"] == MODEL
        assert operation.config is not None
        assert "failure" not in operation.config
    else:
        assert (answer["planner"], answer["degraded"]) == ("builtin", DEGRADED)
        assert bare(answer) == bare(ruled)
        assert operation.config is not None
        assert operation.config["failure"]
    assert operation.status == "answered"
    assert operation.writes == []
    assert {inner.tool for inner in operation.inner} <= READING | {"model_request"}
    assert KEY not in operation.model_dump_json()
    assert ERROR_TEXT not in operation.model_dump_json()
    for request in requests:
        assert request.model == MODEL
        assert request.usage is not None
        assert len(request.request["sha256"]) == 64
        assert request.prompt_sha256
        assert (request.error_code == DEGRADED) == ("failure" in request.response)
        assert (request.error_code is None) == ("parts" in request.response)


def bare(answer: Found) -> Found:
    """Return what of an answer must not depend on who planned."""
    return {
        name: value for name, value in answer.items() if name not in {"tool_call_id", "planner", "degraded"}
    }


def requests_of(operation: OperationResult) -> list[Any]:
    """Return the requests to the model that are in the log of a call."""
    return [inner for inner in operation.inner if inner.tool == "model_request"]


def made(operation: OperationResult, tool: str) -> list[dict[str, Any]]:
    """Return the operations of a kind that a call made on memory."""
    return [inner.request for inner in operation.inner if inner.tool == tool]


CHOSEN = calls(("answer", {"lines": [1]}))
MENDED: dict[str, list[Act]] = {
    "answers at once": [answers(1)],
    "looks around first": [calls(*EVERY_TOOL), answers(1)],
    "says something beside its call": [calls(*EVERY_TOOL[:1], text="Let me look."), answers(1)],
    "sends arguments that are no JSON": [calls(("find", '{"query": ')), answers(1)],
    "sends arguments of another tool": [calls(("find", {"path": "user/tea.md"})), answers(1)],
    "sends arguments of no form": [calls(("find", "[]"), ("read", "null"), ("links", "7")), answers(1)],
    "sends too many arguments": [calls(("find", {"query": "tea", "user_id": "bob"})), answers(1)],
    "sends no arguments": [calls(("find", ""), ("read", "")), answers(1)],
    "invents a tool": [calls(("memory_write", {"path": "user/x.md", "content": "x"})), answers(1)],
    "invents a path": [calls(("read", {"place": "users/bob/tea.md"})), answers(1)],
    "answers in no form": [calls(("answer", {"lines": "one"})), answers(1)],
    "answers null": [calls(("answer", "null")), answers(1)],
    "answers twice at once": [calls(*[("answer", {"lines": [1]})] * 2)],
    "answers and looks around at once": [calls(("answer", {"lines": []}), *EVERY_TOOL)],
    "names a line that there is not": [answers(99), answers(1)],
    "names a file that there is not": [answers("user/secret.md@1:0-10"), answers(1)],
    "names a number beyond all": [answers(10**40), answers(1)],
    "names a number below all": [answers(-1, 0), answers(1)],
    "names the text itself": [answers("I like oolong tea."), answers(1)],
    "names a line twice": [answers(1, 1, 2, 1)],
    "asks for what no tool takes": [
        calls(
            ("find", {"query": ""}),
            ("find", {"query": "tea " * 20_000}),
            ("read", {"place": ""}),
            ("read", {"place": "user/tea.md", "heading": ""}),
            ("read", {"place": "99"}),
            ("links", {"place": "user/"}),
        ),
        answers(1),
    ],
    "says nothing of its tokens": [answers(1, usage=None)],
    "read much of it before": [answers(1, usage=Usage(5_000, 20, cached_tokens=4_900))],
    "says that it used endless tokens": [answers(1, usage=Usage(10**30, 10**30, cached_tokens=10**30))],
    "talks first": [says("I would call find."), answers(1)],
    "is out of order for a moment": [fails(429, retry_after=0), fails(503), resets(), answers(1)],
    "breaks off once": [cut(CHOSEN), answers(1)],
    "hangs up between": [calls(*EVERY_TOOL), resets(), answers(1)],
    "searches for what cannot be stored": [
        calls(("find", {"query": "a\0b"}), ("find", {"query": "\ud800"}), ("read", {"place": "user/\0.md"})),
        answers(1),
    ],
    "says what cannot be stored": [calls(*EVERY_TOOL[:1], text="a\0b"), answers(1)],
}


@pytest.mark.parametrize("script", in_turn(MENDED.values()), ids=MENDED.keys())
async def test_a_model_that_mends_its_ways_plans(
    ask: Ask, model_server: ModelServer, script: list[Act]
) -> None:
    """It is told what was wrong, and its next answer counts; each of its answers is in the log, whole."""
    answer, operation = await ask(*script)

    assert answer["degraded"] is None
    assert all(request.error_code is None for request in requests_of(operation))
    assert len(requests_of(operation)) == sum(1 for step in script if not is_lost(step))


def is_lost(step: Act) -> bool:
    """Tell whether a step is no answer: the same request is sent once more."""
    return isinstance(step, Step) and (step.status != 200 or step.fault is not None)


PAGES = [
    b"<html>Welcome</html>",
    b"",
    b"[1, 2",
    b'"words"',
    b"[]",
    b"null",
    b"7",
    b"{}",
    b'{"error": "no"}',
    b'{"choices": null}',
    b'{"choices": [null]}',
    b'{"choices": [{"message": null}]}',
    b'{"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": [1]}}]}',
    b'{"choices": [{"finish_reason": "stop", "message": {"tool_calls": [{}]}}]}',
    b'{"choices": [{"finish_reason": "stop", "message": {"tool_calls": [{"type": "function"}]}}]}',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"choices": ' + b"9" * 5_000 + b"}",
]
ALWAYS: dict[str, list[Act]] = {
    "refuses": [refuses()],
    "is filtered": [filtered()],
    "is cut off": [cut_off()],
    "says nothing": [empty()],
    "has no choice": [choiceless()],
    "talks": [says("I would call find.")],
    "sends arguments that are no JSON": [calls(("find", '{"query": '))],
    "invents tools": [calls(("memory_write", {"path": "user/x.md", "content": "x"}))],
    "wants no such request": [fails(400)],
    "knows no such model": [fails(404)],
    "knows no such key": [fails(401)],
    "is out of money": [fails(429, code="insufficient_quota")],
    "is overrun": [fails(429, retry_after=0)],
    "is overrun for long": [fails(429, retry_after=3_600)],
    "is out of order": [fails(500)],
    "breaks off": [cut(CHOSEN)],
    "hangs up": [resets()],
    "names lines that there are not": [answers(99)],
    "names the text itself": [answers("I like oolong tea.", "Oolong.")],
    "names the file of another": [answers("users/bob/tea.md@1:0-10")],
    "is no model": [garbage()],
    "is packed wrongly": [Step(body=b"no gzip", headers={"Content-Encoding": "gzip"})],
}


@pytest.mark.parametrize("mode", ["auto", pytest.param("single", marks=pytest.mark.slow)])
@pytest.mark.parametrize("script", in_turn(ALWAYS.values()), ids=ALWAYS.keys())
async def test_a_model_that_gives_no_plan_is_replaced_by_rules(
    ask: Ask, mode: str, script: list[Act], model_server: ModelServer
) -> None:
    """The answer is the rules' to the byte and marked as such, and the call's limit of requests holds."""
    answer, operation = await ask(*script, endless=True, model_mode=mode, model_requests=4)

    assert answer["degraded"] == DEGRADED
    assert 1 <= len(requests_of(operation)) <= 4
    assert len(model_server.requests) <= 4 * chat_models.ATTEMPTS


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_no_page_of_a_gateway_is_taken_for_an_answer(
    service_of: ServiceOf, model_server: ModelServer, api: str
) -> None:
    """Whatever comes with status 200, the rules answer."""
    service = await service_of(model_api=api, model_mode="tools")
    caller = await someone(service)
    answered = []
    for page in PAGES:
        model_server.play(garbage(page, "application/json"), endless=True)
        answer = await service.execute(caller, "memory_context", {"query": QUERY})
        answered.append((page[:60], answer["degraded"], "oolong" in answer["context"]))

    assert answered == [(page[:60], DEGRADED, True) for page in PAGES]


@pytest.mark.parametrize(
    ("script", "degraded"),
    [
        ([calls(*EVERY_TOOL), answers(1)], None),
        ([says("I would call find."), answers(1)], None),
        ([answers(99), answers(1)], None),
        ([refuses()], DEGRADED),
        ([filtered()], DEGRADED),
        ([cut_off()], DEGRADED),
        ([empty()], DEGRADED),
        ([fails(500)], DEGRADED),
        ([cut(CHOSEN)], DEGRADED),
    ],
)
async def test_the_responses_api_fails_no_other_way(
    ask: Ask, script: list[Act], degraded: str | None
) -> None:
    """The planner does the same with either API."""
    answer, _ = await ask(*script, endless=True, model_api="responses")

    assert answer["degraded"] == degraded


@pytest.mark.parametrize("late", [hangs(), drips(CHOSEN)], ids=["hangs", "drips"])
@pytest.mark.parametrize("script", [[], [calls(*EVERY_TOOL)]], ids=["at once", "later"])
async def test_the_deadline_of_a_call_holds(ask: Ask, script: list[Act], late: Step) -> None:
    """A model that does not come to an end is left, and the log says after how long it had not answered."""
    answer, operation = await ask(*script, late, model_seconds=DEADLINE_S)

    last = requests_of(operation)[-1]
    assert answer["degraded"] == DEGRADED
    assert last.response == {"failure": "it took too long"}
    assert operation.config is not None
    assert operation.config["failure"] == "it took too long"


async def test_a_server_that_is_not_there_is_replaced_by_rules(
    service_of: ServiceOf, model_server: ModelServer
) -> None:
    """Nothing listens: the call is answered all the same."""
    service = await service_of()
    caller = await someone(service)
    model_server.stop()

    answer = await service.execute(caller, "memory_context", {"query": QUERY})

    assert (answer["planner"], answer["degraded"]) == ("builtin", DEGRADED)
    assert "oolong" in answer["context"]


@pytest.mark.parametrize("place", [*(pytest.param(place, marks=pytest.mark.slow) for place in (1, 2)), 3])
@pytest.mark.parametrize(
    "failure",
    [fails(500), fails(401), resets(), cut(CHOSEN), garbage(), refuses(), hangs(), answers(99)],
    ids=["500", "401", "reset", "cut", "garbage", "refusal", "hang", "invention"],
)
async def test_wherever_a_model_fails_the_answer_is_that_of_the_rules(
    ask: Ask, place: int, failure: Act
) -> None:
    """To the byte, but for who planned, as `ask` checks: what was found before leaves no trace in it."""
    looks = [
        calls(("find", {"query": f"kettle {n}"}), ("read", {"place": "user/kettle.md"})) for n in range(2)
    ]

    answer, operation = await ask(
        *looks[: place - 1],
        failure,
        endless=True,
        model_mode="tools",
        model_seconds=DEADLINE_S if failure == hangs() else PATIENCE_S,
    )

    assert answer["degraded"] == DEGRADED
    assert [request.error_code for request in requests_of(operation)][: place - 1] == [None] * (place - 1)


async def test_what_is_included_stands_beside_what_a_model_picks(
    service_of: ServiceOf, model_server: ModelServer, module_database: KeptDatabase
) -> None:
    """The model is shown lines of memory alone; if it fails, the answer is that of the rules, to the byte."""
    builtin = Service(module_database, max_files=100)
    caller = await someone(builtin)
    said = {"id": "1", "role": "user", "text": "Which tea do I like? It was jasmine tea then."}
    talk = {"id": "tea", "title": "Tea", "messages": [said]}
    read = ConversationInput.model_validate(talk, strict=False)
    await putting.put(builtin, caller, SourceInput(kind="messages"), [read])
    user = CallContext(user_id=caller.access.user_id)
    caller = await builtin.caller(caller.principal, user, makes_user=True)
    asked = {"query": QUERY, "include": ["conversations"]}
    ruled = await builtin.execute(caller, "memory_context", asked)
    service = await service_of(model_mode="single")
    model_server.play(answers(1), endless=True)
    picked = await service.execute(caller, "memory_context", asked)
    shown = model_server.requests[-1].text
    model_server.play(garbage(), endless=True)
    failed = await service.execute(caller, "memory_context", asked)

    assert picked["degraded"] is None
    assert "jasmine" in picked["context"]
    assert "oolong" in shown
    assert "jasmine" not in shown
    assert failed["degraded"] == DEGRADED
    assert bare(failed) == bare(ruled)
    assert "jasmine" in ruled["context"]


async def test_a_model_that_never_answers_is_asked_for_one_answer_at_once(
    ask: Ask, model_server: ModelServer
) -> None:
    """It searches as long as it may; the last request of the call is kept for an answer without tools."""
    searches = iter(range(100))

    def search(request: Request) -> Step:
        return unless_single(calls(("find", {"query": f"tea {next(searches)}"})))(request)

    answer, operation = await ask(search, endless=True, model_requests=5)

    assert answer["degraded"] is None
    assert [request.request["mode"] for request in requests_of(operation)] == [*["tools"] * 4, "single"]
    assert "find" not in model_server.requests[-1].tools


@pytest.mark.parametrize("count", [20, 100])
async def test_calls_of_one_response_stay_within_the_limit(
    ask: Ask, model_server: ModelServer, count: int
) -> None:
    """Of many different ones the first are made, one after the other; the model hears it of each of the others."""
    many = calls(*(("find", {"query": f"tea {number}"}) for number in range(count)))

    answer, operation = await ask(many, answers(1), model_tool_calls=7)

    found = [request["query"] for request in made(operation, "memory_find")]
    results = model_server.requests[-1].tool_results
    assert found[-7:] == [f"tea {number}" for number in range(7)]
    assert QUERY in found[0]
    assert len(found) == 8
    assert len(results) == count
    assert sum("No tool calls are left" in result for result in results) == count - 7
    assert answer["degraded"] is None


async def test_calls_that_cannot_be_made_count_too(ask: Ask, model_server: ModelServer) -> None:
    """A hundred invented tools in each response use up the requests, and no operation is made for them."""
    many = calls(*(("memory_write", {"path": f"user/{number}.md"}) for number in range(100)))

    answer, operation = await ask(many, endless=True, model_mode="tools", model_requests=3)

    assert answer["degraded"] == DEGRADED
    assert len(model_server.requests) <= 3
    assert len(operation.inner) < 20


async def test_the_same_question_is_answered_from_memory(ask: Ask, model_server: ModelServer) -> None:
    """Within a response and in later ones: one operation on memory, and the model hears the same again."""
    again = calls(
        ("find", {"query": "kettle"}), ("find", {"query": "kettle"}), ("read", {"place": "user/tea.md"})
    )

    answer, operation = await ask(again, again, again, answers(1))

    results = model_server.requests[-1].tool_results
    assert [request["query"] for request in made(operation, "memory_find")].count("kettle") == 1
    assert len(results) == 9
    assert all(results[0] in result for result in (results[1], results[3], results[4]))
    assert answer["degraded"] is None


async def test_an_invented_line_is_answered_with_those_that_there_are(
    ask: Ask, model_server: ModelServer
) -> None:
    """Once; what is invented again is not asked for a third time."""
    _, operation = await ask(answers(99, 98), answers(99), model_mode="tools")

    _, second = model_server.requests
    assert "There is no line 99, 98; the numbers are 1 to " in second.text
    assert operation.config is not None
    assert operation.config["failure"] == "its plan names lines that there are not"


@pytest.mark.parametrize("picks", [[], [1], [3, 2, 1], [1, 2, 3, 4]], ids=["lazy", "one", "turned", "greedy"])
@pytest.mark.parametrize("budget", [300, 8_000])
async def test_whatever_a_model_picks_the_budget_holds(
    ask: Ask, model_server: ModelServer, picks: list[int], budget: int
) -> None:
    """One request is enough, and what it did not pick fills what is left."""
    answer, _ = await ask(answers(*picks), budget=budget)

    assert len(model_server.requests) == 1
    assert answer["degraded"] is None
    assert 0 < answer["budget"]["used"] <= budget


TOLD = st.lists(
    st.sampled_from(
        [
            *(
                "I like oolong tea.",
                "Tea is at five.",
                "We decided to paint the oars.",
                "My sister keeps alpacas.",
            ),
            *(
                "I live in Graz.",
                "I live in Linz now.",
                "Remember to call Bo on 3 May 2027.",
                "# Tea\n\n- oolong",
            ),
        ]
    )
    | st.text(min_size=1, max_size=60),
    max_size=5,
)
ASKED = st.sampled_from(
    ["Which tea do I like?", "Where do I live?", "What do I have to do?", "zyzzyva"]
) | st.text("abcdeé ?", min_size=1, max_size=30).filter(str.strip)
FAILURES = st.sampled_from(
    [fails(500), fails(401), garbage(), empty(), refuses(), choiceless(), says("Tea!")]
)


@settings(max_examples=6 * costly(), deadline=None, suppress_health_check=list(HealthCheck))
@example(told=["I like oolong tea."], asked="Which tea do I like?", budget=400, failure=fails(500))
@given(told=TOLD, asked=ASKED, budget=st.integers(200, 4_000), failure=FAILURES)
async def test_whatever_memory_holds_a_model_that_fails_leaves_the_answer_of_the_rules(
    failing: Service,
    reader: Reader,
    model_server: ModelServer,
    told: list[str],
    asked: str,
    budget: int,
    failure: Step,
) -> None:
    """The same bytes, but for who planned and that it is degraded; where no line was found, no model is asked."""
    model_server.play(failure, endless=True)
    before = len(model_server.requests)
    caller = await someone(reader.builtin, {})
    for text in told:
        with suppress(ValidationFailed):  # of spaces alone
            await reader.builtin.execute(caller, "memory_remember", {"text": text})
    arguments = {"query": asked, "budget": budget}
    ruled = await reader.builtin.execute(caller, "memory_context", arguments)
    answer = await failing.execute(caller, "memory_context", arguments)

    assert bare(answer) == bare(ruled)
    assert answer["planner"] == "builtin"
    is_asked = len(model_server.requests) > before or told == ["I like oolong tea."]
    assert answer["degraded"] == DEGRADED or not (is_asked or answer["degraded"])


async def test_a_pick_is_worth_what_the_setting_says(ask: Ask) -> None:
    """With much, the picked lines stand first; with nothing, the choice is that of the rules."""
    first, _ = await ask(answers(3), model_pick=100, budget=200)
    ruled, _ = await ask(answers(3), model_pick=0, budget=200)

    assert first["context"].index("The blue kettle") < first["context"].index("oolong")
    assert "oolong" in ruled["context"]
    assert "The blue kettle" not in ruled["context"]


async def test_a_model_is_not_asked_where_a_line_leads(ask: Ask, model_server: ModelServer) -> None:
    """The rules answer, which is no fault; without a lead, the model is asked always."""
    led, operation = await ask(answers(3), model_lead=0.01)
    assert not model_server.requests
    asked, _ = await ask(answers(3), model_lead=0)

    assert len(model_server.requests) == 1
    assert (led["planner"], led["degraded"]) == ("builtin", None)
    assert "oolong" in led["context"]
    assert "failure" not in (operation.config or {})
    assert asked["planner"] == MODEL


async def test_a_span_has_the_reason_that_a_model_gives(ask: Ask) -> None:
    """In one line of at most 100 characters; a pick without one has that of the rules, as what was not picked."""
    reasons = ["It names\nthe tea.", "x" * 500]
    answer, _ = await ask(answers(1, 2, 3, reasons=reasons), model_pick=100, budget=8_000)
    whys = [span["why"] for source in answer["sources"] for span in source["spans"]]

    assert {"It names the tea.", "x" * 100} <= set(whys)
    assert "words" in whys


async def test_a_plan_that_names_one_line_over_and_over_holds_it_once(
    ask: Ask, model_server: ModelServer
) -> None:
    """Fifty thousand times the same is one line; nothing of it is sent back."""
    answer, _ = await ask(answers(*[1] * 50_000), endless=True)

    assert answer["degraded"] is None
    assert answer["context"].count("oolong") == 1
    assert len(model_server.requests) == 1


@pytest.mark.parametrize(
    ("limits", "requests", "named"),
    [
        ({"model_requests": 1}, 1, "requests"),
        ({"model_requests": 3}, 3, "requests"),
        ({"model_input_tokens": 250}, 3, "input tokens"),
        ({"model_output_tokens": 15}, 2, "output tokens"),
        ({"model_usd": 0.0015, "model_price": "10/0"}, 2, "US dollars"),
    ],
    ids=["one request", "requests", "input tokens", "output tokens", "money"],
)
async def test_the_limits_of_a_call_hold(
    ask: Ask, model_server: ModelServer, limits: dict[str, Any], requests: int, named: str
) -> None:
    """The request that reaches a limit is the last, the log says which it was, and the rules answer."""
    look = calls(("find", {"query": "kettle"}), usage=Usage(input_tokens=100, output_tokens=10))

    answer, operation = await ask(look, endless=True, model_mode="tools", **limits)

    assert answer["degraded"] == DEGRADED
    assert len(model_server.requests) == len(requests_of(operation)) == requests
    assert operation.config is not None
    assert operation.config["failure"] == f"the call's limit of {named} is used up"


async def test_a_model_that_writes_without_end_is_asked_for_one_answer_at_once(
    ask: Ask, model_server: ModelServer
) -> None:
    """A quarter of the tokens that it may write is kept for that."""
    endless = Step(Turn("\n" * 75, finish_reason="length", usage=Usage(100, 75)))

    answer, _ = await ask(unless_single(endless), endless=True, model_output_tokens=100)

    assert [request.body["max_tokens"] for request in model_server.requests] == [75, 25]
    assert answer["degraded"] is None


async def test_what_is_left_of_the_output_tokens_goes_with_each_request(
    ask: Ask, model_server: ModelServer
) -> None:
    """So that the provider ends an answer which would go beyond."""
    await ask(calls(*EVERY_TOOL), answers(1), model_output_tokens=50, model_mode="tools")

    assert [request.body["max_tokens"] for request in model_server.requests] == [50, 40]


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (fails(401), "its server answered 401"),
        (resets(), "there is no connection to it"),
        (filtered(), "a content filter kept its answer back"),
        (says("I would call find."), "its answer has not the wanted form"),
    ],
)
async def test_the_log_says_in_plain_words_why_there_is_no_plan(ask: Ask, act: Act, said: str) -> None:
    """No name of a class, which few know."""
    _, operation = await ask(act, endless=True)

    assert operation.config is not None
    assert operation.config["failure"] == said


@pytest.mark.parametrize(("model", "temperature"), [("openai:gpt-5-mini", None), ("openai:small", 0.0)])
async def test_a_model_that_thinks_is_given_no_temperature(
    service_of: ServiceOf, model_server: ModelServer, model: str, temperature: float | None
) -> None:
    """It would be ignored, with a warning on stderr."""
    service = await service_of(context_model=model)
    model_server.play(answers(1))
    answer = await service.execute(await someone(service), "memory_context", {"query": QUERY})

    assert (answer["planner"], answer["degraded"]) == (model, None)
    assert model_server.requests[0].body.get("temperature") == temperature


async def test_a_file_of_many_sections_uses_up_no_other_limit(
    service_of: ServiceOf, model_server: ModelServer
) -> None:
    """A model may read large files as often as it may call; the call is answered."""
    service = await service_of(model_tool_calls=100, model_requests=20)
    caller = await someone(service)
    sections = "".join(f"## Part {number}\n\nTea {number}.\n\n" for number in range(300))
    for number in range(5):
        path = f"user/large-{number}.md"
        await service.execute(caller, "memory_write", {"path": path, "content": f"# {number}\n\n{sections}"})
    reads = [("read", {"place": f"user/large-{number}.md"}) for number in range(5)]
    reads += [("read", {"place": "user/large-0.md", "heading": f"Part {number}"}) for number in range(50)]
    model_server.play(calls(*reads), answers(1, 40, 60))

    answer = await service.execute(caller, "memory_context", {"query": QUERY})

    [operation] = await read_attempts(service, caller, answer["tool_call_id"])
    assert answer["degraded"] is None
    assert len(operation.inner) < 100


async def test_no_connection_is_held_while_a_model_thinks(
    service_of: ServiceOf, model_server: ModelServer
) -> None:
    """With two connections ten calls wait for a model, and others go on."""
    service = await service_of(max_connections=2)
    caller = await someone(service)
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang(request: Request) -> Step:
        if len(model_server.requests) == 10:
            loop.call_soon_threadsafe(asked.set)
        return hangs()

    model_server.play(hang, endless=True)
    arguments = {"query": QUERY}
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        thinking = [
            group.create_task(service.execute(caller, "memory_context", arguments)) for _ in range(10)
        ]
        await asked.wait()
        found = await service.execute(caller, "memory_find", arguments)
        model_server.stop()

    assert found["hits"]
    assert [task.result()["degraded"] for task in thinking] == [DEGRADED] * 10


async def test_memory_goes_to_no_other_server(ask: Ask) -> None:
    """A redirect is not followed: the texts are for the server that was named."""
    with serving() as other:
        moved = Step(status=307, body={}, headers={"Location": f"{other.url}/chat/completions"})
        answer, _ = await ask(moved, endless=True)

    assert answer["degraded"] == DEGRADED
    assert other.requests == []


async def test_the_past_is_planned_by_the_model_too(service_of: ServiceOf, model_server: ModelServer) -> None:
    """With `as_of` it sees, and its plan recalls, what stood then; a context that is known is not sent again."""
    service = await service_of()
    caller = await someone(service)
    model_server.play(calls(("read", {"place": "user/tea.md"})), answers(1), answers(1), answers(1))
    first = await service.execute(caller, "memory_context", {"query": QUERY})
    patch = {"path": "user/tea.md", "operation": "replace", "match": "oolong", "text": "matcha"}
    await service.execute(caller, "memory_patch", patch)

    arguments = {"query": QUERY, "as_of": first["state"]}
    past = await service.execute(caller, "memory_context", arguments)
    known = await service.execute(caller, "memory_context", arguments | {"known_hash": first["hash"]})

    assert all(answer["planner"] == MODEL for answer in (first, past, known))
    assert (past["context"], past["hash"]) == (first["context"], first["hash"])
    assert "matcha" not in model_server.requests[2].text
    assert (known["not_modified"], known["context"]) == (True, "")
