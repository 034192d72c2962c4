"""Load the state of work: what sessions say, what memory says, what a person decided, what clients report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog

from memex.errors import ConversationNotFound, LimitExceeded, ProjectNotFound
from memex.service.call import Caller, check_role
from memex.service.service import Service
from memex.service.work.sessions import load_sessions
from memex.store.access import Access
from memex.store.conversations.records import parse_reference
from memex.store.database import Connection
from memex.store.memory import Memory
from memex.store.past.memory import open_past
from memex.store.text_pool import offload
from memex.store.work.marks import list_marks
from memex.store.work.observations import (
    add_observations,
    find_sessions,
    list_observations,
    list_pending_words,
    list_tool_events,
    underived_messages,
)
from memex.store.work.readings import list_readings
from memex.store.work.records import (
    DerivedSession,
    NewObservation,
    SessionRow,
    UnderivedMessage,
)
from memex.subagent.work.definition import scope_of_label
from memex.subagent.work.deriving import LAST_TURNS, derive, derive_pending
from memex.subagent.work.ending.plans import MAX_BEFORE_CHARS, is_step_of_plan
from memex.subagent.work.memory_items import memory_items, work_paths
from memex.subagent.work.policies import POLICY_FILE, WorkPolicy, apply_policies, parse_policies
from memex.subagent.work.records import (
    MemoryItem,
    Observation,
    ToolEvent,
    WorkKind,
    WorkMark,
)
from memex.subagent.work.resuming.pack import ReadWork
from memex.subagent.work.state import WorkState, fold
from memex.subagent.work.turns import DERIVER_VERSION, MAX_TURN_CHARS

_log = structlog.get_logger("memex.work")

MAX_SESSIONS = 500  # of a project, the newest
MAX_PENDING = 20  # sessions, and words of them, that no transcript has yet
MAX_TOOL_EVENTS = 5_000  # the newest, which prove what was done last
BATCH_MESSAGES = 1_000  # that are read for work at once


@dataclass(frozen=True, slots=True)
class LoadedWork:
    """The state of work, with all that it was made of.

    Attributes:
        project: the project or label that was asked for; None for one session, or for all.
        is_project: it is a project of the user, and not only a label.
        sessions: the conversations that it was made of, the newest first.
        said: what they say, in the order of time.
        memory: what the project's files say.
        now: the moment at which the work stood so.
        read: what holds in the projects that this one reads from, of which the caller is a member too.
        policies: the rules by which work is archived and left out.
    """

    state: WorkState
    project: str | None
    is_project: bool
    sessions: tuple[SessionRow, ...]
    said: tuple[Observation, ...]
    memory: tuple[MemoryItem, ...]
    marks: tuple[WorkMark, ...]
    events: tuple[ToolEvent, ...]
    now: datetime
    read: tuple[ReadWork, ...] = ()
    policies: tuple[WorkPolicy, ...] = ()

    def at(self, until: datetime) -> WorkState:
        """Return where the work stood at a moment."""
        return fold(self.said, memory=self.memory, marks=self.marks, events=self.events, until=until)


async def load_work(
    service: Service,
    caller: Caller,
    *,
    project: str | None = None,
    session: str | None = None,
    until: datetime | None = None,
    reads: bool = False,
) -> LoadedWork:
    """Return where work stands, after reading what was said since it was asked for last.

    Args:
        service: the service.
        caller: whose work it is.
        project: the slug of a project, or the label that sessions have.
        session: the id of one session, ours or its client's; then memory is asked only of a named project.
        until: only what was known at this moment.
        reads: also load what holds in the projects that this one reads from.

    Raises:
        ProjectNotFound: no project and no session of the user has this name.
        ConversationNotFound: the user has no such session.
        Forbidden: the caller is no agent of a user.
    """
    check_role(
        caller.principal, "agent"
    )  # work is its user's alone, also where an administrator acts for the user
    is_project = project is not None and f"projects/{project}" in caller.access.by_mount
    sessions = await _sessions(service, caller, project, session)
    if project is not None and not is_project and not sessions:
        announced = await load_sessions(
            service, caller, project=project, limit=1
        )  # its transcript may come yet
        if not announced:
            await _refuse_unknown(service, caller, project)
    if session is not None and not sessions:
        raise ConversationNotFound(
            f"There is no session {session[:50]!r} for this user.",
            hint="See `memex work sessions`.",
            reason="session",
        )
    await derive_missing(service, caller, sessions)
    memory: list[MemoryItem] = []
    policies: tuple[WorkPolicy, ...] = ()
    reading = _reading(caller.access, project)
    async with service.database.transaction(reading, snapshot=True) as connection:
        found, marks, events = await _stored(connection, caller, sessions, project)
        if is_project and project is not None:
            memory = await _memory(connection, reading, project, until)
        if reading.scopes:
            policies = await _policies(connection, reading, project, until)
    said = tuple(sorted(found, key=lambda observation: observation.order))
    now = until or datetime.now(UTC)
    events.reverse()
    folding = partial(fold, said, memory=memory, marks=marks, events=events, until=until, now=now)
    state = await offload.run_in_thread(sum(len(observation.text) for observation in said), folding)
    state = apply_policies(state, policies, now)
    read = await _read_from(service, caller, project, until) if reads and is_project and project else ()
    return LoadedWork(
        state,
        project,
        is_project,
        tuple(sessions),
        said,
        tuple(memory),
        tuple(marks),
        tuple(events),
        now,
        read,
        policies,
    )


async def _read_from(
    service: Service, caller: Caller, project: str, until: datetime | None
) -> tuple[ReadWork, ...]:
    """Return what holds in the projects that one reads from, if the caller is a member of them too."""
    async with service.database.transaction(caller.access) as connection:
        scope = caller.access.scope_at(f"projects/{project}")
        listed = await list_readings(connection, caller.access, scope)
    found: list[ReadWork] = []
    for other, _ in listed:
        slug = other.mount.removeprefix("projects/")
        work = await load_work(service, caller, project=slug, until=until)
        found.append(ReadWork(slug, work.state.constraints, work.state.decisions))
    return tuple(found)


async def derive_missing(service: Service, caller: Caller, sessions: Sequence[SessionRow]) -> None:
    """Read what was said in sessions since they were read last."""
    stale = [session for session in sessions if not session.is_derived(DERIVER_VERSION)]
    scope = caller.access.conversations
    if scope is None:
        return
    for batch in _batches(stale):
        read_to = [(session.conversation_no, _read_to(session)) for session in batch]
        async with service.database.transaction(caller.access.for_conversations()) as connection:
            messages = await underived_messages(
                connection, scope.scope_id, read_to, max_chars=MAX_TURN_CHARS, last_turns=LAST_TURNS
            )
        found = await _derive(messages)
        derived = [_derived(session) for session in batch]
        # What came in since the sessions were listed is read by the next call.
        kept = {session.conversation_no: session.derived_to for session in derived}
        await add_observations(
            service.database,
            caller.access,
            derived,
            [observation for observation in found if observation.number <= kept[observation.conversation_no]],
            deriver_version=DERIVER_VERSION,
        )


def _derived(session: SessionRow) -> DerivedSession:
    """Return how far a session is read now."""
    return DerivedSession(
        session.conversation_no,
        session.next_number - 1,
        bytes(session.sha256).hex(),
        session.derived_to,
        session.deriver_version != DERIVER_VERSION,
    )


async def _derive(messages: Sequence[UnderivedMessage]) -> list[NewObservation]:
    """Return what messages say; one that takes too long to read says nothing, and hides no other."""
    try:
        return await _derive_all(messages)
    except LimitExceeded:
        readable = [message for message in messages if await _is_readable(message)]
        _log.warning("work_messages_unread", messages=len(messages) - len(readable))
        return await _derive_all(readable)


async def _derive_all(messages: Sequence[UnderivedMessage]) -> list[NewObservation]:
    return await offload.run(sum(len(message.text) for message in messages), derive, messages)


async def _is_readable(message: UnderivedMessage) -> bool:
    try:
        await _derive_all([message])
    except LimitExceeded:
        return False
    return True


def _batches(sessions: Sequence[SessionRow]) -> Iterator[list[SessionRow]]:
    batch: list[SessionRow] = []
    messages = 0
    for session in sessions:
        batch.append(session)
        messages += session.next_number - _read_to(session)
        if messages >= BATCH_MESSAGES:
            yield batch
            batch, messages = [], 0
    if batch:
        yield batch


def _read_to(session: SessionRow) -> int:
    return session.derived_to or 0 if session.deriver_version == DERIVER_VERSION else 0


async def _refuse_unknown(service: Service, caller: Caller, name: str) -> None:
    """Raise that there is no such project, and name the labels that are shown by this name."""
    listed = await load_sessions(service, caller, limit=MAX_SESSIONS)
    labels = list(dict.fromkeys(label.label for label in listed if label.name == name))[:10]
    if labels:
        raise ProjectNotFound(
            f"There is no project {name[:50]!r} for this user, but there are sessions of this name.",
            hint=f"Name their label as the project: {', '.join(labels)}. To make them part of a project: "
            "`memex work link LABEL SLUG`.",
            reason="label",
            labels=labels,
        )
    caller.access.scope_at(f"projects/{name}")  # raises, and names those that are near


async def _sessions(
    service: Service, caller: Caller, project: str | None, session: str | None
) -> list[SessionRow]:
    scope = caller.access.conversations
    if scope is None:
        return []
    named = parse_reference(session) if session is not None else None
    async with service.database.transaction(caller.access.for_conversations()) as connection:
        return await find_sessions(
            connection,
            scope.scope_id,
            project=project,
            session=named[0] if named else session,
            limit=MAX_SESSIONS,
        )


async def is_session(service: Service, caller: Caller, session: str) -> bool:
    """Return whether the user has a session of this id, ours or its client's."""
    return bool(await _sessions(service, caller, None, session))


