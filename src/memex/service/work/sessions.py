"""Sessions of work by lane, and which lane hints mean."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from memex.projects.remotes import normalise_remote
from memex.service.call import Caller
from memex.service.operation import LoggedAnswer, LoggedOperation, OperationCall
from memex.service.service import Service
from memex.service.tools.tool import Arguments, ReadAnswer, ResultPart, StorableText
from memex.service.work.labels import own_slug
from memex.store.conversations.filters import MessageFilters
from memex.store.conversations.find import find_messages
from memex.store.work.records import PlacedSession
from memex.store.work.sessions import list_sessions
from memex.subagent.work.resuming.lanes import (
    Lane,
    LaneHints,
    Resolution,
    active_lanes,
    group_lanes,
    resolve,
)

MAX_SESSIONS = 1_000  # the newest, which are grouped to lanes
MAX_HINT_CHARS = 10_000
SESSIONS_OF_LANE = 5
MAX_HITS = 50  # messages by whose words lanes are told apart
_PATH = re.compile(r"[/~]|[A-Za-z]:[\\/]")
_REMOTE = re.compile(r"[\w-]+(?:\.[\w-]+)+(?:/[\w.-]+){1,8}")

_Text = Annotated[StorableText, Field(max_length=MAX_HINT_CHARS)]


class SessionsArguments(Arguments):
    """List the sessions of the user's work, with label, folder, branch and last turn; of one `project` or of all.

    `project` is a slug or a label.
    """

    project: Annotated[StorableText | None, Field(min_length=1, max_length=1_000)] = None
    limit: Annotated[int, Field(ge=1, le=MAX_SESSIONS)] = 50


class HintArguments(Arguments):
    """Hints to the work that is looked for; `files` are paths that it changes.

    `repository` is a remote such as `github.com/acme/apollo`, a label, or the root of a repository. `hint` is one
    text: a folder, a repository, the title of a session, or a question about what was said there.
    """

    title: _Text | None = None
    cwd: _Text | None = None
    repository: _Text | None = None
    branch: _Text | None = None
    project: Annotated[StorableText | None, Field(min_length=1, max_length=1_000)] = None
    words: _Text | None = None
    files: Annotated[list[_Text] | None, Field(max_length=100)] = None
    hint: _Text | None = None

    def hints(self) -> LaneHints:
        """Return the hints as lanes are compared with them."""
        given = self.model_dump(include=set(HintArguments.model_fields) - {"hint"}, exclude_none=True)
        return LaneHints(**_named(self.hint) | given | {"files": tuple(self.files or ())})


class PlacedSessionResult(ResultPart):
    """A session with its place: `label` identifies it, `name` is how it is shown, `project` is a slug or null."""

    id: str
    title: str
    label: str
    name: str
    project: str | None
    folder: str
    branch: str
    source: str
    messages: int
    started_at: str | None
    last_at: str | None


class LaneResult(ResultPart):
    """Sessions in one folder of one project, the newest first; `score` and `reasons` say how well hints fit."""

    label: str
    name: str
    project: str | None
    folder: str
    branches: list[str]
    last_at: str | None
    session_count: int
    sessions: list[PlacedSessionResult]
    score: float
    reasons: list[str]


class WorkSessionsResult(ReadAnswer):
    """Sessions, the one of the newest turn first."""

    sessions: list[PlacedSessionResult]


class ResolveResult(ReadAnswer):
    """The lane that hints mean. `lane` is there only with `resolved`; `next` says which call to make."""

    status: Literal["resolved", "ambiguous", "needs_hint", "no_match"]
    lane: LaneResult | None
    candidates: list[LaneResult]
    next: str


async def _list_work_sessions(
    call: OperationCall, arguments: SessionsArguments
) -> LoggedAnswer[WorkSessionsResult]:
    """Return sessions with their places, and log that it was asked."""
    found = await load_sessions(call.service, call.caller, project=arguments.project, limit=arguments.limit)
    if not found and arguments.project is not None:  # how the sessions of one label are shown
        listed = await load_sessions(call.service, call.caller)
        named = [session for session in listed if session.name == arguments.project]
        found = named[: arguments.limit] if len({name.label for name in named}) == 1 else []
    result = WorkSessionsResult(sessions=list(map(_session, found)))
    logged = {"sessions": [session.id for session in result.sessions]}
    return LoggedAnswer(result, logged)


async def _resolve_work(call: OperationCall, arguments: HintArguments) -> LoggedAnswer[ResolveResult]:
    """Return which lane of the user's work hints mean, and log it; nothing else is written."""
    lanes = group_lanes(await load_sessions(call.service, call.caller))
    hints = arguments.hints()
    active = active_lanes(lanes, call.now)
    found = await resolve_lanes(call.service, call.caller, lanes if hints.are_given else active, hints)
    result = ResolveResult(
        status=found.status,
        lane=_lane(found.lane, 1.0, ()) if found.lane else None,
        candidates=candidates(found),
        next=next_call(found),
    )
    logged = {"status": result.status, "candidates": [lane.label for lane in result.candidates]}
    return LoggedAnswer(result, logged)


