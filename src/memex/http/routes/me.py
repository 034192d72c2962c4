"""The holder of a key: a client asks for this before it chooses what to ask."""

from fastapi import APIRouter, Request

from memex.http.callers import HeaderContext, KeyedRoute, KeyHolder, ServiceDependency, resolve
from memex.service.identity.me import MeResult, read_me

router = APIRouter(prefix="/v1/me", tags=["me"], route_class=KeyedRoute)


@router.get("", summary="Show whose key this is")
async def me(
    request: Request, service: ServiceDependency, holder: KeyHolder, context: HeaderContext
) -> MeResult:
    """Return the role, tenant and user of the key, what can be read with it, and the version of the service."""
    caller = None
    if holder.role == "admin" or holder.bound_user is not None or context.user_id is not None:
        action = f"GET {request.scope['route'].path}"
        caller = await resolve(service, holder, context, role=holder.role, action=action)
    return await read_me(service, holder, caller)
