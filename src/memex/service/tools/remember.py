"""memory_remember: a planner splits a text into statements, and one commit stores them."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from memex import telemetry
from memex.errors import HandleNotFound, PlanChanged, ValidationFailed
from memex.service.journal import telling
from memex.service.said_at import said_day, said_moment, valid_days
from memex.service.snapshots import Consistency, MemoryView
from memex.service.tools.planned_tool import PlannedTool, planning_record
from memex.service.tools.remember_answer import RememberResult, render_answer
from memex.service.tools.tool import Arguments, StorableText
from memex.service.tools.tool_context import AnswerOfChanges, ShownPlan, ToolContext
from memex.store.database import Statement
from memex.store.log import queue
from memex.store.log.call import CallAnswer
from memex.store.log.operations import to_storable
from memex.store.records import FileChange, Reference
from memex.store.search.analyzer import Analyzer, analyzer_of
from memex.store.snapshot.reads import NO_READS
from memex.store.statement_lines import line_key
from memex.store.writes.draft import SAID_LATER, Draft
from memex.store.writes.statements import (
    NO_LINES,
    EndedWords,
    LaterLines,
    LineRecords,
    later_lines,
    later_statement,
)
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import RememberPlan, RememberRequest
from memex.subagent.remember import settling, stage
from memex.subagent.remember.echoes import NO_ECHOES, ToldEchoes, told_echoes
from memex.subagent.remember.forgetting import ForgottenWords, forgotten_words
from memex.subagent.remember.reading import with_first_reads
from memex.subagent.remember.recalled import recalled_spans, repeated_lines, without_recalled, without_spans
from memex.subagent.remember.settling import Settlement
from memex.subagent.remember.stage import MAX_TEXT_CHARS, StagedFile
from memex.subagent.statements.extraction import SkippedSpan

MAX_HELD_CHARS = 4_000  # of a text that is planned over one snapshot
# What a dry run shows, and the call that writes it must have the same.
SHOWN = ("writes", "skipped", "replaced", "rivals", "candidates", "unresolved", "planner", "degraded")


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
    valid_from: Annotated[
        StorableText | None, Field(description="The first day on which the text holds, such as 2027-03-09.")
    ] = None
    valid_until: Annotated[
        StorableText | None,
        Field(description="The last day on which the text holds: contexts of later days leave it out."),
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
    if _valid(arguments) is not None and not telling.is_kept(work, arguments.text):
        raise ValidationFailed(
            "valid_from and valid_until are about a text that the journal keeps.",
            hint="Send a text, and leave MEMEX_JOURNAL on.",
        )
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
    """A plan, and what handles settle; `is_repeat` if the log has a call with this id, and nothing was planned.

    `hidden` are the words of the journal that are forgotten. `echoes` are the sentences that say what was forgotten
    or replaced before.
    """

    plan: RememberPlan
    settled: Settlement = field(default_factory=Settlement)
    hidden: ForgottenWords = field(default_factory=ForgottenWords)
    echoes: ToldEchoes = NO_ECHOES
    is_repeat: bool = False


async def _preview(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Answer what a text would write, without writing it."""
    draft = work.new_draft()
    _, answer = _stage(work, arguments, draft, await _plan(work, arguments))
    return await work.preview(draft, answer)


