"""The outermost middleware: a request id, a bound on the body, one log line, and no traceback let out."""

import asyncio
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import unquote_to_bytes

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memex import telemetry
from memex.http.docs_page import STATIC
from memex.http.problems import problem
from memex.http.protocol import CLIENT_GONE
from memex.http.refusals import body_bytes
from memex.logging import frames
from memex.service.identity.rate_limits import counted_headers
from memex.store.waiting.fair_queue import expect_turns_soon

MAX_BODY_BYTES = 8 << 20  # a file of 1 MiB, each character escaped in JSON, and the rest of the request
MAX_VAULT_BYTES = 16 << 20  # a zip to import
MAX_VAULT_FORM_BYTES = MAX_VAULT_BYTES + (64 << 10)  # with the rest of the form
MAX_UPLOAD_FORM_BYTES = (2 << 30) + (
    64 << 10
)  # an export of conversations; MEMEX_MAX_UPLOAD_BYTES may allow less
MAX_BYTES_AT = {
    "/v1/import": MAX_VAULT_BYTES,
    "/v1/admin/import": MAX_VAULT_BYTES,
    "/ui/memory/import": MAX_VAULT_FORM_BYTES,
    "/ui/conversations/import": MAX_UPLOAD_FORM_BYTES,
}
MAX_REQUEST_ID_CHARS = 200
MAX_DRAINED_BYTES = 64 << 20  # of a body that is refused, before the connection closes
MAX_DRAIN_S = 10.0


class RequestMiddleware:
    """The outermost ASGI middleware.

    The log line names the route as it is declared, never the path or query that came: those can hold memory.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._log = structlog.get_logger("memex.http")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s = time.perf_counter()
        expect_turns_soon()
        request = Request(scope)
        request_id = _request_id(request.headers.get("x-request-id"))
        request.state.request_id = request_id
        status = 0
        expected_bytes = body_bytes(request)
        max_bytes = MAX_BYTES_AT.get(scope["path"], MAX_BODY_BYTES)
        read_bytes = 0
        is_read = expected_bytes == 0
        closes = (
            "close" in request.headers.get("connection", "").lower() or scope.get("http_version") == "1.0"
        )
        awaits_continue = "100-continue" in request.headers.get("expect", "").lower()

        async def limited_receive() -> Message:
            nonlocal read_bytes, awaits_continue, is_read
            if expected_bytes > max_bytes:
                raise HTTPException(413)
            awaits_continue = False
            message = await receive()
            read_bytes += len(message.get("body", b""))
            is_read = not message.get("more_body", False)
            if read_bytes > max_bytes:
                raise HTTPException(413)
            return message

        async def named_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                named = (b"x-request-id", request_id.encode())
                message["headers"] = [*_protected(scope, message.get("headers", [])), named]
                if (counted := counted_headers.get()) is not None:
                    left, policy = (value.encode() for value in counted)
                    message["headers"] += [(b"ratelimit", left), (b"ratelimit-policy", policy)]
                if awaits_continue:  # whether the body comes now, nobody knows: RFC 9110, section 10.1.1
                    message["headers"].append((b"connection", b"close"))
            elif closes and not (is_read or awaits_continue or message.get("more_body")):
                # A close with bytes unread resets the connection, and the client never sees the answer.
                await send({**message, "more_body": True})
                await _drain(receive)
                message = {"type": "http.response.body"}
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                if _is_utf8(scope):
                    with telemetry.parent(request.headers):
                        await self._app(scope, limited_receive, named_send)
                else:
                    refused = problem(
                        request,
                        "VALIDATION_ERROR",
                        422,
                        "The URL is not UTF-8.",
                        "Percent-encode the UTF-8 bytes of its text.",
                    )
                    await refused(scope, receive, named_send)
            except ClientDisconnect:
                self._log.info("client_gone")
            except asyncio.CancelledError:
                if CLIENT_GONE not in scope:
                    raise
                self._log.info("client_gone")
            except Exception as error:  # noqa: BLE001  # here a request ends
                self._log.error("request_failed", error=type(error).__name__, where=frames(error))
                if status == 0:
                    failed = problem(
                        request,
                        "INTERNAL",
                        500,
                        "Memex failed.",
                        "This is a bug: report it with the request id.",
                    )
                    await failed(scope, receive, named_send)
            finally:
                self._log.info(
                    "request",
                    method=scope["method"],
                    route=getattr(scope.get("route"), "path", None),
                    status=status,
                    duration_ms=round((time.perf_counter() - started_s) * 1000, 1),
                )


async def _drain(receive: Receive) -> None:
    """Read the rest of a body and throw it away, within bounds of size and time."""
    left = MAX_DRAINED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(MAX_DRAIN_S):
            while left > 0 and (message := await receive()).get("more_body"):
                left -= len(message["body"])


def _protected(scope: Scope, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer, with those that keep it out of caches and browsers from guessing its type.

    The parts of /docs are the same for everybody, and may be kept.
    """
    protected = list(headers)
    names = {name for name, _ in protected}
    if b"x-content-type-options" not in names:
        protected.append((b"x-content-type-options", b"nosniff"))
    if b"cache-control" not in names and not scope["path"].startswith(STATIC):
        protected.append((b"cache-control", b"no-store"))
    return protected


def _request_id(given: str | None) -> str:
    is_sane = given is not None and given.isascii() and given.isprintable()
    if given and is_sane and len(given) <= MAX_REQUEST_ID_CHARS:
        return given
    return f"req_{secrets.token_hex(8)}"


def _is_utf8(scope: Scope) -> bool:
    """Tell whether the URL is; frameworks read another byte as U+FFFD, so that two names become one."""
    try:
        unquote_to_bytes(scope.get("raw_path") or b"").decode()
        unquote_to_bytes(scope["query_string"]).decode()
    except UnicodeDecodeError:
        return False
    return True
