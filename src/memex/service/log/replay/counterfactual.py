"""Counterfactual replay: a call of the log, run again with one thing changed, beside what it answered."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypedDict

from pydantic import Field

from memex.errors import ValidationFailed
from memex.service.choice import CallerChoice
from memex.service.log.replay.replay import logged_options, spans_of
from memex.service.log.replay.rerun import LoggedCall, Rerun, RerunOptions, builtin_planner
from memex.service.query_embedding import QueryEmbedder
from memex.service.snapshots import AsOf, parse_time
from memex.service.tools.context import CONTEXT, MAX_BUDGET, MIN_BUDGET
from memex.service.tools.remember import REMEMBER
from memex.service.tools.tool import ResultPart
from memex.store.diff import unified
from memex.store.log.operations import MODEL_REQUEST
from memex.subagent.planner import BUILTIN, Planner

NOW = "now"  # the moment of memory as it is
MAX_PROMPT_CHARS = 100_000
PLANNED = (CONTEXT.name, REMEMBER.name)


class ReplayChange(CallerChoice):
    """Changes to a call that is run again, at least one.

    Attributes:
        planner: `builtin`: the rules plan in a model's place.
        model: this model plans; it is really asked.
        prompt: the text of the prompt that the model is asked with, in the place of its own.
        budget: characters that the context may have.
        search_mode: `bm25`: by words alone. `hybrid`: by meaning too.
        as_of: memory as it stood at another time or in another state; `now`: as it is now.
    """

    planner: Literal["builtin"] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    prompt: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT_CHARS)] | None = None
    budget: int | None = Field(None, ge=MIN_BUDGET, le=MAX_BUDGET)
    search_mode: Literal["bm25", "hybrid"] | None = None
    as_of: AsOf | None = None

    @classmethod
    def of(cls, **given: Any) -> Self:
        """Return what is changed, by name; raises ValidationFailed for what cannot be, or contradicts itself."""
        change = super().of(**given)
        change.check()
        return change

    @property
    def named(self) -> dict[str, Any]:
        """The changes by name; of a prompt only its length."""
        named = self.model_dump(exclude_none=True)
        return named | ({"prompt": f"{len(self.prompt):,} characters"} if self.prompt else {})

    def check(self) -> None:
        """Refuse a change that contradicts itself; raises ValidationFailed."""
        if self.planner and (self.model or self.prompt):
            raise ValidationFailed("The rules ask no model.", hint="Leave out planner, or model and prompt.")
        if isinstance(self.as_of, str) and self.as_of != NOW:
            parse_time(self.as_of)


class ReplayChanges(TypedDict, total=False):
    """The fields of `ReplayChange`, as arguments by name."""

    planner: Literal["builtin"] | None
    model: str | None
    prompt: str | None
    budget: int | None
    search_mode: Literal["bm25", "hybrid"] | None
    as_of: AsOf | None


class Outcome(ResultPart):
    """The outcome of a call.

    Attributes:
        planner: who planned.
        degraded: the code, where a model should have planned and did not.
        chars: the length of the context.
        items: what was chosen: spans as `path@version:start-end`; of a remembered text, what it wrote.
        requests: to models.
        input_tokens: the number of tokens that models read.
        output_tokens: the number of tokens that models wrote.
        usd: US dollars; None where there was a request and no price is known.
        duration_ms: the duration of the call; a recorded answer of a model counts with its own duration.
    """

    planner: str
    degraded: str | None
    chars: int
    items: list[str]
    requests: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    duration_ms: float


class ChangedResult(ResultPart):
    """A call and what it would have come to with something changed.

    Attributes:
        tool_call_id: the id of the call.
        tool: such as `memory_context`.
        change: what was changed.
        before: what the call came to, run again as it was; its cost and the time of its model are those of the log.
        after: what it came to with the change.
        is_replayed: run again as it was, the call gives its logged bytes; else the comparison is with what it gives
            now.
        is_same_answer: the answers have the same bytes.
        kept: chosen in both.
        removed: chosen before alone.
        added: chosen after alone.
        diff: the unified diff of the contexts or, for a remembered text, of the writes.
        stale_answers: recorded answers of a model that were given to another request; what it would have answered
            to this one only asking it can tell.
    """

    tool_call_id: str
    tool: str
    change: dict[str, Any]
    before: Outcome
    after: Outcome
    is_replayed: bool
    is_same_answer: bool
    kept: list[str]
    removed: list[str]
    added: list[str]
    diff: str
    stale_answers: int


def apply_change(
    logged: LoggedCall,
    change: ReplayChange,
    *,
    planner: Planner | None = None,
    query_embedder: QueryEmbedder | None = None,
) -> RerunOptions:
    """Return what a call is run with when something is changed.

    `planner` is the model that is asked, where the change names one or gives it a prompt; `query_embedder` makes
    the vectors of queries, where the change wants vectors.

    Raises:
        ValidationFailed: nothing is changed, or what this call had not.
    """
    if not change.named:
        raise ValidationFailed(
            "Nothing was chosen that would differ from the call.",
            hint="Name a planner, model, prompt, budget, search mode or moment.",
        )
    change.check()
    is_context = logged.operation.kind == CONTEXT.name
    if (change.budget or change.search_mode or change.as_of is not None) and not is_context:
        raise ValidationFailed(
            f"A call of {logged.operation.kind} has no budget, no search mode and no moment.",
            hint="Change planner, model or prompt; or take calls of memory_context.",
        )
    if (change.planner or change.model or change.prompt) and logged.operation.kind not in PLANNED:
        raise ValidationFailed(
            f"A call of {logged.operation.kind} has no planner, no model and no prompt.",
            hint="Take calls of memory_context or memory_remember.",
        )
    by = logged_options(logged)
    if change.planner == BUILTIN:
        by = RerunOptions(builtin_planner(logged))
    elif planner is not None:
        by = RerunOptions(planner, is_slow=True, arguments={"planner": None})  # the rules of an argument
    elif change.model or change.prompt:
        raise ValidationFailed(
            "No model can be asked here.",
            hint="Set MEMEX_MODEL for the service, or run `memex log replay` where one is set up.",
        )
    if is_asked := by.is_slow or change.planner is not None:
        by = replace(by, near_finds=1)
    if change.budget:
        by = replace(by, arguments={**by.arguments, "budget": change.budget})
    if change.search_mode == "bm25":
        by = replace(by, near_finds=0)
    elif change.search_mode == "hybrid":
        if query_embedder is None or query_embedder.embedder is None:
            raise ValidationFailed(
                "This service has no vectors to search by.",
                hint="`memex doctor` says what hybrid search needs.",
            )
        # A recorded model's further queries have no vectors in the log; asked anew, all have.
        by = replace(
            by,
            query_embedder=replace(query_embedder, mode="hybrid"),
            near_finds=0,
            is_slow=by.is_slow or is_asked,
        )
    return by if change.as_of is None else _at_another_moment(logged, change, by, query_embedder)


def _at_another_moment(
    logged: LoggedCall, change: ReplayChange, by: RerunOptions, query_embedder: QueryEmbedder | None
) -> RerunOptions:
    """Return the options of a run over memory of another moment. Only the present has vectors."""
    is_now = change.as_of == NOW
    by = replace(by, arguments={**by.arguments, "as_of": None if is_now else change.as_of}, is_elsewhen=True)
    config = logged.operation.config or {}
    was_hybrid = "embedder" in config and "failure" not in config
    if is_now and was_hybrid and change.search_mode is None and query_embedder and query_embedder.embedder:
        return replace(by, query_embedder=replace(query_embedder, mode="hybrid"))
    return by


def compare_outcomes(
    logged: LoggedCall, change: ReplayChange, before: Rerun, after: Rerun, *, is_replayed: bool
) -> ChangedResult:
    """Return a call beside what it came to with a change."""
    one, other = _items(before), _items(after)
    return ChangedResult(
        tool_call_id=logged.operation.tool_call_id,
        tool=logged.operation.kind,
        change=change.named,
        before=_outcome(before, recorded_ms=_model_ms(logged)),
        after=_outcome(after, recorded_ms=0.0 if _needs_model(change) else _model_ms(logged)),
        is_replayed=is_replayed,
        is_same_answer=_answer(before) == _answer(after),
        kept=[item for item in one if item in other],
        removed=[item for item in one if item not in other],
        added=[item for item in other if item not in one],
        diff=unified(_text(before), _text(after), "before", "after"),
        stale_answers=0 if _needs_model(change) else _stale(logged, after),
    )


def read_prompt(path: Path) -> str:
    """Return the text of a prompt's file; raises ValidationFailed when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationFailed(f"Cannot read the prompt {path}: {error}.") from None


