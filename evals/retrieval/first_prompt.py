"""The first prompt, which a model is shown before it answers a question, made as the service makes it."""

from datetime import UTC, datetime
from typing import Any

from memex.service.service import Caller, Service, new_call
from memex.service.snapshots import LiveSnapshots, MemoryView
from memex.store.search.analyzer import Analyzer
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.context import first_prompt
from memex.subagent.model.numbered_lines import NumberedLines
from memex.subagent.planner import ContextRequest

BUDGET = 8_000
MAX_HOPS = 1


async def first_prompt_answer(service: Service, caller: Caller, query: str) -> dict[str, Any]:
    """Return what a model is offered first, in the form of an answer of memory_context: spans, texts, characters.

    The characters are those of the prompt with its instructions. Memory is searched by words alone.
    """
    now = datetime.now(UTC)
    planner = BuiltinPlanner(Analyzer())
    request = ContextRequest(query, BUDGET, MAX_HOPS, now.date())
    view = MemoryView(now=now)
    async with LiveSnapshots(service.database, caller.access).begin(view, "pinned") as snapshots:
        tools = MemoryTools(snapshots.open, new_call(caller, "eval", {}, None))
        pool = await planner.find_lines(request, tools)
    shown = NumberedLines(planner.cutter(pool.survey.query))
    instructions = prompts.load("context").instructions
    text = first_prompt(request, pool, shown, now, instructions)
    offered = [*pool.survey.pinned, *(line.candidate for line in shown.lines)]
    return {
        "sources": [
            {
                "path": candidate.reference.path,
                "spans": [dict(zip(("start", "end"), candidate.reference.span, strict=True))],
            }
            for candidate in offered
        ],
        "context": "\n".join(candidate.text for candidate in offered),
        "budget": {"used": len(instructions) + len(text)},
    }
