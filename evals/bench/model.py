"""The cost of a chat model beside its own time: one that answers at once, in the built-in planner's place."""

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionDef, FunctionModel

from memex.evals.bench.workbench import Bench, Timings, console, new_table, ratio_line
from memex.service.planners import Planners
from memex.service.service import Service
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner

FILES = 1_000
QUERIES = 40


async def bench_model(bench: Bench, *, rounds: int) -> None:
    """Time memory_context with a model that answers at once, and one that searches first, against the rules."""
    caller = await bench.caller("reader-by-model")
    texts = [bench.text.file() for _ in range(FILES)]
    await bench.fill(caller, texts)
    await bench.vacuum()
    queries = [bench.text.query(texts[:QUERIES]) for _ in range(QUERIES)]
    services = {
        "rules": bench.service,
        "a model, one request": service_with_model(bench, choose),
        "a model, two requests and a search": service_with_model(bench, _search),
    }
    timings = {name: Timings() for name in services}
    for query in queries:
        for service in services.values():
            await service.execute(caller, "memory_context", {"query": query})  # warm
    for _ in range(rounds):
        for query in queries:
            for name, service in services.items():
                await bench.measure(
                    service.execute(caller, "memory_context", {"query": query}), timings[name]
                )
    table = new_table(
        f"memory_context, {FILES:,} files, {rounds} × {QUERIES} queries; the model takes no time"
    )
    for name, timed in timings.items():
        table.add_row(*timed.row(name))
    rules = timings.pop("rules")
    ratios = [
        ratio_line(f"{name} / rules, wall", timed.wall_ms, rules.wall_ms) for name, timed in timings.items()
    ]
    console.print(table, *ratios, "")


def service_with_model(bench: Bench, play: FunctionDef) -> Service:
    """Return a service over the same database where a function plans in the place of a model."""
    chat = ChatModel("function:bench", lambda: (FunctionModel(play), None))
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()))
    return Service(bench.service.database, max_files=1_000_000, planning=Planners(planner, planner))


def choose(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Answer at once, with the first span."""
    chosen = [{"span": "S1", "reason": "It answers."}]
    return ModelResponse(parts=[ToolCallPart("answer", {"spans": chosen})])


def _search(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("find", {"query": "other words"})])
    return choose(messages, info)
