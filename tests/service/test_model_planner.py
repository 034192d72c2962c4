"""A chat model in the built-in planner's place: what it sees, what it may use, what becomes of its plan."""

import asyncio
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage
from tests.conftest import CallerOf
from tests.kit.rows import until

from memex.errors import Forbidden
from memex.service.log.call_list import read_attempts
from memex.service.planners import Planners
from memex.service.service import Caller, Service, new_call
from memex.store.database import Database
from memex.store.log.call import CallAnswer
from memex.store.search.analyzer import Analyzer
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.limits import Limits, Price
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner

# One server is enough: what a planner does is the same on each.
pytestmark = pytest.mark.embedded_only

Reply = Callable[[list[ModelMessage], AgentInfo], ModelResponse]

FILES = {
    "user/tea.md": "# Tea\n\nI like oolong tea.\n\n## Brewing\n\nAt 90 degrees.\n",
    "user/coffee.md": "# Coffee\n\nCoffee keeps me awake. See [[tea]].\n",
}


class Model:
    """A model that plays a function, and what it was asked."""

    def __init__(self, reply: Reply) -> None:
        self.asked: list[tuple[list[ModelMessage], AgentInfo]] = []

        async def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            self.asked.append((list(messages), info))
            return reply(messages, info)

        profile = ModelProfile(supports_json_schema_output=True)
        self.chat = ChatModel("function:test", lambda: (FunctionModel(play, profile=profile), None))

    def planning(self, *, daily_usd: Decimal | None = None, **options: Any) -> Planners:
        """Planning with this model for both tools."""
        planner = ModelPlanner(self.chat, BuiltinPlanner(Analyzer()), **options)
        return Planners(planner, planner, daily_usd)

    @property
    def first(self) -> str:
        """What it was told first."""
        return str(self.asked[0][0][0].parts[0].content)  # type: ignore[union-attr]


def picking(*lines: int, usage: RequestUsage | None = None) -> ModelResponse:
    """The answer that picks lines."""
    return ModelResponse(parts=[ToolCallPart("answer", {"lines": lines})], usage=usage or RequestUsage())


async def filled(service: Service, caller: Caller) -> None:
    """Write the files of these tests."""
    for path, content in FILES.items():
        await service.execute(caller, "memory_write", {"path": path, "content": content})


async def asked(service: Service, caller: Caller, tool_call_id: str | None = None) -> dict[str, Any]:
    """Ask which tea it is."""
    arguments = {"query": "Which tea do I like?"}
    return await service.execute(caller, "memory_context", arguments, tool_call_id=tool_call_id)


async def test_one_request_can_answer(database: Database, alice: Caller) -> None:
    """The first prompt has the lines, the day and the budget; the picked line comes back verbatim."""
    model = Model(lambda messages, info: picking(1))
    service = Service(database, max_files=100, planning=model.planning())
    await filled(service, alice)

    answer = await asked(service, alice)

    assert len(model.asked) == 1
    assert all(text in model.first for text in ("1] I like oolong tea.", "holds 7,", "Asked on 2"))
    assert "I like oolong tea." in answer["context"]
    assert (answer["planner"], answer["degraded"]) == ("function:test", None)
    assert answer["sources"][0]["path"] == "user/tea.md"


