"""conversation_distil: what a person stated in conversations becomes statements of memory, with citations."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from memex.errors import MessagesErased, PlanChanged, ValidationFailed
from memex.service.distil import answer
from memex.service.distil.answer import DistilResult
from memex.service.distil.planner_reading import PortionReading, load_reading
from memex.service.distil.portion import Portion, choose_portion
from memex.service.snapshots import MemoryView
from memex.service.tools.tool import Arguments, CallTool, StorableText, example
from memex.service.tools.tool_context import ToolContext
from memex.store.citations.records import Citation, DistilledPart, mark_statement, write_statement
from memex.store.database import Statement
from memex.store.log import operations
from memex.store.log.call import CallAnswer
from memex.store.paths import parse
from memex.store.records import FileChange, Operation
from memex.store.writes.rivals import RivalRecords
from memex.store.writes.statements import LineRecords
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.distil.choices import of_kinds
from memex.subagent.distil.cited import statement_digest
from memex.subagent.distil.planning import DistilPlan, plan_distil
from memex.subagent.distil.reading import MAX_STATEMENTS, without_lines
from memex.subagent.engine import ENGINE
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import BUILTIN, PLANNER_VERSION, Addition
from memex.subagent.remember import stage
from memex.subagent.remember.filing.entries import EntryOutcome
from memex.subagent.remember.recalled import may_repeat_lines, repeated_lines
from memex.subagent.remember.stage import StagedFile
from memex.subagent.statements.bullets import UNDATED
from memex.subagent.statements.language import StatementKind

NAME = "conversation_distil"
MAX_OPERATIONS = (
    MAX_STATEMENTS + 200
)  # on memory: one for each statement, and those that find a place for them

About = Annotated[str | None, Field(description="The project that the conversations are about.")]
Again = Annotated[bool, Field(description="Also read messages that were distilled before.")]
Kinds = Annotated[
    list[StatementKind] | None,
    Field(description="Only statements of these kinds, near-equal ones once; by default all."),
]


class DistilArguments(Arguments):
    """Take what the person said in conversations into memory, each statement with a citation of its message.

    Name a `conversation`, or with `since` all that went on since a time. Without `apply` nothing is written: the
    answer shows what would be. `dry_run_id` writes exactly what such an answer showed. Messages that were distilled
    before are left out, unless it is done `again`.
    """

    model_config = example(project=None, apply=False)

    conversation: Annotated[str | None, Field(pattern=r"^[0-9a-z]{12}$")] = None
    since: Annotated[AwareDatetime | None, Field(strict=False)] = None
    project: About = None
    apply: Annotated[bool, Field(description="Write it; else the answer shows what would be written.")] = (
        False
    )
    again: Again = False
    kinds: Kinds = None
    planner: Annotated[
        Literal["builtin"] | None,
        Field(description="builtin: the rules choose, as they always do."),
    ] = None
    dry_run_id: Annotated[
        StorableText | None,
        Field(
            max_length=200,
            description="The tool_call_id of an answer that showed what would be written: exactly this is written, "
            "or nothing if something has changed since (PLAN_CHANGED).",
        ),
    ] = None

    @model_validator(mode="after")
    def _names_conversations(self) -> Self:
        if (self.conversation is None) == (self.since is None):
            raise ValueError("name a conversation, or a time since which conversations went on")
        if self.apply and self.dry_run_id is not None:
            raise ValueError("dry_run_id writes what was shown: leave apply out")
        return self

    @property
    def dry_run(self) -> bool:
        """Return whether nothing is written."""
        return not self.apply and self.dry_run_id is None

    @property
    def planned(self) -> dict[str, Any]:
        """The arguments of which a dry run and the call that writes what it showed have the same."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude={"apply", "dry_run_id"})


