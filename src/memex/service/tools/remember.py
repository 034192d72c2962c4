"""memory_remember: a planner splits a text into statements, and one commit stores them."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from memex import telemetry
from memex.errors import PlanChanged, ValidationFailed
from memex.service.said_at import said_day
from memex.service.snapshots import Consistency, MemoryView
from memex.service.tools.planned_tool import PlannedTool, planning_record
from memex.service.tools.remember_answer import RememberResult, render_answer
from memex.service.tools.tool import Arguments, StorableText
from memex.service.tools.tool_context import ShownPlan, ToolContext
from memex.store.database import Statement
from memex.store.log import queue
from memex.store.log.call import CallAnswer
from memex.store.log.operations import to_storable
from memex.store.records import FileChange
from memex.store.snapshot.reads import NO_READS
from memex.store.writes.draft import Draft
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import RememberPlan, RememberRequest
from memex.subagent.remember import settling, stage
from memex.subagent.remember.reading import with_first_reads
from memex.subagent.remember.settling import Settlement
from memex.subagent.remember.stage import MAX_TEXT_CHARS

MAX_HELD_CHARS = 4_000  # of a text that is planned over one snapshot
# What a dry run shows, and the call that writes it must have the same.
SHOWN = ("writes", "skipped", "rivals", "candidates", "unresolved", "planner", "degraded")


class RememberArguments(Arguments):
    """Remember what a text says, and take out stored statements that no longer hold."""

    text: Annotated[
        StorableText | None,
        Field(
            min_length=1,
            max_length=MAX_TEXT_CHARS,
            description="What to remember, in plain sentences. It may be left out if there are handles.",
        ),
    ] = None
    outdated: Annotated[
        list[StorableText],
        Field(
            default_factory=list,
            description="Stored statements that no longer hold, by the handles that an earlier answer gives in "
            f"`rivals` or `candidates`; at most {settling.MAX_HANDLES} count.",
        ),
    ]
    both_hold: Annotated[
        list[StorableText],
        Field(
            default_factory=list,
            description="Stored statements that hold beside a newer one that seems to contradict them, by their "
            "handles: contexts no longer mark them as out of date.",
        ),
    ]
    project: Annotated[str | None, Field(description="The project that the text is about.")] = None
    dry_run: Annotated[bool, Field(description="Show what would be written, and write nothing.")] = False
    statements: Annotated[
        bool, Field(description="Of a dry run: also list each statement with its kind and its place.")
    ] = False
    dry_run_id: Annotated[
        StorableText | None,
        Field(
            max_length=200,
            description="The tool_call_id of a dry run of the same text: writes exactly what it showed, or nothing "
            "if that has changed since (PLAN_CHANGED). A model is not asked again.",
        ),
    ] = None
    said_at: Annotated[
        StorableText | None,
        Field(
            description="When the text was said, if not now: a date such as 2021-03-09, or a time with its zone."
        ),
    ] = None
    wait: Annotated[
        bool,
        Field(
            description="Answer when it is written. false answers `queued` at once, and a worker of the service "
            "writes it; the same call again, under its tool call id, says what became of it."
        ),
    ] = True

    def canonical(self) -> dict[str, Any]:
        """Return the arguments without `wait`, so that a queued call can be repeated with `wait: true`."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"wait"})

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.text is None and not (self.outdated or self.both_hold):
            raise ValueError("text is required, unless outdated or both_hold names statements")
        if self.dry_run_id is not None and (self.dry_run or not self.wait):
            raise ValueError("dry_run_id writes what a dry run showed, at once: leave dry_run and wait out")
        if self.statements and not self.dry_run:
            raise ValueError("statements is for a dry run")
        return self

    @property
    def planned(self) -> dict[str, Any]:
        """The arguments of which a dry run and the call that writes what it showed have the same."""
        return self.model_dump(
            mode="json", exclude_defaults=True, exclude={"dry_run", "dry_run_id", "statements", "wait"}
        )


