"""Who calls: the key from the header, the rest from the request's context. One dependency a kind of route."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from memex.errors import Forbidden, Unauthenticated, ValidationFailed
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


async def agent(holder: Annotated[Principal, Depends(principal)]) -> Principal:
    """Return the holder of an agent's key; raises Forbidden for another."""
    return _with_role(holder, "agent", "Use /v1/admin/… with this key, or an agent's key here.")


async def admin(holder: Annotated[Principal, Depends(principal)]) -> Principal:
    """Return the holder of an admin's key; raises Forbidden for another."""
    return _with_role(holder, "admin", "This needs an admin key: `memex keys create --role admin`.")


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


async def resolve(service: Service, holder: Principal, context: RequestContext) -> Caller:
    """Return the caller of a key in a context; raises as `identity.resolve`."""
    return await service.caller(holder, Context(context.user_id, context.actor, context.project))


async def agent_by_headers(
    service: TheService,
    holder: Annotated[Principal, Depends(agent)],
    context: Annotated[RequestContext, Depends(context_of_headers)],
) -> Caller:
    """Return the agent who calls a route whose context is in the headers."""
    return await resolve(service, holder, context)


async def admin_by_headers(
    service: TheService,
    holder: Annotated[Principal, Depends(admin)],
    context: Annotated[RequestContext, Depends(context_of_headers)],
) -> Caller:
    """Return the admin who calls a route whose context is in the headers."""
    return await resolve(service, holder, context)


def tool_call_id_of(context: Annotated[RequestContext, Depends(context_of_headers)]) -> str | None:
    """Return the caller's tool call id, when it sent one."""
    return context.tool_call_id


HeaderToolCallId = Annotated[str | None, Depends(tool_call_id_of)]


def _with_role(holder: Principal, role: Role, hint: str) -> Principal:
    if holder.role != role:
        raise Forbidden(f"This route is for {role} keys.", hint=hint)
    return holder


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
