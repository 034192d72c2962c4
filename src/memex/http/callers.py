"""Who calls: the key from the header, the rest from the request's context. One dependency a kind of route."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from memex.errors import Unauthenticated, ValidationFailed
from memex.service.service import Caller, Service
from memex.store.access import Role
from memex.store.identity import Context, Principal

BEARER = HTTPBearer(auto_error=False, description="A key made by `memex keys create`.")


def service_of(request: Request) -> Service:
    """Return the service that the app was started with."""
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(service_of)]


async def principal(
    service: TheService, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]
) -> Principal:
    """Return who holds the key; raises Unauthenticated."""
    if credentials is None or not credentials.credentials:
        raise Unauthenticated("The request has no key.")
    return await service.authenticate(credentials.credentials)


Holder = Annotated[Principal, Depends(principal)]


class RequestContext(BaseModel):
    """For whom a tool acts, as the trusted side says; both spellings of each name are read."""

    model_config = ConfigDict(extra="forbid", strict=True)

    user_id: str | None = Field(None, validation_alias=AliasChoices("userId", "user_id"))
    actor: str | None = None
    tool_call_id: str | None = Field(None, validation_alias=AliasChoices("toolCallId", "tool_call_id"))
    project: str | None = None


def context_of_headers(request: Request) -> RequestContext:
    """Return the context that the headers Memex-User, -Actor, -Project and -Tool-Call-Id carry, in UTF-8."""
    return RequestContext(
        userId=_header(request, "memex-user"),
        actor=_header(request, "memex-actor"),
        project=_header(request, "memex-project"),
        toolCallId=_header(request, "memex-tool-call-id"),
    )


async def resolve(
    service: Service, holder: Principal, context: RequestContext, *, role: Role, action: str
) -> Caller:
    """Return the caller of a key in a context; raises as `Service.caller`, which logs it under `action`."""
    return await service.caller(
        holder,
        Context(context.user_id, context.actor, context.project),
        role=role,
        action=action,
        tool_call_id=context.tool_call_id,
    )


async def agent_by_headers(
    request: Request,
    service: TheService,
    holder: Holder,
    context: Annotated[RequestContext, Depends(context_of_headers)],
) -> Caller:
    """Return the agent who calls a route whose context is in the headers."""
    return await resolve(service, holder, context, role="agent", action=_route(request))


async def admin_by_headers(
    request: Request,
    service: TheService,
    holder: Holder,
    context: Annotated[RequestContext, Depends(context_of_headers)],
) -> Caller:
    """Return the admin who calls a route whose context is in the headers."""
    return await resolve(service, holder, context, role="admin", action=_route(request))


def tool_call_id_of(context: Annotated[RequestContext, Depends(context_of_headers)]) -> str | None:
    """Return the caller's tool call id, when it sent one."""
    return context.tool_call_id


HeaderToolCallId = Annotated[str | None, Depends(tool_call_id_of)]


def _route(request: Request) -> str:
    return f"{request.method} {request.scope['route'].path}"


def _header(request: Request, name: str) -> str | None:
    values = request.headers.getlist(name)
    if not values:
        return None
    if len(values) > 1:  # a proxy might have looked at the other one
        raise ValidationFailed(f"The header {name} came {len(values)} times.", hint="Send it once.")
    try:
        return values[0].encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        raise ValidationFailed(f"The header {name} is not UTF-8.", hint="Send its value in UTF-8.") from None