def _needs_model(change: ReplayChange) -> bool:
    """Return whether no recorded answer is played."""
    return bool(change.planner or change.model or change.prompt)


def _model_ms(logged: LoggedCall) -> float:
    return sum(inner.duration_ms for inner in logged.operation.inner if inner.kind == MODEL_REQUEST)


def _stale(logged: LoggedCall, after: Rerun) -> int:
    asked = [inner.request.get("sha256") for inner in logged.operation.inner if inner.kind == MODEL_REQUEST]
    now = [inner.request.get("sha256") for inner in after.inner if inner.kind == MODEL_REQUEST]
    return sum(one != other for one, other in zip(asked, now, strict=False))


def _outcome(run: Rerun, *, recorded_ms: float) -> Outcome:
    usages: Sequence[Mapping[str, Any]] = [
        inner.usage or {} for inner in run.inner if inner.kind == MODEL_REQUEST
    ]
    costs = [usage.get("usd") for usage in usages]
    known = [cost for cost in costs if cost is not None]
    return Outcome(
        planner=run.result["planner"],
        degraded=run.result["degraded"],
        chars=len(run.result.get("context", "")),
        items=_items(run),
        requests=len(usages),
        input_tokens=sum(usage.get("input_tokens", 0) for usage in usages),
        output_tokens=sum(usage.get("output_tokens", 0) for usage in usages),
        usd=sum(known) if len(known) == len(costs) else None,
        duration_ms=round(run.duration_ms + recorded_ms, 3),
    )


def _items(run: Rerun) -> list[str]:
    """Return the spans of a context, or the lines that a remembered text writes."""
    if "sources" in run.result:
        return spans_of(run.result)
    return [
        f"{write['path']}: {line}"
        for write in run.result["writes"]
        for line in write["diff"].splitlines()
        if line[:1] in {"+", "-"} and not line.startswith(("+++", "---"))
    ]


def _text(run: Rerun) -> str:
    if "context" in run.result:
        return str(run.result["context"])
    return "".join(f"{write['path']}\n{write['diff']}\n" for write in run.result["writes"])


def _answer(run: Rerun) -> Any:
    """Return what of an answer is not about who gave it."""
    if "hash" in run.result:
        return run.result["hash"], run.result["sources"]
    return run.result["status"], run.result["writes"]
