"""The state of work: what is open, what holds and what is over, by what was said and when. Pure.

All that is known is put in the order of time, and each thing changes what stood before it:

- a task or a blocker is closed by a later text of the same form that says that it is done, or by hand; said again
  after that, it is open again. What was closed by hand is opened again by a person alone;
- a person's word that all is done closes what stood open before it in its session, but for memory's tasks;
- a newer objective takes the place of an older one, of memory or of a session. A cue does not replace a labelled
  objective of the same session;
- a decision or a constraint takes the place of an older one about the same thing for the same purpose, or of what
  it names as replaced; its reason does not count;
- a point of a definition of done is met by a later text of the same form, or by a command that proves it. A newer
  objective of a later session ends the definition of done of the older one.

Memory files count first: where they speak of the same work, their wording is shown.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memex.subagent.statements.comparison.work_forms import item_form
from memex.subagent.work.definition import DodPoint, DodPoints
from memex.subagent.work.ending.evidence import newest_proofs
from memex.subagent.work.ending.keeping import ItemKeeping, kept_as, take_effect
from memex.subagent.work.ending.plans import ends_plans, lists_what_is_left
from memex.subagent.work.ledger import Ledger, WorkMention
from memex.subagent.work.records import (
    ItemStatus,
    MemoryItem,
    Observation,
    ToolEvent,
    WorkItem,
    WorkMark,
)
from memex.subagent.work.settled import SettledWork

MAX_REQUESTS = 60
_GOAL = re.compile(r"\b(?:goal|aim|objective|mission|idea|plan|ziel|objectif|objetivo)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WorkState:
    """The state of work at a moment.

    Attributes:
        objective: what is wanted; None if nobody said.
        constraints: in the order in which they were said.
        decisions: those that hold, the newest first.
        superseded: decisions, then constraints, that do not hold any more, the newest first.
        definition_of_done: the points of it, and what meets them.
        open: tasks, in the order in which they were said.
        blockers: what stands in the way, in this order too.
        done: tasks and blockers that are over, and what was said to be done, the newest first.
        dropped: what was given up by hand.
        archived: what was put away by hand until it is restored.
        ended: what a day ended that was set by hand.
        follow_ups: what the last messages of sessions leave, the newest session first; open ones alone.
        requests: what the person asked for lately, the newest first.
        claims: where somebody says that all is done, the newest first.
        answer: the lines of the agent's last answers in the last session, in their order.
        left_before: ids of what an agent alone named before the last session of its place, and not since.
        proofs: the newest test, build and commit since the last change that the client reports as succeeded.
        summaries: of each session what was asked and how it ended, the newest session first.
        kept: ids of items that were kept in memory by hand.
        restorable: ids of items that were closed by hand, and not named by a person since.
        last_at: when something was last said of work.
    """

    objective: WorkItem | None = None
    constraints: tuple[WorkItem, ...] = ()
    decisions: tuple[WorkItem, ...] = ()
    superseded: tuple[WorkItem, ...] = ()
    definition_of_done: tuple[DodPoint, ...] = ()
    open: tuple[WorkItem, ...] = ()
    blockers: tuple[WorkItem, ...] = ()
    done: tuple[WorkItem, ...] = ()
    dropped: tuple[WorkItem, ...] = ()
    archived: tuple[WorkItem, ...] = ()
    ended: tuple[WorkItem, ...] = ()
    follow_ups: tuple[WorkItem, ...] = ()
    requests: tuple[Observation, ...] = ()
    claims: tuple[Observation, ...] = ()
    answer: tuple[Observation, ...] = ()
    left_before: frozenset[str] = frozenset()
    proofs: tuple[ToolEvent, ...] = ()
    summaries: tuple[Observation, ...] = ()
    kept: frozenset[str] = frozenset()
    restorable: frozenset[str] = frozenset()
    last_at: datetime | None = None
    items: dict[str, WorkItem] = field(default_factory=dict, repr=False)  # by each id that names them

    @property
    def token(self) -> str:
        """The name of this state: its moment, and a digest of what is open and what holds."""
        standing = [
            self.objective,
            *self.constraints,
            *self.decisions,
            *self.open,
            *self.blockers,
            *self.done[:50],
        ]
        lines = [f"{item.item_id} {item.status} {item.text}" for item in standing if item is not None]
        lines += [f"{point.item.item_id} {point.met_by}" for point in self.definition_of_done]
        digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        micros = 0 if self.last_at is None else round(self.last_at.timestamp() * 1_000_000)
        return f"{micros}-{digest}"


def fold(
    observations: Iterable[Observation],
    *,
    memory: Sequence[MemoryItem] = (),
    marks: Iterable[WorkMark] = (),
    events: Iterable[ToolEvent] = (),
    until: datetime | None = None,
    now: datetime | None = None,
) -> WorkState:
    """Return where work stands after all that is given, or after what was known at `until`.

    Args:
        observations: what sessions say.
        memory: what memory says.
        marks: what a person decided by hand.
        events: what clients report of tools.
        until: nothing later is known.
        now: up to when an item may have ended on its day, where `until` does not say it.
    """
    said = sorted(
        (observation for observation in observations if until is None or observation.at <= until),
        key=lambda observation: observation.order,
    )
    ticks = sorted((mark for mark in marks if until is None or mark.at <= until), key=lambda mark: mark.at)
    effective, keeping = take_effect(ticks, until or now)
    known = [item for item in memory if until is None or item.at <= until]
    ran = [event for event in events if until is None or event.at <= until]
    tasks = Ledger()
    settled, points = SettledWork(), DodPoints()
    timeline: list[tuple[datetime, int, Observation | MemoryItem | WorkMark]] = [
        *((item.at, 0, item) for item in known),
        *((observation.at, 1, observation) for observation in said),
        *((mark.at, 2, mark) for mark in effective),
    ]
    timeline.sort(key=lambda entry: entry[:2])  # stable: what was said stays in its order
    left = _left_by_message(said)
    for _, _, entry in timeline:
        if isinstance(entry, WorkMark):
            tasks.mark(entry)
            points.mark(entry)
            settled.mark(entry)
            continue
        mention = WorkMention.of(entry)
        match entry.kind:
            case "pending" | "blocker" if mention.is_closed:
                tasks.close(mention)
                points.close(mention)
            case "pending" | "blocker":
                if isinstance(entry, Observation) and (forms := left.get(entry.reference)) is not None:
                    tasks.end_plan(entry, forms, is_done=False)
                tasks.open(mention)
            case "completion_claim" if isinstance(entry, Observation):
                if entry.who == "human":
                    tasks.close_session(mention)
                plans = tasks.plans(entry.conversation_id)
                if plans and ends_plans(entry, max(plans), ran):
                    tasks.end_plan(entry, (), is_done=True)
            case "done":
                tasks.close(mention)
                points.close(mention)
            case "objective":
                if settled.objectives.take(mention):
                    points.end_mission(mention)
            case "decision":
                settled.decisions.take(mention)
            case "constraint":
                settled.constraints.take(mention)
            case "definition_of_done":
                points.add(mention)
            case "user_request":
                settled.decisions.take_request(mention)
            case _:
                pass
    tasks.close_repaired(ran)
    last = max((entry[0] for entry in timeline), default=None)
    met = points.points(ran)
    closed = (*settled.closed(), *points.closed())
    closed_ids = {item.item_id for item in closed}
    by_id = settled.by_id()
    wanted = [settled.objectives.current] if settled.objectives.current else []
    state = WorkState(
        objective=settled.objectives.current,
        constraints=settled.constraints.standing(),
        decisions=tuple(sorted(settled.decisions.standing(), key=lambda item: item.at, reverse=True)),
        superseded=(*settled.decisions.superseded(), *settled.constraints.superseded()),
        definition_of_done=met,
        open=tasks.standing("pending"),
        blockers=tasks.standing("blocker"),
        done=tasks.closed("done"),
        dropped=_ended(tasks, closed, "dropped"),
        archived=_ended(tasks, closed, "archived"),
        ended=_ended(tasks, closed, "ended"),
        requests=_newest(said, "user_request")[:MAX_REQUESTS],
        claims=_newest(said, "completion_claim"),
        answer=_last_answer(said),
        left_before=_left_before(said, (*tasks.standing("pending"), *tasks.standing("blocker"), *wanted)),
        proofs=newest_proofs(ran),
        summaries=_newest(said, "session_summary"),
        kept=frozenset(mark.item_id for mark in ticks if mark.action == "keep"),
        restorable=tasks.by_hand()
        | closed_ids
        | points.met_by_hand()
        | {name for name, item in by_id.items() if item.item_id in closed_ids},
        last_at=last,
        items=tasks.by_id()
        | by_id
        | {item.item_id: item for item in (*points.closed(), *(point.item for point in met))},
    )
    state = _kept(state, keeping) if keeping else state
    return replace(state, follow_ups=_follow_ups(said, state))


def _left_by_message(said: Iterable[Observation]) -> dict[str, set[tuple[str, ...]]]:
    """Return the forms of what an agent lists as left, by the message that lists it."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for observation in said:
        if lists_what_is_left(observation):
            found.setdefault(observation.reference, set()).add(item_form("pending", observation.text))
    return found


