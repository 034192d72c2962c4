"""MCP over streamable HTTP, one path a profile, and what OAuth clients ask about these paths."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Self

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from memex.api.local import LocalMemex
from memex.call_context import CallContext
from memex.errors import RateLimited, Unauthenticated, ValidationFailed
from memex.http.callers import (
    HeaderContext,
    KeyedRoute,
    KeyHolder,
    ServiceDependency,
    key_of,
    service_of,
)
from memex.http.hosts import hosts_of
from memex.http.middleware import MAX_BODY_BYTES
from memex.http.parsing import load_json
from memex.http.problems import on_memex_error
from memex.http.refusals import early_refusal, look, writes
from memex.service.service import Service, check_role
from memex.settings import Settings, parse_included
from memex.store.access import Role

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from memex.mcp.connection import McpConnection
    from memex.mcp.tools import McpProfile

PATHS: "Mapping[str, McpProfile]" = {
    "/mcp": "agent",
    "/mcp/files": "files",
    "/mcp/conversations": "conversations",
    "/mcp/work": "work",
    "/mcp/project": "project",
    "/mcp/admin": "admin",
}
METADATA = "/.well-known/oauth-protected-resource"
NOBODY_HINT = "Send the header Memex-User, or use a key that is bound to a user."
INCLUDE_HEADER = (
    "memex-include"  # what contexts hold beside memory; set by the host in the settings of its client
)
INVALID_REQUEST, PARSE_ERROR = -32600, -32700  # JSON-RPC 2.0, section 5.1


class McpServers:
    """The MCP servers of a service. The first request loads the SDK, which takes as long as half of Memex."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self.oauth_issuer = settings.oauth_issuer
        self._service = service
        self._ended = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._managers: asyncio.Future[Mapping[McpProfile, StreamableHTTPSessionManager]] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._ended.set()
        if self._running is not None:
            await self._running

    async def manager(self, profile: "McpProfile") -> "StreamableHTTPSessionManager":
        """Return what answers the requests of a profile."""
        if self._managers is None:
            self._managers = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._managers))
        return (await asyncio.shield(self._managers))[profile]

    async def _run(self, ready: "asyncio.Future[Mapping[McpProfile, StreamableHTTPSessionManager]]") -> None:
        """Run the managers until the end: what they open must be closed by the task that opened it."""
        try:
            managers = await asyncio.to_thread(_managers, self._service)
            async with AsyncExitStack() as running:
                for manager in managers.values():
                    await running.enter_async_context(manager.run())
                ready.set_result(managers)
                await self._ended.wait()
        except Exception as error:  # whoever asks is told, and the next request tries again
            if ready.done():
                raise
            self._managers = None
            ready.set_exception(error)


def _managers(service: Service) -> "Mapping[McpProfile, StreamableHTTPSessionManager]":
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415  # see McpServers

    from memex.mcp.server import new_server  # noqa: PLC0415  # likewise

    return {
        profile: StreamableHTTPSessionManager(
            new_server(profile, _connection_of, service.prompts_dir),
            json_response=True,
            stateless=True,
            max_request_body_size=2 * MAX_BODY_BYTES,  # the door refuses before, with a problem body
        )
        for profile in PATHS.values()
    }


def _connection_of(context: Any) -> "McpConnection":
    connection: McpConnection = context.request.state.connection
    return connection


class MCPRoute(KeyedRoute):
    """A route that looks at the host before the key, and tells clients without a key where to learn of keys."""

    takes_any_query = (
        True  # the address stands in a client's settings, where some add parameters of their own
    )
    refuses_early = False  # it does, in the form of the protocol

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler; it raises Forbidden."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            hosts_of(request).check(request)
            try:
                return await _early_answer(request) or await handle(request)
            except Unauthenticated as error:
                refused = await on_memex_error(request, error)
                known_at = _address(request, METADATA + request.url.path)
                refused.headers["WWW-Authenticate"] = f'Bearer resource_metadata="{known_at}"'
                return refused

        return guarded


router = APIRouter(route_class=MCPRoute, include_in_schema=False)
metadata_router = APIRouter(include_in_schema=False)


async def _early_answer(request: Request) -> Response | None:
    """Return the answer to a call of a tool that is refused because its caller comes too often; else None.

    The message is parsed, as the answer needs its id, but nothing is looked up, and the SDK has no work.
    """
    service = service_of(request)
    refused = early_refusal(request, service, await key_of(request, service))
    if refused is None:
        return None
    request.state.body = await request.body()
    with suppress(ValidationFailed, ValueError, RecursionError):
        if (answer := _refused_call(load_json(request.state.body), refused)) is not None:
            return JSONResponse(answer)
    return None