async def _run(work: ToolContext, arguments: DistilArguments) -> dict[str, Any]:
    """Answer a call: one draft, one commit; a call that was committed before gets its answer."""
    work.access.scope_at("user")  # refuses a call for nobody
    work.access.searched(arguments.project)  # refuses a project that is none of the user's
    if arguments.dry_run:
        return await _preview(work, arguments)
    draft = work.new_draft()
    if (first := await work.first_result(draft)) is not None:
        return first
    shown = await _shown(work, arguments)
    try:
        reading = await _reading(work, arguments, shown)
    except MessagesErased as error:
        if shown is None:
            raise
        raise PlanChanged(error.message, dry_run_id=arguments.dry_run_id) from error
    reading = await _without_lines(work, arguments, reading)
    made = await _plan(work, arguments, reading.portion)
    staged = stage.stage(draft, made.plan, UNDATED, reason=NAME)
    commit = await work.commit(
        draft,
        partial(_answer, work, arguments, reading, made, staged, shown),
        partial(_beside, work, arguments, reading, staged),
        partial(_line_records, staged, made),
    )
    return commit.result


def _line_records(
    staged: Sequence[StagedFile], made: DistilPlan, changes: tuple[FileChange, ...]
) -> LineRecords:
    """Return which statements contradict older ones that stay, and which say anew what was forgotten."""
    named = stage.named_rivals(stage.file_outcomes(staged, changes), UNDATED, made.plan)
    return LineRecords(rivals=RivalRecords(named), lifted=[echo.tombstone.place for echo in made.anew])


async def _preview(work: ToolContext, arguments: DistilArguments) -> dict[str, Any]:
    """Answer what would be written, and write nothing."""
    reading = await _without_lines(work, arguments, await _reading(work, arguments, None))
    made = await _plan(work, arguments, reading.portion)
    draft = work.new_draft()
    staged = stage.stage(draft, made.plan, UNDATED, reason=NAME)
    return await work.preview(draft, partial(_answer, work, arguments, reading, made, staged, None))


async def _reading(work: ToolContext, arguments: DistilArguments, shown: Operation | None) -> PortionReading:
    """Return the messages, read: those that the log names for a dry run or a replay, or the next ones."""
    config = work.logged_config if shown is None else shown.config
    if config is not None:
        return await load_reading(work, config)
    portion = await choose_portion(work, arguments.conversation, arguments.since, is_again=arguments.again)
    return PortionReading(portion, {"planner": BUILTIN})


async def _without_lines(
    work: ToolContext, arguments: DistilArguments, reading: PortionReading
) -> PortionReading:
    """Return what was read, of the kinds that are asked for, without lines of pages that were sent back."""
    portion, project = reading.portion, _project(work, arguments)
    if arguments.kinds is not None:
        chosen = of_kinds(portion.messages, frozenset(arguments.kinds))
        portion = replace(portion, messages=tuple(chosen))
        reading = replace(reading, portion=portion)
    texts = [message.message.text for message in portion.messages if message.statements]
    if not any(map(may_repeat_lines, texts)):
        return reading
    async with work.snapshots.narrowed(project).begin(MemoryView(), "fresh") as snapshots:
        tools = MemoryTools(snapshots.open, work.call, conceals_queries=True)
        lines = await repeated_lines(texts, project, tools)
    messages = tuple(without_lines(message, lines) for message in portion.messages)
    return replace(reading, portion=replace(portion, messages=messages))


async def _plan(work: ToolContext, arguments: DistilArguments, portion: Portion) -> DistilPlan:
    rules = work.planners.rules
    version = rules.version if isinstance(rules, BuiltinPlanner) else PLANNER_VERSION
    project = _project(work, arguments)
    async with work.snapshots.narrowed(project).begin(MemoryView(), "fresh") as snapshots:
        tools = MemoryTools(snapshots.open, work.call, max_operations=MAX_OPERATIONS, conceals_queries=True)
        return await plan_distil(portion.messages, project, tools, version=version)


def _project(work: ToolContext, arguments: DistilArguments) -> str | None:
    return arguments.project if arguments.project is not None else work.access.project


