"""Plays cases: puts each one's state in its place, asks, judges what comes back, and makes the run."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from pydantic_evals import Case as EvalsCase
from pydantic_evals import Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext
from pydantic_evals.reporting import ReportCase, ReportCaseFailure

from memex.errors import ValidationFailed
from memex.evals import runs
from memex.evals.adapter import MemoryService, Placed, Recalled, Remembered, Unsupported, Usage
from memex.evals.cases import (
    AskStep,
    Case,
    ContextExpected,
    ContextInputs,
    RememberExpected,
    RememberInputs,
    RememberStep,
    SequenceInputs,
    Step,
)
from memex.evals.checks import Judged, judge_context, judge_remember, merged
from memex.evals.retrieval.runs import revision
from memex.evals.runs import CaseRun, Run, Status

CONCURRENCY = 4  # enough that Python and Postgres each keep a core busy
MAX_ASKED_CHARS = 500

Progress = Callable[[str, int, int], None]
AnyReport = ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]


class Judging(Protocol):
    """Rates whether a context answers a question."""

    async def __call__(self, query: str, context: str) -> float:
        """Return how well a context answers a question, from 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """How cases are played.

    Attributes:
        planner: what plans there, as known failures name it: `builtin`, or a model.
        concurrency: cases at a time.
        budget: of the questions that name none.
        judge: rates contexts too, as one more measure.
        during: what surrounds each case, such as what records it.
        engine: of the service, kept in the run.
        kept: more of how it was run, kept in the run.
    """

    planner: str = "builtin"
    concurrency: int = CONCURRENCY
    budget: int | None = None
    judge: Judging | None = None
    during: Callable[[Case], AbstractContextManager[None]] = lambda _: nullcontext()
    engine: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a case: what was found of it, and the traces of its calls."""

    judged: Judged
    expectations: int
    traces: tuple[dict[str, Any], ...]


@dataclass
class Checked(Evaluator[Case, Played, Any]):
    """Tells pydantic_evals, and who watches it, what was found."""

    def evaluate(self, ctx: EvaluatorContext[Case, Played, Any]) -> dict[str, Any]:
        """Return whether the case passed, and its figures."""
        judged = ctx.output.judged
        passed = EvaluationReason(value=not judged.problems, reason=" ".join(judged.problems) or None)
        return {runs.PASSED: passed, **judged.measures}


def ignore_progress(_what: str, _done: int, _total: int) -> None:
    """Take no notice of progress."""


def chosen(cases: Sequence[Case], *, tags: Sequence[str] = (), names: Sequence[str] = ()) -> list[Case]:
    """Return the cases that bear one of some tags and have one of some names; all for none.

    Raises:
        ValidationFailed: no case is left, or a name is none's.
    """
    known = {name for case in cases for name in (case.name, case.id)}
    if strangers := sorted(set(names) - known):
        raise ValidationFailed(f"There is no case {', '.join(strangers)}.")
    found = [
        case
        for case in cases
        if (not tags or set(tags) & set(case.metadata.tags))
        and (not names or {case.name, case.id} & set(names))
    ]
    if not found:
        raise ValidationFailed("No case is left by --tag and --case.")
    return found


async def play(
    suite: str,
    cases: Sequence[Case],
    service: MemoryService,
    options: Options,
    *,
    progress: Progress = ignore_progress,
) -> Run:
    """Play cases, some at once, and return the run.

    Questions of a state share one place; whatever writes has a place of its own.

    Args:
        suite: as it was named.
        cases: of it.
        service: that is asked.
        options: how.
        progress: is told what is being done, how much of it is done, and of how much.
    """
    started_at, started = datetime.now(UTC), time.perf_counter()
    async with AsyncExitStack() as held:
        read_only = {case.state.folder: case.state for case in cases if case.kind == "context"}
        shared: dict[Path, Placed] = {}
        for number, (folder, state) in enumerate(read_only.items(), start=1):
            shared[folder] = await held.enter_async_context(service.place(state))
            progress("placing", number, len(read_only))
        done = 0

        async def task(case: Case) -> Played:
            nonlocal done
            try:
                with options.during(case):
                    if case.kind == "context":
                        return await _played(case, shared[case.state.folder], options)
                    async with service.place(case.state) as placed:
                        return await _played(case, placed, options)
            finally:
                done += 1
                progress("asking", done, len(cases))

        dataset = Dataset[Case, Played, Any](
            name=runs.stem(suite),
            cases=[EvalsCase(name=case.id, inputs=case) for case in cases],
            evaluators=[Checked()],
        )
        report = await dataset.evaluate(task, max_concurrency=options.concurrency, progress=False)
    ended: dict[str, AnyReport] = {one.name: one for one in report.cases}
    ended |= {one.name: one for one in report.failures}
    outcomes = tuple(_case_run(case, ended[case.id], options.planner) for case in cases)
    states = {case.state.manifest.name: case.state.sha256 for case in cases}
    return Run(
        run_id=runs.new_id(suite, started_at),
        suite=suite,
        started_at=started_at,
        duration_s=time.perf_counter() - started,
        service=service.name,
        planner=options.planner,
        options={"concurrency": options.concurrency, "budget": options.budget, **options.kept},
        engine=options.engine,
        revision=revision(),
        states=dict(sorted(states.items())),
        counts=runs.counts(outcomes),
        figures=runs.figures(outcomes),
        cases=outcomes,
    )


def _case_run(case: Case, ended: AnyReport, planner: str) -> CaseRun:
    if isinstance(ended, ReportCaseFailure):
        judged = Judged((f"The case ended with {ended.error_message}",))
        played = Played(judged, 1, ({"traceback": ended.error_stacktrace},))
    else:
        played = ended.output
    status = _status(played, is_known=case.metadata.is_known_of(planner))
    is_passed = status in ("passed", "fixed")
    return CaseRun(
        id=case.id,
        kind=case.kind,
        state=case.state.manifest.name,
        tags=case.metadata.tags,
        note=case.metadata.note,
        sha256=case.sha256,
        status=status,
        problems=played.judged.problems,
        unknown=played.judged.unknown,
        measures={runs.PASSED: float(is_passed)} | played.judged.measures if status != "skipped" else {},
        asked=_asked(case)[:MAX_ASKED_CHARS],
        traces=played.traces,
    )


def _status(played: Played, *, is_known: bool) -> Status:
    if played.judged.problems:
        return "known" if is_known else "failed"
    if len(played.judged.unknown) >= played.expectations:
        return "skipped"
    return "fixed" if is_known else "passed"


def _asked(case: Case) -> str:
    match case.inputs:
        case ContextInputs(query=query):
            return query
        case RememberInputs(text=text):
            return text
        case SequenceInputs(steps=steps):
            return " / ".join(step.ask for step in steps if isinstance(step, AskStep))


async def _played(case: Case, placed: Placed, options: Options) -> Played:
    match case.inputs, case.expected:
        case ContextInputs() as inputs, ContextExpected() as expected:
            return await _ask(inputs, expected, case, placed, options)
        case RememberInputs() as inputs, RememberExpected() as expected:
            return await _remember(inputs, expected, case, placed)
        case SequenceInputs() as inputs, _:
            return await _sequence(inputs, case, placed, options)
        case _:
            raise TypeError(f"{case.id} is of no kind")


async def _ask(
    inputs: ContextInputs, expected: ContextExpected, case: Case, placed: Placed, options: Options
) -> Played:
    budget = _budget(inputs, options)
    got = await placed.context(
        case.user,
        inputs.query,
        budget=budget,
        project=inputs.project,
        max_hops=inputs.max_hops,
        now=inputs.now or case.state.manifest.at,
    )
    judged = _with_cost(judge_context(expected, got, budget=budget), got)
    if options.judge is not None and got.error is None:
        judged.measures["judge"] = await options.judge(inputs.query, got.context)
    return Played(judged, len(expected.model_fields_set), (got.trace or {"context": got.context},))


async def _remember(inputs: RememberInputs, expected: RememberExpected, case: Case, placed: Placed) -> Played:
    now = inputs.now or case.state.manifest.at
    before = await placed.files(case.user)
    got = await placed.remember(case.user, inputs.text, project=inputs.project, now=now)
    after = await placed.files(case.user)
    traces, again = [got.trace], None
    if expected.idempotent and after is not None:
        repeated = await placed.remember(case.user, inputs.text, project=inputs.project, now=now)
        again = await placed.files(case.user)
        traces.append(repeated.trace)
    judged = _with_cost(judge_remember(expected, got, before, after, again=again), got)
    return Played(judged, len(expected.model_fields_set), tuple(traces))


async def _sequence(inputs: SequenceInputs, case: Case, placed: Placed, options: Options) -> Played:
    answers: list[tuple[str, Judged]] = []
    calls: list[Recalled | Remembered] = []
    expectations = 0
    for number, step in enumerate(inputs.steps, start=1):
        try:
            got = await _step(step, case, placed, options)
        except Unsupported:
            answers.append((f"step {number}", Judged(unknown=("write",))))
            expectations += 1
            break
        if got is not None:
            calls.append(got)
        if isinstance(step, AskStep) and isinstance(got, Recalled):
            expectations += len(step.expect.model_fields_set)
            judged = judge_context(step.expect, got, budget=_budget(step, options))
            if options.judge is not None and got.error is None:
                judged.measures["judge"] = await options.judge(step.ask, got.context)
            answers.append((f"step {number}", judged))
        elif isinstance(got, Remembered) and got.error is not None:
            answers.append((f"step {number}", Judged((f"The call is refused with {got.error}.",))))
    return Played(
        _with_cost(merged(answers), *calls),
        expectations,
        tuple(call.trace or {"context": getattr(call, "context", None)} for call in calls),
    )


async def _step(step: Step, case: Case, placed: Placed, options: Options) -> Recalled | Remembered | None:
    user, now = step.user or case.user, step.now or case.state.manifest.at
    if isinstance(step, RememberStep):
        return await placed.remember(user, step.remember, project=step.project, now=now)
    if isinstance(step, AskStep):
        return await placed.context(
            user,
            step.ask,
            budget=_budget(step, options),
            project=step.project,
            max_hops=step.max_hops,
            now=now,
        )
    await placed.write(user, step.write.path, step.write.content, now=now)
    return None


def _budget(asked: ContextInputs | AskStep, options: Options) -> int:
    """Return the budget of a question; one that a case names stays."""
    return asked.budget if options.budget is None or "budget" in asked.model_fields_set else options.budget


def _with_cost(judged: Judged, *calls: Recalled | Remembered) -> Judged:
    """Return what was found with what the calls took, as far as the service tells it."""
    cost: dict[str, float] = {}
    seconds = [call.seconds for call in calls if call.seconds is not None]
    if seconds:
        cost["latency-ms"] = 1000 * sum(seconds)
    used = [call.usage for call in calls if call.usage is not None]
    if used:
        usage = sum_of(used)
        cost |= {
            "requests": float(usage.requests),
            "input-tokens": float(usage.input_tokens),
            "output-tokens": float(usage.output_tokens),
        }
        if usage.usd is not None:
            cost["usd"] = usage.usd
    return Judged(judged.problems, judged.unknown, judged.measures | cost)


def sum_of(used: Sequence[Usage]) -> Usage:
    """Return what several calls used together."""
    total = Usage()
    for one in used:
        total = total.plus(one)
    return total
