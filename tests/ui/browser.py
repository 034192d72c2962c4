"""A real browser on the pages: Debian's Chromium, watched for errors and for requests to other hosts."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, sync_playwright
from tests.ui.conftest import Site

from memex.store.access import Role

WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OF_COLORS = ["color-contrast", "link-in-text-block"]  # the rules of WCAG that look at them
CHROMIUM = shutil.which("chromium")
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


@dataclass
class Watched:
    """What a page did that it must not do: errors of the console, dialogs, requests to other hosts."""

    host: str
    confirms: str | None = None  # how a question begins that a person is asked, and answers with yes
    faults: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Look at a page from now on."""
        page.on("console", lambda message: self._add(message.type, message.text))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", lambda request: self._check_host(request.url))
        page.on("dialog", self._answer)

    def _add(self, kind: str, text: str) -> None:
        is_status = text.startswith("Failed to load resource: the server responded with a status of 4")
        if kind in ("error", "warning") and not is_status:
            self.faults.append(f"{kind}: {text}")

    def _answer(self, dialog: Dialog) -> None:
        if self.confirms is None or not dialog.message.startswith(self.confirms):
            self.faults.append(f"dialog: {dialog.message}")
        dialog.accept()

    def _check_host(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "data" and parts.netloc != self.host:
            self.faults.append(f"request: {url}")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; the test is skipped where there is none."""
    if CHROMIUM is None:
        pytest.skip("no Chromium: run sh tests/ui/install.sh as root")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def signed_in(
    browser: Browser,
    site: Site,
    *,
    role: Role = "agent",
    bound_to: str | None = "alice",
    theme: str = "light",
    size: dict[str, int] = WIDE,
    script: bool = True,
    confirms: str | None = None,
    zone: str | None = None,
) -> Iterator[Page]:
    """A page of who signed in with a new key. At the end, the page has done nothing that it must not do."""
    watched = Watched(urlsplit(site.served.url).netloc, confirms)
    context = browser.new_context(
        base_url=site.served.url,
        color_scheme=theme,  # type: ignore[arg-type]
        viewport=size,  # type: ignore[arg-type]
        java_script_enabled=script,
        timezone_id=zone,
    )
    page = context.new_page()
    page.set_default_timeout(10_000)
    watched.watch(page)
    page.goto("/ui")
    page.fill("#key", site.key(role, bound_to=bound_to))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/ui/memory")
    try:
        yield page
    finally:
        context.close()
    assert watched.faults == []


def violations(page: Page, where: str) -> dict[str, Any]:
    """Return what axe finds, by place and rule."""
    options = {"runOnly": {"type": "tag", "values": WCAG}, "resultTypes": ["violations"]}
    return _by_rule(Axe().run(page, options=options).response, where)


def violations_in_both_themes(page: Page, where: str) -> dict[str, Any]:
    """Return what axe finds on a page in the light theme, and what is of colors in the dark one as well."""
    found = violations(page, where)
    options = {"runOnly": {"type": "rule", "values": OF_COLORS}, "resultTypes": ["violations"]}
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    found |= _by_rule(page.evaluate("options => axe.run(options)", options), f"dark {where}")
    page.emulate_media(color_scheme="light")
    return found


def _by_rule(response: dict[str, Any], where: str) -> dict[str, Any]:
    return {
        f"{where}: {one['id']}": [node["html"][:200] for node in one["nodes"][:3]]
        for one in response["violations"]
    }
