"""Hooks that a client sends over HTTP: an event by its own text alone. No path that it names is opened."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, get_args

from memex.errors import ValidationFailed
from memex.hook import events as hook_events
from memex.service.call import Caller
from memex.service.conversations import events
from memex.service.conversations.events import EventInput, EventKind, EventsArguments, PutEventsResult
from memex.service.service import Service
from memex.store.conversations.events import is_session_off, list_events
from memex.store.conversations.records import make_conversation_id

CLIENTS = tuple(hook_events.RUNTIMES)


@dataclass(frozen=True, slots=True)
class TakenHook:
    """The outcome of a hook; `is_first_prompt`: it is a prompt, and the first event of its session."""

    stored: PutEventsResult
    is_first_prompt: bool
    cwd: str


async def take(
    service: Service, caller: Caller, client: str, given: Any, *, tool_call_id: str | None = None
) -> TakenHook | None:
    """Store what a hook says; None for an event that is not captured, such as that of a subagent.

    Raises:
        ValidationFailed: the client is unknown, or the body is no object.
    """
    if client not in CLIENTS:
        raise ValidationFailed(
            f"No hooks of {client[:100]!r} are known.", hint=f"The clients are: {', '.join(CLIENTS)}."
        )
    if not isinstance(given, dict):
        raise ValidationFailed("The body is no JSON object.", hint="Send the hook's input as it is.")
    try:
        event = hook_events.event_of(client, given)
    except hook_events.UnknownEvent:
        return None
    session = make_conversation_id(event["runtime"], "", event["session"])
    is_first_prompt = False
    if hook_events.says_off(event):
        event |= {"kind": "notice", "event": "off", "messages": [], "metadata": {"capture": "off"}}
    elif await is_session_off(service.database, caller.access, session):
        return None
    elif event["kind"] == "prompt":
        is_first_prompt = not await list_events(service.database, caller.access, [session], limit=1)
    stored = await events.put(service, caller, _arguments(event), tool_call_id=tool_call_id)
    return TakenHook(stored, is_first_prompt, event["cwd"])


def _arguments(event: dict[str, Any]) -> EventsArguments:
    named = {name: value for name, value in event.items() if name not in ("transcript", "prompt")}
    named["time"] = datetime.fromisoformat(named["time"]).astimezone(UTC)
    assert named["kind"] in get_args(EventKind)  # noqa: S101 - what the hook knows, the service takes
    return EventsArguments(events=[EventInput.model_validate(named)])