async def test_the_log_has_the_response_whole_and_the_request_by_digest(
    database: Database, alice: Caller
) -> None:
    """A request is logged as SHA-256 and the lines it shows first, with prompt, tokens and the whole response."""
    model = Model(lambda messages, info: picking(1, usage=RequestUsage(input_tokens=900, output_tokens=20)))
    service = Service(database, max_files=100, planning=model.planning())
    await filled(service, alice)
    await asked(service, alice, "call-1")
    await asked(service, alice, "call-2")

    [[first], [second]] = [await read_attempts(service, alice, call) for call in ("call-1", "call-2")]
    logged, again = (next(one for one in op.inner if one.tool == "model_request") for op in (first, second))
    assert logged.request["sha256"] == again.request["sha256"]
    assert logged.request["shown"] == ["user/tea.md@1:7-25", "user/tea.md@1:39-53", "user/coffee.md@1:10-45"]
    assert "oolong" not in str(logged.request)
    assert logged.response["parts"][0]["args"]["lines"] == [1]
    assert logged.usage == {"input_tokens": 900, "output_tokens": 20, "usd": None}
    assert logged.prompt_sha256 == prompts.load("context").sha256.hex()
    assert first.config is not None
    assert first.config["model"] == "function:test"
    async with database.maintenance() as connection:
        kept = await (await connection.execute("select text from prompt")).fetchall()
    assert [row["text"] for row in kept] == [prompts.load("context").text]


async def test_instructions_and_tools_are_the_same_bytes_each_time(database: Database, alice: Caller) -> None:
    """What varies stands behind the instructions, so that a provider can keep what it has read."""
    model = Model(lambda messages, info: picking(1))
    service = Service(database, max_files=100, planning=model.planning())
    await filled(service, alice)
    await asked(service, alice)
    await service.execute(alice, "memory_context", {"query": "Coffee?", "budget": 2_000})

    (_, one), (_, other) = model.asked
    assert one.instructions == other.instructions == prompts.load("context").instructions
    assert one.function_tools == other.function_tools
    assert one.output_tools == other.output_tools


async def test_a_call_sees_one_state_whatever_is_written_meanwhile(database: Database, alice: Caller) -> None:
    """What is written while the model thinks is not in its tools' answers, nor in the state of the answer."""
    service = Service(database, max_files=100)
    await filled(service, alice)
    before = await asked(service, alice)
    said: list[str] = []

    async def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            patch = {"path": "user/tea.md", "operation": "append", "text": "Now I like matcha."}
            await service.execute(alice, "memory_patch", patch)
            calls = [
                ("find", {"query": "matcha"}),
                ("read", {"path": "user/tea.md"}),
                ("find", {"query": "oolong"}),
            ]
            return ModelResponse(parts=[ToolCallPart(name, args) for name, args in calls])
        said.extend(str(part.content) for part in messages[-1].parts)  # type: ignore[union-attr]
        return picking(1)

    chat = ChatModel("function:test", lambda: (FunctionModel(play), None))
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()))
    thinking = Service(database, max_files=100, planning=Planners(planner, planner))
    answer = await asked(thinking, alice)

    assert said[0] == "Nothing was found."
    assert "matcha" not in "".join(said)
    assert "user/tea.md" in said[2]
    assert answer["state"] == before["state"]
    assert "matcha" not in answer["context"]


async def test_a_model_that_cannot_call_tools_is_asked_for_one_answer(
    database: Database, alice: Caller
) -> None:
    """After words instead of calls, twice, the same job comes without tools; after two such calls at once."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.function_tools:
            return ModelResponse(parts=[TextPart("I would call find.")])
        return ModelResponse(parts=[TextPart('{"lines": [1]}')])

    model = Model(reply)
    service = Service(database, max_files=100, planning=model.planning())
    await filled(service, alice)
    answers = [await asked(service, alice) for _ in range(3)]

    assert [answer["planner"] for answer in answers] == ["function:test"] * 3
    modes = ["tools" if info.function_tools else "single" for _, info in model.asked]
    assert modes == [*["tools"] * 2, "single", *["tools"] * 2, "single", "single"]


async def test_a_day_has_its_money(database: Database, alice: Caller, caller_of: CallerOf) -> None:
    """When the tenant's money is spent the rules plan, in every process, and other tenants go on."""
    usage = RequestUsage(input_tokens=1_000_000, output_tokens=0)
    model = Model(lambda messages, info: picking(1, usage=usage))
    model.chat.price = Price(Decimal("0.3"), Decimal(1))
    one, two = (
        Service(database, max_files=100, planning=model.planning(daily_usd=Decimal("0.5"))) for _ in range(2)
    )
    await filled(one, alice)
    bob = await caller_of("bob", tenant="other")
    await filled(one, bob)
    answers = [await asked(service, alice) for service in (one, two, one, two)]

    assert [answer["degraded"] for answer in answers] == [None, None, *["MODEL_UNAVAILABLE"] * 2]
    assert (await asked(one, bob))["degraded"] is None
    assert len(model.asked) == 3


