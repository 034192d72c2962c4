"""A logged call run again: its answer, and the operations inside it. Nothing is written, not even to the log."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memex.errors import OperationNotFound, ValidationFailed
from memex.service.log.replay.logged_snapshots import LoggedSnapshots, access_of, near_spans
from memex.service.query_embedding import QueryEmbedder, QueryEmbeddings
from memex.service.snapshots import HasAsOf, parse_time
from memex.service.tools.context import CONTEXT, ContextArguments, context_result
from memex.service.tools.files import TOOLS as FILE_TOOLS
from memex.service.tools.remember import REMEMBER, RememberArguments, render_remember_answer
from memex.service.tools.tool import ReadTool
from memex.store.access import Access
from memex.store.database import Connection, Database, rows
from memex.store.log import operations as log
from memex.store.log.call import Call, CallRequest, InnerOperation
from memex.store.past.memory import open_past
from memex.store.paths import check_tool_call_id
from memex.store.records import Operation
from memex.store.search.analyzer import Analyzer
from memex.store.writes.draft import Draft
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.recall import recall
from memex.subagent.limits import Spending, UnlimitedSpending
from memex.subagent.memory_tools import MemoryTools
from memex.subagent.planner import ContextRequest, Planner, RememberRequest
from memex.subagent.remember import stage

READ_TOOLS = {
    tool.name: tool
    for tool in FILE_TOOLS
    if isinstance(tool, ReadTool) and "as_of" in tool.arguments.model_fields
}
REPLAYED = (CONTEXT.name, REMEMBER.name, *READ_TOOLS)
ANSWERED = ("answered", "committed", "dry_run")


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call as the log has it, with the texts of the prompts that it names, by SHA-256."""

    operation: Operation
    prompts: Mapping[bytes, str]

    @property
    def now(self) -> datetime:
        """The call's clock."""
        if self.operation.now is None:
            raise ValueError("the operation was read without its clock")
        return self.operation.now

    @property
    def result(self) -> dict[str, Any]:
        """Its answer, as the log keeps it: texts that revisions hold are references."""
        result: dict[str, Any] = (self.operation.response or {}).get("result") or {}
        return result


@dataclass(frozen=True, slots=True)
class RerunOptions:
    """What a call is run again with.

    Attributes:
        planner: who plans.
        spending: what it may spend.
        arguments: those of the call that are changed, by name.
        is_slow: a model is really asked, so that no connection may be held meanwhile.
        near_finds: see `moments.LoggedSnapshots`.
        meaning: by which it is searched, where that is changed.
    """

    planner: Planner
    spending: Spending = field(default_factory=UnlimitedSpending)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_slow: bool = False
    near_finds: int | None = None
    meaning: QueryEmbedder | None = None

    def paid_by(self, spending: Spending) -> "RerunOptions":
        """Return the same with what is asked of models counted."""
        return replace(self, spending=spending)

    async def vectors(self, query: str, call: Call) -> QueryEmbeddings:
        """Return the vectors that queries shall have, with that of the first; none by default."""
        return QueryEmbeddings() if self.meaning is None else await self.meaning.of(query, None, call)

    def preparing(self, vectors: QueryEmbeddings, call: Call) -> Callable[[str], Awaitable[None]] | None:
        """Return what gets the vector of a further query, if they shall have any."""
        meaning = self.meaning
        if meaning is None:
            return None

        async def prepare(query: str) -> None:
            if query not in vectors.by_query and vectors.degraded is None:
                vectors.by_query.update((await meaning.of(query, None, call)).by_query)

        return prepare


@dataclass(frozen=True, slots=True)
class Rerun:
    """What came of a call that was run again.

    Attributes:
        call: as it ran: with the operations inside it, and the prompts that these name.
        result: its answer.
        logged: its answer as the log would keep it.
        duration_ms: of the whole.
    """

    call: Call
    result: dict[str, Any]
    logged: dict[str, Any]
    duration_ms: float

    @property
    def inner(self) -> Sequence[InnerOperation]:
        """The operations inside it."""
        return self.call.record.inner


async def rerun(
    database: Database, access: Access, logged: LoggedCall, by: RerunOptions, *, under: Call | None = None
) -> Rerun:
    """Run a call again in the states that it saw.

    Args:
        database: in which the revisions are.
        access: of who asks: nothing beyond it is read.
        logged: the call, one that was answered.
        by: what it is run with.
        under: the call that is logged for this run, which gets the operations inside as they end.

    Raises:
        ValidationFailed: there is nothing of this call to run again.
        ProjectNotFound: the caller cannot read any more what the call saw.
        VersionNotFound: a revision is gone.
        LimitExceeded: too much was changed since to be read anew in place.
    """
    operation = logged.operation
    arguments = {**operation.request, **by.arguments}
    own = access_of(access, operation)
    started_s = time.perf_counter()
    call = Call(
        CallRequest(operation.tool_call_id, operation.kind, arguments, operation.principal, logged.now)
    )
    if under is not None:
        call = replace(call, record=under.record)
    match operation.kind:
        case CONTEXT.name:
            question = CONTEXT.parse(arguments)
            result, kept = await _context(database, own, logged, call, question, by)
        case REMEMBER.name:
            text = REMEMBER.parse(arguments)
            result, kept = await _remember(database, own, logged, call, text, by)
        case name if name in READ_TOOLS:
            result, kept = await _read(database, own, logged, READ_TOOLS[name], arguments)
        case name:
            raise _not_replayable(name)
    duration_ms = (time.perf_counter() - started_s) * 1000
    return Rerun(call, result, kept, duration_ms)