def _ended(tasks: Ledger, closed: Iterable[WorkItem], status: ItemStatus) -> tuple[WorkItem, ...]:
    """Return all that was ended so by hand."""
    return (*tasks.closed(status), *(item for item in closed if item.status == status))


def _kept(state: WorkState, keeping: Mapping[str, ItemKeeping]) -> WorkState:
    """Return a state whose items say how a person keeps them."""
    names: dict[str, set[str]] = {}
    for name, item in state.items.items():
        names.setdefault(item.item_id, {item.item_id}).add(name)

    def shown(item: WorkItem) -> WorkItem:
        return kept_as(item, keeping, sorted(names.get(item.item_id, {item.item_id})))

    def all_shown(items: Iterable[WorkItem]) -> tuple[WorkItem, ...]:
        return tuple(map(shown, items))

    return replace(
        state,
        objective=shown(state.objective) if state.objective else None,
        definition_of_done=tuple(
            replace(point, item=shown(point.item)) for point in state.definition_of_done
        ),
        constraints=all_shown(state.constraints),
        decisions=all_shown(state.decisions),
        open=all_shown(state.open),
        blockers=all_shown(state.blockers),
        items={name: shown(item) for name, item in state.items.items()},
    )


def _newest(said: Sequence[Observation], kind: str) -> tuple[Observation, ...]:
    return tuple(observation for observation in reversed(said) if observation.kind == kind)