async def test_an_admin_sees_what_was_spent(database: Database, alice: Caller, caller_of: CallerOf) -> None:
    """By day and model, of the own tenant alone; an agent does not."""
    usage = RequestUsage(input_tokens=2_000, output_tokens=50)
    model = Model(lambda messages, info: picking(1, usage=usage))
    model.chat.price = Price(Decimal(10), Decimal(100))
    service = Service(database, max_files=100, planning=model.planning(daily_usd=Decimal("0.5")))
    await filled(service, alice)
    for _ in range(2):
        await asked(service, alice)

    found = await service.spending(await caller_of(None, role="admin"), days=1)
    others = await service.spending(await caller_of(None, role="admin", tenant="other"), days=7)
    assert found.model_dump(mode="json") == {
        "daily_usd": 0.5,
        "spent": [
            {
                "day": datetime.now(UTC).date().isoformat(),
                "model": "function:test",
                "requests": 2,
                "input_tokens": 4_000,
                "output_tokens": 100,
                "usd": 0.05,
            }
        ],
    }
    assert others.spent == []
    with pytest.raises(Forbidden):
        await service.spending(alice, days=1)


async def test_a_first_prompt_is_bounded(database: Database, alice: Caller) -> None:
    """Over 1,500 files, with a query as long as may be, it has 12,000 characters with its instructions."""
    model = Model(lambda messages, info: picking())
    service = Service(database, max_files=10_000, planning=model.planning())
    for first in range(0, 1_500, 500):
        draft = service.draft(alice)
        for number in range(first, first + 500):
            name = f"user/{'folder-with-a-long-name/' * 4}{number}.md"
            draft.write(name, f"# Tea number {number}\n\nOolong tea {number} {'and more words ' * 20}")
        await draft.commit(new_call(alice, "load", {}, None), lambda changes: CallAnswer({}, {}, {}))
    query = "Which oolong tea? " + "word " * 1_900

    answer = await service.execute(alice, "memory_context", {"query": query})

    assert answer["planner"] == "function:test"
    assert 9_000 < len(model.first) + len(model.asked[0][1].instructions or "") <= 12_000


async def test_prompts_of_ones_own_go_first(database: Database, alice: Caller, tmp_path: Path) -> None:
    """A file in the directory is what the model reads, and what the log keeps."""
    own = prompts.load("context").text.replace("Another model has", "Kindly read:")
    (tmp_path / "context.md").write_text(own, encoding="utf-8")
    model = Model(lambda messages, info: picking(1))
    service = Service(
        database, max_files=100, planning=model.planning(load=partial(prompts.load, directory=tmp_path))
    )
    await filled(service, alice)
    await asked(service, alice, "call-1")

    [operation] = await read_attempts(service, alice, "call-1")
    [request] = [one for one in operation.inner if one.tool == "model_request"]
    assert (model.asked[0][1].instructions or "").startswith("Kindly read:")
    assert request.prompt_sha256 == hashlib.sha256(own.encode()).hexdigest()


async def test_where_nothing_is_stored_nothing_is_asked(database: Database, alice: Caller) -> None:
    """An empty memory needs no model, and the answer is not degraded."""
    model = Model(lambda messages, info: picking(1))
    service = Service(database, max_files=100, planning=model.planning())
    answer = await asked(service, alice)

    assert model.asked == []
    assert (answer["sources"], answer["planner"], answer["degraded"]) == ([], "builtin", None)


