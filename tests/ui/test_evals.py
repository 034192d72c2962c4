"""The pages of Evals: runs in a table and as lines, one run with its failures, and two runs case by case."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.service.evals.test_run_folder import HOSTILE, document, put
from tests.ui.browser import NARROW, signed_in, violations_in_both_themes
from tests.ui.conftest import Site

from memex.service.evals.run_folder import RunFolder
from memex.store.identity.tenants import DEFAULT_TENANT
from memex.ui.run_lines import command_of

HOSTILE_TEXTS = (
    HOSTILE,
    "{{ 7 * 7 }}",
    "a\u202eb",
    "' onmouseover='alert(3)",
    "&lt;b&gt;",
    "</pre><script>alert(4)</script>",
)


@pytest.fixture
def home(served: Any, tmp_path: Path) -> Iterator[Site]:
    """The tenant `default`, whose administrators see the folder of runs: three runs, and a file that is none."""
    first, second = document("tea-1"), document("tea-2", started_at="2026-11-23T09:00:00Z")
    [tea, cups] = second["cases"]
    second["cases"] = [
        tea
        | {
            "status": "failed",
            "problems": ["Not in the context: oolong."],
            "traces": [{"context": "# Coffee"}],
        },
        cups | {"status": "passed", "problems": []},
        cups | {"id": "context/pots", "asked": "Which pots?"},
    ]
    hostile = document(
        "hostile-1",
        suite=HOSTILE,
        planner=HOSTILE,
        revision=HOSTILE,
        figures={HOSTILE: {HOSTILE: {"value": 0.5, "low": 0.0, "high": 1.0}}},
    )
    hostile["cases"] = [
        cups
        | {
            "id": f"context/{text}",
            "status": "failed",
            "asked": text,
            "note": text,
            "problems": [text],
            "traces": [{"context": text, text: text}],
        }
        for text in HOSTILE_TEXTS
    ]
    for run in (first, second, hostile):
        put(tmp_path, f"{run['run_id']}.json", run)
    put(tmp_path, "hostile-2.json", hostile | {"started_at": "2026-11-24T09:00:00Z"})
    put(tmp_path, "broken.json", "{")
    served.service.run_folder = RunFolder(tmp_path)
    with ExitStack() as stack:
        yield Site(served, stack, DEFAULT_TENANT)
    served.service.run_folder = None


@pytest.mark.slow
def test_two_runs_are_compared(home: Site, in_browser: Callable[..., Any]) -> None:
    """From the table, with lines above it, to what failed: its context, and what changed between two runs."""

    def journey(browser: Browser) -> None:
        with signed_in(browser, home, role="admin", bound_to=None) as page:
            page.keyboard.press("g")
            page.keyboard.press("e")
            page.get_by_role("heading", name="Suites").wait_for()
            page.get_by_role("link", name="tea", exact=True).click()
            page.locator("figure.lines canvas").wait_for()
            assert "tea, builtin" in page.locator("figure.lines").inner_text()
            assert "memex eval run tea --compare last" in page.locator("main").inner_text()
            page.get_by_role("link", name="tea-2", exact=True).click()
            assert "1 of 3 cases pass, 2 fail" in page.locator("main .lead").inner_text()
            page.get_by_text("Not in the context: oolong.").wait_for()
            page.get_by_text("The context that came back").first.click()
            page.get_by_text("# Coffee").wait_for()
            page.go_back()
            page.get_by_role("button", name="Compare the two runs").click()
            page.get_by_role("heading", name="Two runs").wait_for()
            assert "1 case passed and fails now" in page.locator("main .lead").inner_text()
            lost = page.locator("tr.change-regression").inner_text()
            assert "context/tea" in lost
            assert "Not in the context: oolong." in lost
            assert "context/cups" in page.locator("tr.change-gain").inner_text()
            assert "context/pots" in page.locator("tr.change-added").inner_text()

    in_browser(journey)


@pytest.mark.slow
def test_runs_are_read_without_javascript(home: Site, in_browser: Callable[..., Any]) -> None:
    """The table says what the lines say; a file that is no run is named with the reason."""

    def journey(browser: Browser) -> None:
        with signed_in(browser, home, role="admin", bound_to=None, script=False) as page:
            page.goto("/ui/evals?suite=tea")
            assert page.locator("figure.lines").is_hidden()
            assert "50.0" in page.locator("table.runs").inner_text()
            page.get_by_label("tea-1 is the earlier run").check()
            page.get_by_label("tea-2 is the later run").check()
            page.get_by_role("button", name="Compare the two runs").click()
            page.get_by_role("heading", name="What changed").wait_for()
            page.goto("/ui/evals")
            assert "broken.json" in page.content()
            page.goto("/ui/evals/run?id=tea-2&status=passed")
            assert page.locator("table").last.locator("tbody tr").count() == 1

    in_browser(journey)


@pytest.mark.slow
def test_hostile_runs_stay_text(home: Site, in_browser: Callable[..., Any]) -> None:
    """Names of suites, models and cases, questions and contexts: no script runs, and no violation is found."""
    addresses = ("/ui/evals", "/ui/evals/run?id=hostile-1", "/ui/evals/compare?before=tea-1&after=tea-2")

    def look(browser: Browser) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with signed_in(browser, home, role="admin", bound_to=None) as page:
            for address in addresses:
                page.goto(address)
                page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
                found |= violations_in_both_themes(page, address)
        with signed_in(browser, home, role="admin", bound_to=None, size=NARROW) as page:
            for address in (*addresses, "/ui/evals/compare?before=hostile-1&after=hostile-2"):
                page.goto(address)
                assert page.locator("main script, main img").count() == 0
                width = page.evaluate("document.documentElement.scrollWidth")
                if width > NARROW["width"]:
                    found[address] = width
        return found

    assert in_browser(look) == {}


def test_other_tenants_see_no_run_files(home: Site, new_site: Callable[[], Site]) -> None:
    """Neither in the list nor by name; and agents see nothing at all."""
    theirs = new_site().visitor("admin")

    assert "tea-1" in home.visitor("admin").get("/ui/evals").text
    assert "tea-1" not in theirs.get("/ui/evals").text
    assert theirs.get("/ui/evals/run", params={"id": "tea-1"}).status_code == 404
    for name in ("../tea-1", "broken", "/etc/passwd", "tea-1\0"):
        assert home.visitor("admin").get("/ui/evals/run", params={"id": name}).status_code in (404, 422)
    assert home.visitor(bound_to="alice").get("/ui/evals").status_code == 403
    api = home.api("admin")
    assert [run["run_id"] for run in api.get("/v1/admin/evals/runs").json()["runs"]][:2] == [
        "hostile-2",
        "tea-2",
    ]
    compared = api.get("/v1/admin/evals/runs/tea-2/comparison", params={"before": "tea-1"}).json()
    assert (compared["regressions"], compared["gains"]) == (["context/tea"], ["context/cups"])


def test_a_command_is_quoted() -> None:
    """What a file calls its suite is no command."""
    assert command_of("tea; rm -rf /", "builtin") == "memex eval run 'tea; rm -rf /' --compare last"
    assert command_of("tea", "openai:a b") == "memex eval run tea --model 'openai:a b' --compare last"
