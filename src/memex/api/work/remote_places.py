"""Sessions, labels and packs of a service at an address; see `memex.api.work.places.WorkPlacesApi`."""

# ruff: noqa: D102  # `WorkPlacesApi` says what each method does

from collections.abc import Mapping
from typing import Any

from memex.call_context import CallContext
from memex.http_client import quote_segment
from memex.remote import Remote, context_headers, new_tool_call_id

Document = dict[str, Any]


class RemoteWorkPlaces:
    """Asks the routes below /v1/work that tell of places, or their twins for administrators."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def pack(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        params = {name: value for name, value in asked.items() if value is not None}
        return await self._remote.json("GET", "/work/pack", headers=_headers(context), params=params)

    async def sessions(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        params = {name: value for name, value in asked.items() if value is not None}
        return await self._remote.json("GET", "/work/sessions", headers=_headers(context), params=params)

    async def resolve(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        body = {name: value for name, value in asked.items() if value is not None}
        return await self._remote.json("POST", "/work/resolve", headers=_headers(context), body=body)

    async def labels(self, context: CallContext) -> Document:
        return await self._remote.json("GET", "/work/labels", headers=_headers(context))

    async def link(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        body = {name: value for name, value in asked.items() if value is not None}
        return await self._remote.json("POST", "/work/labels", headers=_headers(context), body=body)

    async def readings(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        path = f"/projects/{quote_segment(str(asked['project']))}/reads"
        return await self._remote.json("GET", path, headers=_headers(context))

    async def read_from(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        project, other = (quote_segment(str(asked[name])) for name in ("project", "other"))
        method = "DELETE" if asked.get("remove") else "PUT"
        path = f"/projects/{project}/reads/{other}"
        return await self._remote.json(method, path, headers=_headers(context))


def _headers(context: CallContext) -> dict[str, bytes]:
    return context_headers(context.under(context.tool_call_id or new_tool_call_id()))
