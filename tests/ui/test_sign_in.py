"""The way into the web UI: keys, sign-in links, sessions, cookies, and whose memory is shown."""

import re

import pytest
from tests.ui.conftest import Site, Visitor

from memex.ui.security import COOKIE, TOKEN_FIELD

FILE = "user/note.md"


def test_a_stranger_is_led_to_the_sign_in_page_and_back(site: Site) -> None:
    """Without a session each page leads to the sign-in page, which knows where to go on."""
    visitor = site.stranger()

    led = visitor.get("/ui/memory?folder=user%2Fa")
    page = visitor.get(led.headers["location"])
    back = visitor.post(
        "/ui/sign-in", {"key": site.key(bound_to="alice"), "next": "/ui/memory?folder=user%2Fa"}
    )

    assert led.status_code == 303
    assert led.headers["location"] == "/ui/sign-in?next=%2Fui%2Fmemory%3Ffolder%3Duser%252Fa"
    assert 'name="next" value="/ui/memory?folder=user%2Fa"' in page.text
    assert (back.status_code, back.headers["location"]) == (303, "/ui/memory?folder=user%2Fa")


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "/v1/files", "/ui/../x\n"]
)
def test_signing_in_leads_to_no_other_site(site: Site, target: str) -> None:
    """Only a page of ours is led to."""
    signed_in = site.stranger().post("/ui/sign-in", {"key": site.key(bound_to="alice"), "next": target})

    assert signed_in.headers["location"] == "/ui/memory"


def test_the_cookie_is_for_the_pages_alone(site: Site) -> None:
    """Scripts do not see the cookie, no other path gets it, and it opens no route of the API."""
    visitor = site.stranger()
    signed_in = visitor.post("/ui/sign-in", {"key": site.key("admin")})
    secure = site.stranger().post(
        "/ui/sign-in",
        {"key": site.key("admin")},
        Origin=str(visitor.client.base_url).replace("http:", "https:").rstrip("/"),
    )
    cookie = signed_in.headers["set-cookie"]
    refused = [
        visitor.client.get(path, headers=headers).status_code
        for path in ("/v1/files", "/v1/admin/users", "/v1/me")
        for headers in (
            {"Cookie": f"{COOKIE}={visitor.secret}"},
            {"Authorization": f"Bearer {visitor.secret}"},
        )
    ]

    assert {part.strip() for part in cookie.split(";")[1:]} == {"HttpOnly", "Path=/ui", "SameSite=lax"}
    assert "Secure" in secure.headers["set-cookie"]
    assert refused == [401] * 6


def test_an_unbound_agent_key_is_refused_with_the_way_to_a_bound_one(site: Site) -> None:
    """The key that the first start prints says for nobody whose memory to show."""
    refused = site.stranger().post("/ui/sign-in", {"key": site.key()})

    assert refused.status_code == 403
    assert "set-cookie" not in refused.headers
    assert "memex keys create --role agent --user NAME" in refused.text


def test_wrong_keys_are_slowed_down(site: Site) -> None:
    """After five wrong keys, even a right one must wait."""
    visitor = site.stranger()
    site.served.app.state.sign_in_limiter.__init__()
    answers = [visitor.post("/ui/sign-in", {"key": "mx_wrong"}).status_code for _ in range(5)]
    late = visitor.post("/ui/sign-in", {"key": site.key("admin")})
    site.served.app.state.sign_in_limiter.__init__()

    assert answers == [401] * 5
    assert late.status_code == 429
    assert 0 < int(late.headers["retry-after"]) <= 60


def test_wrong_keys_behind_a_proxy_slow_down_their_client_alone(site: Site) -> None:
    """The address is the last that no configured proxy has; what the client claims is not believed."""
    site.served.app.state.sign_in_limiter.__init__()
    visitor, key = site.stranger(), site.key("admin")

    def sign_in(forwarded_for: str, key: str) -> int:
        return visitor.post("/ui/sign-in", {"key": key}, **{"X-Forwarded-For": forwarded_for}).status_code

    wrong = [sign_in(f"198.51.100.{n}, 203.0.113.7", "mx_wrong") for n in range(5)]
    late = sign_in("198.51.100.9, 203.0.113.7", key)
    other = sign_in("203.0.113.8", key)
    site.served.app.state.sign_in_limiter.__init__()

    assert (wrong, late, other) == ([401] * 5, 429, 303)