def _answer(
    work: ToolContext,
    arguments: DistilArguments,
    reading: PortionReading,
    made: DistilPlan,
    staged: list[StagedFile],
    shown: Operation | None,
    changes: tuple[FileChange, ...],
) -> CallAnswer:
    """Return the answer; the commit that asks for it is given up if a dry run has shown another one.

    Raises:
        PlanChanged: something else would be written, or left out.
    """
    answered = answer.render(
        arguments.canonical(),
        reading.portion,
        made,
        stage.file_outcomes(staged, changes),
        dict(reading.config),
        now=work.call.request.now,
        is_dry_run=arguments.dry_run,
    )
    before = (shown.config or {}).get(answer.SHOWN_SHA256) if shown else None
    if before is not None and before != (answered.config or {})[answer.SHOWN_SHA256]:
        raise PlanChanged(
            "Memory has changed since the dry run: something else would be written now. Nothing was written.",
            dry_run_id=arguments.dry_run_id,
        )
    return answered


def _beside(
    work: ToolContext,
    arguments: DistilArguments,
    reading: PortionReading,
    staged: list[StagedFile],
    changes: tuple[FileChange, ...],
) -> list[Statement]:
    """Return what is written with the files: the citations, and how far the conversations have been read."""
    call, access = work.call.request, work.access
    by_place = {read.said.place: read.message for read in reading.portion.messages}
    citations = []
    for file in stage.file_outcomes(staged, changes):
        for add, outcome in zip(file.adds, file.outcomes, strict=True):
            text = _cited_text(add, outcome)
            if text is None or add.said is None or file.change is None:
                continue
            message, path = by_place[add.said.place], parse(file.path)
            citations.append(
                Citation(
                    scope_id=access.scope_of(path).scope_id,
                    user_id=access.user_id or "",
                    place=add.said.place,
                    statement_sha256=statement_digest(text),
                    message_sha256=message.sha256,
                    span=(add.statement.start, add.statement.end),
                    said_at=None if add.said.day == UNDATED else message.said_at,
                    revision=f"{path.relative}@{file.change.version}",
                    tool_call_id=call.tool_call_id,
                )
            )
    parts = [
        DistilledPart(part.conversation, part.until, reading.planner, call.tool_call_id, call.now)
        for part in reading.portion.parts
    ]
    own = access.by_mount["user"].scope_id
    marked = mark_statement(access, own, parts, is_again=arguments.again)
    return [write_statement(access, citations, call.now), marked]


def _cited_text(add: Addition, outcome: EntryOutcome) -> str | None:
    """Return the statement that the file makes with the citation; None if it got none."""
    return add.statement.text if outcome.action in ("added", "superseded") else outcome.cited


async def _shown(work: ToolContext, arguments: DistilArguments) -> Operation | None:
    """Return the dry run that the call names; None without one, and in a replay.

    Raises:
        OperationNotFound: the caller made no such call.
        ValidationFailed: it was no dry run of this tool, or one of other arguments.
        PlanChanged: Memex was updated since.
    """
    if arguments.dry_run_id is None or work.logged_config is not None:
        return None
    async with work.database.transaction(work.access) as connection:
        attempts = await operations.read_call(connection, work.access, arguments.dry_run_id)
    found = next(
        (attempt for attempt in attempts if attempt.kind == NAME and attempt.status == "dry_run"), None
    )
    if found is None:
        raise ValidationFailed(
            f"The call {arguments.dry_run_id!r} was no dry run of {NAME}.",
            hint="Name the tool_call_id of an answer whose status is dry_run.",
        )
    if found.engine != ENGINE:
        raise PlanChanged("Memex was updated since the dry run.", dry_run_id=arguments.dry_run_id)
    if DISTIL.parse(found.request).planned != arguments.planned:
        raise ValidationFailed(
            "The dry run was of other conversations, or of other arguments.",
            hint="Send the arguments of the dry run, with its id as dry_run_id.",
        )
    return found


DISTIL = CallTool(NAME, DistilArguments, DistilResult, _run)
