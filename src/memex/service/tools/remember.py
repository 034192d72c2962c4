"""memory_remember: a planner splits a text into statements, and one commit stores them."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any

from pydantic import Field

from memex import telemetry
from memex.errors import ValidationFailed
from memex.service.log import references
from memex.service.snapshots import MemoryView
from memex.service.tools.planned_tool import PlannedTool, degraded_code, planning_record
from memex.service.tools.tool import Arguments, ResultPart, StorableText, ToolResult
from memex.service.tools.tool_context import ToolContext
from memex.store.log import queue
from memex.store.log.call import CallAnswer
from memex.store.records import FileChange
from memex.store.writes.draft import Draft
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import KnownStatement, RememberPlan, RememberRequest
from memex.subagent.remember import note, stage
from memex.subagent.remember.stage import MAX_TEXT_CHARS, FileOutcome

# Outcomes of a statement that write nothing, with the reasons that the answer gives.
UNWRITTEN = {"duplicate": "duplicate", "overtaken": "superseded", "absent": "absent", "nested": "nested"}
# Outcomes that write, as the answer counts them.
WRITTEN = {"added": "added", "superseded": "replaced", "removed": "removed"}


class RememberArguments(Arguments):
    """Remember what a text says."""

    text: Annotated[
        StorableText,
        Field(min_length=1, max_length=MAX_TEXT_CHARS, description="What to remember, in plain sentences."),
    ]
    project: Annotated[str | None, Field(description="The project that the text is about.")] = None
    dry_run: Annotated[bool, Field(description="Show what would be written, and write nothing.")] = False
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


class WriteMade(ResultPart):
    """What was written to one file, or would be: the version, the reason in words, and the difference."""

    path: str
    operation: str
    version: int
    reason: str
    diff: str


class SkippedResult(ResultPart):
    """A part of the text that was not written: its span, and the reason.

    | reason | meaning |
    | --- | --- |
    | duplicate | the statement is stored already; `known_in` says where, if it is a stored file |
    | superseded | another part of the text replaces the statement |
    | small_talk, question, heading, empty | the part holds no statement |
    | instruction | the part gives an order to its reader |
    | assistant | the part is the assistant's own words |
    | secret | the part holds a secret, such as a password |
    | forget | the part asks to forget something; `note` says what became of that |
    | absent | the statement to remove is not stored |
    | nested | the statement to remove has other items nested below it, and stays |
    | unsure, other | the model left the part out |
    | limit | the model made more edits than MEMEX_MODEL_WRITES |
    | invalid | the edit of the model was wrong, after one correction |
    """

    start: int
    end: int
    reason: str
    known_in: str | None


class CandidateResult(ResultPart):
    """A stored statement that a request to forget may mean. It still stands."""

    path: str
    text: str


class RivalResult(ResultPart):
    """A new statement, and a stored one at `path` that it probably contradicts. Both stay."""

    path: str
    older: str
    newer: str


class RememberResult(ToolResult):
    """The result for a text. `status` is committed, nothing, dry_run, or queued (not processed yet).

    `note` says in words what `rivals`, `candidates` or a request to forget mean for the caller.
    """

    status: str
    writes: list[WriteMade]
    skipped: list[SkippedResult]
    rivals: list[RivalResult]
    candidates: list[CandidateResult]
    note: str | None
    planner: str
    degraded: str | None


async def remember_text(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Answer memory_remember: one draft, one commit."""
    if not arguments.wait:
        return await _enqueue(work, arguments)
    if arguments.dry_run:
        return await _preview(work, arguments)
    is_queued = work.call.request.accepted_id is not None  # a worker has its lease
    is_alone = is_queued or not work.planners.remember.is_slow
    async with nullcontext() if is_alone else work.call_locks.held(work.access, work.call):
        return await _commit(work, arguments)


