"""Sessions, labels and packs of a service in this process; see `memex.api.work.places.WorkPlacesApi`."""

# ruff: noqa: D102  # `WorkPlacesApi` says what each method does

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from memex.call_context import CallContext
from memex.service.service import Caller, Service
from memex.service.work import labels, packing, reading, sessions

Document = dict[str, Any]
CallerOf = Callable[[CallContext, str], Awaitable[tuple[Service, Caller]]]


class LocalWorkPlaces:
    """Answers about the places of work; `caller` returns the service, and who makes a call."""

    def __init__(self, caller: CallerOf) -> None:
        self._caller = caller

    async def pack(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, packing.PACK)
        done = await packing.pack(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def sessions(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, sessions.SESSIONS)
        done = await sessions.list_work_sessions(
            service, caller, dict(asked), tool_call_id=context.tool_call_id
        )
        return done.model_dump(mode="json")

    async def resolve(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, sessions.RESOLVE)
        done = await sessions.resolve_work(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def labels(self, context: CallContext) -> Document:
        service, caller = await self._caller(context, labels.LABELS)
        done = await labels.list_labels(service, caller, tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def link(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, labels.LINK)
        done = await labels.link(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def readings(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, reading.READINGS)
        done = await reading.list_read_from(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def read_from(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, reading.READ_FROM)
        done = await reading.read_from(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")
