"""The pack of a project, a label or a session: where its work stands, in a few lines for a new session."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from memex.service.call import Caller
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.service import Service
from memex.service.tools.tool import ReadAnswer, ResultPart, StorableText
from memex.service.work.labels import slug_of_label
from memex.service.work.loading import LoadedWork, is_session, load_work
from memex.service.work.sessions import (
    HintArguments,
    LaneResult,
    candidates,
    listed_lanes,
    load_sessions,
    next_call,
    resolve_lanes,
)
from memex.store.work.records import PlacedSession
from memex.subagent.work.resuming.lanes import (
    MAX_CANDIDATES,
    Lane,
    LaneHints,
    Resolution,
    active_lanes,
    group_lanes,
    resolve,
)
from memex.subagent.work.resuming.pack import (
    BUDGETS,
    FORMAT,
    PackBudget,
    PackSize,
    ResumePoint,
    WorkPack,
    build_pack,
)
from memex.subagent.work.state import WorkState, fold

SEVERAL = (
    "Work goes on in several lanes: objective, requests and last session are left out. Name one of them."
)


class PackArguments(HintArguments):
    """The user's work to show at the beginning of a session.

    Name `project` (a slug), a `label` or a `session`, which narrows a project that is named too; or give hints, as
    `cwd`. A `label` beside `cwd` or `repository` is that of the folder, as its client found it: the pack is
    of the project that the label belongs to, and of no other; with `project` too, only if it belongs to this one.
    `known_hash` is the hash of the pack that is known already. `as_of` asks for the pack as it was then; labels are
    linked as they are now.
    """

    label: Annotated[StorableText | None, Field(min_length=1, max_length=1_000)] = None
    session: Annotated[StorableText | None, Field(min_length=1, max_length=100)] = None
    budget: PackBudget = "auto"
    known_hash: Annotated[str | None, Field(max_length=100)] = None
    as_of: Annotated[AwareDatetime | None, Field(strict=False)] = None


class PackLineResult(ResultPart):
    """A line of a pack: `source` names the message or the file that says it, `id` the item of work if it is one."""

    id: str | None
    heading: str
    text: str
    source: str
    who: str


class PackResult(ReadAnswer):
    """A pack. `text` is empty if there is nothing to tell, or if `known_hash` names it (`not_modified`).

    `captured_until` is when something was last said of the work: what happened since is not in it, so `live` is
    false. With `ambiguous` and `needs_hint`, `candidates` are the lanes that may be meant; `next` says what to do.
    """

    status: Literal["resolved", "ambiguous", "needs_hint", "no_match"]
    text: str
    hash: str
    not_modified: bool
    format: str
    scope: str | None
    project: str | None
    label: str | None
    size: PackSize
    budget: int
    captured_until: str | None
    live: Literal[False]
    lines: list[PackLineResult]
    left_out: int
    candidates: list[LaneResult]
    warning: str | None
    next: str | None


async def _pack(call: OperationCall, arguments: PackArguments) -> LoggedAnswer[PackResult]:
    """Return the pack of a project, a label or a session, or of the lane that hints mean, and log it.

    Raises:
        ValidationFailed: an argument is wrong.
        ProjectNotFound: no project and no session of the user has this name.
        ConversationNotFound: the user has no such session.
    """
    result = await _answer(call.service, call.caller, arguments)
    if result.text and arguments.known_hash == result.hash:
        result = result.model_copy(update={"text": "", "lines": [], "not_modified": True})
    logged = {
        name: getattr(result, name)
        for name in ("status", "hash", "scope", "size", "left_out", "not_modified")
    }
    logged["sources"] = [line.source for line in result.lines]
    return LoggedAnswer(result, logged)


async def _answer(service: Service, caller: Caller, arguments: PackArguments) -> PackResult:
    hints = arguments.hints()
    session = arguments.session
    if (
        session is not None
        and arguments.project is not None
        and not await is_session(service, caller, session)
    ):
        session = None  # one that has just begun, of which nothing is known yet
    if session is not None:
        work = await load_work(
            service, caller, project=arguments.project, session=session, until=arguments.as_of
        )
        scope = f"session:{work.sessions[0].conversation_id}"
        made = build_pack(work.state, scope=scope, budget=arguments.budget)
        return _result(made, work, scope, label=None)
    if arguments.label is not None and (arguments.cwd or arguments.repository):
        return await _of_folder(service, caller, arguments.label, arguments)
    name = arguments.label or arguments.project or (None if hints.are_given else caller.access.project)
    if name is None:
        lanes = group_lanes(await _sessions(service, caller, arguments))
        lanes = lanes if hints.are_given else active_lanes(lanes, _now(arguments))
        found = await resolve_lanes(service, caller, lanes, hints)
        if found.lane is None:
            return _of_nothing(found, arguments)
        return await _of_place(service, caller, arguments, _name(found.lane), lanes, found.lane)
    own = group_lanes(await _sessions(service, caller, arguments, project=name))
    hinted = _hinted(own, hints, _now(arguments))
    return await _of_place(service, caller, arguments, name, own, hinted)


async def _of_folder(service: Service, caller: Caller, label: str, arguments: PackArguments) -> PackResult:
    """Return the pack of the project that a folder's label belongs to, of the label, or of what was imported there.

    Hints alone would find what was once said in a folder of this path, whatever it calls itself now.
    """
    hints, now = replace(arguments.hints(), project=""), _now(arguments)
    slug = await slug_of_label(service, caller, label)
    all_lanes = group_lanes(await _sessions(service, caller, arguments))
    own = [lane for lane in all_lanes if lane.label == label]
    if arguments.project not in (None, slug):
        return _of_nothing(Resolution("no_match", None, ()), arguments)
    if slug is not None or own:
        beside = [lane for lane in all_lanes if lane.slug == slug] if slug is not None else own
        hinted = _hinted(own, hints, now) or _hinted(beside, hints, now)
        return await _of_place(service, caller, arguments, slug or label, beside, hinted)
    imported = [lane for lane in all_lanes if lane.is_imported]
    found = resolve(imported, hints)
    if found.lane is None:
        return _of_nothing(found, arguments)
    return await _of_place(service, caller, arguments, _name(found.lane), imported, found.lane)


def _of_nothing(found: Resolution, arguments: PackArguments) -> PackResult:
    """Return that no lane is meant, or which may be."""
    empty = build_pack(WorkState(), scope="", budget=arguments.budget)
    told = _result(empty, None, None, label=None)
    return told.model_copy(
        update={"status": found.status, "candidates": candidates(found), "next": next_call(found)}
    )


async def _sessions(
    service: Service, caller: Caller, arguments: PackArguments, *, project: str | None = None
) -> list[PlacedSession]:
    """Return the sessions that had begun at the moment of the pack, with no turn after it."""
    found, at = await load_sessions(service, caller, project=project), arguments.as_of
    if at is None:
        return found
    begun = [session for session in found if session.started_at is None or session.started_at <= at]
    return [
        replace(session, last_at=min(session.last_at, at) if session.last_at else None) for session in begun
    ]


def _now(arguments: PackArguments) -> datetime:
    return arguments.as_of or datetime.now(UTC)


def _name(lane: Lane) -> str:
    return lane.slug or lane.label


def _hinted(lanes: Sequence[Lane], hints: LaneHints, now: datetime) -> Lane | None:
    """Return the lane of a project that hints identify, or the only one that is active."""
    apart = replace(hints, project="")
    if apart.are_given:
        found = resolve(lanes, apart)
        if found.lane is not None:
            return found.lane
    active = active_lanes(lanes, now)
    return active[0] if len(active) == 1 else None


async def _of_place(
    service: Service,
    caller: Caller,
    arguments: PackArguments,
    name: str,
    lanes: Sequence[Lane],
    lane: Lane | None,
) -> PackResult:
    """Return the pack of a project or a label by its name, with what the lane that hints name is about."""
    work = await load_work(service, caller, project=name, until=arguments.as_of, reads=True)
    scope = f"project:{name}" if work.is_project else f"label:{name}"
    own = [candidate for candidate in lanes if name in (candidate.slug, candidate.label)]
    active = active_lanes(own, _now(arguments))
    is_one_lane = lane is not None or len(active) < 2
    state = work.state
    if lane is not None and len(active) > 1:
        state = _of_lane(work, lane, arguments.as_of)
    made = build_pack(
        state,
        scope=scope if len(active) < 2 or lane is None else f"{scope} {lane.root}",
        budget=arguments.budget,
        resume=_resume(lane or (active[0] if active else None)) if is_one_lane else None,
        is_one_lane=is_one_lane,
        read=work.read,
    )
    told = _result(made, work, scope, label=lane.label if lane else None)
    if is_one_lane:
        return told
    return told.model_copy(
        update={
            "status": "ambiguous",
            "warning": SEVERAL,
            "candidates": listed_lanes(active[:MAX_CANDIDATES]),
            "next": "Ask again with cwd or branch of the lane that is meant.",
        }
    )


def _of_lane(work: LoadedWork, lane: Lane, as_of: datetime | None) -> WorkState:
    """Return the state of a project with what one lane is about: objective, requests, answers and what it left."""
    own = [
        said
        for said in work.said
        if said.conversation_id in lane.conversation_ids and said.label == lane.label
    ]
    of_lane = fold(own, memory=work.memory, marks=work.marks, events=work.events, until=as_of, now=work.now)
    of_others = work.state.left_before - {item.item_id for item in (*of_lane.open, *of_lane.blockers)}
    return replace(
        work.state,
        objective=of_lane.objective,
        requests=of_lane.requests,
        answer=of_lane.answer,
        left_before=of_others | of_lane.left_before,
    )


def _resume(lane: Lane | None) -> ResumePoint | None:
    """Return where the work of a lane goes on: its newest session with messages, if there is one."""
    if lane is None:
        return None
    newest = next((session for session in lane.sessions if session.messages), lane.sessions[0])
    last_at = f"{newest.last_at:%Y-%m-%d %H:%M} UTC" if newest.last_at else "at an unknown time"
    place = " on ".join(part for part in (newest.folder, newest.branch) if part)
    return ResumePoint(f"conversations/{newest.conversation_id}", newest.title, place, last_at)


def _result(made: WorkPack, work: LoadedWork | None, scope: str | None, *, label: str | None) -> PackResult:
    last_at = work.state.last_at if work else None
    return PackResult(
        status="resolved",
        text=made.text,
        hash=made.hash,
        not_modified=False,
        format=FORMAT,
        scope=scope,
        project=work.project if work and work.is_project else None,
        label=label,
        size=made.size,
        budget=BUDGETS[made.size],
        captured_until=last_at.isoformat() if last_at else None,
        live=False,
        lines=[
            PackLineResult.taken_from(line, id=line.item_id, source=line.reference) for line in made.lines
        ],
        left_out=made.left_out,
        candidates=[],
        warning=None,
        next=None,
    )


PACK = LoggedOperation("work_context", PackArguments, PackResult, _pack, role="agent")
