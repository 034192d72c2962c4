"""What holds on every page: text twice as large, nothing that jumps, times of the reader, dialogs and errors."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page
from tests.ui.browser import NARROW, WIDE, signed_in, violations_in_both_themes
from tests.ui.conftest import Site
from tests.ui.test_browser import ADDRESSES, ADMIN_ADDRESSES, leave_to_a_person, plant, share_a_project
from tests.ui.test_removed import take_out

TEXT_TWICE = "document.documentElement.style.fontSize = '200%'"
# Elements that hide a part of their text, and those that stand out of the page.
CUT_OFF = """() => [...document.querySelectorAll("body *")].filter((element) => {
  if (element.closest(".visually-hidden, .skip-link, svg, details:not([open]) > :not(summary)")) return false;
  const style = getComputedStyle(element);
  const isHiding = ["hidden", "clip"].includes(style.overflowX) && style.textOverflow !== "ellipsis";
  const hides = isHiding && !element.matches("input");
  if (hides && element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0) return true;
  const box = element.getBoundingClientRect();
  const isShown = box.width && box.height && element.matches("a, button, input, select, textarea, h1, h2, label");
  if (!isShown) return false;
  return box.right > innerWidth + 1 && !element.closest(".table-scroll, pre, .prose table");
}).map((element) => element.outerHTML.slice(0, 150)).slice(0, 5)"""
# Words of labels and heads of columns that do not fit on one line.
BROKEN_WORDS = """() => [...document.querySelectorAll("dt, th, label, button, summary")].flatMap((element) => {
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), broken = [];
  while (texts.nextNode()) {
    for (const word of texts.currentNode.data.matchAll(/[^\\s-]+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
})"""
WATCH_SHIFTS = """
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (!entry.hadRecentInput) {
        window.shifts.push([entry.value, ...entry.sources.map((one) => one.node?.outerHTML?.slice(0, 100) ?? "")]);
      }
    }
  }).observe({type: "layout-shift", buffered: true});
"""
WRONG_ADDRESSES = (
    "/ui/nowhere",  # 404
    "/ui/memory/file?path=user/kettle.md&version=9",  # a version that never was
    "/ui/memory/file?path=user/gone.md",  # a file that was deleted
    "/ui/memory/file?path=../x",  # 400
    "/ui/memory?since=nonsense",  # 422
    "/ui/memory?cursor=nonsense",  # with the way to the beginning of the list
    "/ui/memory?folder=" + "x" * 1_001,  # too long
    "/ui/people",  # 403 for an agent
)


@contextmanager
def looking_at_alice(browser: Browser, site: Site, **options: Any) -> Iterator[Page]:
    """A page of an administrator who looks at the memory of alice."""
    with signed_in(browser, site, role="admin", bound_to=None, **options) as page:
        page.locator("details.account summary").click()
        page.fill("#as-user-name", "alice")
        page.locator(".account-menu").get_by_role("button", name="Show").click()
        page.locator(".as-user").wait_for()
        yield page


def fill(site: Site) -> None:
    """Give the tenant something on each page, and a file that was deleted."""
    plant(site)
    leave_to_a_person(site)
    share_a_project(site)
    api, gone = site.api(bound_to="alice"), {"path": "user/gone.md"}
    assert api.put("/v1/file", params=gone, content="# Gone\n").is_success
    assert api.delete("/v1/file", params=gone, headers={"If-Match": "*"}).is_success


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_text_twice_as_large_fits(site: Site, in_browser: Callable[..., Any], size: dict[str, int]) -> None:
    """On each page, wide and on a telephone: it does not scroll sideways, and nothing is cut off."""
    fill(site)

    def look(browser: Browser) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with looking_at_alice(browser, site, size=size) as page:
            for address in (*ADDRESSES, *ADMIN_ADDRESSES, *WRONG_ADDRESSES):
                page.goto(address)
                page.evaluate(TEXT_TWICE)
                width = page.evaluate("document.documentElement.scrollWidth")
                cut = page.evaluate(CUT_OFF)
                if width > size["width"] or cut:
                    found[address] = (width, cut)
        return found

    assert in_browser(look) == {}


@pytest.mark.slow
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_word_of_a_label_is_broken(
    site: Site, in_browser: Callable[..., Any], size: dict[str, int]
) -> None:
    """Labels, buttons and heads of columns stand in whole words, on a telephone as well."""
    fill(site)
    take_out(site)

    def look(browser: Browser) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with looking_at_alice(browser, site, size=size) as page:
            for address in (*ADDRESSES, *ADMIN_ADDRESSES):
                page.goto(address)
                found[address] = page.evaluate(BROKEN_WORDS)
        return {address: words for address, words in found.items() if words}

    assert in_browser(look) == {}


@pytest.mark.slow
def test_nothing_jumps_while_a_page_loads(site: Site, in_browser: Callable[..., Any]) -> None:
    """The browser counts no layout shift on any page, though a script puts times into the reader's zone."""
    fill(site)

    def look(browser: Browser) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with looking_at_alice(browser, site) as page:
            page.add_init_script(WATCH_SHIFTS)
            for address in (*ADDRESSES, *ADMIN_ADDRESSES):
                page.goto(address)
                page.wait_for_load_state("load")
                page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
                if shifts := page.evaluate("window.shifts"):
                    found[address] = shifts
        return found

    assert in_browser(look) == {}


