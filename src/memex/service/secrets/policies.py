"""A tenant's policies about secrets: shown to and set by its administrators."""

from typing import Any

from pydantic import ConfigDict

from memex.errors import ValidationFailed
from memex.service.call import Caller
from memex.service.choice import CallerChoice
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.store.access import SecretPolicies, SecretPolicy, TenantSecretPolicies
from memex.store.database import row

BOUND = "This key may not set what is done about secrets."


class SecretPoliciesChange(CallerChoice):
    """The policies about secrets from now on; null for those of the service's settings."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={"examples": [{"remember": "refuse", "files": None}]},
    )

    remember: SecretPolicy | None = None
    files: SecretPolicy | None = None


class SecretPoliciesResult(ResultPart):
    """The policies about secrets in texts to remember and reasons (`remember`), and in files.

    `set` is what the tenant says itself, null for what it leaves to the settings of the service. `remember` and
    `files` are what holds.
    """

    remember: SecretPolicy
    files: SecretPolicy
    set: SecretPoliciesChange


async def show_policies(service: Service, caller: Caller) -> SecretPoliciesResult:
    """Return what the caller's tenant does about secrets; raises Forbidden for agents."""
    async with service.maintaining(caller, "secrets_show", {}) as connection:
        found = await row(connection, "identity/secrets_show", tenant_id=caller.access.tenant_id)
    return _render(found, service.secret_policies)


async def set_policies(
    service: Service, caller: Caller, change: SecretPoliciesChange
) -> SecretPoliciesResult:
    """Set what the caller's tenant does about secrets; it holds from the next transaction on, on every replica.

    Raises:
        Forbidden: the caller is no administrator of all users.
    """
    given = change.model_dump(exclude_none=True)
    async with service.maintaining(caller, "secrets_set", given, refusal=BOUND) as connection:
        tenant_id = caller.access.tenant_id
        found = await row(connection, "identity/secrets_set", tenant_id=tenant_id, **change.model_dump())
    return _render(found, service.secret_policies)


def _render(found: dict[str, Any] | None, defaults: SecretPolicies) -> SecretPoliciesResult:
    if found is None:
        raise ValidationFailed("There is no such tenant any more.")
    holds = TenantSecretPolicies(**found).over(defaults)
    return SecretPoliciesResult(remember=holds.remember, files=holds.files, set=SecretPoliciesChange(**found))
