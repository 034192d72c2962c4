"""Quotas over HTTP: an administrator sets them, a user sees them, and the refusal says what to do."""

from collections.abc import Callable

import httpx2

ClientOf = Callable[..., httpx2.Client]


def test_a_quota_is_set_seen_and_held(client_of: ClientOf) -> None:
    """The status is 507, and the body names the quota, what is used, and the limit."""
    admin, alice = client_of("admin", tenant="acme"), client_of("agent", bound_to="alice", tenant="acme")
    assert alice.put("/v1/file", params={"path": "user/a.md"}, content="tea").is_success

    made = admin.put("/v1/admin/quotas", params={"kind": "user", "name": "alice"}, json={"bytes": 5})
    refused = alice.put("/v1/file", params={"path": "user/b.md"}, content="milk")

    assert made.json()["used"] == {"files": 1, "bytes": 3, "revisions": 1, "stored_bytes": 3}
    assert (refused.status_code, refused.json()["code"]) == (507, "QUOTA_EXCEEDED")
    assert [refused.json()[name] for name in ("quota", "used", "limit")] == ["user.bytes", 3, 5]
    assert alice.get("/v1/me").json()["quota"] == made.json()
    listed = admin.get("/v1/admin/quotas").json()["quotas"]
    assert [quota["kind"] for quota in listed] == ["tenant", "user"]


def test_an_administrator_does_not_limit_the_tenant(client_of: ClientOf) -> None:
    """That is for whoever runs the service."""
    admin = client_of("admin", tenant="acme")

    refused = admin.put("/v1/admin/quotas", params={"kind": "tenant"}, json={"bytes": 5})

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
