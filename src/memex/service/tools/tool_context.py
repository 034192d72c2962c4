"""The context in which a tool runs during one call, in a live service or in a replay."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from memex.service.included.sections import Sections
from memex.service.planners import Planners
from memex.service.query_embedding import QueryEmbeddings
from memex.service.snapshots import Snapshots
from memex.service.tools.call_locks import CallLocks
from memex.settings import Band, FindMode
from memex.store.access import Access
from memex.store.database import Connection, Database
from memex.store.identity.write_rates import WriteRate
from memex.store.log.call import Call, CallAnswer
from memex.store.records import FileChange, Status
from memex.store.search.confidence import DEFAULT_MIN_CONFIDENCE
from memex.store.writes.draft import Draft, LinesOfChanges, StatementsOfChanges
from memex.store.writes.results import Commit
from memex.subagent.context.rendering import RENDERING, Rendering
from memex.subagent.judgement import ENGLISH
from memex.subagent.limits import Spending
from memex.subagent.planner import Planner

AnswerOfChanges = Callable[[tuple[FileChange, ...]], CallAnswer]


class AnswerLog(Protocol):
    """The log that takes the answer of a call; see `CallLogger.add`."""

    async def add(
        self,
        status: Status,
        answer: CallAnswer | None = None,
        *,
        state: dict[str, int] | None = None,
        connection: Connection | None = None,
    ) -> None:
        """Log how the call ended."""


class Embedding(Protocol):
    """Makes the vectors of queries; see `QueryEmbedder.of`."""

    async def of(
        self, query: str, mode: FindMode | None, call: Call, *, language: str = ENGLISH
    ) -> QueryEmbeddings:
        """Return the vector of a query, or no vector if the search uses words alone."""


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """The plan that a dry run showed, and a planner that plans the same again.

    Attributes:
        arguments: those of the dry run.
        result: its answer, as the log keeps it.
        config: what was logged of its planning.
        planner: the rules, or a planner that gets the answers which the model gave in the dry run.
        spending: that of the planner.
    """

    arguments: Mapping[str, Any]
    result: Mapping[str, Any]
    config: Mapping[str, Any]
    planner: Planner
    spending: Spending


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context in which a tool runs during one call: the caller's access, and the objects that do the work.

    A replay runs the same tools with objects of its own: snapshots of the states in the log, a recorded planner,
    drafts that write nothing, and a log that only keeps the answer.

    Attributes:
        access: the access of the caller.
        call: the call that is carried out.
        log: logs the answer of the call.
        snapshots: opens snapshots of memory.
        new_draft: makes an empty draft with the caller's access.
        query_embedder: makes the vectors of queries.
        planners: the planners of memory_context and memory_remember.
        spending: counts and limits what the caller's tenant spends on models.
        call_locks: make calls of this service with the same tool call id run one after the other.
        database: the database, which has the queue.
        sections: find what a context holds beside memory.
        rates: limits by which a call for the queue is counted.
        prompts_dir: a directory with prompts that replace those of Memex.
        rendering: how a context shows stored text.
        min_confidence: below which band a context says that nothing is remembered, if the call does not say; None
            in a replay of a call that was not judged.
        load_dry_run: returns what a dry run showed, by its id; None in a replay, which compares its answer with the
            log.
        keeps_journal: whether told texts become entries of the journal, and contexts choose among lines; in a
            replay, whether the call did so.
        logged_config: in a replay, what the log says that the call ran with; None for a live call.
    """

    access: Access
    call: Call
    log: AnswerLog
    snapshots: Snapshots
    new_draft: Callable[[], Draft]
    query_embedder: Embedding
    planners: Planners
    spending: Spending
    call_locks: CallLocks
    database: Database
    sections: Sections
    prompts_dir: Path | None = None
    rendering: Rendering = RENDERING
    min_confidence: Band | None = DEFAULT_MIN_CONFIDENCE
    rates: Sequence[WriteRate] = ()
    load_dry_run: Callable[[str], Awaitable[ShownPlan]] | None = None
    keeps_journal: bool = True
    logged_config: Mapping[str, Any] | None = None

    async def first_result(self, draft: Draft) -> dict[str, Any] | None:
        """Return the answer of a call that was committed before, and log it as repeated; None for a new one."""
        first = await draft.first_result(self.call)
        if first is not None:
            await self.log.add("repeated")
        return first

    async def commit(
        self,
        draft: Draft,
        answer: AnswerOfChanges,
        beside: StatementsOfChanges | None = None,
        lines: LinesOfChanges | None = None,
    ) -> Commit:
        """Commit a draft, see `Draft.commit`; a call that was committed before is logged as repeated."""
        commit = await draft.commit(self.call, answer, beside, lines)
        if commit.is_repeat:
            await self.log.add("repeated")
        return commit

    async def preview(self, draft: Draft, answer: AnswerOfChanges) -> dict[str, Any]:
        """Log a dry run of a draft, and return its answer; nothing is written."""
        preview = await draft.preview()
        made = answer(preview.changes)
        inner = self.call.record.inner
        state = ((inner[-1].state if inner else None) or {}) | preview.state
        await self.log.add("dry_run", made, state=state)
        return made.result
