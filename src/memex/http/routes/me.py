"""Who a key is: what a client asks before it chooses what to ask."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel

from memex import distribution
from memex.http.callers import (
    KeyedRoute,
    KeyHolder,
    RequestContext,
    ServiceDependency,
    context_of_headers,
    resolve,
)
from memex.service.identity.quotas import QuotaResult, read_quota
from memex.store.access import Role
from memex.store.identity import tenants

router = APIRouter(prefix="/v1/me", tags=["me"], route_class=KeyedRoute)


class Mount(BaseModel):
    """A part of the memory that the caller reads, in which language it is searched, and whether it is writable."""

    mount: str
    language: str
    writable: bool


class MeResult(BaseModel):
    """Whose key this is.

    `user` is to whom it is bound; null: the header Memex-User names one with each call. `mounts` are what is read
    for that user, and `quota` what the user stores and may store; null where no user is named.
    """

    role: Role
    tenant: str
    user: str | None
    mounts: list[Mount] | None
    quota: QuotaResult | None
    version: str


@router.get("", summary="Show whose key this is")
async def me(
    request: Request,
    service: ServiceDependency,
    holder: KeyHolder,
    context: Annotated[RequestContext, Depends(context_of_headers)],
) -> MeResult:
    """Return the role, tenant and user of the key, what can be read with it, and the version of the service."""
    mounts, quota = None, None
    if holder.role == "admin" or holder.bound_user is not None or context.user_id is not None:
        action = f"GET {request.scope['route'].path}"
        caller = await resolve(service, holder, context, role=holder.role, action=action)
        mounts = [
            Mount(mount=scope.mount, language=scope.language, writable=scope.writable)
            for scope in caller.access.scopes
        ]
        if caller.access.user_id is not None:
            quota = await read_quota(service, holder.tenant_id, "user", caller.access.user_id)
    return MeResult(
        role=holder.role,
        tenant=await tenants.tenant_name(service.database, holder.tenant_id),
        user=holder.bound_user,
        mounts=mounts,
        quota=quota,
        version=distribution.version(),
    )