def _reading(access: Access, project: str | None) -> Access:
    """Return an access to the user's conversations, and to the files of the project or else of the user."""
    files = access.by_mount.get(f"projects/{project}") or access.by_mount.get("user")
    found = (access.conversations, files)
    return access.limited_to(tuple(scope for scope in found if scope is not None))


async def _stored(
    connection: Connection, caller: Caller, sessions: Sequence[SessionRow], project: str | None
) -> tuple[list[Observation], list[WorkMark], list[ToolEvent]]:
    scope = caller.access.conversations
    if scope is None:
        return [], [], []
    numbers = [session.conversation_no for session in sessions]
    ids = [session.conversation_id for session in sessions]
    said = await list_observations(
        _observation, connection, scope.scope_id, numbers, project=project, before_chars=MAX_BEFORE_CHARS
    )
    pending = await list_pending_words(
        connection, scope.scope_id, ids[:MAX_PENDING], project=project, limit=MAX_PENDING
    )
    return (
        [*said, *derive_pending(pending)],
        await list_marks(WorkMark, connection, scope.scope_id),
        await list_tool_events(
            _event,
            connection,
            scope.scope_id,
            ids,
            project=project,
            limit=MAX_TOOL_EVENTS,
        ),
    )


async def _memory(
    connection: Connection, access: Access, project: str, until: datetime | None
) -> list[MemoryItem]:
    memory = (
        Memory(connection, access) if until is None else await open_past(connection, access, until, now=until)
    )
    found: list[MemoryItem] = []
    for file in await memory.read_files(work_paths(project)):
        found += memory_items(file.virtual_path, file.content, file.created_at, file.reference)
    return found


