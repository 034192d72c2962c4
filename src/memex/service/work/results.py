"""The state of work, as answers have it."""

from collections.abc import Iterable, Sequence
from typing import Any

from memex.service.tools.tool import ReadAnswer, ResultPart, ToolResult
from memex.service.work.loading import LoadedWork
from memex.store.work.records import SessionRow
from memex.subagent.work.changes import WorkChanges
from memex.subagent.work.completion import CompletionCheck, OpenReason
from memex.subagent.work.definition import DodPoint
from memex.subagent.work.records import Observation, ReadingMethod, WorkItem
from memex.subagent.work.resuming.pack import ReadWork
from memex.subagent.work.state import WorkState

MAX_LISTED = 50  # of what is over, and of requests
CHANGED = ("opened", "blocked", "resolved", "dropped", "decided", "superseded", "constraints")


class WorkItemResult(ResultPart):
    """Something about work: `reference` names the message or the file that says it, `resolved_by` what ended it.

    `who` is `agent` for what an agent said, which may be the text of a page that it has read. Packs name a pinned
    item first, and one that is left out not at all; `ends_on` is the last day on which it holds.
    `method` says how the text was found: in memory, by a label, or by the rules.
    """

    id: str
    kind: str
    text: str
    status: str
    reference: str
    origin: str
    who: str
    at: str
    is_firm: bool
    confidence: float
    method: ReadingMethod
    resolved_by: str | None
    resolved_at: str | None
    is_kept: bool
    is_pinned: bool
    is_left_out: bool
    ends_on: str | None
    sessions: list[str]
    tags: list[str]


class ObservationResult(ResultPart):
    """An observation in a message; `start` and `end` are the span of its words in the message's text."""

    kind: str
    text: str
    reference: str
    start: int
    end: int
    who: str
    at: str


class DodPointResult(ResultPart):
    """A point of a definition of done: `met_by` names what meets it; null while nothing does."""

    id: str
    text: str
    scope: str
    reference: str
    met_by: str | None


class WorkSessionResult(ResultPart):
    """A session of work; `id` names its conversation."""

    id: str
    title: str
    label: str
    source: str
    started_at: str | None
    last_at: str | None
    request: str | None
    outcome: str | None


class ReadWorkResult(ResultPart):
    """The constraints and decisions that hold in a project which the requested one reads from."""

    project: str
    constraints: list[WorkItemResult]
    decisions: list[WorkItemResult]


class WorkResult(ReadAnswer):
    """The state of work. `state` names this state, so that a later call can ask what changed since.

    `captured_until` is when something was last said of it; `is_project` is false for a label that is no project.
    """

    project: str | None
    is_project: bool
    state: str
    captured_until: str | None
    objective: WorkItemResult | None
    constraints: list[WorkItemResult]
    decisions: list[WorkItemResult]
    definition_of_done: list[DodPointResult]
    open: list[WorkItemResult]
    blockers: list[WorkItemResult]
    done: list[WorkItemResult]
    dropped: list[WorkItemResult]
    archived: list[WorkItemResult]
    ended: list[WorkItemResult]
    follow_ups: list[WorkItemResult]
    reads_from: list[ReadWorkResult]
    requests: list[ObservationResult]
    sessions: list[WorkSessionResult]


class EvidenceResult(ResultPart):
    """A proof that work is done, and the place where it is recorded."""

    kind: str
    text: str
    reference: str
    at: str


class WorkCheckResult(ReadAnswer):
    """The check whether work is done; `reasons` say why not, `claim` is the newest text that says it."""

    project: str | None
    done: bool
    reasons: list[OpenReason]
    open: list[WorkItemResult]
    blockers: list[WorkItemResult]
    definition_of_done: list[DodPointResult]
    evidence: list[EvidenceResult]
    claim: ObservationResult | None
    state: str


