"""The keys of a tenant, as an admin of it keeps them."""

from typing import Any

from memex.service.call import Caller
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.store.access import Role
from memex.store.identity import tenants
from memex.store.identity.tenants import ApiKey

# It could make itself a key that is not bound.
BOUND = "A key that is bound to a user cannot manage keys."


class KeyResult(ResultPart):
    """A key as it is listed, never its secret; `user` is to whom it is bound, null for none."""

    id: int
    role: Role
    user: str | None
    label: str | None
    created_at: str
    revoked_at: str | None


class MadeKeyResult(KeyResult):
    """A key that was made now; `key` is its secret, which is shown this once."""

    key: str
    tenant: str


class RevokedKeyResult(KeyResult):
    """A key that is revoked now."""

    tenant: str


class KeysResult(ResultPart):
    """The keys of a tenant by id, the revoked ones too."""

    tenant: str
    keys: list[KeyResult]


def render_key(key: ApiKey) -> dict[str, Any]:
    """Return a key as JSON."""
    return KeyResult.taken_from(key, id=key.key_id, user=key.user_id).model_dump()


async def create_key(
    service: Service, caller: Caller, role: Role, *, user: str | None = None, label: str | None = None
) -> MadeKeyResult:
    """Make a key of the caller's tenant, and log that it was made, without its secret.

    Raises:
        Forbidden: the caller is no admin of all users.
        ValidationFailed: the user's id or the label is malformed.
    """
    given = {"role": role, "user": user, "label": label}
    async with service.maintaining(caller, "key_create", given, refusal=BOUND) as connection:
        secret, key = await tenants.add_key(connection, caller.access.tenant_id, role, user, label)
    name = await tenants.tenant_name(service.database, caller.access.tenant_id)
    return MadeKeyResult(key=secret, tenant=name, **render_key(key))


async def list_keys(service: Service, caller: Caller) -> KeysResult:
    """Return the keys of the caller's tenant; raises Forbidden as `create_key`."""
    async with service.maintaining(caller, "key_list", {}, refusal=BOUND) as connection:
        found = await tenants.list_keys_of(connection, caller.access.tenant_id)
    name = await tenants.tenant_name(service.database, caller.access.tenant_id)
    return KeysResult(tenant=name, keys=[KeyResult(**render_key(key)) for key in found])


async def revoke_key(service: Service, caller: Caller, key_id: int) -> RevokedKeyResult:
    """Revoke a key of the caller's tenant, at once and for ever.

    Raises:
        Forbidden: as `create_key`.
        ValidationFailed: the tenant has no such key.
    """
    async with service.maintaining(caller, "key_revoke", {"id": key_id}, refusal=BOUND) as connection:
        revoked = await tenants.revoke_key_of(connection, caller.access.tenant_id, key_id)
    name = await tenants.tenant_name(service.database, caller.access.tenant_id)
    return RevokedKeyResult(tenant=name, **render_key(revoked))