async def load_call(connection: Connection, access: Access, tool_call_id: str) -> LoggedCall:
    """Return one of the caller's calls: the newest attempt at it that was answered, else the newest.

    Raises:
        OperationNotFound: the caller made no such call.
    """
    attempts = await log.read_call(connection, access, check_tool_call_id(tool_call_id))
    if not attempts:
        raise OperationNotFound(f"No call {tool_call_id!r} of this user.", tool_call_id=tool_call_id)
    operation = next((one for one in attempts if is_answered(one)), attempts[0])
    named = sorted({one.prompt_sha256 for one in operation.inner if one.prompt_sha256})
    found = (
        await rows(connection, "log/prompt_list", tenant_id=access.tenant_id, sha256s=named) if named else []
    )
    return LoggedCall(operation, {bytes(record["sha256"]): record["text"] for record in found})


def is_answered(operation: Operation) -> bool:
    """Whether a call gave an answer of its own, which can be compared."""
    return operation.status in ANSWERED and operation.response is not None


def check_answered(operation: Operation) -> None:
    """Refuse a call that gave no answer: there is nothing to compare with; raises ValidationFailed."""
    if not is_answered(operation):
        raise ValidationFailed(
            f"The call {operation.tool_call_id!r} gave no answer: it {operation.status}.",
            hint="`memex log` shows how it ended.",
        )


async def _context(
    database: Database,
    access: Access,
    logged: LoggedCall,
    call: Call,
    arguments: ContextArguments,
    by: RerunOptions,
) -> tuple[dict[str, Any], dict[str, Any]]:
    request = ContextRequest(arguments.query, arguments.budget, arguments.max_hops)
    now = parse_time(arguments.as_of) if isinstance(arguments.as_of, str) else logged.now
    vectors = await by.vectors(arguments.query, call)
    moments = LoggedSnapshots(
        database,
        access,
        logged.operation,
        now=now,
        is_present=arguments.as_of is None,
        is_held=not by.is_slow,
        near_finds=by.near_finds,
        vectors=vectors.by_query,
    )
    async with moments.hold():
        prepare = by.preparing(vectors, call)
        tools = MemoryTools(moments.open, call, spending=by.spending, prepare=prepare)
        recalled = await recall(by.planner, request, tools)
    result = context_result(recalled, arguments, moments.first_state or {}, _unembedded(logged)).body()
    kept = {name: value for name, value in result.items() if name != "context"}
    return result, kept


def _unembedded(logged: LoggedCall) -> str | None:
    """Return the code that the answer bears since no embedder said what its query means."""
    config = logged.operation.config or {}
    code: str | None = logged.result.get("degraded")
    return code if "embedder" in config and "failure" not in config else None


async def _remember(
    database: Database,
    access: Access,
    logged: LoggedCall,
    call: Call,
    arguments: RememberArguments,
    by: RerunOptions,
) -> tuple[dict[str, Any], dict[str, Any]]:
    project = arguments.project if arguments.project is not None else call.request.principal.get("project")
    request = RememberRequest(arguments.text, project, logged.now)
    moments = LoggedSnapshots(
        database,
        access,
        logged.operation,
        now=logged.now,
        is_held=not by.is_slow,
        near_finds=by.near_finds,
    )
    async with moments.hold():
        plan = await by.planner.plan_remember(request, MemoryTools(moments.open, call, spending=by.spending))
    draft = Draft(database, access)
    staged = stage.stage(draft, plan, logged.now.date())
    preview = await draft.preview_at(logged.operation.state or {})
    answer = render_remember_answer(arguments, plan, stage.file_outcomes(staged, preview.changes), {})
    return answer.result, answer.response


async def _read(
    database: Database, access: Access, logged: LoggedCall, tool: ReadTool[Any], arguments: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    parsed = tool.parse(arguments)
    as_of = parsed.as_of if isinstance(parsed, HasAsOf) else None
    now = parse_time(as_of) if isinstance(as_of, str) else logged.now
    state = dict(logged.operation.state or {})
    async with database.transaction(access, snapshot=True) as connection:
        memory = await open_past(connection, access, state, now=now, is_present=as_of is None)
        memory.near = near_spans(logged.result)
        answer = await tool.answer(memory, parsed)
    return answer.result, answer.response


def check_replayable(operation: Operation) -> None:
    """Refuse a call that gave no answer, or is of a tool that is not replayed; raises ValidationFailed."""
    if operation.kind not in REPLAYED:
        raise _not_replayable(operation.kind)
    check_answered(operation)


def _not_replayable(tool: str) -> ValidationFailed:
    return ValidationFailed(
        f"A call of {tool} is not replayed.",
        hint=f"These are: {', '.join(REPLAYED)}. `memex log` shows any call.",
    )


def failed_rerun(logged: LoggedCall, code: str) -> Rerun:
    """Return what came of a call that cannot be run again, by the code of the error."""
    operation = logged.operation
    call = Call(
        CallRequest(
            operation.tool_call_id, operation.kind, operation.request, operation.principal, logged.now
        )
    )
    return Rerun(call, {"error": code}, {}, 0.0)


def builtin_options() -> RerunOptions:
    """Return a run by the rules."""
    return RerunOptions(BuiltinPlanner(Analyzer()))
