"""The caller of a request: its key, from a header, and its context. One dependency a kind of route."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, ClassVar, Literal

from fastapi import Depends, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from memex.call_context import CallContext, Channel
from memex.errors import Unauthenticated, Unavailable, ValidationFailed
from memex.http.parsing import StrictRequest, check_query, query_names
from memex.http.refusals import call_writes, early_refusal, look, refuse_overload
from memex.service.identity.sessions import context_of
from memex.service.service import Caller, Service
from memex.store.access import Role
from memex.store.identity.authentication import Principal
from memex.store.identity.sessions import read_session

BEARER = HTTPBearer(auto_error=False, description="A key made by `memex keys create`.")


def service_of(request: Request) -> Service:
    """Return the service that the app was started with."""
    service: Service = request.app.state.service
    return service


async def service_dependency(request: Request) -> Service:
    """Return the same. A dependency that is no coroutine costs a walk to another thread, so all are coroutines."""
    return service_of(request)


ServiceDependency = Annotated[Service, Depends(service_dependency)]


class KeyedRoute(APIRoute):
    """A route that looks at the key before it reads the body.

    So strangers, and callers who come too often, cost no parsing.
    """

    takes_any_query: ClassVar[bool] = False
    refuses_early: ClassVar[bool] = True  # whoever comes too often

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler; it raises Unauthenticated."""
        handle, known = super().get_route_handler(), query_names(self.dependant)

        async def keyed(request: Request) -> Response:
            service = service_of(request)
            key = await key_of(request, service)
            if self.refuses_early and (refused := early_refusal(request, service, key)) is not None:
                raise refused
            request.state.principal = await self.holder(request, service, key)
            if not self.takes_any_query:
                check_query(request, known)
            check_context_headers(request)
            return await handle(StrictRequest(request.scope, request.receive))

        return keyed

    async def holder(self, request: Request, service: Service, key: str) -> Principal:  # noqa: ARG002
        """Return who holds the key; raises Unauthenticated."""
        return await service.identities.authenticate(key)


class PersonRoute(KeyedRoute):
    """A route for people: in the place of a key it also takes the secret of a session of the web UI."""

    async def holder(self, request: Request, service: Service, key: str) -> Principal:
        """Return who holds the key, or who is signed in; raises Unauthenticated."""
        try:
            session = await read_session(service.database, key)
        except Unauthenticated:
            return await service.identities.authenticate(key)
        request.state.channel = context_of(session).channel
        return session.principal


class ToolRoute(APIRoute):
    """A keyed route that runs a tool: who holds the key may come from memory, since the tool checks it.

    An error can come before the tool has checked anything, so the key is looked up before the error is answered.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler; it raises Unauthenticated."""
        handle, known = super().get_route_handler(), query_names(self.dependant)

        async def keyed(request: Request) -> Response:
            service = service_of(request)
            key = await key_of(request, service)
            holder = request.state.principal = await service.identities.cached_holder(key)
            look(request, service, holder, writes=call_writes(request))
            await refuse_overload(request, service, holder)
            try:
                check_query(request, known)
                check_context_headers(request)
                return await handle(StrictRequest(request.scope, request.receive))
            except Unavailable:
                raise
            except Exception:
                await service.identities.authenticate(key)
                raise

        return keyed


async def key_of(request: Request, service: Service) -> str:
    """Return the key that a request has; raises Unauthenticated, which is counted, if it has none or several."""
    credentials = await BEARER(request)
    if credentials is None or not credentials.credentials:
        service.metrics.add_unauthenticated()
        raise Unauthenticated("The request has no key.")
    if len(request.headers.getlist("authorization")) > 1:  # a proxy might have looked at the other one
        service.metrics.add_unauthenticated()
        raise Unauthenticated("The request has more than one key.", hint="Send one.")
    return credentials.credentials


async def principal(request: Request, _: Annotated[Any, Depends(BEARER)]) -> Principal:
    """Return who holds the key, as the route found out."""
    holder: Principal = request.state.principal
    return holder


KeyHolder = Annotated[Principal, Depends(principal)]


async def set_agent_role(request: Request) -> None:
    """Say that a route is for agents."""
    request.state.role = "agent"


async def set_admin_role(request: Request) -> None:
    """Say that a route is for admins."""
    request.state.role = "admin"


async def role_of_route(request: Request) -> Role:
    """Return the role that a route is for, as its router says."""
    role: Role = request.state.role
    return role


RouteRole = Annotated[Role, Depends(role_of_route)]


class RequestContext(BaseModel):
    """For whom a tool acts, as the trusted side says; both spellings of each name are read."""

    model_config = ConfigDict(extra="forbid", strict=True)

    user_id: str | None = Field(None, validation_alias=AliasChoices("userId", "user_id"))
    actor: str | None = None
    tool_call_id: str | None = Field(None, validation_alias=AliasChoices("toolCallId", "tool_call_id"))
    project: str | None = None
    role: Literal["agent"] | None = Field(
        None, description="Of an admin who wants only the rights of the user's agent."
    )


