"""The page of removed lines: what is listed, put back by a button, and taken out again; by axe, narrow and dark."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.ui.browser import NARROW, signed_in, violations
from tests.ui.conftest import Site

OLDER, NEWER = "I live in Lisbon.", "I live in Porto now."
SECRET = "My sister Lena is getting divorced."


def take_out(site: Site) -> None:
    """Let alice replace one statement, and forget another one."""
    api = site.api(bound_to="alice")
    texts = (OLDER, NEWER, SECRET, "Please forget that my sister Lena is getting divorced.")
    for text in texts:
        answer = api.post("/v1/tools/memory_remember/execute", json={"arguments": {"text": text}})
        assert answer.is_success, answer.text


def test_a_forged_form_puts_nothing_back(site: Site) -> None:
    """Without the token of its session a form is refused, and the line stays out."""
    take_out(site)
    api = site.api(bound_to="alice")
    [line] = api.get("/v1/removed", params={"state": "replaced"}).json()["lines"]
    forged = site.visitor(bound_to="alice").client
    forged.get("/ui/removed")

    assert forged.post("/ui/removed/put-back", data={"id": line["id"]}).status_code == 403
    assert api.get("/v1/removed", params={"state": "replaced"}).json()["lines"] == [line]


def test_review_says_which_words_a_decision_takes_out(site: Site) -> None:
    """Each candidate of a request that may mean several statements, and that they leave the journal too."""
    api, call = site.api(bound_to="alice"), "/v1/tools/memory_remember/execute"
    for text in ("I drive a Golf.", "My sister drives a Golf.", "Forget the Golf."):
        api.post(call, json={"arguments": {"text": text}})
    page = site.visitor(bound_to="alice").client.get("/ui/review").text

    for text in ("I drive a Golf.", "My sister drives a Golf."):
        assert f"takes out <q><bdi>{text}</bdi></q>, and hides these words in the journal" in page


def test_a_line_that_its_handle_took_out_is_not_called_replaced(site: Site) -> None:
    """Nothing newer takes its place: somebody said that it no longer holds."""
    api, call = site.api(bound_to="alice"), "/v1/tools/memory_remember/execute"
    for text in ("I drive a Golf.", "My sister drives a Golf."):
        api.post(call, json={"arguments": {"text": text}})
    asked = api.post(call, json={"arguments": {"text": "Forget the Golf."}}).json()
    handle = asked["candidates"][0]["handle"]
    api.post(call, json={"arguments": {"outdated": [handle]}})
    page = site.visitor(bound_to="alice").client.get("/ui/removed").text

    assert '<span class="badge">Taken out</span>' in page
    assert '<span class="badge">Replaced</span>' not in page


@pytest.mark.slow
def test_a_line_is_put_back_by_its_button_and_taken_out_again(
    site: Site, in_browser: Callable[..., Any]
) -> None:
    """By keyboard to the page; filtered; one button puts the line back, and one takes it out again."""
    take_out(site)
    found: dict[str, Any] = {}

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, size=NARROW, theme="dark") as page:
            page.goto("/ui/removed")
            page.get_by_text(OLDER).wait_for()
            found["narrow"] = violations(page, "narrow")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        with signed_in(browser, site) as page:
            page.keyboard.press("g")
            page.keyboard.press("u")
            page.get_by_role("heading", name="Removed", exact=True).wait_for()
            page.get_by_text(SECRET).wait_for()
            assert page.locator(".review-item").count() == 2
            page.get_by_role("navigation", name="Reasons").get_by_role(
                "link", name="Replaced", exact=True
            ).click()
            page.get_by_text(NEWER).wait_for()
            assert page.locator(".review-item").count() == 1
            found["wide"] = violations(page, "wide")
            page.get_by_role("button", name="Put back").click()
            page.get_by_text("The line stands in user/profile.md again.").wait_for()
            page.get_by_text("No such line was taken out.").wait_for()
            found["put back"] = violations(page, "put back")
            page.get_by_role("button", name="Undo").click()
            page.get_by_text("The line is taken out again.").wait_for()
            assert page.locator(".review-item").count() == 1
        with signed_in(browser, site, script=False) as page:
            page.goto("/ui/removed?state=forgotten")
            page.get_by_role("button", name="Put back").click()
            page.get_by_text("The line stands in user/profile.md again.").wait_for()

    in_browser(journey)

    assert {name: one for name, one in found.items() if one} == {}


def test_a_line_is_erased_after_a_preview(site: Site) -> None:
    """The page shows the words and what would go; the button erases them and shows the receipt."""
    take_out(site)
    api, alice = site.api(bound_to="alice"), site.visitor(bound_to="alice")
    [line] = api.get("/v1/removed", params={"state": "forgotten"}).json()["lines"]
    removed = alice.get("/ui/removed")
    asked = alice.get("/ui/removed/erase", params={"statement": line["id"]})
    token = re.search(r'name="confirm" value="([^"]+)"', asked.text)
    assert token is not None

    done = alice.post("/ui/removed/erase", {"statement": line["id"], "confirm": token[1]})

    assert f"/ui/removed/erase?statement={line['id']}" in removed.text
    assert SECRET.rstrip(".") in asked.text
    assert "The words are erased." in done.text
    assert "(erased)" in alice.get("/ui/removed").text
    assert "Lena" not in done.text
    assert "Lena" not in alice.get("/ui/removed").text
    words = alice.post("/ui/removed/erase", {"text": "sister Lena is getting divorced"})
    assert "Nothing holds these words." in words.text


@pytest.mark.slow
def test_words_are_erased_in_the_browser(site: Site, in_browser: Callable[..., Any]) -> None:
    """From the list to the preview and the receipt, narrow and dark, wide, and without scripts; by axe."""
    take_out(site)
    site.api(bound_to="alice").put("/v1/file", params={"path": "user/tea.md"}, content="# Oolong tea\n")
    found: dict[str, Any] = {}

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, size=NARROW, theme="dark") as page:
            page.goto("/ui/removed/erase")
            found["form"] = violations(page, "erase form, narrow")
            page.get_by_label("The words to erase").fill("sister Lena is getting divorced")
            page.get_by_role("button", name="Show what would go").click()
            page.get_by_text("These words would go").wait_for()
            found["preview"] = violations(page, "erase preview, narrow")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.get_by_role("button", name="Erase for good").click()
            page.get_by_text("The words are erased.").wait_for()
            found["receipt"] = violations(page, "erase receipt, narrow")
        with signed_in(browser, site) as page:
            page.goto("/ui/removed")
            page.get_by_role("link", name="Erase for good").first.click()
            page.get_by_text("These words would go").wait_for()
            found["wide"] = violations(page, "erase preview, wide")
        with signed_in(browser, site, script=False) as page:
            page.goto("/ui/memory/versions?path=user/tea.md")
            page.get_by_role("link", name="Erase for good").click()
            page.get_by_role("button", name="Erase for good").click()
            page.get_by_text("The words are erased.").wait_for()

    in_browser(journey)

    assert {name: one for name, one in found.items() if one} == {}
