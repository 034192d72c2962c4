"""Quotas over HTTP: an administrator sets them, a user sees them, and the refusal says what to do."""

from collections.abc import Callable

import httpx2
from tests.kit.documents import sent

from memex.service.conversations.lines import to_lines

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


def test_messages_of_conversations_are_shown_beside(client_of: ClientOf) -> None:
    """With the bytes of their texts, and how many a user may have; the tenant has the sum."""
    admin, alice = client_of("admin", tenant="acme"), client_of("agent", bound_to="alice", tenant="acme")
    message = '{"id": "m", "role": "user", "text": "Gr\u00fc\u00dfe"}'
    body = f'{{"kind": "chatgpt"}}\n{{"id": "c", "messages": [{message}]}}\n'
    assert alice.post("/v1/conversations", content=body.encode()).is_success

    held = alice.get("/v1/me").json()["quota"]["conversations"]
    assert (held["messages"], held["bytes"]) == (1, 7)
    assert held["max_messages"] > 0
    [tenant] = admin.get("/v1/admin/quotas").json()["quotas"]
    assert tenant["conversations"] == {"messages": 1, "bytes": 7, "max_messages": None}
    every = admin.put("/v1/admin/quotas", params={"kind": "user"}, json={"bytes": 5}).json()
    assert every["conversations"] is None


def test_documents_are_shown_beside(client_of: ClientOf) -> None:
    """Of a user the own ones, of a project its own, with what each may have; of the tenant all of them."""
    admin, alice = client_of("admin", tenant="acme"), client_of("agent", bound_to="alice", tenant="acme")
    assert admin.put("/v1/admin/projects/shop").is_success
    assert admin.put("/v1/admin/projects/shop/members/alice").is_success
    for query, folder in (({}, {"a.md": "Grüße"}), ({"project": "shop"}, {"b.md": "b", "c.md": "c"})):
        where = {"root": "repo"} | query
        assert alice.put("/v1/documents", params=where, content=to_lines(sent(folder))).is_success

    of_alice = alice.get("/v1/me").json()["quota"]["documents"]
    assert (of_alice["documents"], of_alice["bytes"]) == (1, 7)
    assert min(of_alice["max_documents"], of_alice["max_bytes"]) > 0
    named = {"kind": "project", "name": "shop"}
    project = admin.put("/v1/admin/quotas", params=named, json={"bytes": 5}).json()["documents"]
    assert (project["documents"], project["bytes"]) == (2, 2)
    [tenant, _] = admin.get("/v1/admin/quotas").json()["quotas"]
    assert tenant["documents"] == {"documents": 3, "bytes": 9, "max_documents": None, "max_bytes": None}
    every = admin.put("/v1/admin/quotas", params={"kind": "user"}, json={"bytes": 5}).json()
    assert every["documents"] is None
