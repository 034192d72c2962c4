"""Addresses that do not fit: cursors of other lists, long queries, versions that never were, ended sessions."""

import re
import time

import pytest
from tests.kit.http_service import serving_http
from tests.ui.conftest import Site, Visitor

MAX_QUERY = 10_000
LISTS = ("/ui/memory", "/ui/memory/versions?path=user/000.md", "/ui/calls", "/ui/review", "/ui/people")
MORE = re.compile(r'href="([^"]*[?&;]cursor=[^"]*)"')


def fill(site: Site, files: int = 130) -> None:
    """Write more files than a page lists."""
    edits = [
        {"kind": "write", "path": f"user/{number:03}.md", "content": f"# {number}\n"}
        for number in range(files)
    ]
    done = site.api(bound_to="alice").post("/v1/files:batch", json={"edits": edits})
    assert done.is_success, done.text


def next_page(visitor: Visitor, address: str) -> str:
    """Return the address of the next page of a list."""
    found = MORE.search(visitor.get(address).text)
    assert found is not None, address
    return found[1].replace("&amp;", "&")


def test_a_cursor_of_another_list_has_a_page(site: Site) -> None:
    """It never fails: it goes on from its place, or the page says where the list begins."""
    fill(site)
    alice, admin = site.visitor(bound_to="alice"), site.visitor("admin")
    further = next_page(alice, "/ui/memory")
    cursor = further.partition("cursor=")[2].partition("&")[0]

    shown = alice.get(further).text
    filtered = alice.get(f"/ui/memory?pinned=true&cursor={cursor}")
    answers = {
        f"{address} {given}": (admin if "people" in address else alice).get(address, params={"cursor": given})
        for address in LISTS
        for given in (cursor, "nonsense", "W10", "x" * 5_000, "\u202e")
    }

    assert "129.md" in shown
    assert "000.md" not in shown
    assert filtered.status_code == 200
    assert "No file passes these filters" in filtered.text
    for name, answer in answers.items():
        assert answer.status_code in (200, 422), (name, answer.text)
        if answer.status_code == 422:
            assert "Show the list from its beginning" in answer.text, name
    assert answers["/ui/memory nonsense"].status_code == 422


@pytest.mark.parametrize("page", ["search", "ask"])
def test_a_query_of_ten_thousand_characters_is_answered(site: Site, page: str) -> None:
    """One more is refused, with the limit."""
    fill(site, 2)
    alice, long = site.visitor(bound_to="alice"), ("oolong tea " * 1_000)[:MAX_QUERY]

    answered = alice.get(f"/ui/{page}", params={"query": long})
    refused = alice.get(f"/ui/{page}", params={"query": long + "x"})

    assert answered.status_code == 200
    assert refused.status_code in (200, 422)
    assert "10,000" in refused.text


def test_a_version_that_never_was_has_a_page(site: Site) -> None:
    """It leads to the versions that there are; a file that never was has none."""
    fill(site, 2)
    alice = site.visitor(bound_to="alice")

    never = alice.get("/ui/memory/file", params={"path": "user/000.md", "version": 7})
    pages = {
        f"{where} {version}": alice.get(
            f"/ui/memory/{where}", params={"path": "user/000.md", "version": version, "new": version}
        ).status_code
        for where in ("file", "blame", "seen", "diff")
        for version in ("7", "0", "-1", "2147483648", "x")
    }

    assert never.status_code == 404
    assert "/ui/memory/versions?path=user%2F000.md" in never.text
    assert all(status in (404, 422) or name.startswith("seen 7") for name, status in pages.items()), pages
    assert alice.get("/ui/memory/versions", params={"path": "user/none.md"}).status_code == 404


def test_a_session_that_is_revoked_on_another_worker_ends_within_a_second(site: Site, conninfo: str) -> None:
    """Two services share the database: what one ends, the other one refuses."""
    alice, admin = site.visitor(bound_to="alice"), site.visitor("admin")
    alice.get("/ui/memory")
    [number] = re.findall(r"/ui/sessions/(\d+)/revoke", alice.get("/ui/sessions").text)
    with serving_http(conninfo) as other:
        elsewhere = Site(other, site.stack, site.tenant)
        there = elsewhere.stranger()
        there.client.cookies.update(admin.client.cookies)
        there.get("/ui/sessions")

        assert there.post(f"/ui/sessions/{number}/revoke").status_code == 303
        revoked_at = time.monotonic()
        refused = alice.get("/ui/memory")

        assert refused.status_code == 303
        assert refused.headers["location"].startswith("/ui/sign-in")
        assert time.monotonic() - revoked_at < 1