def test_a_sign_in_link_works_once_and_only_by_its_button(site: Site) -> None:
    """To look at the link spends nothing. It shows the memory of the user `me` to an administrator."""
    visitor, second, token = site.stranger(), site.stranger(), site.link()

    looked = [visitor.get(f"/ui/sign-in/link/{token}").status_code for _ in range(3)]
    signed_in = visitor.post("/ui/sign-in/link", {"token": token})
    again = second.post("/ui/sign-in/link", {"token": token})
    home = visitor.get("/ui/memory")

    assert looked == [200, 200, 200]
    assert signed_in.status_code == 303
    assert again.status_code == 401
    assert "used already" in again.text
    assert second.secret is None
    assert re.search(r"look at the memory of user <strong><bdi>me</bdi>", home.text)


@pytest.mark.parametrize(
    "headers",
    [
        {"Forwarded": "for=1.2.3.4"},
        {"X-Forwarded-For": "1.2.3.4"},
        {"X-Forwarded-Host": "memory.example"},
        {"Host": "memory.example"},
    ],
)
def test_a_sign_in_link_is_for_this_machine(site: Site, headers: dict[str, str]) -> None:
    """A request through a proxy, or for another name, does not spend it."""
    visitor, token = site.stranger(), site.link()

    looked = visitor.get(f"/ui/sign-in/link/{token}", headers=headers)
    refused = visitor.post("/ui/sign-in/link", {"token": token}, **headers)

    assert (looked.status_code, refused.status_code) == (403, 403)
    assert visitor.post("/ui/sign-in/link", {"token": token}).status_code == 303


def test_a_session_ends_with_its_key(site: Site) -> None:
    """A key that is revoked ends its sessions at once, and so does a session that is revoked elsewhere."""
    alice, key_id = site.visitor_with_key(bound_to="alice")
    bob, admin = site.visitor(bound_to="bob"), site.visitor("admin")
    assert [alice.get("/ui/memory").status_code, bob.get("/ui/memory").status_code] == [200, 200]
    listed = admin.get("/ui/sessions").text
    [bobs] = re.findall(r"<bdi>bob</bdi>.*?/ui/sessions/(\d+)/revoke", listed, re.DOTALL)

    site.revoke(key_id)
    ended = admin.post(f"/ui/sessions/{bobs}/revoke")

    assert ended.status_code == 303
    assert [alice.get("/ui/memory").status_code, bob.get("/ui/memory").status_code] == [303, 303]


def test_who_signs_out_is_a_stranger(site: Site) -> None:
    """The cookie goes, and the session ends even for who kept it."""
    alice = site.visitor(bound_to="alice")
    alice.get("/ui/memory")
    secret = alice.secret

    out = alice.post("/ui/sign-out")

    assert out.headers["location"] == "/ui/sign-in"
    assert alice.secret is None
    kept = alice.client.get("/ui/memory", headers={"Cookie": f"{COOKIE}={secret}"})
    assert kept.headers["location"].startswith("/ui/sign-in")


def test_an_agent_sees_only_its_own_sessions(site: Site) -> None:
    """Sessions of other keys are neither listed nor ended by a key that is bound to a user."""
    alice, bob = site.visitor(bound_to="alice"), site.visitor(bound_to="bob")
    [bobs] = re.findall(r"/ui/sessions/(\d+)/revoke", bob.get("/ui/sessions").text)
    own = re.findall(r"/ui/sessions/(\d+)/revoke", alice.get("/ui/sessions").text)

    refused = alice.post(f"/ui/sessions/{bobs}/revoke")

    assert len(own) == 1
    assert own != [bobs]
    assert refused.status_code == 422
    assert bob.get("/ui/memory").status_code == 200


