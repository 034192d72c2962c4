"""Work of a service at an address; see `memex.api.work.work.WorkApi`."""

# ruff: noqa: D102  # `WorkApi` says what each method does

from collections.abc import Mapping
from typing import Any

from memex.api.work.remote_places import RemoteWorkPlaces
from memex.call_context import CallContext
from memex.http_client import quote_segment
from memex.remote import context_headers, new_tool_call_id

Document = dict[str, Any]


class RemoteWork(RemoteWorkPlaces):
    """Asks the routes below /v1/work, or their twins for administrators who act as a user's agent."""

    async def show(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._get(context, "/work", asked)

    async def check(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._get(context, "/work/check", asked)

    async def changes(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._get(context, "/work/changes", asked)

    async def mark(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        body = {name: value for name, value in asked.items() if name != "id" and value is not None}
        path = f"/work/items/{quote_segment(str(asked['id']))}"
        return await self._remote.json("POST", path, headers=_headers(context), body=body)

    async def provenance(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        given = {name: value for name, value in asked.items() if name != "id"}
        return await self._get(context, f"/work/items/{quote_segment(str(asked['id']))}", given)

    async def rebuild(self, context: CallContext, *, ask: bool = False) -> Document:
        path = "/work/rebuild?ask=true" if ask else "/work/rebuild"
        return await self._remote.json("POST", path, headers=_headers(context), body={})

    async def _get(self, context: CallContext, path: str, asked: Mapping[str, Any]) -> Document:
        params = {name: value for name, value in asked.items() if value is not None}
        return await self._remote.json("GET", path, headers=_headers(context), params=params)


def _headers(context: CallContext) -> dict[str, bytes]:
    return context_headers(context.under(context.tool_call_id or new_tool_call_id()))