@pytest.mark.slow
def test_states_between_have_no_violation_of_wcag(site: Site, in_browser: Callable[..., Any]) -> None:
    """In both themes: an empty memory, what opens, what asks for a decision, and each kind of error."""
    fill(site)

    def look(browser: Browser) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with signed_in(browser, site) as page:
            for address in WRONG_ADDRESSES:
                page.goto(address)
                found |= violations_in_both_themes(page, address[:60])
            page.goto("/ui/memory")
            page.keyboard.press("?")
            page.get_by_role("heading", name="Keys").wait_for()
            found |= violations_in_both_themes(page, "keys")
            page.keyboard.press("Escape")
            page.locator("details.account summary").click()
            found |= violations_in_both_themes(page, "menu")
            page.goto("/ui/memory?kind=tasks")
            found |= violations_in_both_themes(page, "filters")
            found |= conflict(page, site)
        with signed_in(browser, site, bound_to="nobody-yet") as page:
            page.get_by_text("There is nothing here yet.").wait_for()
            found |= violations_in_both_themes(page, "empty memory")
            for address in ("/ui/review", "/ui/calls?tool=none", "/ui/search?query=zeppelin"):
                page.goto(address)
                found |= violations_in_both_themes(page, f"empty {address}")
            page.context.clear_cookies()
            page.goto(f"/ui/sign-in/link/{site.link()}")
            found |= violations_in_both_themes(page, "sign-in link")
            page.goto("/ui/sign-in")
            page.fill("#key", "mx_wrong")
            page.get_by_role("button", name="Sign in").click()
            found |= violations_in_both_themes(page, "wrong key")
        return found

    assert in_browser(look) == {}


def conflict(page: Page, site: Site) -> dict[str, Any]:
    """Look at the page of a conflict, and at a form that is kept because the session ended."""
    page.goto("/ui/memory/edit?path=user/kettle.md")
    text = {"params": {"path": "user/kettle.md"}, "content": "# Kettle\n\nOf copper.\n"}
    site.api(bound_to="alice").put("/v1/file", headers={"If-Match": "*"}, **text)
    page.fill("#content", "# Kettle\n\nOf glass.\n")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Somebody else saved first").wait_for()
    found = violations_in_both_themes(page, "conflict")
    page.context.clear_cookies()
    page.get_by_role("button", name="Save over").click()
    page.get_by_text("Nothing was changed yet").wait_for()
    return found | violations_in_both_themes(page, "kept form")