async def test_tool_calls_beyond_the_limit_do_nothing(database: Database, alice: Caller) -> None:
    """Of thirty searches in one response as many are made as the limit lets, one after the other."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            searches = [ToolCallPart("find", {"query": f"tea {number}"}) for number in range(30)]
            return ModelResponse(parts=searches)
        return picking(1)

    model = Model(reply)
    service = Service(database, max_files=100, planning=model.planning(limits=Limits(tool_calls=5)))
    await filled(service, alice)
    answer = await asked(service, alice, "call-1")

    [operation] = await read_attempts(service, alice, "call-1")
    queries = [one.request.get("query") for one in operation.inner if one.tool == "memory_find"]
    assert queries == ["Which tea do I like?", *(f"tea {number}" for number in range(5))]
    told = [str(part.content) for part in model.asked[1][0][-1].parts]  # type: ignore[union-attr]
    assert sum("No tool calls are left" in one for one in told) == 25
    assert answer["degraded"] is None


async def test_calls_of_invented_tools_count(database: Database, alice: Caller) -> None:
    """They leave fewer for the tools that there are."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            invented = [ToolCallPart("memory_write", {"path": f"user/{number}.md"}) for number in range(3)]
            searches = [ToolCallPart("find", {"query": f"tea {number}"}) for number in range(5)]
            return ModelResponse(parts=[*searches, *invented])
        return picking(1)

    model = Model(reply)
    service = Service(database, max_files=100, planning=model.planning(limits=Limits(tool_calls=5)))
    await filled(service, alice)
    await asked(service, alice, "call-1")

    [operation] = await read_attempts(service, alice, "call-1")
    queries = [one.request.get("query") for one in operation.inner if one.tool == "memory_find"]
    assert queries == ["Which tea do I like?", "tea 0", "tea 1"]


async def test_equal_calls_ask_the_model_once(database: Database, alice: Caller) -> None:
    """Of twenty equal texts at once the first is planned, and all get what became of it."""
    edit = {
        "action": "add",
        "kind": "note",
        "statement": "The kettle is blue.",
        "evidence": "The kettle is blue.",
    }
    model = Model(
        lambda messages, info: ModelResponse(parts=[ToolCallPart("answer", {"edits": [edit], "skipped": []})])
    )
    service = Service(database, max_files=100, planning=model.planning())
    arguments = {"text": "The kettle is blue."}
    results = await asyncio.gather(
        *(service.execute(alice, "memory_remember", arguments, tool_call_id="call-1") for _ in range(20))
    )

    assert len(model.asked) == 1
    assert results == [results[0]] * 20
    assert results[0]["status"] == "committed"


async def test_a_call_that_is_given_up_is_logged_with_what_the_model_saw(
    database: Database, alice: Caller
) -> None:
    """Whose caller goes away while the model thinks leaves a failed row, with the request and what it may cost."""
    begun = asyncio.Event()

    async def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody waits")

    chat = ChatModel(
        "function:test", lambda: (FunctionModel(play), None), price=Price(Decimal(1), Decimal(1))
    )
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()))
    service = Service(database, max_files=100, planning=Planners(planner, planner))
    await filled(service, alice)
    call = asyncio.create_task(asked(service, alice, "call-1"))
    await begun.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)

    [operation] = await read_attempts(service, alice, "call-1")
    assert (operation.status, operation.error_code) == ("failed", "CANCELLED")
    [request] = [one for one in operation.inner if one.tool == "model_request"]
    assert request.request["shown"] == ["user/tea.md@1:7-25", "user/tea.md@1:39-53", "user/coffee.md@1:10-45"]
    assert request.usage is not None
    assert request.usage["usd"] > 0
    # The client's cancellation does not stop the writing of what was spent, and may not wait for it.
    await until(database, "select coalesce(sum(usd), 0) > 0 from spend")
