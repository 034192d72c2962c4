"""The page of work: where it stands with its evidence, decided by hand; by axe, narrow, dark, and nobody else's."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.ui.browser import NARROW, signed_in, violations
from tests.ui.conftest import Site

LABEL = "remote:github.com/acme/apollo"
HOSTILE = "Test <img src=x onerror=alert(1)> and </code></pre><script>alert(1)</script> it"


def report(
    site: Site, label: str, name: str, *, root: str = "/home/alice/apollo", more: str = HOSTILE
) -> None:
    """Report a session of alice with two open tasks."""
    at = "2026-11-20T09:00:00Z"
    event = {
        "runtime": "my_agent",
        "session": name,
        "event": "1",
        "kind": "stop",
        "time": at,
        "project": label.rpartition("/")[2],
        "cwd": root,
        "messages": [
            {
                "id": "1",
                "role": "user",
                "text": f"Goal: build the {name}.\nDone when the {name} is reviewed.",
                "said_at": at,
            },
            {
                "id": "2",
                "role": "assistant",
                "text": f"Still to do:\n- Document the {name}\n- {more}",
                "said_at": at,
            },
        ],
        "metadata": {"label": label, "root": root, "branch": "main"},
    }
    answer = site.api(bound_to="alice").post("/v1/events", json={"events": [event]})
    assert answer.is_success, answer.text


@pytest.mark.slow
def test_open_work_is_decided_by_hand(site: Site, in_browser: Callable[..., Any]) -> None:
    """From the list of places to a task and its message; done by hand it is closed; hostile texts are shown."""
    report(site, LABEL, "queue")
    report(site, "remote:github.com/acme/gemini", "docs", root="/home/alice/gemini")
    report(site, f"name:{'x' * 180}", "cellar", root=f"/home/alice/{'x' * 180}")
    found: dict[str, Any] = {}

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.keyboard.press("g")
            page.keyboard.press("w")
            page.get_by_role("link", name="apollo").click()
            page.get_by_text("build the queue.").first.wait_for()
            assert not page.get_by_text("the docs").count()
            found["wide"] = violations(page, "wide")
            page.locator(".work-item", has_text="Document the queue").get_by_role(
                "button", name="Done"
            ).click()
            page.get_by_text("The item is done.").wait_for()
            assert page.locator("section[aria-label='Done lately']").get_by_text("Document the queue").count()
            item = page.locator(".work-item", has_text="Test <img")
            item.get_by_text("More").click()
            found["more"] = violations(page, "more")
            item.get_by_role("button", name="Pin").click()
            page.get_by_text("The item is pinned.").wait_for()
            item.get_by_text("More").click()
            item.get_by_label("Until").fill("2099-12-01")
            item.get_by_label("Until").press("Enter")
            page.get_by_text("until 2099-12-01").wait_for()
            assert page.locator("section[aria-label=Open] .work-item").count() == 1
            item.get_by_text("More").click()
            item.get_by_role("button", name="Archive").click()
            archived = page.locator("section[aria-label=Archived]")
            archived.get_by_role("button", name="Restore").click()
            page.get_by_text("The item is restored.").wait_for()
            point = page.locator("section[aria-label='Definition of done']")
            point.get_by_role("button", name="Met").click()
            point.get_by_role("link", name="decided by hand").wait_for()
            found["met"] = violations(page, "met")
            point.get_by_role("button", name="Not met").click()
            page.get_by_text("The item is restored.").wait_for()
            assert point.get_by_role("button", name="Met", exact=True).count() == 1
            page.locator("section[aria-label=Open] a.path").first.click()
            page.wait_for_url("**/ui/conversations/thread?**")
        with signed_in(browser, site, size=NARROW, theme="dark") as page:
            page.goto(f"/ui/work?project={LABEL}")
            page.get_by_text("What a new session is given").click()
            found["narrow"] = violations(page, "narrow")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    in_browser(journey)
    assert [name for name, one in found.items() if one] == [], found


def test_health_is_repaired_and_ruled_by_forms(site: Site) -> None:
    """Without a script: what is there twice is put away and opened again; a rule holds until it is taken out."""
    report(
        site,
        LABEL,
        "queue",
        more="Document the flags of the importer\n- Document the flags of the importer well",
    )
    report(site, "remote:github.com/acme/gemini", "docs", root="/home/alice/gemini")
    alice, bob = site.visitor(bound_to="alice"), site.visitor(bound_to="bob")
    place = {"project": LABEL}
    before = alice.get("/ui/work/health", params=place).text
    api = site.api(bound_to="alice")
    [repair] = api.get("/v1/work/health", params=place).json()["repairs"]
    unknown = alice.post("/ui/work/repair", {**place, "items": "0123456789"})
    ruled = alice.post("/ui/work/policy", {**place, "rule": "Leave out: #idea"})
    shown = alice.get(ruled.headers["location"]).text
    wrong = alice.post("/ui/work/policy", {**place, "rule": "Burn it"})
    alice.post("/ui/work/policy", {**place, "rule": "Leave out: #idea", "remove": "yes"})
    after = alice.get("/ui/work/health", params=place).text
    put_away = alice.post("/ui/work/repair", {**place, "items": repair["id"]})
    undo = alice.get(put_away.headers.get("location", "/ui/work")).text
    opened = alice.post("/ui/work/repair", {**place, "items": repair["id"], "undo": "yes"})

    assert "the queue is reviewed" in before
    assert "the docs" not in before
    assert (unknown.status_code, wrong.status_code) == (422, 422)
    assert "Remove<span" in shown
    assert "Remove<span" not in after
    assert bob.get("/ui/work/health", params=place).status_code == 404
    assert (put_away.status_code, opened.status_code) == (303, 303)
    assert "Put away." in undo
    assert 'name="undo" value="yes"' in undo


def test_work_is_its_users_alone(site: Site) -> None:
    """Another user finds no place, no pack and no item of it; without a script a label is linked."""
    report(site, LABEL, "queue")
    site.api("admin").put("/v1/admin/projects/apollo")
    site.api("admin").put("/v1/admin/projects/apollo/members/alice")
    bob, alice = site.visitor(bound_to="bob"), site.visitor(bound_to="alice")
    nothing = bob.get("/ui/work").text
    refused = bob.get("/ui/work", params={"project": LABEL})
    page = alice.get("/ui/work").text
    item = page.partition('value="done ')[2][:10]
    denied = bob.post("/ui/work/decide", {"decision": f"done {item}", "project": LABEL})
    linked = alice.post("/ui/work/link", {"label": LABEL, "project": "apollo"})
    dropped = alice.post("/ui/work/decide", {"decision": f"drop {item}", "project": "apollo"})

    assert "queue" in page
    assert "queue" not in nothing
    assert "apollo" not in nothing
    assert (refused.status_code, denied.status_code) == (404, 404)
    assert linked.headers["location"].endswith("project=apollo")
    assert dropped.status_code == 303
    assert f"done {item}" not in alice.get("/ui/work", params={"project": "apollo"}).text
    assert alice.post("/ui/work/decide", {"decision": "burn x"}).status_code == 422
    assert "Choose a user" in site.visitor("admin").get("/ui/work").text