class WorkChangesResult(ReadAnswer):
    """The changes in work since a moment or a state; `state` names the state now."""

    project: str | None
    since: str
    state: str
    is_changed: bool
    opened: list[WorkItemResult]
    blocked: list[WorkItemResult]
    resolved: list[WorkItemResult]
    dropped: list[WorkItemResult]
    decided: list[WorkItemResult]
    superseded: list[WorkItemResult]
    constraints: list[WorkItemResult]
    objective_before: WorkItemResult | None
    objective_after: WorkItemResult | None


class WorkMarkResult(ToolResult):
    """A decision by hand about an item. `path` is the memory file that `keep` wrote, with its version."""

    id: str
    action: str
    text: str
    path: str | None
    ends_on: str | None


class WorkRebuildResult(ToolResult):
    """The number of sessions that were read anew, and of the observations that they gave."""

    sessions: int
    observations: int


def work_result(work: LoadedWork) -> WorkResult:
    """Return where work stands, as an answer has it."""
    state = work.state
    return WorkResult(
        project=work.project,
        is_project=work.is_project,
        state=state.token,
        captured_until=state.last_at.isoformat() if state.last_at else None,
        objective=item_result(state.objective, state) if state.objective else None,
        **_lists(state, ("constraints", "decisions", "open", "blockers", "follow_ups"), state),
        **_lists(state, ("done", "dropped", "archived", "ended"), state, MAX_LISTED),
        definition_of_done=list(map(point_result, state.definition_of_done)),
        reads_from=[
            ReadWorkResult(project=read.project, **_lists(read, ("constraints", "decisions"), state))
            for read in work.read
        ],
        requests=list(map(ObservationResult.taken_from, state.requests)),
        sessions=[_session(session, state.summaries) for session in work.sessions[:MAX_LISTED]],
    )


def check_result(work: LoadedWork, checked: CompletionCheck) -> WorkCheckResult:
    """Return whether work is done, as an answer has it."""
    state = work.state
    return WorkCheckResult(
        project=work.project,
        done=checked.is_done,
        reasons=list(checked.reasons),
        **_lists(state, ("open", "blockers"), state),
        definition_of_done=list(map(point_result, state.definition_of_done)),
        evidence=list(map(EvidenceResult.taken_from, checked.evidence)),
        claim=ObservationResult.taken_from(checked.claim) if checked.claim else None,
        state=state.token,
    )


def changes_result(work: LoadedWork, since: str, changed: WorkChanges) -> WorkChangesResult:
    """Return what changed, as an answer has it."""
    state = work.state
    before, after = changed.objective_before, changed.objective_after
    return WorkChangesResult(
        project=work.project,
        since=since,
        state=state.token,
        is_changed=not changed.is_empty,
        **_lists(changed, CHANGED, state),
        objective_before=item_result(before, state) if before else None,
        objective_after=item_result(after, state) if after else None,
    )


def _lists(
    held: WorkState | ReadWork | WorkChanges, names: Sequence[str], state: WorkState, limit: int | None = None
) -> dict[str, Any]:
    """Return lists of items by their names, each list at most so long."""
    return {name: item_results(getattr(held, name)[:limit], state) for name in names}


def item_results(items: Iterable[WorkItem], state: WorkState) -> list[WorkItemResult]:
    """Return items as an answer has them."""
    return [item_result(item, state) for item in items]


def item_result(item: WorkItem, state: WorkState) -> WorkItemResult:
    """Return an item as an answer has it."""
    return WorkItemResult.taken_from(item, id=item.item_id, is_kept=item.item_id in state.kept)


def point_result(point: DodPoint) -> DodPointResult:
    """Return a point of a definition of done as an answer has it."""
    return DodPointResult(
        id=point.item.item_id,
        text=point.item.text,
        scope=point.scope,
        reference=point.item.reference,
        met_by=point.met_by,
    )


def _session(session: SessionRow, summaries: Iterable[Observation]) -> WorkSessionResult:
    own = [summary for summary in summaries if summary.conversation_id == session.conversation_id]
    return WorkSessionResult.taken_from(
        session,
        id=session.conversation_id,
        request=next((turn.text for turn in own if turn.who == "human"), None),
        outcome=next((turn.text for turn in own if turn.who == "agent"), None),
    )
