"""The walk-through of docs/ui.md: five tasks that a newcomer does by what the pages say."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser
from tests.ui.browser import signed_in
from tests.ui.conftest import Site

WRONG, RIGHT = "12 June 2027", "19 June 2027"


@pytest.mark.slow
def test_a_newcomer_does_five_tasks(site: Site, in_browser: Callable[..., Any]) -> None:
    """Correct a wrong fact, see who wrote it, undo it, connect a program, and see why something was recalled."""

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, role="admin", bound_to=None) as page:
            page.locator("details.account summary").click()
            page.get_by_label("Look at the memory of user").fill("nora")
            page.get_by_role("button", name="Show", exact=True).click()
            page.get_by_role("button", name="Load the demo").click()
            page.get_by_text("The demo was loaded.").wait_for()

            # 1. Find a wrong fact and correct it.
            page.get_by_role("link", name="Search").click()
            page.get_by_role("searchbox").first.fill("When does Heron launch?")
            page.locator(".hit").get_by_role("link", name="Plan for Heron").click()
            assert WRONG in page.locator(".prose").inner_text()
            page.get_by_role("link", name="Edit").click()
            editor = page.get_by_label("Text")
            editor.fill(editor.input_value().replace(WRONG, RIGHT))
            page.get_by_role("button", name="Save").click()
            page.get_by_text("Saved.").wait_for()
            assert RIGHT in page.locator(".prose").inner_text()
            saved = page.url

            # 2. See who wrote it.
            page.get_by_role("link", name="Who wrote it").click()
            line = page.get_by_role("row").filter(has_text=RIGHT)
            assert "web" in line.inner_text()
            assert "version 2" in line.inner_text()
            page.get_by_role("link", name="Last change").click()
            assert page.locator(".diff-word").all_inner_texts() == ["12", "19"]

            # 3. Undo it.
            page.goto(saved)
            page.get_by_role("button", name="Undo").click()
            page.get_by_text("What the call wrote was undone.").wait_for()
            page.get_by_role("link", name="Read").click()
            assert WRONG in page.locator(".prose").inner_text()

            # 4. Make a key for a program.
            page.get_by_role("link", name="Memory", exact=True).first.click()
            page.get_by_role("link", name="Connect a program").click()
            page.get_by_role("link", name="Cursor").click()
            page.get_by_role("button", name="Make a key and fill it in").click()
            secret = page.locator("code.secret").inner_text()
            assert f"--key {secret}" in page.locator("pre").first.inner_text()

            # 5. See why something was recalled.
            asked = {"arguments": {"query": "Why does the hull get oil?"}}
            headers = {"Authorization": f"Bearer {secret}"}
            url = f"{site.served.url}/v1/tools/memory_context/execute"
            assert httpx2.post(url, json=asked, headers=headers).is_success
            page.get_by_role("link", name="Calls").click()
            page.get_by_role("link", name="context").first.click()
            page.get_by_role("heading", name="What it chose").wait_for()
            assert "words" in page.locator(".chosen").inner_text()
            page.locator(".chosen summary").first.click()
            page.locator(".chosen .logged-text").first.wait_for()

    in_browser(journey)
