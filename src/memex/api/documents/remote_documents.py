"""Documents of a service at an address; see `memex.api.documents.documents.DocumentsApi`."""

# ruff: noqa: D102  # `DocumentsApi` says what each method does

from collections.abc import Mapping
from typing import Any

from memex.call_context import CallContext
from memex.http_client import quote_segment
from memex.remote import TRANSFER_TIMEOUT_S, Remote, context_headers, new_tool_call_id

Document = dict[str, Any]
NDJSON = {"Content-Type": b"application/x-ndjson"}


class RemoteDocuments:
    """Asks the routes below /v1/documents, or their twins for admins."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def compare(self, context: CallContext, asked: Mapping[str, Any], lines: bytes) -> Document:
        return await self._send("POST", "/documents/manifest", context, asked, lines)

    async def put(self, context: CallContext, asked: Mapping[str, Any], lines: bytes) -> Document:
        return await self._send("PUT", "/documents", context, asked, lines)

    async def finish(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._post(context, "/documents/finish", asked)

    async def watch(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._post(context, "/documents/watch", asked)

    async def request_sync(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._post(context, "/documents/sync", asked)

    async def roots(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._get(context, "/documents/roots", asked)

    async def list(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._get(context, "/documents", asked)

    async def read(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._get(context, "/documents/text", asked)

    async def find(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._post(context, "/documents/find", asked)

    async def remove(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        given = _given(asked)
        answer = await self._remote.request(
            "DELETE",
            f"{self._remote.base}/documents/roots/{quote_segment(str(given.pop('root')))}",
            params=given,
            headers=_headers(context),
            timeout_s=TRANSFER_TIMEOUT_S,
        )
        return dict(answer.json())

    async def _send(
        self, method: str, path: str, context: CallContext, asked: Mapping[str, Any], lines: bytes
    ) -> Document:
        answer = await self._remote.request(
            method,
            f"{self._remote.base}{path}",
            params={name: value for name, value in _given(asked).items() if value != ""},
            headers=_headers(context) | NDJSON,
            content=lines,
            timeout_s=TRANSFER_TIMEOUT_S,
        )
        return dict(answer.json())

    async def _post(self, context: CallContext, path: str, asked: Mapping[str, Any]) -> Document:
        return await self._remote.json("POST", path, headers=_headers(context), body=_given(asked))

    async def _get(self, context: CallContext, path: str, asked: Mapping[str, Any]) -> Document:
        return await self._remote.json("GET", path, headers=_headers(context), params=_given(asked))


def _given(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if value is not None}


def _headers(context: CallContext) -> dict[str, bytes]:
    return context_headers(context.under(context.tool_call_id or new_tool_call_id()))
