"""The pages while the database is away: each says so with what to do, and comes back by itself."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.kit import clusters
from tests.kit.http_service import serving_http
from tests.ui.conftest import Site

from memex.store.embedded import server as embedded
from memex.store.embedded.server import ServerLease

PATIENCE_S = 20
PAGES = ("/ui/health", "/ui/memory", "/ui/calls", "/ui/people")


class Switch:
    """A Postgres of the test's own, which is stopped and started."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._lease: ServerLease | None = None

    def start(self) -> str:
        """Start the server and return how to connect to it, each time the same."""
        self._lease = embedded.start(self._data_dir)
        return self._lease.conninfo

    def stop(self) -> None:
        """Stop the server, and wait until it is gone."""
        if self._lease is not None:
            self._lease.close()
            self._lease = None
            clusters.await_stop(self._data_dir)


@pytest.fixture
def switched(server_folder: Path, made_data_dir: Path, tmp_path: Path) -> Iterator[tuple[Switch, Site]]:
    """A site over a Postgres that can be stopped."""
    folder = server_folder / f"away-{tmp_path.name}"
    clusters.copy(made_data_dir, folder)
    switch = Switch(folder)
    with ExitStack() as stack:
        stack.callback(switch.stop)
        served = stack.enter_context(serving_http(switch.start()))
        yield switch, Site(served, stack, "home")


@pytest.mark.slow
def test_pages_say_that_the_database_is_away_and_work_again_after_it(switched: tuple[Switch, Site]) -> None:
    """503 with a page that loads itself again, also for the part that htmx asks for; then 200, still signed in."""
    switch, site = switched
    admin = site.visitor("admin")
    before = [admin.get(page).status_code for page in PAGES]

    switch.stop()
    away = [admin.get(page) for page in PAGES]
    part = admin.get("/ui/health", headers={"HX-Request": "true"})
    switch.start()
    deadline_s = time.monotonic() + PATIENCE_S  # the pool tries again within seconds
    while admin.get(PAGES[0]).status_code != 200 and time.monotonic() < deadline_s:
        time.sleep(0.2)
    after = [admin.get(page).status_code for page in PAGES]

    assert before == after == [200] * len(PAGES)
    for page in away:
        assert page.status_code == 503
        assert '<meta http-equiv="refresh"' in page.text
        assert "STORE_UNAVAILABLE" in page.text
        assert "The database did not answer." in page.text
        assert int(page.headers["retry-after"]) >= 1
    assert part.status_code == 503
    assert "The database did not answer." in part.text
    assert "<html" not in part.text


@pytest.mark.slow
def test_a_page_comes_back_by_itself(switched: tuple[Switch, Site], in_browser: Callable[..., Any]) -> None:
    """A browser that is left alone shows Health again once the database runs, with and without JavaScript."""
    switch, site = switched

    def journey(browser: Browser) -> None:
        for script in (True, False):
            context = browser.new_context(base_url=site.served.url, java_script_enabled=script)
            page = context.new_page()
            page.goto("/ui")
            page.fill("#key", site.key("admin"))
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url("**/ui/memory")
            switch.stop()
            page.goto("/ui/health")
            page.get_by_text("The database did not answer.").wait_for()
            switch.start()
            page.get_by_role("heading", name="Checks").wait_for()
            context.close()

    in_browser(journey)
