"""Keys over HTTP: an admin makes, lists and revokes those of its tenant; and every key can ask whose it is."""

from collections.abc import Callable

import httpx2
import pytest
from tests.kit.http_service import Served

from memex.distribution import version

KeyOf = Callable[..., str]
ClientOf = Callable[..., httpx2.Client]


def asks(served: Served, key: str, **headers: str) -> httpx2.Response:
    """Ask whose a key is."""
    given = {
        "Authorization": f"Bearer {key}",
        **{name.replace("_", "-"): one for name, one in headers.items()},
    }
    return httpx2.get(f"{served.url}/v1/me", headers=given)


def test_a_key_is_made_used_and_revoked(root: httpx2.Client, served: Served) -> None:
    """Its secret stands in one answer alone; from its revocation on it is nobody's."""
    made = root.post("/v1/admin/keys", json={"role": "agent", "user": "alice", "label": "bot"})
    document = made.json()
    secret = document.pop("key")
    before = asks(served, secret)
    listed = root.get("/v1/admin/keys")
    logged = root.get("/v1/admin/operations").text
    revoked = root.delete(f"/v1/admin/keys/{document['id']}").json()
    after = asks(served, secret)

    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    assert document.items() >= {"role": "agent", "user": "alice", "label": "bot", "revoked_at": None}.items()
    assert {**listed.json()["keys"][-1], "tenant": listed.json()["tenant"]} == document
    assert secret not in listed.text + logged
    assert [name in logged for name in ("key_create", "key_list")] == [True, True]
    assert before.json().items() >= {"role": "agent", "user": "alice", "tenant": document["tenant"]}.items()
    assert revoked["revoked_at"]
    assert after.json()["code"] == "UNAUTHENTICATED"


def test_another_tenants_keys_are_not_there(root: httpx2.Client, client_of: ClientOf) -> None:
    """Neither in the list nor for who knows their number."""
    theirs = client_of("admin", tenant="theirs").get("/v1/admin/keys").json()["keys"]
    ours = root.get("/v1/admin/keys").json()["keys"]
    refused = root.delete(f"/v1/admin/keys/{theirs[0]['id']}")

    assert not {one["id"] for one in theirs} & {one["id"] for one in ours}
    assert refused.json()["code"] == "VALIDATION_ERROR"
    assert client_of("admin", tenant="theirs").get("/v1/admin/keys").json()["keys"][0]["revoked_at"] is None


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_admins_key_that_is_bound_to_a_user_keeps_no_keys(client_of: ClientOf, method: str) -> None:
    """It could make itself one that is not bound."""
    bound = client_of("admin", bound_to="alice")
    path = "/v1/admin/keys/1" if method == "DELETE" else "/v1/admin/keys"
    refused = bound.request(method, path, json={"role": "admin"} if method == "POST" else None)

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert "bound" in refused.json()["detail"]


def test_a_malformed_key_is_not_made(root: httpx2.Client) -> None:
    """The tenant is that of who asks, and cannot be named."""
    for body in (
        {},
        {"role": "owner"},
        {"role": "agent", "tenant": "x"},
        {"role": "agent", "user": ""},
        {"role": "agent", "label": "a\0"},
    ):
        before = root.get("/v1/admin/keys").json()
        refused = root.post("/v1/admin/keys", json=body)

        assert refused.json()["code"] == "VALIDATION_ERROR"
        assert root.get("/v1/admin/keys").json() == before


def test_every_key_can_ask_whose_it_is(served: Served, key_of: KeyOf) -> None:
    """With the version that answers, and what is read for the user of the key or of the header."""
    unbound = asks(served, key_of("agent"))
    named = asks(served, key_of("agent"), Memex_User="bob")
    bound = asks(served, key_of("agent", bound_to="alice"))
    admin = asks(served, key_of("admin"))

    assert unbound.json() == {
        "role": "agent",
        "tenant": named.json()["tenant"],
        "user": None,
        "mounts": None,
        "quota": None,
        "version": version(),
    }
    assert named.json()["mounts"] == [
        {"mount": "user", "language": "english", "writable": True},
        {"mount": "shared", "language": "english", "writable": False},
    ]
    assert (bound.json()["user"], bound.json()["mounts"]) == ("alice", named.json()["mounts"])
    assert (admin.json()["role"], admin.json()["mounts"]) == (
        "admin",
        [{"mount": "shared", "language": "english", "writable": True}],
    )
    assert (
        asks(served, key_of("agent"), Memex_User="bob", Memex_Project="zeus").json()["code"]
        == "PROJECT_NOT_FOUND"
    )