async def _commit(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Write what a text says; a call that was committed before gets its answer."""
    draft, project, later = work.new_draft(), _project(work, arguments), _logged_later(work)
    # A plan that is made in one snapshot begins with a look at the log, which saves a transaction. A queued call
    # stands in the log anyway, and a repeated call gets its answer also when its project is closed to it now.
    is_open = project is None or f"projects/{project}" in work.access.by_mount
    is_queued = work.call.request.accepted_id is not None
    # Others may have been accepted since, and be done: their statements keep their places.
    is_late = is_queued or work.planners.remember.is_slow
    planned = shown = None
    if _is_held(work, arguments) and is_open and not is_queued and arguments.dry_run_id is None:
        planned = await _plan(
            work, arguments, [draft.committed_statement(work.call)], later=later or NO_LINES
        )
    if planned is None or planned.is_repeat:
        if (first := await work.first_result(draft)) is not None:
            return first
        if draft.given_up_at is not None:
            work, is_late = replace(work, call=work.call.accepted_at(draft.given_up_at)), True
        shown = await _shown(work, arguments)
        before = later if later is not None or not is_late else await _said_later(work, arguments)
        planned = await _plan(_planning_as(work, shown), arguments, later=before or NO_LINES)
    staged, answer = _stage(_planning_as(work, shown), arguments, draft, planned)
    now = work.call.request.now
    day = said_day(arguments.said_at, now)
    if is_late or later is not None:
        draft.give_way(day, now, later)
    if shown is not None:
        answer = partial(_answer_as_shown, shown, arguments, answer)
    lines = partial(_line_records, staged, day, planned, analyzer_of(work.access.language))
    with telemetry.operation(telemetry.COMMIT, {}) as recorded:
        commit = await work.commit(draft, answer, lines=lines)
        written = [change.path for change in commit.changes if change.changed]
        recorded.operation_ended({"writes": written}, None)
    return commit.result


def _logged_later(work: ToolContext) -> LaterLines | None:
    """Return the lines of pages that a replayed call left, since they were said later; None of a live call."""
    if work.logged_config is None:
        return None
    logged: dict[str, list[str]] = work.logged_config.get(SAID_LATER, {})
    return {path: frozenset(map(bytes.fromhex, keys)) for path, keys in logged.items()}


async def _said_later(work: ToolContext, arguments: RememberArguments) -> LaterLines:
    """Return the lines of pages that were said later than the text, as they stand now."""
    now = work.call.request.now
    scope_ids = [scope.scope_id for scope in work.access.scopes]
    statement = later_statement(scope_ids, said_day(arguments.said_at, now), now)
    [found] = await work.database.read(work.access, statement)
    return later_lines(work.access, found)


async def _shown(work: ToolContext, arguments: RememberArguments) -> ShownPlan | None:
    """Return what the dry run showed that the call names; None without one, and in a replay.

    Raises:
        ValidationFailed: it was no dry run, or one of another text or of other arguments.
    """
    if arguments.dry_run_id is None or work.load_dry_run is None:
        return None
    shown = await work.load_dry_run(arguments.dry_run_id)
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
    answer: AnswerOfChanges,
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
    work: ToolContext,
    arguments: RememberArguments,
    committed: Sequence[Statement] = (),
    *,
    later: LaterLines = NO_LINES,
) -> _Planned:
    """Plan where the statements of a text go.

    Args:
        work: the context of the call.
        arguments: those of the call.
        committed: statements that find a call with the same id: if any does, nothing is planned.
        later: lines of pages that were said later than the text, which it does not forget.
    """
    planner, day = work.planners.remember, said_day(arguments.said_at, work.call.request.now)
    project = _project(work, arguments)
    is_held = _is_held(work, arguments)
    consistency: Consistency = "held" if is_held else "fresh"
    is_kept = telling.is_kept(work, arguments.text)
    text = arguments.text or ""
    request = RememberRequest(
        without_recalled(text), project, day, is_kept=is_kept, moment=_moment(work, arguments)
    )
    ahead = NO_READS
    narrowed = work.snapshots.narrowed(project)
    if is_held:
        request, ahead = await with_first_reads(request)
    async with narrowed.begin(MemoryView(), consistency, ahead, committed) as snapshots:
        plan, echoes = RememberPlan(planner=planner.name), NO_ECHOES
        if any(snapshots.found):
            return _Planned(plan, is_repeat=True)
        tools = MemoryTools(snapshots.open, work.call, held=snapshots.held, spending=work.spending)
        if arguments.text is not None:
            spans = recalled_spans(text, await repeated_lines([text], project, tools))
            if (said := without_spans(text, spans)) != request.text:
                request = replace(request, text=said, reading=None)
            if (echoes := await told_echoes(request, tools)).withheld:
                request = replace(request, text=without_spans(request.text, echoes.spans), reading=None)
            planned = echoes.without_past(await planner.plan_remember(request, tools))
            skips = [SkippedSpan(start, end, "recalled") for start, end in spans]
            skips += [SkippedSpan(start, end, "forgotten") for start, end in echoes.spans]
            plan = _with_skipped(planned, request.text, skips)
            if _valid(arguments) is not None:
                plan = _told_alone(plan)
        settled = await settling.settle(arguments.outdated, arguments.both_hold, project, tools)
        _check_handles(arguments, settled)
        forgotten = [
            removal
            for removal in plan.removals
            if line_key(removal.removes) not in later.get(removal.path, ())
        ]
        hidden = await forgotten_words(forgotten, (*plan.forgotten, *settled.forgotten), tools)
        await snapshots.note_state()
    removals = (*plan.removals, *(removal for _, removal in settled.removals))
    return _Planned(replace(plan, removals=removals), settled, hidden, echoes)


def _check_handles(arguments: RememberArguments, settled: Settlement) -> None:
    """Refuse a call of handles alone if none names a statement; a text is stored whatever handles stand beside it.

    Raises:
        HandleNotFound: nothing is left to do.
    """
    given = {*arguments.outdated, *arguments.both_hold}
    unknown = [one.handle for one in settled.unresolved if one.reason == "unknown"]
    if arguments.text is None and given and given == set(unknown):
        raise HandleNotFound(
            f"No stored statement has the handle {unknown[0][:100]!r}. Nothing was taken out or confirmed.",
            handles=[handle[:100] for handle in unknown],
        )


def _moment(work: ToolContext, arguments: RememberArguments) -> datetime | None:
    """Return when a text was said; None if the call names a day alone."""
    said_at = arguments.said_at
    if said_at is not None and len(said_at) == len("2021-03-09"):
        return None
    return said_moment(said_at, work.call.request.now)


def _valid(arguments: RememberArguments) -> str | None:
    return valid_days(arguments.valid_from, arguments.valid_until)


def _told_alone(plan: RememberPlan) -> RememberPlan:
    """Return the plan for a text that holds on some days: the journal alone keeps it, and nothing is changed."""
    stated = [*(add.statement for add in plan.adds), *(known.statement for known in plan.known)]
    unfiled = [SkippedSpan(statement.start, statement.end, "unfiled") for statement in stated]
    skipped = tuple(sorted((*plan.skipped, *unfiled), key=lambda skip: skip.start))
    removals = tuple(removal for removal in plan.removals if removal.is_forgotten)
    return replace(plan, adds=(), known=(), rivals=(), overtaken=(), removals=removals, skipped=skipped)


def _with_skipped(plan: RememberPlan, text: str, skips: Sequence[SkippedSpan]) -> RememberPlan:
    """Return a plan that says which spans of a text were not read; `text` is without them."""
    if not skips:
        return plan
    skipped = [skip for skip in plan.skipped if text[skip.start : skip.end].strip()]
    skipped += skips
    return replace(plan, skipped=tuple(sorted(skipped, key=lambda skip: skip.start)))


def _project(work: ToolContext, arguments: RememberArguments) -> str | None:
    own: str | None = work.call.request.principal.get("project")
    return arguments.project if arguments.project is not None else own


def _is_held(work: ToolContext, arguments: RememberArguments) -> bool:
    """Return whether a text is planned over one snapshot.

    No connection is held while a model thinks or a longer text is read: then each operation looks for itself.
    """
    return len(arguments.text or "") <= MAX_HELD_CHARS and not work.planners.remember.is_slow


def _stage(
    work: ToolContext, arguments: RememberArguments, draft: Draft, planned: _Planned
) -> tuple[list[StagedFile], AnswerOfChanges]:
    """Stage a plan; return the staged files, and what makes the answer of the changes."""
    planner, day = work.planners.remember, said_day(arguments.said_at, work.call.request.now)
    plan, settled = planned.plan, planned.settled
    past: list[EndedWords] = []
    confirmed = [(removal.path, removal.removes) for _, removal in settled.confirmed]
    if not arguments.dry_run:
        project = _project(work, arguments)
        said_at = arguments.said_at
        entry = telling.tell(
            work,
            draft,
            arguments.text,
            plan.skipped,
            said_at=said_at,
            project=project,
            valid=_valid(arguments),
        )
        past = _past_words(arguments.text or "", entry, planned.echoes)
    for path, spans in planned.hidden.spans.items():
        draft.hide(path, spans, reason="memory_remember: forgotten")
    draft.overtake([*stage.ended_words(plan, settled), *past])
    lifted = planned.echoes.lifted(plan)
    for sentence in settled.held:
        draft.hide(sentence.path, ())  # takes the lock of the journal
    staged = stage.stage(draft, plan, day, confirmed)
    config = planning_record(work, planner, plan, "remember")
    if telling.is_kept(work, arguments.text):
        config |= {telling.KEPT: True}
    return staged, lambda changes: render_answer(
        arguments.canonical(),
        plan,
        settled,
        stage.file_outcomes(staged, changes),
        [change for change in changes if change.path in planned.hidden.spans and change.changed],
        config,
        again=[echo for echo in lifted if echo.tombstone.strength == "forgotten"],
        entry=draft.entry,
        is_dry_run=arguments.dry_run,
        lists_statements=arguments.statements,
    )


def _line_records(
    staged: Sequence[StagedFile],
    day: date,
    planned: _Planned,
    analyzer: Analyzer,
    changes: tuple[FileChange, ...],
) -> LineRecords:
    done = stage.file_outcomes(staged, changes)
    lifted = [echo.tombstone.place for echo in planned.echoes.lifted(planned.plan)]
    records = stage.line_records(done, day, planned.plan, planned.settled, analyzer)
    gone = {(line.path, line.text) for line in records.ended}
    parted = {
        (removal.path, removal.keeps)
        for removal in planned.plan.removals
        if (removal.path, removal.removes) in gone
    }
    kept = [line for line in planned.hidden.kept if (line.path, line.text) in parted]
    return replace(records, filed=[*records.filed, *kept], lifted=lifted)


def _past_words(text: str, entry: str | None, echoes: ToldEchoes) -> list[EndedWords]:
    """Return the words of a new entry that say what has been replaced since, before it was told."""
    if entry is None:
        return []
    return [
        EndedWords(Reference(entry, 1, echo.span), text[slice(*echo.span)], "replaced", None)
        for echo in echoes.past
    ]


async def _enqueue(work: ToolContext, arguments: RememberArguments) -> dict[str, Any]:
    """Answer a caller who does not wait: the call is in the queue, or what became of it since."""
    if arguments.dry_run:
        raise ValidationFailed(
            "A dry run is never queued.", hint="Leave dry_run or wait out.", reason="dry_run_queued"
        )
    if not work.database.has_jobs:
        raise ValidationFailed(
            "This database has no queue.",
            hint="Leave wait out, or send true; `memex doctor` says what a queue needs.",
            reason="no_queue",
        )
    work.access.searched(arguments.project)  # refuses a project that is none of the user's
    result = RememberResult(
        status="queued",
        writes=[],
        skipped=[],
        planner=work.planners.remember.name,
        degraded=None,
    ).body()
    return await queue.accept(
        work.database, work.access, work.call, CallAnswer(result, arguments.canonical(), result), work.rates
    )


REMEMBER = PlannedTool("memory_remember", RememberArguments, RememberResult, remember_text, "remember")
