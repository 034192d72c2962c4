"""Keys: an admin's own tenant's, made, listed and revoked."""

from typing import Annotated

from fastapi import Path

from memex.http.parsing import RequestBody
from memex.http.routers import admin_router, operation
from memex.service.identity.keys import KeysResult, MadeKeyResult, RevokedKeyResult
from memex.service.tools.tool import example
from memex.store.access import Role

router = admin_router("/keys")


class NewKey(RequestBody):
    """The role, the user and the label of a new key."""

    model_config = example(role="agent", user="alice", label="support-bot")

    role: Role
    user: str | None = None
    label: str | None = None


@operation(router, "key_list", summary="List keys")
def list_keys() -> KeysResult:
    """Return the keys of the tenant, the revoked ones too, never their secrets."""


@operation(router, "key_create", summary="Make a key", status_code=201)
def create_key(body: NewKey) -> MadeKeyResult:
    """Make a key of the tenant: `agent` for tools and files, `admin` for everything of the tenant.

    One that is bound to a `user` acts for nobody else. Its secret is in this answer and nowhere else. A key that is
    bound to a user itself makes none.
    """


@operation(router, "key_revoke", summary="Revoke a key")
def revoke_key(key_id: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> RevokedKeyResult:
    """Revoke a key of the tenant, at once and for ever."""
