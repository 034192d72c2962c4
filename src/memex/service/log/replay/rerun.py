"""A logged call run again: its answer, and the operations inside it. Nothing is written, not even to the log."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from memex.errors import ValidationFailed
from memex.service.distil.tool import DISTIL
from memex.service.included.kinds import KINDS
from memex.service.included.sections import LiveSections, RecordedSections, included_names
from memex.service.journal.telling import KEPT
from memex.service.log.replay.logged_snapshots import LoggedSnapshots, access_of
from memex.service.planners import Planners
from memex.service.projects.store_memory import STORE
from memex.service.query_embedding import QueryEmbedder, QueryEmbeddings
from memex.service.search.links import LINKS
from memex.service.snapshots import LiveSnapshots
from memex.service.tools.call_locks import CallLocks
from memex.service.tools.context import CONTEXT, MIN_CONFIDENCE
from memex.service.tools.files import FIND, LIST, READ
from memex.service.tools.registry import BY_NAME
from memex.service.tools.remember import REMEMBER
from memex.service.tools.tool_context import ToolContext
from memex.settings import FindMode
from memex.store.access import Access
from memex.store.database import Connection, Database, rows
from memex.store.log import operations as log
from memex.store.log.call import Call, CallAnswer, CallRecord, CallRequest, InnerOperation
from memex.store.records import FileChange, Operation, Status
from memex.store.search.analyzer import Analyzer
from memex.store.writes.draft import Draft, LinesOfChanges, StatementsOfChanges
from memex.store.writes.results import Commit, Preview
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.context.rendering import logged_rendering
from memex.subagent.engine import planner_version_of
from memex.subagent.judgement import ENGLISH
from memex.subagent.limits import Spending, UnlimitedSpending
from memex.subagent.planner import Planner

READ_TOOLS = (FIND.name, READ.name, LIST.name, LINKS.name)
REPLAYED = (CONTEXT.name, REMEMBER.name, STORE.name, DISTIL.name, *READ_TOOLS)
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
    """Options of running a call again.

    Attributes:
        arguments: those of the call that are changed, by name.
        is_slow: a model is really asked, so that no connection may be held meanwhile.
        near_finds: see `LoggedSnapshots`.
        query_embedder: what makes the vectors of queries, where that is changed.
        is_elsewhen: memory is read at the moment that the changed arguments name, not as the call saw it.
    """

    planner: Planner
    spending: Spending = field(default_factory=UnlimitedSpending)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_slow: bool = False
    near_finds: int | None = None
    query_embedder: QueryEmbedder | None = None
    is_elsewhen: bool = False


@dataclass(frozen=True, slots=True)
class Rerun:
    """The result of a call that was run again.

    Attributes:
        inner: the operations inside it.
        result: its answer.
        logged: its answer as the log would keep it.
        duration_ms: the duration of the whole call.
        erased: passages beside memory that the call found, and whose texts are gone.
    """

    inner: Sequence[InnerOperation]
    result: dict[str, Any]
    logged: dict[str, Any]
    duration_ms: float
    erased: Sequence[str] = ()


async def rerun(
    database: Database,
    access: Access,
    logged: LoggedCall,
    options: RerunOptions,
    *,
    record: CallRecord | None = None,
    beside: Access | None = None,
) -> Rerun:
    """Run a call again in the states that it saw: by its tool, as a live call, over parts that write nothing.

    Nothing beyond `access`, that of the caller of the replay, is read, but what the call included beside memory
    may be read under `beside`. The call passes `check_replayable`. The `record` gets the operations inside as
    they end.

    Raises:
        ProjectNotFound: the caller cannot read any more what the call saw.
        VersionNotFound: a revision is gone.
        LimitExceeded: too much was changed since to be read anew in place.
    """
    operation = logged.operation
    started_s = time.perf_counter()
    tool = DISTIL if operation.kind == DISTIL.name else BY_NAME[operation.kind]
    arguments = tool.parse({**operation.request, **options.arguments})
    request = CallRequest(
        operation.tool_call_id, operation.kind, arguments.canonical(), operation.principal, logged.now
    )
    call = Call(request, record or CallRecord())
    kept = _KeptAnswer()
    recorded = RecordedSections(KINDS, database, beside or access, call, operation)
    own = access_of(access, operation)
    work = ToolContext(
        access=own,
        call=call,
        log=kept,
        snapshots=LiveSnapshots(database, own)
        if options.is_elsewhen
        else LoggedSnapshots(
            database, own, operation, is_held=not options.is_slow, near_finds=options.near_finds
        ),
        new_draft=partial(_ReplayDraft, database, own, operation.state or {}, kept),
        query_embedder=options.query_embedder or _LoggedEmbedding(logged),
        planners=Planners(options.planner, options.planner),
        spending=options.spending,
        call_locks=CallLocks(),
        database=database,
        sections=LiveSections(KINDS, database, access, call, included_names(operation))
        if options.is_elsewhen
        else recorded,
        rendering=logged_rendering(operation.engine, operation.config),
        min_confidence=(operation.config or {}).get(MIN_CONFIDENCE),
        keeps_journal=bool((operation.config or {}).get(KEPT) or logged.result.get("entry")),
        logged_config=operation.config or {},
    )
    result = await tool.run(work, arguments)
    duration_ms = (time.perf_counter() - started_s) * 1000
    return Rerun(call.record.inner, result, kept.response, duration_ms, tuple(recorded.erased))


@dataclass(slots=True)
class _KeptAnswer:
    """Keeps the answer of a call that is run again as the log would, and writes nothing."""

    response: dict[str, Any] = field(default_factory=dict)

    async def add(
        self,
        status: Status,  # noqa: ARG002  # as `AnswerLog`
        answer: CallAnswer | None = None,
        *,
        state: dict[str, int] | None = None,  # noqa: ARG002
        connection: Connection | None = None,  # noqa: ARG002
    ) -> None:
        """Keep the answer."""
        self.response = answer.response if answer else {}


class _ReplayDraft(Draft):
    """Edits that are played in the state that a logged call saw; nothing is written."""

    def __init__(
        self, database: Database, access: Access, state: Mapping[str, int], kept: _KeptAnswer
    ) -> None:
        super().__init__(database, access)
        self._state_seen = state
        self._kept = kept

    async def first_result(self, call: Call) -> dict[str, Any] | None:  # noqa: ARG002  # as `Draft`
        """Return None: the logged call itself is run again."""
        return None

    async def preview(self) -> Preview:
        """Return what the call would have written."""
        return await self.preview_at(self._state_seen)

    async def commit(
        self,
        call: Call,  # noqa: ARG002
        answer: Callable[[tuple[FileChange, ...]], CallAnswer],
        beside: StatementsOfChanges | None = None,  # noqa: ARG002
        lines: LinesOfChanges | None = None,  # noqa: ARG002
    ) -> Commit:
        """Return what the call would have written, and keep its answer."""
        changes = (await self.preview()).changes
        made = answer(changes)
        await self._kept.add("committed", made)
        return Commit(made.result, changes)


@dataclass(frozen=True, slots=True)
class _LoggedEmbedding:
    """Gives queries no vectors: what a vector search found stands in the log."""

    logged: LoggedCall

    async def of(
        self,
        query: str,  # noqa: ARG002
        mode: FindMode | None,  # noqa: ARG002
        call: Call,  # noqa: ARG002
        *,
        language: str = ENGLISH,  # noqa: ARG002
    ) -> QueryEmbeddings:
        """Return the code that the answer bears, if no embedder said what its query means."""
        config = self.logged.operation.config or {}
        code: str | None = self.logged.result.get("degraded")
        return QueryEmbeddings(degraded=code if "embedder" in config and "failure" not in config else None)


async def load_call(connection: Connection, access: Access, tool_call_id: str) -> LoggedCall:
    """Return one of the caller's calls: the newest attempt at it that was answered, else the newest.

    Raises:
        OperationNotFound: the caller made no such call.
    """
    attempts = await log.read_known_call(connection, access, tool_call_id)
    operation = next((attempt for attempt in attempts if is_answered(attempt)), attempts[0])
    if isinstance(operation.request.get("text"), dict):  # a reference to the journal
        operation = replace(operation, request=await log.expand(connection, access, operation.request))
    named = sorted({inner.prompt_sha256 for inner in operation.inner if inner.prompt_sha256})
    found = (
        await rows(connection, "log/prompt_list", tenant_id=access.tenant_id, sha256s=named) if named else []
    )
    return LoggedCall(operation, {bytes(record["sha256"]): record["text"] for record in found})


def is_answered(operation: Operation) -> bool:
    """Return whether a call gave an answer of its own, which can be compared."""
    return operation.status in ANSWERED and operation.response is not None


def check_answered(operation: Operation) -> None:
    """Refuse a call that gave no answer: there is nothing to compare with; raises ValidationFailed."""
    if not is_answered(operation):
        raise ValidationFailed(
            f"The call {operation.tool_call_id!r} gave no answer: it {operation.status}.",
            hint="`memex log` shows how it ended.",
        )


def check_replayable(operation: Operation) -> None:
    """Refuse a call that gave no answer, or is of a tool that is not replayed; raises ValidationFailed."""
    if operation.kind not in REPLAYED:
        raise ValidationFailed(
            f"A call of {operation.kind} is not replayed.",
            hint=f"These are: {', '.join(REPLAYED)}. `memex log` shows any call.",
        )
    check_answered(operation)


def failed_rerun(code: str) -> Rerun:
    """Return what came of a call that cannot be run again, by the code of the error."""
    return Rerun((), {"error": code}, {}, 0.0)


def builtin_planner(logged: LoggedCall) -> BuiltinPlanner:
    """Return the planner by rules, which reads memory as that of a logged call read it."""
    return BuiltinPlanner(Analyzer(), version=planner_version_of(logged.operation.engine))