def _last_answer(said: Sequence[Observation]) -> tuple[Observation, ...]:
    """Return the lines of the agent's last answers in the session that was answered last."""
    lines = [observation for observation in said if observation.kind == "last_answer"]
    return tuple(line for line in lines if line.conversation_id == lines[-1].conversation_id)


def _is_wish(item: WorkItem) -> bool:
    """Return whether an objective is what a person wanted, and is not called a goal."""
    return item.kind == "objective" and not item.is_firm and not _GOAL.search(item.text)


def _left_before(said: Sequence[Observation], items: Iterable[WorkItem]) -> frozenset[str]:
    """Return the items that an agent alone named before the session began that was answered last in their place.

    That session was told of them, and its answers are the newer report. What a person wished, and did not call a
    goal, was of its session too.
    """
    began: dict[str, datetime] = {}
    places: dict[str, str] = {}
    last: dict[str, datetime] = {}
    for one in said:
        places[one.conversation_id] = one.label
        at = began.setdefault(one.conversation_id, one.at)
        if one.kind == "last_answer":
            last[one.label] = at
    return frozenset(
        item.item_id
        for item in items
        if (item.who == "agent" or _is_wish(item))
        and item.last_at < last.get(places[item.sessions[-1]], item.last_at)
    )


def _follow_ups(said: Sequence[Observation], state: WorkState) -> tuple[WorkItem, ...]:
    """Return what the last messages of sessions leave and is still open, each once."""
    standing = {
        item_form(work_item.kind, work_item.text): work_item for work_item in (*state.open, *state.blockers)
    }
    left = [observation for observation in said if observation.kind == "follow_up"]
    ended = {observation.conversation_id: observation.at for observation in left}
    found: dict[str, WorkItem] = {}
    for observation in sorted(left, key=lambda each: ended[each.conversation_id], reverse=True):
        item = standing.get(item_form("pending", observation.text)) or standing.get(
            item_form("blocker", observation.text)
        )
        if item is not None:
            found.setdefault(item.item_id, item)
    return tuple(found.values())
