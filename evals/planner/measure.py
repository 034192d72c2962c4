"""Asking told questions of the rules, of a model, and of an oracle, over the same pool of lines."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memex.evals.planner.picks import ModelPicks, Picker
from memex.evals.told.measure import ContextFigures
from memex.evals.told.questions import ToldChat, ToldQuestion
from memex.evals.told.recall import is_recalled
from memex.service.service import Caller, Service, new_call
from memex.service.snapshots import LiveSnapshots, MemoryView
from memex.settings import FindMode
from memex.store.search.analyzer import Analyzer
from memex.subagent import prompts
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.pool import ContextLine
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.model.context import first_prompt, is_sure, with_picks
from memex.subagent.model.numbered_lines import NumberedLines
from memex.subagent.planner import ContextPlan, ContextRequest

WORTHS = (0.0, 0.05, 0.1, 0.2, 0.5, 100.0)  # of a pick; 100 puts all picked lines first
MAX_HOPS = 1

Pick = Callable[[ToldQuestion, list[ContextLine]], list[ContextLine]]


@dataclass(slots=True)
class PlannerFigures:
    """The figures that were measured.

    Attributes:
        rules: the contexts of the rules, by budget.
        picked: those with picks, by who picked, what a pick was worth, and budget.
        pieces: of evidence, of all questions.
        offered: of these, those that stood among the lines of the first prompt.
        sure: questions for which nobody picks, since a line leads all others.
        prompt_chars: of all first prompts, with their instructions.
        picks: of a model or an oracle, and how many of them were right, by who picked.
        usage: of the model: requests, tokens, failures.
        seconds: that the model took for each question.
    """

    rules: dict[int, ContextFigures] = field(default_factory=dict)
    picked: dict[tuple[str, float, int], ContextFigures] = field(default_factory=dict)
    pieces: int = 0
    offered: int = 0
    sure: int = 0
    prompt_chars: int = 0
    picks: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    right_chars: Counter[str] = field(default_factory=Counter)
    picked_chars: Counter[str] = field(default_factory=Counter)
    usage: Counter[str] = field(default_factory=Counter)
    usd: float = 0.0
    seconds: list[float] = field(default_factory=list)

    @property
    def questions(self) -> int:
        """The number of questions that were asked."""
        return next((figures.questions for figures in self.rules.values()), 0)

    def count_taken(self, taken: ModelPicks) -> None:
        """Count what the model took to answer a question."""
        self.usage["failed"] += taken.failure is not None
        self.usage["requests"] += taken.requests
        self.usage["input_tokens"] += taken.input_tokens
        self.usage["output_tokens"] += taken.output_tokens
        self.usd += taken.usd
        self.seconds.append(taken.seconds)

    def count_picks(self, who: str, question: ToldQuestion, picks: Sequence[ContextLine]) -> None:
        """Count which picks of a question hold evidence, and how many of their characters are evidence."""
        for line in picks:
            held = [piece for piece in question.evidence if is_recalled(line.candidate.text, piece)]
            self.picks[who] += 1
            self.right[who] += bool(held)
            self.picked_chars[who] += len(line.candidate.text)
            self.right_chars[who] += min(len(line.candidate.text), sum(map(len, set(held))))


def oracle(question: ToldQuestion, lines: list[ContextLine]) -> list[ContextLine]:
    """Return the lines that hold evidence, one for each piece."""
    found: dict[Any, ContextLine] = {}
    for piece in question.evidence:
        holding = [line for line in lines if is_recalled(line.candidate.text, piece)]
        if holding:
            best = min(holding, key=lambda line: len(line.candidate.text))
            found[best.reference] = best
    return list(found.values())


PICKERS: dict[str, Pick] = {"oracle": oracle, "greedy": lambda _, lines: lines}


async def tell(service: Service, caller: Caller, chat: ToldChat) -> None:
    """Have a user remember the texts of a chat."""
    for number, text in enumerate(chat.texts):
        await service.execute(caller, "memory_remember", {"text": text}, tool_call_id=f"told-{number}")


async def measure(
    service: Service,
    caller: Caller,
    question: ToldQuestion,
    budgets: Sequence[int],
    figures: PlannerFigures,
    *,
    picker: Picker | None = None,
    picks: bool = True,
    lead: float = 0.0,
) -> None:
    """Ask a question of the rules, of the pickers, and of a model if one is given; add to the figures.

    None of them picks where the best line leads the next one by `lead`; see `is_sure`.
    """
    builtin, prompt = BuiltinPlanner(Analyzer()), prompts.load("context")
    now = datetime.now(UTC)
    call = new_call(caller, "eval", {}, None)
    mode: FindMode | None = None if service.embedder is None else "hybrid"  # which waits until it has started
    vectors = await service.query_embedder.of(question.text, mode, call, language=caller.access.language)
    view = MemoryView(None, now, vectors.by_query)
    request = ContextRequest(question.text, max(budgets), MAX_HOPS, now.date())
    async with LiveSnapshots(service.database, caller.access).begin(view, "pinned") as opened:
        tools = MemoryTools(opened.open, call)
        pool = await builtin.find_lines(request, tools)
        shown = NumberedLines(builtin.cutter(pool.survey.query))
        text = first_prompt(request, pool, shown, now, prompt.instructions)
        figures.prompt_chars += len(text) + len(prompt.instructions)
        figures.pieces += len(question.evidence)
        figures.offered += sum(
            any(is_recalled(line.candidate.text, told) for line in shown.lines) for told in question.evidence
        )
        sure = is_sure(pool, lead)
        figures.sure += sure
        picked = {who: [] if sure else pick(question, shown.lines) for who, pick in PICKERS.items() if picks}
        if picker is not None and sure:
            picked["model"] = []
        elif picker is not None:
            user = caller.access.user_id
            picked["model"], taken = await picker.pick(user, request, pool, builtin, tools)
            figures.count_taken(taken)
        tools.reset_operations()
        for budget in budgets:
            asked = ContextRequest(question.text, budget, MAX_HOPS, now.date())
            found = await builtin.find_lines(asked, tools)
            ruled = await _text(builtin.select(found, asked), tools)
            figures.rules.setdefault(budget, ContextFigures()).count(question, ruled)
            for who, lines in picked.items():
                for worth in WORTHS:
                    plan = builtin.select(with_picks(found, lines, worth), asked)
                    counted = figures.picked.setdefault((who, worth, budget), ContextFigures())
                    counted.count(question, await _text(plan, tools))
        for who, lines in picked.items():
            figures.count_picks(who, question, lines)


async def _text(plan: ContextPlan, tools: MemoryTools) -> str:
    tools.reset_operations()
    return "\n".join(await tools.read([choice.reference for choice in plan.choices])) if plan.choices else ""
