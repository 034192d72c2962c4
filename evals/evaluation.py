"""Runs cases: places the state of each case, asks, checks the answers, and returns the run."""

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
    JOURNAL,
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
from memex.evals.checks import CaseVerdict, judge_context, judge_remember, merge_verdicts
from memex.evals.run_files import code_revision
from memex.service.evals.runs import PASSED, CaseRun, Run, Status

CONCURRENCY = 4  # enough that Python and Postgres each keep a core busy
MAX_QUESTION_CHARS = 500

Progress = Callable[[str, int, int], None]
AnyReport = ReportCase[Any, Any, Any] | ReportCaseFailure[Any, Any, Any]


class ContextRater(Protocol):
    """Rates how well a context answers a question."""

    async def __call__(self, query: str, context: str) -> float:
        """Return how well a context answers a question, from 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """The options with which cases are run.

    Attributes:
        planner: the planner, by the name that known failures use: `builtin`, or a model.
        concurrency: the number of cases that run at the same time.
        budget: the budget of questions that name none.
        judge: rates contexts, which adds one more measure; None without a judge.
        during: opens a block around each case, for example one that records the answers of a model.
        engine: the engine of the service, kept in the run.
        kept: other facts about how the cases were run, kept in the run.
    """

    planner: str = "builtin"
    concurrency: int = CONCURRENCY
    budget: int | None = None
    judge: ContextRater | None = None
    surround: Callable[[Case], AbstractContextManager[None]] = lambda _: nullcontext()
    engine: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case: its verdict, and the traces of its calls."""

    judged: CaseVerdict
    expectations: int
    traces: tuple[dict[str, Any], ...]


@dataclass
class VerdictEvaluator(Evaluator[Case, CaseResult, Any]):
    """Reports the verdict of a case to pydantic_evals, and to the tools that watch it."""

    def evaluate(self, ctx: EvaluatorContext[Case, CaseResult, Any]) -> dict[str, Any]:
        """Return whether the case passed, and its measures."""
        judged = ctx.output.judged
        passed = EvaluationReason(value=not judged.problems, reason=" ".join(judged.problems) or None)
        return {PASSED: passed, **judged.measures}


def ignore_progress(_what: str, _done: int, _total: int) -> None:
    """Ignore a report of progress."""