def test_an_administrator_looks_as_a_user_and_it_is_logged(site: Site) -> None:
    """The page says it in red on each page, and the log of the administrators holds it; an agent cannot."""
    alice, admin = site.visitor(bound_to="alice"), site.visitor("admin")
    alice.get("/ui/memory")
    before = admin.get("/ui/memory").text

    admin.post("/ui/as-user", {"user": "alice"})
    during = admin.get("/ui/memory").text
    refused = alice.post("/ui/as-user", {"user": "bob"})
    own, of_alice = (
        site.api("admin").get("/v1/admin/operations", headers=headers).json()["operations"]
        for headers in ({}, {"Memex-User": "alice"})
    )

    assert 'class="as-user"' not in before
    assert 'class="as-user"' in during
    assert refused.status_code == 403
    assert any(one["tool"] == "ui_show_user" and one["request"] == {"user": "alice"} for one in own)
    assert any(one["tool"] == "memory_browse" and one["principal"]["role"] == "admin" for one in of_alice)


def test_a_form_of_a_tab_for_another_user_changes_nothing(site: Site) -> None:
    """A form that was made before the user was switched is shown again, and says for whom it would be now."""
    admin = site.visitor("admin")
    admin.get("/ui/memory")
    admin.post("/ui/as-user", {"user": "alice"})
    admin.get("/ui/memory")
    old = dict(admin.fields)
    admin.post("/ui/as-user", {"user": "bob"})

    stale = admin.client.post(
        "/ui/as-user", data=old | {"user": "carol"}, headers={"Origin": site.served.url}
    )

    assert stale.status_code == 403
    assert "Nothing was changed yet" in stale.text
    assert "<bdi>alice</bdi>" in stale.text
    assert "<bdi>bob</bdi>" in admin.get("/ui/memory").text


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", "http://127.0.0.1:1"])
def test_a_change_from_another_site_is_refused(site: Site, origin: str) -> None:
    """A POST without our Origin is refused, whatever token it has, and says nothing of what was sent."""
    alice = site.visitor(bound_to="alice")
    alice.get("/ui/memory")

    refused = alice.post("/ui/sign-out", {"text": "stolen text"}, Origin=origin)

    assert refused.status_code == 403
    assert "stolen text" not in refused.text
    assert alice.get("/ui/memory").status_code == 200


def test_a_form_with_a_stolen_or_no_token_changes_nothing(site: Site) -> None:
    """The token belongs to one session."""
    alice, bob = site.visitor(bound_to="alice"), site.visitor(bound_to="bob")
    alice.get("/ui/memory")
    bob.get("/ui/memory")

    answers = [
        alice.client.post("/ui/sign-out", data=data, headers={"Origin": site.served.url}).status_code
        for data in ({}, {TOKEN_FIELD: "0" * 64}, {TOKEN_FIELD: "é"}, bob.fields)
    ]

    assert answers == [403] * 4
    assert alice.get("/ui/memory").status_code == 200


def test_an_unknown_host_is_refused(site: Site) -> None:
    """A name that leads here by another's DNS opens nothing, as at /mcp."""
    alice = site.visitor(bound_to="alice")

    assert alice.get("/ui/memory", headers={"Host": "evil.example"}).status_code == 403


def test_a_form_that_comes_without_a_session_is_kept(site: Site) -> None:
    """Who is signed out in the middle of an edit gets the text back, signs in again, and sends it."""
    alice = site.visitor(bound_to="alice")
    alice.get("/ui/memory")
    alice.post("/ui/sign-out")

    kept = alice.post("/ui/sign-out", {"content": "line one\nline two"})

    assert kept.status_code == 401
    assert "line one\nline two</textarea>" in kept.text


def test_unknown_pages_and_methods(site: Site) -> None:
    """An address without a page has a page that says so."""
    visitor: Visitor = site.visitor(bound_to="alice")

    assert visitor.get("/ui/nowhere").status_code == 404
    assert visitor.get("/ui").headers["location"] == "/ui/memory"
    assert visitor.get("/ui/static/0/../conftest.py").status_code == 404


def test_a_form_that_is_too_large_has_a_page(site: Site) -> None:
    """The service reads 8 MiB of a form, and says so with the headers of a page."""
    alice = site.visitor(bound_to="alice")
    alice.get("/ui/memory/new")

    refused = alice.post("/ui/memory/save", {"path": "user/a.md", "content": "x" * (9 << 20)})

    assert refused.status_code == 413
    assert "The form is too large." in refused.text
