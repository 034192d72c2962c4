"""A running Memex over HTTP: the operations of a memory as JSON, with retries and typed errors.

It needs httpx2 and tenacity alone, so that it can be imported beside libraries that Memex cannot be installed with.
"""

import json
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Any

from memex.call_context import CallContext
from memex.errors import StoreUnavailable, ValidationFailed
from memex.http_client import BASES, TIMEOUT_S, HttpClient, Role, document_of, encode_json, quote_segment
from memex.routes import ROUTES, Route

__all__ = ["TIMEOUT_S", "CallContext", "Remote", "Role", "new_tool_call_id", "quote_segment"]

TRANSFER_TIMEOUT_S = 1_800.0  # a whole memory, or a whole call

_PLACE = re.compile(r"\{(\w+)(?::path)?\}")
_JSON, _LINES = {"Content-Type": b"application/json"}, {"Content-Type": b"application/x-ndjson"}


class Remote(HttpClient):
    """A service at an address, asked with one key.

    It is all of `memex.api.protocol.MemexApi` but the import and export of files: see `memex.api.remote`.

    Each call that may write goes under one tool call id, so that a write which arrived twice is done once.
    """

    async def call(
        self,
        context: CallContext,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        lines: bytes | None = None,
    ) -> dict[str, Any]:
        """Run an operation of `memex.routes` and return its JSON; raises MemexErrors with the service's codes.

        Args:
            context: for whom.
            name: of the operation, such as `document_find`.
            arguments: by name; those that are None are left out.
            lines: the JSON lines that `document_manifest`, `document_put` and `conversation_put` take.

        Raises:
            ValidationFailed: there is no such operation, or an argument is missing that stands in its path.
        """
        route = ROUTES.get(name)
        if route is None:
            raise ValidationFailed(f"There is no operation {name!r}.", hint="memex.routes lists them.")
        given = {argument: value for argument, value in (arguments or {}).items() if value is not None}
        path, rest = _place(route, given)
        has_body = lines is None and route.method not in ("GET", "DELETE")
        body = (
            {argument: rest.pop(argument) for argument in list(rest) if argument not in route.query}
            if has_body
            else None
        )
        content = encode_json(_plain(body)) if body is not None else lines
        kind = {} if content is None else _JSON if has_body else _LINES
        answer = await self.request(
            route.method,
            f"{BASES[route.role or self.role]}{path}",
            params=_plain(rest),
            headers=context_headers(_identified(context) if route.is_identified else context) | kind,
            content=content,
            timeout_s=TRANSFER_TIMEOUT_S if route.is_long else None,
            is_repeatable=route.is_repeatable,
        )
        return document_of(answer, self.url)

    async def me(self, context: CallContext | None = None) -> dict[str, Any]:
        """Return what the service is, whose key this is, and what the user of the context reads."""
        headers = context_headers(context or CallContext())
        return document_of(await self.request("GET", "/v1/me", headers=headers), self.url)

    async def execute(
        self,
        context: CallContext,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        tool_call_id: str | None = None,
    ) -> dict[str, Any]:
        """Run a tool and return its result; raises MemexErrors with the codes of the service."""
        context = _identified(context.under(tool_call_id))
        body = {"context": _context_body(context), "arguments": dict(arguments)}
        try:
            return await self.json("POST", f"/tools/{quote_segment(tool)}/execute", body=body)
        except StoreUnavailable as error:
            # By this id the caller finds out what became of the call.
            error.details.setdefault("tool_call_id", context.tool_call_id)
            raise

    async def export_call(self, context: CallContext, tool_call_id: str) -> bytes:
        """Return a zip of a call with everything that its replay needs."""
        return await self._zip("GET", context, tool_call_id, "bundle")

    async def make_case(self, context: CallContext, tool_call_id: str, choice: Mapping[str, Any]) -> bytes:
        """Return a zip of a case of a call."""
        return await self._zip("POST", context, tool_call_id, "case", json.dumps(dict(choice)).encode())

    async def _zip(
        self, method: str, context: CallContext, tool_call_id: str, kind: str, content: bytes | None = None
    ) -> bytes:
        answer = await self.request(
            method,
            f"{self.base}/operations/{quote_segment(tool_call_id)}/{kind}",
            headers=context_headers(context) | (_JSON if content is not None else {}),
            content=content,
            timeout_s=TRANSFER_TIMEOUT_S,
        )
        return answer.content


def new_tool_call_id() -> str:
    """Return an id for a call that came with none, so that it can be sent twice."""
    return f"call_{secrets.token_hex(12)}"


def context_headers(context: CallContext) -> dict[str, bytes]:
    """Return a context as headers, in UTF-8.

    Raises:
        ValidationFailed: a header cannot carry a value as it is.
    """
    named = {
        "Memex-User": context.user_id,
        "Memex-Actor": context.actor,
        "Memex-Project": context.project,
        "Memex-Tool-Call-Id": context.tool_call_id,
        "Memex-Role": context.role,
    }
    return {name: _header(name, value) for name, value in named.items() if value is not None}


def _context_body(context: CallContext) -> dict[str, str]:
    named = {
        "userId": context.user_id,
        "actor": context.actor,
        "project": context.project,
        "toolCallId": context.tool_call_id,
        "role": context.role,
    }
    return {name: value for name, value in named.items() if value is not None}


def _identified(context: CallContext) -> CallContext:
    """Return the context with a tool call id, made if there is none."""
    return context if context.tool_call_id is not None else context.under(new_tool_call_id())


def _header(name: str, value: str) -> bytes:
    """Return a header's value; raises ValidationFailed where it could not arrive as it is."""
    if value == value.strip() and not any(ord(character) < ord(" ") for character in value):
        with suppress(UnicodeEncodeError):  # said below
            return value.encode()
    raise ValidationFailed(
        f"{name}: {value[:100]!r} has outer spaces, or characters that no header can hold.",
        hint="Give 1 to 200 printable characters without outer spaces.",
    )


def _place(route: Route, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path of a route with the arguments that it takes, and the other arguments."""
    rest, path = dict(given), ""
    for segment in route.path.split("/")[1:]:
        if (place := _PLACE.fullmatch(segment)) is None:
            path += f"/{segment}"
        elif (name := route.names.get(place[1], place[1])) in rest:
            path += f"/{quote_segment(str(rest.pop(name)).removeprefix(route.prefix))}"
        elif not route.omits_absent:
            raise ValidationFailed(f"The argument {name} is missing.")
    return path, rest


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, date) else value for name, value in given.items()}