async def _preview(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Answer what a text would write, without writing it."""
    draft = work.new_draft()
    answer = await _stage(work, arguments, draft)
    preview = await draft.preview()
    made = answer(preview.changes)
    inner = work.call.record.inner
    state = ((inner[-1].state if inner else None) or {}) | preview.state
    await work.log.add("dry_run", made, state=state)
    return made.result


async def _commit(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Write what a text says; a call that was committed before gets its answer."""
    draft = work.new_draft()
    if (first := await draft.first_result(work.call)) is not None:
        await work.log.add("repeated")
        return first
    answer = await _stage(work, arguments, draft)
    with telemetry.operation(telemetry.COMMIT, {}) as recorded:
        commit = await draft.commit(work.call, answer)
        written = [change.path for change in commit.changes if change.changed]
        recorded.operation_ended({"writes": written}, None)
    if commit.is_repeat:
        await work.log.add("repeated")
    return commit.result


async def _stage(
    work: ToolContext, arguments: RememberArguments, draft: Draft
) -> Callable[[tuple[FileChange, ...]], CallAnswer]:
    """Plan where the statements of a text go, stage that, and return what makes the answer of the changes."""
    planner, now = work.planners.remember, work.call.request.now
    own_project = work.call.request.principal.get("project")
    project = arguments.project if arguments.project is not None else own_project
    # Each operation looks for itself: no connection is held while the text is read and thought about.
    async with work.snapshots.narrowed(project).begin(MemoryView(), "fresh") as snapshots:
        tools = MemoryTools(snapshots.open, work.call, spending=work.spending)
        plan = await planner.plan_remember(RememberRequest(arguments.text, project, now), tools)
    staged = stage.stage(draft, plan, now.date())
    config = planning_record(work, planner, plan, "remember")
    return lambda changes: render_remember_answer(
        arguments, plan, stage.file_outcomes(staged, changes), config
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
        note=None,
        planner=work.planners.remember.name,
        degraded=None,
    ).body()
    return await queue.accept(
        work.database, work.access, work.call, CallAnswer(result, arguments.canonical(), result)
    )


def render_remember_answer(
    arguments: RememberArguments, plan: RememberPlan, done: list[FileOutcome], config: dict[str, Any]
) -> CallAnswer:
    """Return the answer to a text.

    Args:
        arguments: the arguments of the call.
        plan: the plan of what to write.
        done: the outcome for each file.
        config: what is logged with the arguments; see `planning_record`.
    """
    written = [(file, file.change) for file in done if file.change is not None and file.change.changed]
    status = "dry_run" if arguments.dry_run else "committed" if written else "nothing"
    skipped = [
        SkippedResult(start=skip.start, end=skip.end, reason=skip.reason, known_in=None)
        for skip in plan.skipped
    ]
    skipped += [_known(known) for known in plan.known]
    rivals = note.standing_rivals(plan, done)
    skipped += [
        SkippedResult(
            start=statement.start,
            end=statement.end,
            reason=UNWRITTEN[outcome.action],
            known_in=references.new_name(file.change)
            if file.change and outcome.action == "duplicate"
            else None,
        )
        for file in done
        for statement, outcome in file.statement_outcomes
        if outcome.action in UNWRITTEN
    ]
    result = RememberResult(
        status=status,
        writes=[
            WriteMade(
                path=change.path,
                operation=change.operation,
                version=change.version,
                reason=_reason(file),
                diff=references.diff(change),
            )
            for file, change in written
        ],
        skipped=sorted(skipped, key=lambda skip: skip.start),
        rivals=[
            RivalResult(path=rival.path, older=rival.older, newer=rival.statement.text) for rival in rivals
        ],
        candidates=[CandidateResult(path=path, text=text) for path, text in plan.candidates],
        note=note.describe(plan, done, rivals, is_dry_run=arguments.dry_run),
        planner=plan.planner,
        degraded=degraded_code(plan.failure),
    ).body()
    logged = result
    if not arguments.dry_run:  # of a dry run no revision holds the new text
        diffs = [{"diff": references.of_diff(change)} for _, change in written]
        logged = result | {"writes": [w | d for w, d in zip(result["writes"], diffs, strict=True)]}
    return CallAnswer(result, arguments.canonical(), logged, config)


def _known(known: KnownStatement) -> SkippedResult:
    return SkippedResult(
        start=known.statement.start,
        end=known.statement.end,
        reason="duplicate",
        known_in=f"{known.reference.path}@{known.reference.version}",
    )


def _reason(file: FileOutcome) -> str:
    """Say in words what became of a file: `2 added, 1 replaced`."""
    actions = [outcome.action for _, outcome in file.statement_outcomes]
    counts = {name: sum(action == done for action in actions) for done, name in WRITTEN.items()}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


REMEMBER = PlannedTool("memory_remember", RememberArguments, RememberResult, "remember", remember_text, False)
