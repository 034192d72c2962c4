"""The page of documents: roots with what was left out, removed by hand; by axe, narrow, dark, and nobody else's."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.ui.browser import NARROW, signed_in, violations
from tests.ui.conftest import Site
from tests.ui.pushing import push_documents

HOSTILE = "<img src=x onerror=alert(1)>.env"


@pytest.mark.slow
def test_a_root_is_looked_at_and_removed(site: Site, in_browser: Callable[..., Any]) -> None:
    """Its state, its last sync and what was left out and why are shown; it goes after a question, by its owner."""
    admin, bob = site.api("admin"), site.api(bound_to="bob")
    assert admin.put("/v1/admin/projects/shop").is_success
    for user in ("alice", "bob"):
        assert admin.put(f"/v1/admin/projects/shop/members/{user}").is_success
    push_documents(site.api(bound_to="alice"), {"a.md": "# A\n", "b.md": "# B\n"}, HOSTILE, project="shop")
    push_documents(bob, {"c.md": "# C\n"}, ".env", root="notes", project="shop")
    assert bob.post("/v1/documents/watch", json={"root": "notes", "project": "shop"}).is_success
    forged = site.visitor(bound_to="bob")
    forged.get("/ui/documents")
    assert forged.post("/ui/documents/remove", {"root": "repo", "project": "shop"}).status_code == 403
    found: dict[str, Any] = {}

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, size=NARROW, theme="dark") as page:
            page.goto("/ui/documents")
            page.get_by_text("Left out: holds a secret (1)").first.click()
            found["narrow"] = violations(page, "narrow")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        with signed_in(browser, site) as page:
            page.keyboard.press("g")
            page.keyboard.press("d")
            page.get_by_text("2 documents, 2 passages").wait_for()
            page.get_by_text("Pushed by bob").wait_for()
            assert page.get_by_text("watched now").count() == 1
            assert page.get_by_role("link", name="Remove repo").count() == 1
            assert not page.get_by_role("link", name="Remove notes").count()
            page.locator("section", has_text="repo").get_by_text("Left out: holds a secret (1)").click()
            page.get_by_role("cell", name=HOSTILE).wait_for()
            found["wide"] = violations(page, "wide")
            page.get_by_role("link", name="Remove repo").click()
            page.get_by_text("2 documents, 2 passages").wait_for()
            found["question"] = violations(page, "question")
            page.get_by_role("button", name="Remove all").click()
            page.get_by_text("The root repo was removed").wait_for()

    in_browser(journey)

    assert {name: one for name, one in found.items() if one} == {}
    left = bob.get("/v1/documents/roots", params={"project": "shop"}).json()["roots"]
    assert [one["root"] for one in left] == ["notes"]


def test_documents_are_listed_searched_and_read(site: Site) -> None:
    """Each root leads to its own documents, also beside one of the same name, and each of them to its text."""
    admin, alice = site.api("admin"), site.visitor(bound_to="alice")
    assert admin.put("/v1/admin/projects/shop").is_success
    assert admin.put("/v1/admin/projects/shop/members/alice").is_success
    api = site.api(bound_to="alice")
    assert "was pushed for another user" in alice.get("/ui/documents").text
    push_documents(api, {"own.md": "# Own\n\nThe oven is cleaned on Friday.\n"}, ".env")
    push_documents(api, {"docs/shop.md": f"# {HOSTILE}\n\nThe till opens at nine.\n"}, ".env", project="shop")

    page = alice.get("/ui/documents").text
    own = alice.get("/ui/documents/root", params={"root": "repo"}).text
    shops = alice.get(
        "/ui/documents/root", params={"root": "repo", "project": "shop", "prefix": "docs/"}
    ).text
    none = alice.get("/ui/documents/root", params={"root": "repo", "prefix": "docs/"}).text
    found = alice.get("/ui/documents", params={"query": "When does the till open?"}).text
    read = alice.get(
        "/ui/documents/file", params={"root": "repo", "project": "shop", "path": "docs/shop.md"}
    ).text
    of_nobody = site.visitor("admin").get("/ui/documents").text

    assert '/ui/documents/root?root=repo&amp;project=shop"' in page
    assert "own.md" in own
    assert "shop.md" not in own
    assert "docs/shop.md" in shops
    assert "No document of this folder begins with" in none
    assert "The till opens at nine." in found
    assert "The till opens at nine." in read
    assert not [text for text in (shops, found, read) if HOSTILE in text]
    assert "Choose a user in the menu" in of_nobody
