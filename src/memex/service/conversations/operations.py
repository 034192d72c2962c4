"""The operations on conversations, and on the events that become some."""

from typing import Any

from memex.service.call import Caller
from memex.service.conversations.backfill import BACKFILL
from memex.service.conversations.events import HEARD, PUT_TOOL, PutEventsResult
from memex.service.conversations.events import put as put_events
from memex.service.conversations.finding import FIND
from memex.service.conversations.putting import PutConversationsResult, parse_lines, put
from memex.service.conversations.reading import LIST, READ, SOURCES
from memex.service.conversations.removing import DELETE
from memex.service.conversations.wanted import WANTED_TOOL, WantedResult, wanted
from memex.service.distil.distil import distil
from memex.service.distil.evidence import READ_EVIDENCE
from memex.service.operation import RunsOnLines, RunsOperation
from memex.service.service import Service


async def _wanted(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None
) -> WantedResult:
    return await wanted(service, caller, WANTED_TOOL.parse(given), tool_call_id=tool_call_id)


async def _put_events(
    service: Service, caller: Caller, given: dict[str, Any], *, tool_call_id: str | None
) -> PutEventsResult:
    return await put_events(service, caller, PUT_TOOL.parse(given), tool_call_id=tool_call_id)


async def _put_conversations(
    service: Service, caller: Caller, given: dict[str, Any], lines: bytes, *, tool_call_id: str | None
) -> PutConversationsResult:
    source, conversations = parse_lines(lines)
    return await put(service, caller, source, conversations, **given, tool_call_id=tool_call_id)


OPERATIONS: dict[str, RunsOperation[Any]] = {
    **{
        operation.name: operation.call
        for operation in (BACKFILL, DELETE, FIND, HEARD, LIST, READ, READ_EVIDENCE, SOURCES)
    },
    "conversation_distil": distil,
    "conversation_wanted": _wanted,
    "event_put": _put_events,
}
ON_LINES: dict[str, RunsOnLines[Any]] = {"conversation_put": _put_conversations}
