"""The pages of one call in a real browser: compared with a model, kept as a case, and with hostile texts."""

import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.kit.model_server import ModelServer, says
from tests.ui.browser import NARROW, signed_in, violations
from tests.ui.conftest import Site

from memex.evals.cases import read_suite
from memex.service.planners import Planners, builtin_planners
from memex.store.identity.tenants import DEFAULT_TENANT
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ModelAccess, chat_model
from memex.subagent.model.planner import ModelPlanner

TEA = "# Tea\n\nLikes oolong tea.\n\n## How\n\nTea at 90 degrees.\n"
SHOP = "# Shop\n\nThe tea shop opens at nine.\n"
MODEL = "openai:<b>big</b>-model"
CHOSEN = {"lines": [1]}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</textarea></pre></title><script>alert(3)</script>",
    "{{ 7 * 7 }} {% raw %} \u202etea' onmouseover='alert(4)",
    "a" * 5_000 + "<svg onload=alert(5)>",
)
IS_WHOLE = """
  document.querySelectorAll("body > header.site-header, body > main, body > footer").length === 3
  && document.querySelectorAll("script").length === 2
  && document.querySelectorAll("main img, main script, main iframe").length === 0
  && document.documentElement.scrollWidth <= innerWidth
"""


def plant(site: Site, user: str = "alice") -> None:
    """Give a user two files and a question about them."""
    api = site.api(bound_to=user)
    for path, text in (("user/tea.md", TEA), ("user/shop.md", SHOP)):
        assert api.put("/v1/file", params={"path": path}, content=text).is_success
    ask(site, "question", "Which tea does she like?", user)


def ask(site: Site, call_id: str, query: str, user: str = "alice", actor: str = "assistant") -> None:
    """Ask a question under an id."""
    body = {"arguments": {"query": query}, "context": {"tool_call_id": call_id, "actor": actor}}
    answer = site.api(bound_to=user).post("/v1/tools/memory_context/execute", json=body)
    assert answer.is_success, answer.text


@pytest.fixture
def model(served: Any, model_server: ModelServer) -> Iterator[ModelServer]:
    """A model that the service has set up, whose name is hostile too."""
    chat = chat_model("openai:test-model", ModelAccess("secret", model_server.url), price="1/2")
    chat.name = MODEL
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()), mode="single")
    before, served.service.planners = served.service.planners, Planners(planner, planner, None, (chat,))
    yield model_server
    served.run(chat.close())
    served.service.planners = before


@pytest.mark.slow
def test_another_model_and_prompt_are_asked(
    site: Site, model: ModelServer, in_browser: Callable[..., Any]
) -> None:
    """The form asks the model once, shows both sides, and what each chose; nothing else asks it."""
    site.served.service.planners, kept = builtin_planners(), site.served.service.planners  # type: ignore[union-attr]
    plant(site)
    site.served.service.planners = kept  # type: ignore[union-attr]
    model.play(says(CHOSEN))

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/calls/call?id=question")
            assert page.locator("select[name=model]").inner_text().strip() == MODEL
            assert model.requests == []
            page.get_by_role("button", name="Ask the model").click()
            page.get_by_role("heading", name="Comparison").wait_for()
            assert MODEL in page.locator("main .lead").inner_text()
            planners = page.locator("tr", has=page.get_by_role("rowheader", name="Planner")).inner_text()
            assert planners.split("\t")[1:] == ["builtin", MODEL]
            assert page.locator(".compared li").count() > 0
            page.get_by_role("link", name="The call").click()
            page.get_by_text("With another prompt, budget or memory").click()
            page.locator("textarea[name=prompt]").fill("no prompt")
            page.get_by_role("button", name="Ask the model").click()
            page.get_by_text("VALIDATION_ERROR").wait_for()
            assert len(model.requests) == 1

    in_browser(journey)


