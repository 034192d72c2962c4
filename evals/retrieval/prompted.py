"""What a model is shown of a question before it answers: the first prompt, made as the service makes it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memex.service.moment import Pinned
from memex.service.service import Caller, Service, new_call
from memex.store.analyzer import Analyzer
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context_agent import CATALOGUE_CHARS, first_prompt
from memex.subagent.planner import ContextRequest
from memex.subagent.sheet import Sheet
from memex.subagent.tools import MemoryTools

BUDGET = 8_000
MAX_HOPS = 1


@dataclass(frozen=True, slots=True)
class Prompted:
    """A first prompt: how long it is with its instructions, and the spans that it offers, as an answer has them."""

    chars: int
    offered: dict[str, Any]
    shown: dict[str, Any]


async def prompted(service: Service, caller: Caller, query: str) -> Prompted:
    """Return what a model would be told first, searched by words alone."""
    now = datetime.now(UTC)
    pinned = Pinned(service.database, caller.access, whole=caller.access, now=now)
    tools = MemoryTools(pinned.open, new_call(caller, "eval", {}, None))
    planner = BuiltinPlanner(Analyzer())
    request = ContextRequest(query, BUDGET, MAX_HOPS)
    survey = await planner.survey(request, tools)
    files = await tools.catalogue(max_chars=CATALOGUE_CHARS)
    sheet = Sheet(planner.cutter(survey.query), files.dates)
    instructions = prompts.load("context").instructions
    text = first_prompt(request, survey, files, sheet, now, instructions)
    chars = len(instructions) + len(text)
    spans: dict[str, list[dict[str, int]]] = {}
    for one in (*sheet.spans, *survey.pinned):
        start, end = one.reference.span
        spans.setdefault(one.reference.path, []).append({"start": start, "end": end})
    sources = [{"path": path, "spans": held} for path, held in spans.items()]
    texts = "\n".join(one.text for one in (*sheet.spans, *survey.pinned))
    budget = {"used": chars}
    return Prompted(
        chars,
        {"sources": sources, "context": texts, "budget": budget},
        {"sources": sources, "context": text, "budget": budget},
    )