# What the headers of a context say. FastAPI would make a field with a validator of each one, for each route that
# takes them, which took half of the time to load the routes: they are read and documented here instead.
CONTEXT_HEADERS = {
    "memex-user": "For whom the call is made. In UTF-8; sent at most once.",
    "memex-actor": "Who makes it, such as a program's name. In UTF-8; sent at most once.",
    "memex-project": "The project that is searched. In UTF-8; sent at most once.",
    "memex-tool-call-id": "A write is done once under it. In UTF-8; sent at most once.",
    "memex-role": "Of an admin who wants only the rights of the user's agent.",
}


async def context_of_headers(request: Request) -> RequestContext:
    """Return the context that the headers carry."""
    _check_once(request, "memex-role")
    role = request.headers.get("memex-role")
    if role is not None and role != "agent":
        raise ValidationFailed(
            "header.memex-role must be 'agent'.", hint="See /docs for what this route takes."
        )
    return RequestContext(
        userId=_text(request, "memex-user"),
        actor=_text(request, "memex-actor"),
        project=_text(request, "memex-project"),
        toolCallId=_text(request, "memex-tool-call-id"),
        role="agent" if role else None,
    )


HeaderContext = Annotated[RequestContext, Depends(context_of_headers)]


def check_user_header(request: Request, caller: Caller) -> None:
    """Refuse a header Memex-User that names another user than the call is for: a proxy might have looked at it.

    Raises:
        ValidationFailed: it does, or it is not UTF-8.
    """
    named = _text(request, "memex-user")
    if named is not None and named != caller.access.user_id:
        raise ValidationFailed(
            "The header Memex-User names another user than the call.",
            hint="Name the user in context.userId; this route needs no header for it.",
        )


def documented_headers(dependant: Dependant) -> list[dict[str, Any]]:
    """Return the headers of the context, as OpenAPI describes parameters, for a route that takes them."""
    if dependant.call is not context_of_headers:
        return next(filter(None, map(documented_headers, dependant.dependencies)), [])
    return [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": description,
            "schema": {
                "anyOf": [
                    {"type": "string"} | ({"const": "agent"} if name == "memex-role" else {}),
                    {"type": "null"},
                ],
                "title": name.title(),
                "description": description,
            },
        }
        for name, description in CONTEXT_HEADERS.items()
    ]


async def resolve(
    service: Service,
    holder: Principal,
    context: RequestContext,
    *,
    role: Role,
    action: str,
    channel: Channel | None = None,
    from_cache: bool = False,
) -> Caller:
    """Return the caller of a key in a context, and count the request.

    Raises:
        RateLimited: the key, the user or the tenant sent too many. It is not logged, so that it costs little.
        MemexError: as `Service.caller`, which logs a refusal under `action`.
    """
    caller = await service.caller(
        holder,
        CallContext(context.user_id, context.actor, context.project, channel=channel, role=context.role),
        role=role,
        action=action,
        tool_call_id=context.tool_call_id,
        from_cache=from_cache,
    )
    service.rate_limits.count_request(caller)
    return caller


def caller_by_headers(*, from_cache: bool) -> Callable[..., Coroutine[Any, Any, Caller]]:
    """Return a dependency: who calls a route whose context is in the headers; see `Service.caller`."""

    async def caller(
        request: Request,
        service: ServiceDependency,
        holder: KeyHolder,
        role: RouteRole,
        context: HeaderContext,
    ) -> Caller:
        action = f"{request.method} {request.scope['route'].path}"
        channel = getattr(request.state, "channel", None)
        return await resolve(
            service, holder, context, role=role, action=action, channel=channel, from_cache=from_cache
        )

    return caller


HeaderCaller = Annotated[Caller, Depends(caller_by_headers(from_cache=False))]
ToolCaller = Annotated[Caller, Depends(caller_by_headers(from_cache=True))]  # of routes that only run a tool


def _text(request: Request, name: str) -> str | None:
    """Return a header's value, which the framework reads as Latin-1, as the UTF-8 that it is."""
    _check_once(request, name)
    value = request.headers.get(name)
    try:
        return value.encode("latin-1").decode("utf-8") if value is not None else None
    except UnicodeDecodeError:
        raise ValidationFailed(f"The header {name} is not UTF-8.", hint="Send its value in UTF-8.") from None


def check_context_headers(request: Request) -> None:
    """Raise ValidationFailed for a header of the context that came twice, whether or not the route reads it."""
    for name in CONTEXT_HEADERS:
        _check_once(request, name)


def _check_once(request: Request, name: str) -> None:
    """Refuse a header that came more than once: a proxy might have looked at the other one."""
    times = len(request.headers.getlist(name))
    if times > 1:
        raise ValidationFailed(f"The header {name} came {times} times.", hint="Send it once.")