class McpResponse(Response):
    """The answer of an MCP server, which reads the message and sends the response by itself.

    `look` raises RateLimited for a call that will be refused, by whether its tool writes.
    """

    def __init__(self, manager: "StreamableHTTPSessionManager", look: Callable[[bool], None]) -> None:
        super().__init__()
        self._manager = manager
        self._look = look

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; raises ClientDisconnect, which the SDK would log and count as a fault of ours."""
        body = scope["state"].get("body") or await Request(scope, receive).body()
        message, fault = _parse(body)
        if fault is not None:
            await JSONResponse(fault, status_code=400)(scope, receive, send)
            return
        if (tool := _called_tool(message)) is not None:
            try:
                self._look(writes(tool))
            except RateLimited as refused:
                await JSONResponse(_refused_call(message, refused))(scope, receive, send)
                return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def received() -> Message:
            return messages.pop() if messages else await receive()

        await self._manager.handle_request(scope, received, send)


def _parse(body: bytes) -> tuple[Any, dict[str, Any] | None]:
    """Return a message, and the error if it is no JSON, names a key twice, or is a request whose id is null.

    The SDK takes the last of two values, and a request with such an id for a notification, which nobody answers.
    Of what is no JSON, it says no code and no hint.
    """
    try:
        message = load_json(body)
    except ValidationFailed as error:
        return None, _invalid_request(error.message, error.hint)
    except (ValueError, RecursionError) as error:
        return None, _invalid_request(
            f"The message is no JSON: {error}.", "Send one well-formed JSON object in UTF-8.", PARSE_ERROR
        )
    if isinstance(message, dict) and "method" in message and "id" in message and message["id"] is None:
        return None, _invalid_request(
            "The id of the request is null.", "Send a number or a string that is new."
        )
    return message, None


def _called_tool(message: Any) -> str | None:
    """Return the tool that a message calls; None for other messages, and for malformed ones."""
    if not isinstance(message, dict) or message.get("method") != "tools/call" or message.get("id") is None:
        return None
    parameters = message.get("params")
    tool = parameters.get("name") if isinstance(parameters, dict) else None
    return tool if isinstance(tool, str) else None


def _refused_call(message: Any, refused: RateLimited) -> dict[str, Any] | None:
    """Return the answer to a call of a tool that is refused; None for another message."""
    if _called_tool(message) is None:
        return None
    from memex.mcp.server import refused_result  # noqa: PLC0415  # see McpServers

    return {"jsonrpc": "2.0", "id": message["id"], "result": refused_result(message["params"], refused)}


def _invalid_request(message: str, hint: str, number: int = INVALID_REQUEST) -> dict[str, Any]:
    data = {"code": ValidationFailed.code, "hint": hint}
    return {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": number, "message": message, "data": data},
    }


async def answer(
    request: Request, service: ServiceDependency, holder: KeyHolder, context: HeaderContext
) -> Response:
    """Answer one message of MCP; for whom, the key and the headers say."""
    profile = PATHS[request.scope["route"].path]
    role: Role = "admin" if profile == "admin" else "agent"
    check_role(holder, role)
    manager = await _servers_of(request).manager(profile)
    from memex.mcp.connection import McpConnection  # noqa: PLC0415  # see McpServers

    api = LocalMemex(service, holder, role=role, nobody_hint=NOBODY_HINT)
    named = CallContext(context.user_id, context.actor, context.project, role=context.role)
    asked = request.headers.get(INCLUDE_HEADER)
    include = None if asked is None else parse_included(asked, f"header.{INCLUDE_HEADER}")
    request.state.connection = McpConnection(api, named, include)

    return McpResponse(manager, lambda is_writing: look(request, service, holder, writes=is_writing))


async def metadata(request: Request) -> dict[str, Any]:
    """Return what RFC 9728 wants known of the paths as resources that OAuth protects."""
    mounted = _servers_of(request)
    hosts_of(request).check(request)
    known: dict[str, Any] = {
        "resource": _address(request, request.url.path.removeprefix(METADATA)),
        "resource_name": "Memex",
        "bearer_methods_supported": ["header"],
    }
    return known | ({"authorization_servers": [mounted.oauth_issuer]} if mounted.oauth_issuer else {})


for path in PATHS:
    router.add_api_route(path, answer, methods=["POST"])
for path in ("", *PATHS):
    metadata_router.add_api_route(METADATA + path, metadata, methods=["GET"])


def _servers_of(request: Request) -> McpServers:
    mounted: McpServers = request.app.state.mcp
    return mounted


def _address(request: Request, path: str) -> str:
    return str(request.base_url).rstrip("/") + path