async def resolve_lanes(
    service: Service, caller: Caller, lanes: Sequence[Lane], hints: LaneHints
) -> Resolution:
    """Return which lane the hints mean, by what was said there too."""
    scope = caller.access.conversations
    if not hints.words.strip() or scope is None or len(lanes) < 2:
        return resolve(lanes, hints)
    async with service.database.transaction(caller.access.for_conversations(), snapshot=True) as connection:
        hits = await find_messages(
            connection, scope, hints.words[:MAX_HINT_CHARS], MessageFilters(), limit=MAX_HITS
        )
    said: dict[str, float] = {}
    for hit in hits:
        conversation = hit.conversation.conversation_id
        said[conversation] = max(
            said.get(conversation, 0.0), hit.score / hits[0].score if hits[0].score else 0
        )
    return resolve(lanes, replace(hints, said=said))


def _named(hint: str | None) -> dict[str, str]:
    """Return what a hint names: a folder, a repository, or a title and words."""
    text = (hint or "").strip()
    if not text:
        return {}
    if _PATH.match(text):
        return {"cwd": text.rstrip("/") or text}
    remote = normalise_remote(text) or (text if _REMOTE.fullmatch(text) else None)
    return {"repository": remote} if remote else {"title": text, "words": text}


async def load_sessions(
    service: Service, caller: Caller, *, project: str | None = None, limit: int = MAX_SESSIONS
) -> list[PlacedSession]:
    """Return the sessions of a project or a label, or all; their project only if the caller is a member of it."""
    scope = caller.access.conversations
    if scope is None:
        return []
    async with service.database.transaction(caller.access.for_conversations()) as connection:
        found = await list_sessions(connection, scope.scope_id, project=project, limit=limit)
    return [replace(session, slug=own_slug(caller, session.slug)) for session in found]


def candidates(found: Resolution) -> list[LaneResult]:
    """Return the lanes that may be meant, as an answer has them."""
    return [_lane(candidate.lane, candidate.score, candidate.reasons) for candidate in found.candidates]


def listed_lanes(lanes: Sequence[Lane]) -> list[LaneResult]:
    """Return lanes that nothing was compared with, as an answer has them."""
    return [_lane(lane, 0.0, ()) for lane in lanes]


def next_call(found: Resolution) -> str:
    """Return what to do next, in a sentence."""
    match found.status:
        case "resolved":
            return "Ask for the pack of this lane: work_context with its label."
        case "ambiguous":
            return "Several lanes fit: ask the user which one, then ask again with its label."
        case "needs_hint":
            return (
                "There are several lanes: give a hint (cwd, repository, title, files or words), or a label."
            )
        case "no_match":
            return "No session fits: begin without a pack, or list all with work_sessions."


def _lane(lane: Lane, score: float, reasons: Sequence[str]) -> LaneResult:
    return LaneResult.taken_from(
        lane,
        project=lane.slug,
        folder=lane.root,
        branches=list(lane.branches)[:10],
        session_count=len(lane.sessions),
        sessions=list(map(_session, lane.sessions[:SESSIONS_OF_LANE])),
        score=score,
        reasons=list(reasons),
    )


def _session(placed: PlacedSession) -> PlacedSessionResult:
    return PlacedSessionResult.taken_from(placed, id=placed.conversation_id, project=placed.slug)


SESSIONS = LoggedOperation(
    "work_sessions", SessionsArguments, WorkSessionsResult, _list_work_sessions, role="agent"
)
RESOLVE = LoggedOperation("work_resolve", HintArguments, ResolveResult, _resolve_work, role="agent")
