"""The pages of conversations in a real browser: as a person uses them, by hostile texts, and by axe."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.kit.zips import zipped
from tests.ui.browser import NARROW, WIDE, signed_in, violations
from tests.ui.conftest import Site
from tests.ui.conversations.planted import (
    BRANCHED,
    CHAT_EXPORT,
    FIND,
    IMPORT,
    LONG,
    QUEUE,
    THREAD,
    conversation,
    ended,
    lanes_held,
    put,
    put_hostile,
    send,
)
from tests.ui.test_everywhere import CUT_OFF, TEXT_TWICE, WATCH_SHIFTS
from tests.ui.test_hostile_notes import BY_HAND, IS_WHOLE


@pytest.mark.slow
def test_hostile_texts_run_nothing(site: Site, in_browser: Callable[..., Any]) -> None:
    """On each page that shows a text, a title or a source: no script runs, and the frame stays whole at 360 px."""
    ids = put_hostile(site)

    def look(browser: Browser) -> list[str]:
        broken = []
        with signed_in(browser, site, size=NARROW) as page:
            for address in (
                FIND,
                f"{FIND}?query=alert+script+evil+style+svg+javascript&limit=100",
                "/ui/conversations/timeline",
                "/ui/conversations/sources",
                "/ui/conversations/delete?before=2027-01-01",
            ):
                page.goto(address)
                if not page.evaluate(IS_WHOLE):
                    broken.append(address)
            for number, one in enumerate(ids):
                for more in ("", "&message=1&alone=true"):
                    page.goto(f"{THREAD}?id={one}{more}")
                    if page.locator("article.said").count() != 1 or not page.evaluate(IS_WHOLE):
                        broken.append(f"{BY_HAND[number][:80]} {more}")
        return broken

    assert in_browser(look) == []


@pytest.mark.slow
def test_what_was_said_is_found_while_it_is_typed(site: Site, in_browser: Callable[..., Any]) -> None:
    """By keyboard to the page, words are marked while they are typed, and the hit stands marked in its thread."""
    put(site, QUEUE, BRANCHED, LONG)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, zone="Asia/Kolkata") as page:
            page.keyboard.press("g")
            page.keyboard.press("c")
            page.get_by_role("heading", name="Newest conversations").wait_for()
            page.fill("#query", "exponential backoff")
            page.locator(".hit mark").first.wait_for()
            page.locator(".hit").first.get_by_role("link").click()
            page.wait_for_url("**message=4#m4")
            marked = page.locator("article[aria-current=true]")
            assert "Use exponential backoff." in marked.inner_text()
            assert "GMT+5:30" in str(marked.locator("time").get_attribute("title"))
            page.get_by_role("link", name="Find in it").click()
            page.fill("#query", "zeppelin")
            page.get_by_text("Nobody said this.").wait_for()
        with signed_in(browser, site, script=False) as page:
            page.goto(f"{FIND}?source=Work")
            page.fill("#query", "ninety degrees")
            page.get_by_role("button", name="Find").click()
            assert page.locator(".hit mark").all_inner_texts() == ["Ninety", "degrees"]

    in_browser(journey)


@pytest.mark.slow
def test_conversations_of_a_source_are_deleted(site: Site, in_browser: Callable[..., Any]) -> None:
    """From the list of sources: what goes, that it is for good, and the receipt; without a script."""
    put(site, QUEUE, BRANCHED)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, script=False) as page:
            page.goto("/ui/conversations/sources")
            page.get_by_role("link", name="Delete").click()
            page.get_by_text("This cannot be undone.").wait_for()
            assert page.get_by_role("row").count() == 1 + 2
            page.get_by_role("button", name="Delete for good").click()
            page.get_by_role("heading", name="Receipt").wait_for()
            page.goto(FIND)
            page.get_by_text("No conversation was imported yet.").wait_for()

    in_browser(journey)


@pytest.mark.slow
def test_an_export_is_imported_while_it_is_watched(
    site: Site, in_browser: Callable[..., Any], tmp_path: Path
) -> None:
    """The page shows the progress and then the report, with and without a script, and a large file is refused."""
    export = tmp_path / "conversations.json"
    export.write_bytes(json.dumps(CHAT_EXPORT).encode())
    imports = site.served.app.state.imports

    def watched(page: Page, *, is_scripted: bool) -> None:
        page.goto("/ui/conversations")
        page.get_by_role("link", name="Import").first.click()
        page.set_input_files("#export", export)
        page.get_by_role("button", name="Import").click()
        page.wait_for_url("**/ui/conversations/imported?id=*")
        if is_scripted:
            page.get_by_role("heading", name="The conversations were imported").wait_for(timeout=60_000)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            own, imports.max_bytes = imports.max_bytes, 1_024
            page.goto(IMPORT)
            imports.max_bytes = own
            page.set_input_files("#export", export)
            page.get_by_role("button", name="Import").click()
            page.get_by_text("The file is larger than").wait_for()
            watched(page, is_scripted=True)
            assert page.locator(".figures dd").all_inner_texts() == ["40", "0", "0", "80", "80"]
            page.get_by_role("link", name="Find what was said").click()
            page.get_by_role("heading", name="Newest conversations").wait_for()
        with signed_in(browser, site, script=False) as page, lanes_held(site.served):
            watched(page, is_scripted=False)
            page.get_by_role("heading", name="The import waits").wait_for()
            page.get_by_role("button", name="Cancel the import").click()
            page.wait_for_url("**/ui/conversations/imported?id=*")
            page.get_by_role(
                "heading", name="The import was cancelled"
            ).wait_for()  # the page loads itself again

    in_browser(journey)


@pytest.mark.slow
def test_no_page_of_conversations_has_a_violation_of_wcag(site: Site, in_browser: Callable[..., Any]) -> None:
    """In both themes; on a telephone and with text twice as large each page keeps its width, and nothing jumps."""
    [queue, tea, long] = put(site, QUEUE, BRANCHED, LONG)
    [said] = put(site, conversation("said", "Tea", ["I prefer oolong tea.", "Fine."]))
    addresses = [
        FIND,
        f"{FIND}?query=exponential+backoff+retries&human=true&since=2026-01-01",
        f"{FIND}?query=exponental+zeppelin",
        f"{FIND}?query=kafka&since=nonsense",
        "/ui/conversations/timeline",
        "/ui/conversations/timeline?project=none",
        f"{THREAD}?id={queue}&message=2",
        f"{THREAD}?id={tea}&branches=true",
        f"{THREAD}?id={long}&message=50",
        f"{THREAD}?id={long}&message=50&alone=true",
        f"{THREAD}?id=none",
        "/ui/conversations/sources",
        f"/ui/conversations/delete?id={queue}",
        "/ui/conversations/delete?source=none",
        IMPORT,
        "/ui/memory/evidence?path=user/typed.md",
        "/ui/memory/evidence?path=user/plain.md",
    ]
    for name, text in (("typed", f"- I own a yacht. [[conversations/{queue}#1]]\n"), ("plain", "- Tea.\n")):
        site.api(bound_to="alice").put("/v1/file", params={"path": f"user/{name}.md"}, content=text)

    def receipt(page: Page) -> str:
        put(site, {**QUEUE, "id": "gone"}, source={"kind": "codex"})
        page.goto("/ui/conversations/delete?source=codex")
        page.get_by_role("button", name="Delete for good").click()
        page.get_by_role("heading", name="Receipt").wait_for()
        return page.url.partition(site.served.url)[2]

    def look(browser: Browser) -> dict[str, Any]:
        found: dict[str, Any] = {}
        alice = site.visitor(bound_to="alice")
        with signed_in(browser, site) as page:
            addresses.append(receipt(page))
        with lanes_held(site.served):
            waiting = send(alice, b"{}").headers["location"]
            for theme, size in (("light", NARROW), ("dark", WIDE)):
                with signed_in(browser, site, theme=theme, size=size) as page:
                    page.goto(waiting)
                    found |= violations(page, f"{theme} waiting")
        ended(alice, waiting)
        mixed = zipped(
            {"chat.html": b"<!DOCTYPE html>", "conversations.json": json.dumps(CHAT_EXPORT).encode()}
        )
        addresses.extend((waiting, send(alice, mixed).headers["location"]))
        ended(alice, addresses[-1])
        for theme, size in (("light", WIDE), ("dark", NARROW)):
            with signed_in(browser, site, theme=theme, size=size) as page:
                page.add_init_script(WATCH_SHIFTS)
                page.goto(f"{THREAD}?id={said}")
                page.get_by_role("button", name="Distil").click()
                page.get_by_role("button", name="Write it").wait_for()
                found |= violations(page, f"{theme} distil")
                width = page.evaluate("document.documentElement.scrollWidth")
                if width > size["width"]:
                    found[f"{theme} distil"] = width
                if theme == "dark":
                    page.get_by_role("button", name="Write it").click()
                    page.wait_for_url("**/ui/memory/file**")
                    page.locator("a.citation").first.click()
                    page.get_by_text("Said by you").first.wait_for()
                    addresses.append(page.url.partition(site.served.url)[2])
                    addresses.append(f"{THREAD}?id={said}")
                    addresses.append(f"/ui/conversations/delete?id={said}")
                for address in addresses:
                    page.goto(address)
                    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
                    if shifts := page.evaluate("window.shifts"):
                        found[f"{theme} shifts {address}"] = shifts
                    for summary in page.locator("main details:not([open]) > summary").all():
                        summary.click()
                    found |= violations(page, f"{theme} {address}")
                    page.evaluate(TEXT_TWICE)
                    width, cut = page.evaluate("document.documentElement.scrollWidth"), page.evaluate(CUT_OFF)
                    if width > size["width"] or cut:
                        found[f"{theme} {address}"] = (width, cut)
        for theme in ("light", "dark"):
            with signed_in(browser, site, bound_to="nobody-yet", theme=theme) as page:
                page.goto(FIND)
                found |= violations(page, f"{theme} empty")
        return found

    found = in_browser(look)
    assert found == {}, sorted(found)
