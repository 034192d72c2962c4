"""Conversations of a service at an address; see `memex.api.conversations.ConversationsApi`."""

# ruff: noqa: D102  # `ConversationsApi` says what each method does

from collections.abc import Mapping
from typing import Any

from memex.call_context import CallContext
from memex.http_client import quote_segment
from memex.remote import TRANSFER_TIMEOUT_S, Remote, context_headers, new_tool_call_id

Document = dict[str, Any]


class RemoteConversations:
    """Asks the routes below /v1/conversations, or their twins for admins."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def put(self, context: CallContext, lines: bytes, *, again: bool = False) -> Document:
        answer = await self._remote.request(
            "POST",
            f"{self._remote.base}/conversations",
            params={"again": again},
            headers=_headers(context) | {"Content-Type": b"application/x-ndjson"},
            content=lines,
            timeout_s=TRANSFER_TIMEOUT_S,
        )
        return dict(answer.json())

    async def wanted(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        # Without an id of its own the call is not logged.
        return await self._remote.json(
            "POST", "/conversations/wanted", headers=context_headers(context), body=dict(asked)
        )

    async def find(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._post(context, "/conversations/find", asked)

    async def read(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        reference, _, number = str(asked["reference"]).removeprefix("conversations/").partition("#")
        given = {name: value for name, value in asked.items() if name != "reference"}
        return await self._get(
            context, f"/conversations/{quote_segment(reference)}", given | {"message": number or None}
        )

    async def list(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._get(context, "/conversations", asked)

    async def sources(self, context: CallContext) -> Document:
        return await self._get(context, "/sources", {})

    async def delete(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._post(context, "/conversations/delete", asked)

    async def put_events(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        return await self._post(context, "/events", asked)

    async def heard(self, context: CallContext) -> Document:
        return await self._get(context, "/events/heard", {})

    async def distil(self, context: CallContext, asked: Mapping[str, Any]) -> Document:
        given = {name: value for name, value in asked.items() if name != "conversation"}
        if (named := asked.get("conversation")) is None:
            return await self._post(context, "/conversations/distil", given)
        given.pop("since", None)
        return await self._post(context, f"/conversations/{quote_segment(str(named))}/distil", given)

    async def evidence(self, context: CallContext, of: str) -> Document:
        return await self._get(context, "/evidence", {"of": of})

    async def _post(self, context: CallContext, path: str, asked: Mapping[str, Any]) -> Document:
        body = {name: value for name, value in asked.items() if value is not None}
        return await self._remote.json("POST", path, headers=_headers(context), body=body)

    async def _get(self, context: CallContext, path: str, asked: Mapping[str, Any]) -> Document:
        params = {name: value for name, value in asked.items() if value is not None}
        return await self._remote.json("GET", path, headers=_headers(context), params=params)


def _headers(context: CallContext) -> dict[str, bytes]:
    return context_headers(context.under(context.tool_call_id or new_tool_call_id()))