@pytest.mark.slow
def test_times_are_those_of_the_reader(site: Site, in_browser: Callable[..., Any]) -> None:
    """Each is an ISO day, with a time where it matters, in the zone of the reader; on hover with that zone."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, zone="Asia/Kolkata") as page:
            page.goto("/ui/memory/versions?path=user/tea.md")
            shown = page.locator("main time").first
            moment = datetime.fromisoformat(str(shown.get_attribute("datetime")))
            assert shown.inner_text() == f"{moment.astimezone(ZoneInfo('Asia/Kolkata')):%Y-%m-%d %H:%M}"
            assert "GMT+5:30" in str(shown.get_attribute("title"))
            for address in ("/ui/memory", "/ui/calls", "/ui/memory/file?path=user/tea.md", "/ui/sessions"):
                page.goto(address)
                texts = page.locator("main time").all_inner_texts()
                assert texts, address
                assert all(re.fullmatch(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", text) for text in texts), texts
            page.goto("/ui/search")
            page.fill("#query", "oolong sencha")
            page.locator(".hit").first.wait_for()
            titles = [one.get_attribute("title") or "" for one in page.locator("#results time").all()]
            assert all("GMT+5:30" in title for title in titles)

    in_browser(journey)


@pytest.mark.slow
def test_back_and_forward_lose_nothing(site: Site, in_browser: Callable[..., Any]) -> None:
    """A form that comes back holds what is stored now; lists keep their filters."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/memory?folder=user/&tag=drinks")
            page.get_by_role("link", name="Tea", exact=True).click()
            page.get_by_role("link", name="Edit").click()
            page.fill("#content", "# Tea\n\nFirst text.\n")
            page.get_by_role("button", name="Save").click()
            page.get_by_text("Saved.").wait_for()
            page.go_back()
            page.wait_for_url("**/edit?**")
            assert "First text." in page.input_value("#content")
            page.fill("#content", "# Tea\n\nSecond text.\n")
            page.get_by_role("button", name="Save").click()
            page.get_by_text("Saved.").wait_for()
            page.get_by_role("link", name="Versions").click()
            assert page.get_by_role("row").count() == 1 + 4
            page.goto("/ui/memory?folder=user/&tag=drinks")
            page.goto("/ui/calls")
            page.go_back()
            page.get_by_text("No file passes these filters").wait_for()
            page.go_forward()
            page.get_by_role("heading", name="Calls").wait_for()

    in_browser(journey)


@pytest.mark.slow
def test_a_second_tab_cannot_change_the_memory_of_another_user(
    site: Site, in_browser: Callable[..., Any]
) -> None:
    """A tab that shows bob, while another one went on to alice: its form is kept, and says whose memory it is."""
    plant(site)

    def journey(browser: Browser) -> None:
        with looking_at_alice(browser, site) as page:
            page.goto("/ui/memory/edit?path=user/kettle.md")
            page.fill("#content", "# Kettle\n\nOf glass.\n")
            second = page.context.new_page()
            second.goto("/ui/memory")
            second.locator(".as-user").get_by_role("button", name="Stop").click()
            second.locator(".as-user").wait_for(state="detached")
            page.get_by_role("button", name="Save").click()
            page.get_by_role("heading", name="Nothing was changed yet").wait_for()
            assert "The page was made for user alice" in page.locator("main").inner_text()
            assert "Of glass." in page.locator("textarea").input_value()

    in_browser(journey)
    read = site.api(bound_to="alice").get("/v1/file", params={"path": "user/kettle.md"})
    assert "Of iron." in read.json()["content"]


def test_a_bound_user_sees_nothing_else(site: Site, in_browser: Callable[..., Any]) -> None:
    """Who signs in with a key of bob finds bob's memory: no file, no call and no page of anybody else."""
    plant(site)
    note = {"params": {"path": "user/bells.md"}, "content": "# Bells\n\nBob rings them.\n"}
    assert site.api(bound_to="bob").put("/v1/file", **note).is_success

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, bound_to="bob") as page:
            assert page.locator("table.files tbody tr").all_inner_texts() != []
            assert page.locator("table.files").get_by_role("link").all_inner_texts() == ["Bells"]
            assert page.get_by_role("link", name="People").count() == 0
            assert page.locator(".as-user").count() == 0
            page.goto("/ui/calls")
            assert "user/bells.md" in page.locator("main").inner_text()
            assert "tea" not in page.locator("main").inner_text()
            page.goto("/ui/search?query=oolong+sencha+kettle")
            page.get_by_text("No file matches.").wait_for()
            page.goto("/ui/memory/file?path=user/tea.md")
            page.get_by_role("heading", name="user/tea.md: there is no such file.").wait_for()
            page.goto("/ui/people")
            assert "403" in page.locator(".problem").inner_text()
            page.locator("details.account summary").click()
            assert "Signed in as bob" in page.locator(".account-menu").inner_text()
            page.get_by_role("button", name="Sign out").click()
            page.get_by_label("Key").wait_for()
            page.goto("/ui/memory/file?path=user/bells.md")
            page.get_by_role("button", name="Sign in").wait_for()

    in_browser(journey)


@pytest.mark.slow
def test_a_deleted_file_is_restored_from_its_address(site: Site, in_browser: Callable[..., Any]) -> None:
    """The address of a file that was deleted says when and by whom, and puts it back."""
    fill(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/memory/file?path=user/gone.md")
            page.get_by_role("heading", name="No file stands here now").wait_for()
            page.get_by_role("button", name="Restore version 1").click()
            page.get_by_text("The version was restored").wait_for()
            page.get_by_role("heading", name="Gone").wait_for()

    in_browser(journey)
