"""Events of coding agents: taken from any program, each stored once, and when each program was last heard."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, field_validator

from memex.projects.remotes import normalise_remote
from memex.service.call import Caller
from memex.service.conversations import putting
from memex.service.conversations.lines import MAX_TITLE_CHARS
from memex.service.conversations.putting import ConversationInput, MessageInput, SourceInput, Time
from memex.service.identity.rate_limits import text_bytes
from memex.service.operation import LoggedAnswer, LoggedOperation, NoArguments, OperationCall
from memex.service.service import Service
from memex.service.tools.tool import (
    Arguments,
    ReadAnswer,
    ResultPart,
    StorableText,
    Tool,
    ToolResult,
    example,
)
from memex.store.access import Access
from memex.store.conversations.events import (
    EventChange,
    NewEvent,
    SaidWords,
    ToolUse,
    heard_runtimes,
    put_events,
)
from memex.store.text_pool import offload
from memex.store.work.sessions import places_of_folders
from memex.subagent.remember.recalled import without_recalled
from memex.subagent.statements.secrets.finding import find_secrets, redact

PUT = "event_put"
MAX_EVENTS = 500  # of a request
MAX_TEXT_CHARS = 1 << 20
MAX_COMMAND_CHARS = 4_000
MAX_PATHS = 200
MAX_LABEL_CHARS = 1_000  # as `memex work link` takes it
MAX_SHOWN_CHARS = 200
ENDING_KINDS = ("stop", "interrupt", "session_end")  # of events that end a turn
SHOWN = ("branch", "title")  # of the metadata: stored as one short line

EventKind = Literal[
    "session_start", "prompt", "tool", "stop", "interrupt", "compact", "session_end", "notice"
]
Name = Annotated[StorableText, Field(min_length=1, max_length=500)]
Path = Annotated[StorableText, Field(min_length=1, max_length=4_096)]


class SaidInput(Arguments):
    """A message that was said. With an `id` it is one of the conversation; else it stands in for a message.

    Words that stand in have no number and are never cited. They go when the transcript has them.
    """

    role: Literal["user", "assistant"]
    text: Annotated[StorableText, Field(min_length=1, max_length=MAX_TEXT_CHARS)]
    id: Annotated[StorableText | None, Field(min_length=1, max_length=500)] = None
    said_at: Time | None = None
    model: Annotated[StorableText | None, Field(max_length=200)] = None


class ToolInput(Arguments):
    """A use of a tool. `ok` is its success, as the program reports; `paths` are the files it changed."""

    name: Annotated[StorableText, Field(min_length=1, max_length=200)]
    command: Annotated[StorableText, Field(max_length=MAX_COMMAND_CHARS)] = ""
    ok: bool | None = None
    paths: Annotated[list[Path], Field(max_length=MAX_PATHS)] = Field(default_factory=list)
    duration_ms: Annotated[int | None, Field(ge=0, lt=1 << 53)] = None


class EventInput(Arguments):
    """An event of a session.

    `runtime` is the program by the name of the reader of its transcripts, such as claude_code, and `session` its id
    of the conversation. An event is stored once by runtime, session, turn and `event`.
    """

    runtime: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    session: Name
    event: Name
    kind: EventKind
    time: Time
    turn: Annotated[StorableText, Field(max_length=500)] = ""
    project: Annotated[StorableText, Field(max_length=200)] = ""
    cwd: Annotated[StorableText, Field(max_length=4_096)] = ""
    messages: Annotated[list[SaidInput], Field(max_length=100)] = Field(default_factory=list)
    tools: Annotated[list[ToolInput], Field(max_length=100)] = Field(default_factory=list)
    metadata: Annotated[
        dict[
            Annotated[StorableText, Field(min_length=1, max_length=100)],
            Annotated[StorableText, Field(max_length=2_000)],
        ],
        Field(max_length=40),
    ] = Field(default_factory=dict)

    @field_validator("metadata")
    @classmethod
    def check_label(cls, given: dict[str, str]) -> dict[str, str]:
        """Refuse a label that nobody could name again."""
        if "label" in given and not 1 <= len(given["label"].strip()) <= MAX_LABEL_CHARS:
            raise ValueError(f"has a label that is empty or has over {MAX_LABEL_CHARS:,} characters")
        return given

    def stored(self) -> NewEvent:
        """Return the event as the store has it; messages with an id stand in the conversation instead."""
        return NewEvent(
            runtime=self.runtime,
            session=self.session,
            turn=self.turn,
            name=self.event,
            kind=self.kind,
            happened_at=self.time,
            project=" ".join(self.project.split()),
            cwd=self.cwd,
            messages=tuple(SaidWords(said.role, said.text) for said in self.messages if said.id is None),
            tools=tuple(
                ToolUse(tool.name, tool.command, tool.ok, tuple(tool.paths), tool.duration_ms)
                for tool in self.tools
            ),
            metadata=self.metadata
            | {
                name: " ".join(self.metadata[name].split())[:MAX_SHOWN_CHARS]
                for name in SHOWN
                if name in self.metadata
            },
        )


class EventsArguments(Arguments):
    """Events in the order in which they happened."""

    model_config = example(
        events=[
            {
                "runtime": "my_agent",
                "session": "aaaa1111",
                "event": "stop-1",
                "kind": "stop",
                "time": "2026-02-01T10:00:20Z",
                "cwd": "/repo/shop",
                "messages": [{"role": "assistant", "id": "m2", "text": "Fixed the test."}],
            }
        ]
    )

    events: Annotated[list[EventInput], Field(min_length=1, max_length=MAX_EVENTS)]


class PutEventResult(ResultPart):
    """The outcome of an event; `removed`: it was left out, because a person deleted the conversation."""

    event: str
    conversation: str
    change: EventChange


class PutEventsResult(ToolResult):
    """The outcomes of the events of a request, in their order, and how many messages were added."""

    events: list[PutEventResult]
    messages_added: int


class HeardResult(ResultPart):
    """The number of stored events and sessions of a program, and the time of its last event."""

    runtime: str
    events: int
    sessions: int
    last_at: datetime


class HeardRuntimesResult(ReadAnswer):
    """The programs of which events came."""

    runtimes: list[HeardResult]


async def put(
    service: Service, caller: Caller, arguments: EventsArguments, *, tool_call_id: str | None = None
) -> PutEventsResult:
    """Store events and their messages, and log how many. The same events again change nothing.

    Raises:
        ValidationFailed: the call names no user, or has too many messages.
        SecretRefused: a message with an id holds a secret, and the policy of the tenant refuses it.
        LimitExceeded: the user would have too many messages.
        RateLimited: the user wrote too much lately.
    """
    service.rate_limits.count_write(caller, 1, text_bytes(arguments.model_dump(mode="json")))
    asked = {"events": len(arguments.events)}
    async with service.recorder.recorded(caller, PUT, asked, tool_call_id=tool_call_id) as log:
        sent = sum(said.id is not None for event in arguments.events for said in event.messages)
        putting.check_messages(caller, sent)
        access = await service.identities.open_conversations(caller)
        added = 0
        for source, conversations in _conversations(arguments.events):
            done = await putting.put(service, caller, source, conversations)
            added += done.messages_added
        events = [_without_recalled(event.stored()) for event in arguments.events]
        events = await _placed(service, access, events)
        policy = service.policies_of(caller).remember
        if policy in ("redact", "refuse"):
            chars = sum(len(said.text) for event in events for said in event.messages)
            events = await offload.run(chars, _redacted, events)
        changes = await put_events(service.database, access, events, now=log.call.request.now)
        result = PutEventsResult(
            events=[
                PutEventResult(event=event.name, conversation=event.conversation_id, change=change)
                for event, change in zip(events, changes, strict=True)
            ],
            messages_added=added,
        )
        logged = {"changes": dict(Counter(changes)), "messages_added": added}
        return await log.answer(result, asked, logged)


async def _placed(service: Service, access: Access, events: Sequence[NewEvent]) -> list[NewEvent]:
    """Return events of which those that end a turn have a label: of the place of their folder, or of their remote.

    What begins a turn places nothing: a session that has said nothing yet is no work.
    """
    scope = access.conversations
    folders = {event.cwd for event in events if event.cwd and "label" not in event.metadata}
    known: dict[str, dict[str, str]] = {}
    if folders and scope is not None:
        async with service.database.transaction(access.for_conversations()) as connection:
            known = await places_of_folders(connection, scope.scope_id, sorted(folders))
    return [replace(event, metadata=_place(event, known) | dict(event.metadata)) for event in events]


def _place(event: NewEvent, known: Mapping[str, dict[str, str]]) -> dict[str, str]:
    """Return the label of an event that says none, and its root."""
    if "label" in event.metadata or event.kind not in ENDING_KINDS:
        return {}
    if event.cwd:
        return known.get(event.cwd) or {"label": f"cwd:{event.cwd}"[:MAX_LABEL_CHARS], "root": event.cwd}
    remote = normalise_remote(event.metadata.get("remote", ""))
    return {"label": f"remote:{remote}"} if remote else {}


async def _heard(call: OperationCall, _: NoArguments) -> LoggedAnswer[HeardRuntimesResult]:
    """Return of which programs events came, and when the last one."""
    found = await heard_runtimes(call.database, call.access)
    result = HeardRuntimesResult(runtimes=[HeardResult.taken_from(runtime) for runtime in found])
    return LoggedAnswer(result, {"runtimes": len(found)})


def _conversations(events: Iterable[EventInput]) -> list[tuple[SourceInput, list[ConversationInput]]]:
    """Return what the messages with an id add to conversations, by the program."""
    by_runtime: dict[str, dict[str, list[EventInput]]] = {}
    for event in events:
        if any(said.id is not None for said in event.messages):
            by_runtime.setdefault(event.runtime, {}).setdefault(event.session, []).append(event)
    return [
        (SourceInput(kind=runtime), [_continuation(session, some) for session, some in sessions.items()])
        for runtime, sessions in by_runtime.items()
    ]


def _continuation(session: str, events: Sequence[EventInput]) -> ConversationInput:
    last = events[-1]
    return ConversationInput(
        id=session,
        title=last.metadata.get("title", "")[:MAX_TITLE_CHARS],
        project=last.project,
        is_continued=True,
        messages=[
            MessageInput(
                id=said.id,
                role=said.role,
                text=said.text,
                said_at=said.said_at or event.time,
                model=said.model,
            )
            for event in events
            for said in event.messages
            if said.id is not None
        ],
    )


def _without_recalled(event: NewEvent) -> NewEvent:
    """Return an event whose messages have no context of Memex's own."""
    return replace(
        event, messages=tuple(replace(said, text=without_recalled(said.text)) for said in event.messages)
    )


def _redacted(events: Sequence[NewEvent]) -> list[NewEvent]:
    """Return events without the secrets of their texts; an event is never refused, since it has more than words."""
    return [
        replace(
            event,
            messages=tuple(replace(said, text=_clean(said.text)) for said in event.messages),
            tools=tuple(replace(tool, command=_clean(tool.command)) for tool in event.tools),
            metadata={name: _clean(value) for name, value in event.metadata.items()},
        )
        for event in events
    ]


def _clean(text: str) -> str:
    return redact(text, find_secrets(text)) if text else text


PUT_TOOL: Tool[EventsArguments] = Tool(PUT, EventsArguments, PutEventsResult)
HEARD = LoggedOperation("event_heard", NoArguments, HeardRuntimesResult, _heard)
