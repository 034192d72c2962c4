"""The holder of a caller's key, and the memory that can be read with it."""

from pydantic import BaseModel

from memex import distribution
from memex.service.call import Caller
from memex.service.identity.quotas import QuotaResult, read_quota
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.store.access import Role
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal


class Mount(ResultPart):
    """A part of the memory that the caller reads, in which language it is searched, and whether it is writable."""

    mount: str
    language: str
    writable: bool


class MeResult(BaseModel):
    """The holder of the key.

    `user` is to whom it is bound; null: the header Memex-User names one with each call. `mounts` are what is read
    for that user, and `quota` what the user stores and may store; null where no user is named.
    """

    role: Role
    tenant: str
    user: str | None
    mounts: list[Mount] | None
    quota: QuotaResult | None
    version: str


async def read_me(service: Service, holder: Principal, caller: Caller | None) -> MeResult:
    """Return whose key the holder has, and what the caller reads; None for a key of all users and no named one."""
    user = caller.access.user_id if caller is not None else None
    return MeResult(
        role=holder.role,
        tenant=await tenants.tenant_name(service.database, holder.tenant_id),
        user=holder.bound_user,
        mounts=list(map(Mount.taken_from, caller.access.scopes)) if caller is not None else None,
        quota=await read_quota(service, holder.tenant_id, "user", user) if user is not None else None,
        version=distribution.version(),
    )