def select_cases(cases: Sequence[Case], *, tags: Sequence[str] = (), names: Sequence[str] = ()) -> list[Case]:
    """Return the cases that have one of the tags and one of the names; no tags or no names select all cases.

    Raises:
        ValidationFailed: no case is selected, or no case has one of the names.
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


async def run_cases(
    suite: str,
    cases: Sequence[Case],
    service: MemoryService,
    options: EvaluationOptions,
    *,
    progress: Progress = ignore_progress,
) -> Run:
    """Run cases, some at the same time, and return the run.

    All questions of a state share one place. Each case that writes has a place of its own.

    Args:
        suite: the name of the suite, as the caller gave it.
        cases: the cases to run.
        service: the service that is asked.
        options: how the cases are run.
        progress: is called with the present step, the amount that is done, and the whole amount.
    """
    started_at, started = datetime.now(UTC), time.perf_counter()
    async with AsyncExitStack() as held:
        read_only = {case.state.folder: case.state for case in cases if case.kind == "context"}
        shared: dict[Path, Placed] = {}
        for number, (folder, state) in enumerate(read_only.items(), start=1):
            shared[folder] = await held.enter_async_context(service.place(state))
            progress("placing", number, len(read_only))
        done = 0

        async def task(case: Case) -> CaseResult:
            nonlocal done
            try:
                with options.surround(case):
                    if case.kind == "context":
                        return await _run_case(case, shared[case.state.folder], options)
                    async with service.place(case.state) as placed:
                        return await _run_case(case, placed, options)
            finally:
                done += 1
                progress("asking", done, len(cases))

        dataset = Dataset[Case, CaseResult, Any](
            name=runs.suite_slug(suite),
            cases=[EvalsCase(name=case.id, inputs=case) for case in cases],
            evaluators=[VerdictEvaluator()],
        )
        report = await dataset.evaluate(task, max_concurrency=options.concurrency, progress=False)
    ended: dict[str, AnyReport] = {result.name: result for result in report.cases}
    ended |= {failure.name: failure for failure in report.failures}
    outcomes = tuple(_to_case_run(case, ended[case.id], options.planner) for case in cases)
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
        revision=code_revision(),
        states=dict(sorted(states.items())),
        counts=runs.count_groups(outcomes),
        figures=runs.estimate_figures(outcomes),
        cases=outcomes,
    )


def _to_case_run(case: Case, ended: AnyReport, planner: str) -> CaseRun:
    if isinstance(ended, ReportCaseFailure):
        judged = CaseVerdict((f"The case ended with {ended.error_message}",))
        played = CaseResult(judged, 1, ({"traceback": ended.error_stacktrace},))
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
        measures={PASSED: float(is_passed)} | played.judged.measures if status != "skipped" else {},
        asked=_question_text(case)[:MAX_QUESTION_CHARS],
        traces=played.traces,
    )


def _status(played: CaseResult, *, is_known: bool) -> Status:
    if played.judged.problems:
        return "known" if is_known else "failed"
    if len(played.judged.unknown) >= played.expectations:
        return "skipped"
    return "fixed" if is_known else "passed"


def _question_text(case: Case) -> str:
    match case.inputs:
        case ContextInputs(query=query):
            return query
        case RememberInputs(text=text):
            return text
        case SequenceInputs(steps=steps):
            return " / ".join(step.ask for step in steps if isinstance(step, AskStep))


async def _run_case(case: Case, placed: Placed, options: EvaluationOptions) -> CaseResult:
    match case.inputs, case.expected:
        case ContextInputs() as inputs, ContextExpected() as expected:
            return await _run_context_case(inputs, expected, case, placed, options)
        case RememberInputs() as inputs, RememberExpected() as expected:
            return await _run_remember_case(inputs, expected, case, placed)
        case SequenceInputs() as inputs, _:
            return await _run_sequence(inputs, case, placed, options)
        case _:
            raise TypeError(f"{case.id} is of no kind")


async def _run_context_case(
    inputs: ContextInputs, expected: ContextExpected, case: Case, placed: Placed, options: EvaluationOptions
) -> CaseResult:
    budget = _budget_of(inputs, options)
    got = await placed.context(
        case.user,
        inputs.query,
        budget=budget,
        project=inputs.project,
        max_hops=inputs.max_hops,
        now=inputs.now or case.state.manifest.at,
    )
    judged = _add_cost(judge_context(expected, got, budget=budget), got)
    if options.judge is not None and got.error is None:
        judged.measures["judge"] = await options.judge(inputs.query, got.context)
    return CaseResult(judged, len(expected.model_fields_set), (got.trace or {"context": got.context},))


async def _run_remember_case(
    inputs: RememberInputs, expected: RememberExpected, case: Case, placed: Placed
) -> CaseResult:
    now = inputs.now or case.state.manifest.at
    before = await _held(placed, case.user)
    got = await placed.remember(case.user, inputs.text, project=inputs.project, now=now)
    after = await _held(placed, case.user)
    traces, again = [got.trace], None
    if expected.idempotent and after is not None:
        repeated = await placed.remember(case.user, inputs.text, project=inputs.project, now=now)
        again = await _held(placed, case.user)
        traces.append(repeated.trace)
    judged = _add_cost(judge_remember(expected, got, before, after, again=again), got)
    return CaseResult(judged, len(expected.model_fields_set), tuple(traces))


async def _held(placed: Placed, user: str) -> Mapping[str, str] | None:
    """Return the files that a user may read, and at `JOURNAL` what the entries of the journal hold."""
    files = await placed.files(user)
    entries = await placed.journal(user)
    return {**files, JOURNAL: "\n\n".join(entries.values())} if files is not None and entries else files


async def _run_sequence(
    inputs: SequenceInputs, case: Case, placed: Placed, options: EvaluationOptions
) -> CaseResult:
    answers: list[tuple[str, CaseVerdict]] = []
    calls: list[Recalled | Remembered] = []
    expectations = 0
    for number, step in enumerate(inputs.steps, start=1):
        try:
            got = await _run_step(step, case, placed, options)
        except Unsupported:
            answers.append((f"step {number}", CaseVerdict(unknown=("write",))))
            expectations += 1
            break
        if got is not None:
            calls.append(got)
        if isinstance(step, AskStep) and isinstance(got, Recalled):
            expectations += len(step.expect.model_fields_set)
            judged = judge_context(step.expect, got, budget=_budget_of(step, options))
            if options.judge is not None and got.error is None:
                judged.measures["judge"] = await options.judge(step.ask, got.context)
            answers.append((f"step {number}", judged))
        elif isinstance(got, Remembered) and got.error is not None:
            answers.append((f"step {number}", CaseVerdict((f"The call is refused with {got.error}.",))))
    return CaseResult(
        _add_cost(merge_verdicts(answers), *calls),
        expectations,
        tuple(call.trace or {"context": getattr(call, "context", None)} for call in calls),
    )


async def _run_step(
    step: Step, case: Case, placed: Placed, options: EvaluationOptions
) -> Recalled | Remembered | None:
    user, now = step.user or case.user, step.now or case.state.manifest.at
    if isinstance(step, RememberStep):
        return await placed.remember(user, step.remember, project=step.project, now=now)
    if isinstance(step, AskStep):
        return await placed.context(
            user,
            step.ask,
            budget=_budget_of(step, options),
            project=step.project,
            max_hops=step.max_hops,
            now=now,
        )
    await placed.write(user, step.write.path, step.write.content, now=now)
    return None


def _budget_of(question: ContextInputs | AskStep, options: EvaluationOptions) -> int:
    """Return the budget of a question: its own, or the budget of the options."""
    return (
        question.budget if options.budget is None or "budget" in question.model_fields_set else options.budget
    )


def _add_cost(judged: CaseVerdict, *calls: Recalled | Remembered) -> CaseVerdict:
    """Return the verdict with measures of what the calls cost, as far as the service tells it."""
    cost: dict[str, float] = {}
    seconds = [call.seconds for call in calls if call.seconds is not None]
    if seconds:
        cost["latency-ms"] = 1000 * sum(seconds)
    used = [call.usage for call in calls if call.usage is not None]
    if used:
        usage = total_usage(used)
        cost |= {
            "requests": float(usage.requests),
            "input-tokens": float(usage.input_tokens),
            "output-tokens": float(usage.output_tokens),
        }
        if usage.usd is not None:
            cost["usd"] = usage.usd
    return CaseVerdict(judged.problems, judged.unknown, judged.measures | cost)


def total_usage(usages: Sequence[Usage]) -> Usage:
    """Return the sum of what several calls used."""
    total = Usage()
    for usage in usages:
        total = total.plus(usage)
    return total