def policy_path(access: Access, project: str | None) -> str:
    """Return the file of policies of a project, or for work that is of no project, of the user."""
    is_project = project is not None and f"projects/{project}" in access.by_mount
    return f"projects/{project}/{POLICY_FILE}" if is_project else f"user/{POLICY_FILE}"


async def _policies(
    connection: Connection, access: Access, project: str | None, until: datetime | None
) -> tuple[WorkPolicy, ...]:
    memory = (
        Memory(connection, access) if until is None else await open_past(connection, access, until, now=until)
    )
    files = await memory.read_files([policy_path(access, project)])
    return tuple(policy for file in files for policy in parse_policies(file.content))


def _event(
    *, command: str, ok: bool | None, paths: list[str], event_no: int, conversation_id: str, **others: Any
) -> ToolEvent:
    """Return what a client reports as a command, if it names one; else as a change of files."""
    return ToolEvent(
        "command" if command else "edit",
        command=command,
        succeeded=ok,
        changed_paths=tuple(paths),
        conversation_id=conversation_id,
        reference=f"events/{conversation_id}#{event_no}",
        **others,
    )


def _observation(
    *, kind: WorkKind, text: str, by_human: bool, confidence: float, before: str, **others: Any
) -> Observation:
    """Return what a message says about work."""
    is_definition = kind == "definition_of_done"
    return Observation(
        kind,
        text=" ".join(text.split()),
        who="human" if by_human else "agent",
        confidence=round(confidence, 2),
        is_plan=is_step_of_plan(before) if before and not is_definition else False,
        scope=scope_of_label(before) if is_definition else None,
        **others,
    )
