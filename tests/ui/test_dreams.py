"""The page of dreams: the health of a memory, a proposal applied and taken back; by axe, narrow and dark."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.ui.browser import NARROW, signed_in, violations
from tests.ui.conftest import Site

from memex.service.dreams import gate

TEA = "- I like green tea in the morning. ({})\n"
FILES = {
    "user/notes.md": f"# Notes\n\n{TEA.format('2026-03-02')}",
    "user/preferences.md": f"# Preferences\n\n{TEA.format('2026-04-02')}",
}


def make_dirt(site: Site) -> Any:
    """Write a statement of alice's twice, and return what calls the API for her."""
    api = site.api(bound_to="alice")
    for path, content in FILES.items():
        body = {"arguments": {"path": path, "content": content, "overwrite": True}}
        assert api.post("/v1/tools/memory_write/execute", json=body).is_success
    return api


def test_a_proposal_is_made_applied_and_taken_back(site: Site) -> None:
    """By the forms of the page; a forged form does nothing."""
    api = make_dirt(site)
    alice = site.visitor(bound_to="alice")

    before = alice.get("/ui/review/dreams")
    made = alice.post("/ui/review/dreams/run", {"mount": "user"})
    [proposal] = api.get("/v1/dreams").json()["proposals"]
    form = {"proposal": proposal["proposal_id"], "mount": "user"}
    forged = alice.client.post("/ui/review/dreams/decide", data=form | {"decision": "apply 1"})
    assert forged.status_code == 403
    alice.post("/ui/review/dreams/decide", form | {"decision": "apply 1"})
    applied = alice.get("/ui/review/dreams")
    alice.post("/ui/review/dreams/decide", form | {"decision": "revert 1"})
    undone = alice.get("/ui/review/dreams")

    assert "Said twice: 1" in before.text
    assert made.status_code in (200, 303)
    assert "user/preferences.md@1" in applied.text
    assert "Take it back" in applied.text
    assert "taken back" in undone.text
    read = api.post("/v1/tools/memory_read/execute", json={"arguments": {"path": "user/notes.md"}})
    assert read.json()["content"] == FILES["user/notes.md"]


def test_a_group_that_was_held_back_can_only_be_rejected(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands beside the figures with all groups."""
    monkeypatch.setattr(gate, "MAX_GROWTH", -1.0)  # nothing passes
    api = make_dirt(site)
    alice = site.visitor(bound_to="alice")

    alice.get("/ui/review/dreams")
    alice.post("/ui/review/dreams/run", {"mount": "user"})
    [proposal] = api.get("/v1/dreams").json()["proposals"]
    form = {"proposal": proposal["proposal_id"], "mount": "user"}
    waiting = alice.get("/ui/review/dreams")
    alice.post("/ui/review/dreams/decide", form | {"decision": "reject 1"})

    assert 'value="apply 1"' not in waiting.text
    assert "With the groups that did not pass, contexts keep 100.0 %" in waiting.text
    assert "rejected" in alice.get("/ui/review/dreams").text


@pytest.mark.slow
def test_the_page_of_dreams_is_accessible(site: Site, in_browser: Callable[..., Any]) -> None:
    """Wide and bright, narrow and dark, with a proposal that waits."""
    make_dirt(site)
    found: dict[str, Any] = {}

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/review/dreams")
            page.get_by_role("button", name="Propose edits").click()
            page.get_by_role("button", name="Apply").wait_for()
            found["wide"] = violations(page, "wide")
        with signed_in(browser, site, size=NARROW, theme="dark") as page:
            page.goto("/ui/review/dreams")
            found["narrow"] = violations(page, "narrow")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    in_browser(journey)

    assert {name: one for name, one in found.items() if one} == {}