async def remember_text(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Answer memory_remember: one draft, one commit."""
    said_day(arguments.said_at, work.call.request.now)  # refuses a wrong one before it is queued
    if not arguments.wait:
        return await _enqueue(work, arguments)
    if arguments.dry_run:
        return await _preview(work, arguments)
    is_queued = work.call.request.accepted_id is not None  # a worker has its lease
    is_alone = is_queued or not work.planners.remember.is_slow
    async with nullcontext() if is_alone else work.call_locks.held(work.access, work.call):
        return await _commit(work, arguments)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A plan, and what handles settle; `is_repeat` if the log has a call with this id, and nothing was planned."""

    plan: RememberPlan
    settled: Settlement = field(default_factory=Settlement)
    is_repeat: bool = False


async def _preview(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Answer what a text would write, without writing it."""
    draft = work.new_draft()
    answer = _stage(work, arguments, draft, await _plan(work, arguments))
    preview = await draft.preview()
    made = answer(preview.changes)
    inner = work.call.record.inner
    state = ((inner[-1].state if inner else None) or {}) | preview.state
    await work.log.add("dry_run", made, state=state)
    return made.result


async def _commit(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Write what a text says; a call that was committed before gets its answer."""
    draft, project = work.new_draft(), _project(work, arguments)
    # A plan that is made in one snapshot begins with a look at the log, which saves a transaction. A queued call
    # stands in the log anyway, and a repeated call gets its answer also when its project is closed to it now.
    is_open = project is None or f"projects/{project}" in work.access.by_mount
    is_queued = work.call.request.accepted_id is not None
    planned = shown = None
    if _is_held(work, arguments) and is_open and not is_queued and arguments.dry_run_id is None:
        planned = await _plan(work, arguments, [draft.committed_statement(work.call)])
    if planned is None or planned.is_repeat:
        if (first := await draft.first_result(work.call)) is not None:
            await work.log.add("repeated")
            return first
        shown = await _shown(work, arguments)
        planned = await _plan(_planning_as(work, shown), arguments)
    answer = _stage(_planning_as(work, shown), arguments, draft, planned)
    if shown is not None:
        answer = partial(_answer_as_shown, shown, arguments, answer)
    with telemetry.operation(telemetry.COMMIT, {}) as recorded:
        commit = await draft.commit(work.call, answer)
        written = [change.path for change in commit.changes if change.changed]
        recorded.operation_ended({"writes": written}, None)
    if commit.is_repeat:
        await work.log.add("repeated")
    return commit.result


async def _shown(work: ToolContext, arguments: RememberArguments) -> ShownPlan | None:
    """Return what the dry run showed that the call names; None without one, and in a replay.

    Raises:
        ValidationFailed: it was no dry run, or one of another text or of other arguments.
    """
    if arguments.dry_run_id is None or work.dry_runs is None:
        return None
    shown = await work.dry_runs.load(arguments.dry_run_id)
    if RememberArguments.model_validate(shown.arguments).planned != arguments.planned:
        raise ValidationFailed(
            "The dry run was of another text, or of other arguments.",
            hint="Send the arguments of the dry run, without dry_run and with its id as dry_run_id.",
        )
    return shown


def _planning_as(work: ToolContext, shown: ShownPlan | None) -> ToolContext:
    """Return the context with what planned the dry run, which gets the same answers of its model again."""
    if shown is None:
        return work
    work.call.record.is_model_played = True
    planners = replace(work.planners, remember=shown.planner)
    return replace(work, planners=planners, spending=shown.spending)


def _answer_as_shown(
    shown: ShownPlan,
    arguments: RememberArguments,
    answer: Callable[[tuple[FileChange, ...]], CallAnswer],
    changes: tuple[FileChange, ...],
) -> CallAnswer:
    """Return the answer if it is what the dry run showed; the commit that asks for it is given up otherwise.

    Raises:
        PlanChanged: something else would be written, or left out.
    """
    made = answer(changes)
    # The log keeps what it can as references; of what a dry run would write there are none.
    now = to_storable({**made.response, "writes": made.result["writes"]})
    if any(now[name] != shown.result.get(name) for name in SHOWN):
        raise PlanChanged(
            "Memory has changed since the dry run: something else would be written now. Nothing was written.",
            dry_run_id=arguments.dry_run_id,
        )
    return replace(made, config=dict(shown.config))


async def _plan(
    work: ToolContext, arguments: RememberArguments, committed: Sequence[Statement] = ()
) -> _Planned:
    """Plan where the statements of a text go.

    Args:
        work: the context of the call.
        arguments: those of the call.
        committed: statements that find a call with the same id: if any does, nothing is planned.
    """
    planner, day = work.planners.remember, said_day(arguments.said_at, work.call.request.now)
    project = _project(work, arguments)
    is_held = _is_held(work, arguments)
    consistency: Consistency = "held" if is_held else "fresh"
    request, ahead = RememberRequest(arguments.text or "", project, day), NO_READS
    narrowed = work.snapshots.narrowed(project)
    if is_held:
        request, ahead = await with_first_reads(request)
    async with narrowed.begin(MemoryView(), consistency, ahead, committed) as snapshots:
        plan = RememberPlan(planner=planner.name)
        if any(snapshots.found):
            return _Planned(plan, is_repeat=True)
        tools = MemoryTools(snapshots.open, work.call, held=snapshots.held, spending=work.spending)
        if arguments.text is not None:
            plan = await planner.plan_remember(request, tools)
        settled = await settling.settle(arguments.outdated, arguments.both_hold, project, tools)
    removals = (*plan.removals, *(removal for _, removal in settled.removals))
    return _Planned(replace(plan, removals=removals), settled)


def _project(work: ToolContext, arguments: RememberArguments) -> str | None:
    own: str | None = work.call.request.principal.get("project")
    return arguments.project if arguments.project is not None else own


def _is_held(work: ToolContext, arguments: RememberArguments) -> bool:
    """Whether a text is planned over one snapshot.

    No connection is held while a model thinks or a longer text is read: then each operation looks for itself.
    """
    return len(arguments.text or "") <= MAX_HELD_CHARS and not work.planners.remember.is_slow


def _stage(
    work: ToolContext, arguments: RememberArguments, draft: Draft, planned: _Planned
) -> Callable[[tuple[FileChange, ...]], CallAnswer]:
    """Stage a plan, and return what makes the answer of the changes."""
    planner, day = work.planners.remember, said_day(arguments.said_at, work.call.request.now)
    plan, settled = planned.plan, planned.settled
    confirmed = [(one.path, one.removes) for _, one in settled.confirmed]
    staged = stage.stage(draft, plan, day, confirmed)
    config = planning_record(work, planner, plan, "remember")
    return lambda changes: render_answer(
        arguments.canonical(),
        plan,
        settled,
        stage.file_outcomes(staged, changes),
        config,
        is_dry_run=arguments.dry_run,
        lists_statements=arguments.statements,
    )


async def _enqueue(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Answer a caller who does not wait: the call is in the queue, or what became of it since."""
    if arguments.dry_run:
        raise ValidationFailed("A dry run is never queued.", hint="Leave dry_run or wait out.")
    if not work.database.has_jobs:
        raise ValidationFailed(
            "This database has no queue.",
            hint="Leave wait out, or send true; `memex doctor` says what a queue needs.",
        )
    work.access.searched(arguments.project)  # refuses a project that is none of the user's
    result = RememberResult(
        status="queued",
        writes=[],
        skipped=[],
        rivals=[],
        candidates=[],
        unresolved=[],
        note=None,
        planner=work.planners.remember.name,
        degraded=None,
    ).body()
    return await queue.accept(
        work.database, work.access, work.call, CallAnswer(result, arguments.canonical(), result), work.rates
    )


REMEMBER = PlannedTool("memory_remember", RememberArguments, RememberResult, "remember", remember_text, False)