@pytest.mark.slow
def test_a_call_is_kept_as_a_case(served: Any, tmp_path: Path, in_browser: Callable[..., Any]) -> None:
    """A person ticks what must come back and downloads the case; where a folder is set, it is kept there."""
    served.service.case_folder = tmp_path / "cases"
    user = "case-maker"
    with ExitStack() as stack:
        home = Site(served, stack, DEFAULT_TENANT)
        plant(home, user)

        def journey(browser: Browser) -> None:
            with signed_in(browser, home, bound_to=user, script=False) as page:
                page.goto("/ui/calls/call?id=question")
                page.get_by_role("link", name="Keep as a case").click()
                page.get_by_text("Which tea does she like?").first.wait_for()
                assert page.get_by_role("button", name="Keep in").count() == 0
                boxes = page.locator(".case-passage input")
                assert boxes.count() >= 2
                for box in boxes.all()[1:]:
                    box.uncheck()
                page.fill("input[name=name]", "tea-of-hers")
                page.fill("textarea[name=facts]", "The tea shop opens at nine.")
                with page.expect_download() as started:
                    page.get_by_role("button", name="Download").click()
                content = started.value.path().read_bytes()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                archive.extractall(tmp_path / "downloaded")
            [case], problems = read_suite(str(tmp_path / "downloaded"))
            assert problems == []
            assert case.expected is not None
            assert len(case.expected.spans) == 1  # type: ignore[union-attr]
            assert case.expected.facts == ("The tea shop opens at nine.",)  # type: ignore[union-attr]
            with signed_in(browser, home, role="admin", bound_to=None) as page:
                page.goto(f"/ui/calls/case?id=question&user={user}")
                page.get_by_role("button", name="Keep in").click()
                page.get_by_role("heading", name="The case was kept").wait_for()
                assert f"memex eval run {tmp_path}/cases/question.yaml" in page.locator("main").inner_text()
                page.go_back()
                page.get_by_role("button", name="Keep in").click()
                page.get_by_text("FILE_EXISTS").wait_for()

        try:
            in_browser(journey)
        finally:
            served.service.case_folder = None
    assert read_suite(str(tmp_path / "cases" / "question.yaml"))[1] == []


@pytest.mark.slow
def test_hostile_calls_stay_text_on_every_page(
    site: Site, model: ModelServer, in_browser: Callable[..., Any]
) -> None:
    """Questions, ids, agents, users and models: no script runs, the frame stays whole, and axe finds nothing."""
    user = '"><script>alert(6)</script>'
    site.served.service.planners, kept = builtin_planners(), site.served.service.planners  # type: ignore[union-attr]
    plant(site, user)
    for number, text in enumerate(HOSTILE):
        ask(site, f"call-{number}-{'_'.join(text[:60].split())}", f"{text} tea", user, actor=text[:100])
    site.served.service.planners = kept  # type: ignore[union-attr]

    def look(browser: Browser) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for theme, size in (("light", None), ("dark", None), ("light", NARROW)):
            options: dict[str, Any] = {"theme": theme} | ({"size": size} if size else {})
            with signed_in(browser, site, role="admin", bound_to=None, **options) as page:
                page.goto("/ui/calls")
                links = page.locator("table.calls td:first-child a").evaluate_all(
                    "links => links.map((link) => link.getAttribute('href'))"
                )
                assert len(links) >= len(HOSTILE)
                for link in ["/ui/calls", *links[: len(HOSTILE)]]:
                    for place in ("call?", "case?", "replay?", "compare?moment=now&"):
                        address = link.replace("call?", place)
                        page.goto(address)
                        page.evaluate(
                            "document.querySelectorAll('details').forEach((one) => one.open = true)"
                        )
                        if not page.evaluate(IS_WHOLE):
                            found[f"{theme} {size} {address}"] = "broken"
                        if link == links[0] and size is None:
                            found |= violations(page, f"{theme} {address}")
        return found

    assert in_browser(look) == {}


@pytest.mark.slow
def test_why_a_file_was_recalled_is_found(site: Site, in_browser: Callable[..., Any]) -> None:
    """From the file to the answers that used it, and from one of these to why it was chosen and what it read."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/memory")
            page.get_by_role("link", name="Tea", exact=True).click()
            page.get_by_role("link", name="Calls that saw this version").click()
            page.get_by_role("link", name="question").click()
            assert "Which tea does she like?" in page.locator(".story").inner_text()
            chosen = page.locator(".chosen li").filter(has_text="user/tea.md").first
            assert "words" in chosen.inner_text()
            chosen.locator("summary").first.click()
            chosen.locator(".logged-text").first.wait_for()
            assert "oolong" in chosen.locator(".logged-text").first.inner_text()

    in_browser(journey)
