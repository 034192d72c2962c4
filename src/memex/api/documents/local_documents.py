"""Documents of a service in this process; see `memex.api.documents.documents.DocumentsApi`."""

# ruff: noqa: D102  # `DocumentsApi` says what each method does

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from memex.call_context import CallContext
from memex.service.documents import pushing, reading, watching
from memex.service.service import Caller, Service

Document = dict[str, Any]
CallerOf = Callable[[CallContext, str], Awaitable[tuple[Service, Caller]]]


class LocalDocuments:
    """Answers about documents; `caller` returns the service, and who makes a call."""

    def __init__(self, caller: CallerOf) -> None:
        self._caller = caller

    async def compare(self, context: CallContext, asked: Mapping[str, Any], lines: bytes) -> Document:
        service, caller = await self._caller(context, pushing.COMPARE)
        done = await pushing.compare(service, caller, dict(asked), lines, tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def put(self, context: CallContext, asked: Mapping[str, Any], lines: bytes) -> Document:
        service, caller = await self._caller(context, pushing.PUT)
        done = await pushing.put(service, caller, dict(asked), lines, tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def finish(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, pushing.FINISH)
        done = await pushing.finish(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def watch(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, watching.WATCH)
        done = await watching.watch(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def request_sync(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, watching.REQUEST_SYNC)
        done = await watching.request_sync(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def roots(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, reading.ROOTS)
        done = await reading.roots(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def list(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, reading.LIST)
        done = await reading.list_all(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def read(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, reading.READ)
        done = await reading.read(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def find(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, reading.FIND)
        done = await reading.find(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def remove(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, pushing.REMOVE)
        done = await pushing.remove(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")
