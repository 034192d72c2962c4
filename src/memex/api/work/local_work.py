"""Work of a service in this process; see `memex.api.work.work.WorkApi`."""

# ruff: noqa: D102  # `WorkApi` says what each method does

from collections.abc import Mapping
from typing import Any

from memex.api.work.local_places import LocalWorkPlaces
from memex.call_context import CallContext
from memex.service.work import asking, deciding, provenance

Document = dict[str, Any]


class LocalWork(LocalWorkPlaces):
    """Answers about work; `caller` returns the service, and who makes a call."""

    async def show(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, asking.SHOW)
        done = await asking.show(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def check(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, asking.CHECK)
        done = await asking.check_completion(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def changes(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, asking.CHANGES)
        done = await asking.show_changes(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def mark(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, deciding.MARK)
        done = await deciding.mark(service, caller, dict(asked), tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")

    async def provenance(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        service, caller = await self._caller(context, provenance.PROVENANCE)
        done = await provenance.show_provenance(
            service, caller, dict(asked), tool_call_id=context.tool_call_id
        )
        return done.model_dump(mode="json")

    async def rebuild(self, context: CallContext, *, ask: bool = False) -> Document:
        service, caller = await self._caller(context, deciding.REBUILD)
        done = await deciding.rebuild(service, caller, ask=ask, tool_call_id=context.tool_call_id)
        return done.model_dump(mode="json")
