"""Conversations of a service in this process; see `memex.api.conversations.ConversationsApi`."""

# ruff: noqa: D102  # `ConversationsApi` says what each method does

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from memex.call_context import CallContext
from memex.service.conversations import events, finding, putting, reading, removing, wanted
from memex.service.distil import distil as distilling
from memex.service.distil import evidence as evidence_reading
from memex.service.distil import tool as distil_tool
from memex.service.service import Caller, Service

Document = dict[str, Any]
CallerOf = Callable[[CallContext, str], Awaitable[tuple[Service, Caller]]]


class LocalConversations:
    """Answers about conversations; `caller` returns the service, and who makes a call."""

    def __init__(self, caller: CallerOf) -> None:
        self._caller = caller

    async def put(self, context: CallContext, lines: bytes, *, again: bool = False) -> Document:
        service, caller = await self._caller(context, putting.NAME)
        source, conversations = putting.parse_lines(lines)
        done = await putting.put(
            service, caller, source, conversations, again=again, tool_call_id=context.tool_call_id
        )
        return done.model_dump(mode="json")

    async def wanted(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, wanted.WANTED)
        arguments = wanted.WANTED_TOOL.parse(dict(asked))
        done = await wanted.wanted(service, caller, arguments, tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def find(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, finding.NAME)
        done = await finding.find(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def read(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, reading.READ)
        done = await reading.read(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def list(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, reading.LIST)
        done = await reading.list_all(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def sources(self, context: CallContext) -> Document:
        service, caller = await self._caller(context, reading.SOURCES)
        return (await reading.sources(service, caller, tool_call_id=context.tool_call_id)).model_dump(
            mode="json"
        )

    async def delete(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, removing.NAME)
        done = await removing.delete(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def put_events(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, events.PUT)
        arguments = events.PUT_TOOL.parse(dict(asked))
        done = await events.put(service, caller, arguments, tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def heard(self, context: CallContext) -> Document:
        service, caller = await self._caller(context, events.HEARD)
        return (await events.heard(service, caller, tool_call_id=context.tool_call_id)).model_dump(
            mode="json"
        )

    async def distil(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, distil_tool.NAME)
        done = await distilling.distil(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def evidence(self, context: CallContext, of: str) -> Document:
        service, caller = await self._caller(context, evidence_reading.NAME)
        done = await evidence_reading.read_evidence(service, caller, of, tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")
