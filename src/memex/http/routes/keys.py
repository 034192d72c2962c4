"""Keys: an admin's own tenant's, made, listed and revoked."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Response
from pydantic import BaseModel, ConfigDict

from memex.http.callers import KeyedRoute, ServiceDependency, admin_by_headers
from memex.service import keys
from memex.service.keys import KeysResult, MadeKeyResult, RevokedKeyResult
from memex.service.service import Caller
from memex.store.access import Role

router = APIRouter(prefix="/v1/admin/keys", tags=["admin"], route_class=KeyedRoute)

Admin = Annotated[Caller, Depends(admin_by_headers)]


class NewKey(BaseModel):
    """What a key is for."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"role": "agent", "user": "alice", "label": "support-bot"}]},
    )

    role: Role
    user: str | None = None
    label: str | None = None


@router.get("", summary="List keys")
async def list_keys(service: ServiceDependency, caller: Admin) -> KeysResult:
    """Return the keys of the tenant, the revoked ones too, never their secrets."""
    return await keys.list_keys(service, caller)


@router.post("", summary="Make a key", status_code=201)
async def create_key(
    service: ServiceDependency, caller: Admin, body: NewKey, response: Response
) -> MadeKeyResult:
    """Make a key of the tenant: `agent` for tools and files, `admin` for everything of the tenant.

    One that is bound to a `user` acts for nobody else. Its secret is in this answer and nowhere else. A key that is
    bound to a user itself makes none.
    """
    response.headers["Cache-Control"] = "no-store"
    return await keys.create_key(service, caller, body.role, user_id=body.user, label=body.label)


@router.delete("/{key_id}", summary="Revoke a key")
async def revoke_key(
    service: ServiceDependency, caller: Admin, key_id: Annotated[int, Path(ge=1, le=2**63 - 1)]
) -> RevokedKeyResult:
    """Revoke a key of the tenant, at once and for ever."""
    return await keys.revoke_key(service, caller, key_id)
