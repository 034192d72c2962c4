"""Events of coding agents, taken from any program."""

from typing import Annotated

from fastapi import Path, Request
from pydantic import BaseModel

from memex.errors import ValidationFailed
from memex.http.calls import Call
from memex.http.parsing import load_json
from memex.http.routers import RouterPair
from memex.service.conversations import hooks
from memex.service.conversations.events import EventsArguments, HeardRuntimesResult, PutEventsResult
from memex.service.journal.marking import without_forgotten
from memex.service.work import hook_context

PAIR = RouterPair("", "events")


class AddedContext(BaseModel):
    """Text that the model reads beside a prompt, by the names of the client's own schema."""

    hookEventName: str  # noqa: N815
    additionalContext: str  # noqa: N815


class HookAnswer(BaseModel):
    """Nothing, or context for the first prompt of a session: a coding agent is never told to stop or to go on."""

    hookSpecificOutput: AddedContext | None = None  # noqa: N815


@PAIR.operation(
    "event_put",
    summary="Take events of coding agents",
    admin_summary="Take events of a user's coding agents, as an admin",
    admin_description="Store events for the user in Memex-User.",
)
def put_events(body: EventsArguments) -> PutEventsResult:
    """Store events in their order, each once by runtime, session, turn and event."""


@PAIR.agent.post("/hooks/{client}", summary="Take a hook of a coding agent", response_model_exclude_none=True)
async def take_hook(
    request: Request, call: Call, client: Annotated[str, Path(description="The client, such as claude-code.")]
) -> HookAnswer:
    """Store an event that a client sends by itself, as its hook describes it, and answer with an object for it.

    The object is empty, but for the first prompt of a session: then it has the pack of its folder. The text of the
    event is all that is used: no path that it names is opened. An event that is not captured is answered with an
    empty object too.
    """
    try:
        given = load_json(await request.body())
    except (ValueError, RecursionError):
        raise ValidationFailed("The body is no JSON.", hint="Send the hook's input as it is.") from None
    taken = await hooks.take(call.service, call.caller, client, given, tool_call_id=call.tool_call_id)
    if taken is None or not taken.is_first_prompt:
        return HookAnswer()
    pack = await hook_context.context_of(call.service, call.caller, taken.cwd)
    text = await without_forgotten(call.service.database, call.caller, pack)
    added = AddedContext(hookEventName=given["hook_event_name"], additionalContext=text) if text else None
    return HookAnswer(hookSpecificOutput=added)


@PAIR.operation(
    "event_heard",
    summary="Ask when coding agents were last heard",
    admin_summary="Ask when a user's coding agents were last heard, as an admin",
    admin_description="Return the programs of the user in Memex-User.",
)
def heard_runtimes() -> HeardRuntimesResult:
    """Return of which programs events came, how many, and when the last one."""
