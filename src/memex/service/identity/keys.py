"""The keys of a tenant, as an admin of it keeps them."""

from typing import Any

from memex.errors import Forbidden
from memex.service.call import Caller, check_role
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.store.access import Role
from memex.store.identity import tenants
from memex.store.identity.tenants import ApiKey


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
    return {
        "id": key.key_id,
        "role": key.role,
        "user": key.user_id,
        "label": key.label,
        "created_at": key.created_at.isoformat(),
        "revoked_at": key.revoked_at.isoformat() if key.revoked_at else None,
    }


async def create_key(
    service: Service, caller: Caller, role: Role, *, user: str | None = None, label: str | None = None
) -> MadeKeyResult:
    """Make a key of the caller's tenant, and log that it was made, without its secret.

    Raises:
        Forbidden: the caller is no admin of all users.
        ValidationFailed: the user's id or the label is malformed.
    """
    async with service.recorder.recorded(
        caller, "key_create", {"role": role, "user": user, "label": label}
    ) as log:
        _check_keeper(caller)
        async with service.database.maintenance() as connection:
            secret, key = await tenants.add_key(connection, caller.access.tenant_id, role, user, label)
            await log.add("committed", connection=connection)
    name = await tenants.tenant_name(service.database, caller.access.tenant_id)
    return MadeKeyResult(key=secret, tenant=name, **render_key(key))


async def list_keys(service: Service, caller: Caller) -> KeysResult:
    """Return the keys of the caller's tenant; raises Forbidden as `create_key`."""
    async with service.recorder.recorded(caller, "key_list", {}) as log:
        _check_keeper(caller)
        async with service.database.maintenance() as connection:
            found = await tenants.list_keys_of(connection, caller.access.tenant_id)
            await log.add("committed", connection=connection)
    name = await tenants.tenant_name(service.database, caller.access.tenant_id)
    return KeysResult(tenant=name, keys=[KeyResult(**render_key(key)) for key in found])


async def revoke_key(service: Service, caller: Caller, key_id: int) -> RevokedKeyResult:
    """Revoke a key of the caller's tenant, at once and for ever.

    Raises:
        Forbidden: as `create_key`.
        ValidationFailed: the tenant has no such key.
    """
    async with service.recorder.recorded(caller, "key_revoke", {"id": key_id}) as log:
        _check_keeper(caller)
        async with service.database.maintenance() as connection:
            revoked = await tenants.revoke_key_of(connection, caller.access.tenant_id, key_id)
            await log.add("committed", connection=connection)
    name = await tenants.tenant_name(service.database, caller.access.tenant_id)
    return RevokedKeyResult(tenant=name, **render_key(revoked))


def _check_keeper(caller: Caller) -> None:
    """Refuse who may not keep keys: one that is bound to a user could make itself one that is not."""
    check_role(caller.principal, "admin")
    if caller.principal.bound_user is not None:
        raise Forbidden(
            "A key that is bound to a user cannot manage keys.",
            hint="Use an administrator's key that is not bound to a user.",
        )
