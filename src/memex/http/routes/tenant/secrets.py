"""The routes of administrators about secrets: the policies, and the search for stored secrets."""

from typing import Annotated

from fastapi import Body, Query

from memex.http.routers import admin_router, operation
from memex.service.secrets.policies import SecretPoliciesChange, SecretPoliciesResult
from memex.service.secrets.scan import ScanResult

router = admin_router("")


@operation(router, "secrets_show", summary="Show what is done about secrets")
def show_policies() -> SecretPoliciesResult:
    """Return what the tenant does about secrets in texts to remember and in files."""


@operation(router, "secrets_set", summary="Set what is done about secrets")
def set_policies(change: Annotated[SecretPoliciesChange, Body()]) -> SecretPoliciesResult:
    """Set what the tenant does about secrets; it holds from the next call on, on every replica.

    `redact` puts `[secret: kind]` in the place of a secret, `flag` stores it and says where it stands, `refuse`
    fails the call, and `off` does not look. What is null or left out follows the settings of the service.
    """


@operation(router, "secrets_scan", summary="Find stored secrets")
def scan_secrets(
    all_users: Annotated[bool, Query(description="Look through the files of the whole tenant.")] = False,
    history: Annotated[bool, Query(description="Look through all stored versions.")] = False,
    cursor: Annotated[str | None, Query(description="next_cursor of the last answer.")] = None,
) -> ScanResult:
    """Return where stored files look like secrets: path, version, line and kind, never the text.

    Without `all_users` these are the files that the user of the call may read. A page looks through a bounded
    number of texts, so a page without findings may have a `next_cursor`; the last page has none.
    """
