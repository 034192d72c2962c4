"""The pages in a real browser, as a person uses them."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from playwright.sync_api import Browser, Page
from tests.kit.zips import zipped
from tests.ui.browser import NARROW, WIDE, signed_in, violations_in_both_themes
from tests.ui.conftest import Site
from tests.ui.pushing import push_documents

TEA = "---\ntags: [drinks]\n---\n# Tea\n\nLikes oolong, see [[kettle]].\n\n## How\n\n- 90 degrees\n"
# What else memory holds, so that words differ in how much they say.
WORLD = (
    "I am allergic to walnuts. My dentist is Dr. Okafor. The cabin key hangs behind the boiler. "
    "Marta runs the bakery on Elm Street. I prefer window seats on trains. I need to renew the passport. "
    "The quarterly report goes to the board in October. Our mascot is a heron called Fitz."
)
ROOM = "We decided that the bookbinding workshop of the guild takes place in room 204."
NEW_ROOM = "We decided that in room 311 the guild holds its bookbinding workshop."
HOSTILE_USERS = ('"><script>alert(1)</script>', "a&b=c?d#e/../f", "x" * 200)
ADDRESSES = (
    "/ui/memory",
    "/ui/memory?folder=nothing/",
    "/ui/memory?folder=user/&tag=drinks",
    "/ui/memory/journal",
    "/ui/memory/journal?day=2026-11-22",
    "/ui/memory/file?path=user/tea.md",
    "/ui/memory/file?path=user/tea.md&version=1",
    "/ui/memory/versions?path=user/tea.md",
    "/ui/memory/diff?path=user/tea.md",
    "/ui/memory/blame?path=user/tea.md",
    "/ui/memory/seen?path=user/tea.md&version=2",
    "/ui/memory/edit?path=user/tea.md",
    "/ui/memory/move?path=user/tea.md",
    "/ui/memory/new",
    "/ui/memory/import",
    "/ui/memory/imported?id=imported",
    "/ui/memory/connect",
    "/ui/memory/connect?client=claude-desktop",
    "/ui/memory/file?path=user/nothing.md",
    "/ui/ask",
    "/ui/ask?query=Which+tea+does+she+like",
    "/ui/ask?query=tea&project=none-such",
    "/ui/ask/remember",
    "/ui/search",
    "/ui/search?query=oolong+kettle&prefix=user/",
    "/ui/search?query=oolong&as_of=nonsense",
    "/ui/search?query=oolong+kettle&why=user/tea.md&prefix=user/k",
    "/ui/search?query=oolong+kettle&why=user/nothing.md",
    "/ui/removed",
    "/ui/removed?state=forgotten&prefix=user/",
    "/ui/review",
    "/ui/review/dreams",
    "/ui/review?kind=queue",
    "/ui/work",
    "/ui/work/health",
    "/ui/documents",
    "/ui/documents?query=kettle",
    "/ui/documents/root?root=repo",
    "/ui/documents/file?root=repo&path=a.md",
    "/ui/calls",
    "/ui/calls?text=nothing",
    "/ui/calls/call?id=question",
    "/ui/calls/call?id=refused",
    "/ui/calls/replay?id=question",
    "/ui/calls/compare?id=question&budget=500",
    "/ui/calls/compare?id=question&moment=now",
    "/ui/calls/compare?id=question",
    "/ui/calls/case?id=question",
    "/ui/calls/case?id=refused",
    "/ui/calls/revert?id=written",
    "/ui/calls/text?ref=user/tea.md@1",
    "/ui/sessions",
)
ADMIN_ADDRESSES = (
    "/ui/people",
    "/ui/people?query=nobody",
    "/ui/people/user?user=alice",
    "/ui/people/keys",
    "/ui/people/projects",
    "/ui/people/erase?user=alice",
    "/ui/people/erasures",
    "/ui/health",
)


WRITTEN = {"Memex-Tool-Call-Id": "written", "Memex-Actor": "writer"}


def plant(site: Site) -> None:
    """Give alice two files, one of them with two versions."""
    api = site.api(bound_to="alice")
    for path, text in (
        ("user/kettle.md", f"# Kettle\n\nOf iron.{' It is older than the other kettle.' * 4}\n"),
        ("user/tea.md", TEA),
        ("user/tea.md", TEA.replace("oolong", "sencha")),
    ):
        headers = {"If-Match": "*"} | (WRITTEN if "sencha" in text else {})
        written = api.put("/v1/file", params={"path": path}, content=text, headers=headers)
        assert written.is_success, written.text
    for call_id, tool, arguments in (
        ("question", "memory_context", {"query": "Which tea, and which kettle?"}),
        ("refused", "memory_read", {"path": "user/nothing.md"}),
    ):
        sent = {"arguments": arguments, "context": {"tool_call_id": call_id}}
        api.post(f"/v1/tools/{tool}/execute", json=sent)
    headers = {"Content-Type": "application/zip", "Memex-Tool-Call-Id": "imported"}
    vault = zipped({"cups.md": b"# Cups\n", "../out.md": b"out"})
    assert api.post("/v1/import", content=vault, headers=headers).is_success


def leave_to_a_person(site: Site) -> None:
    """Give alice two statements that probably contradict each other, and a file with a secret."""
    api = site.api(bound_to="alice")
    for text in (f"{WORLD} {ROOM}", NEW_ROOM):
        body = {"arguments": {"text": text}}
        answer = api.post("/v1/tools/memory_remember/execute", json=body)
        assert answer.is_success, answer.text
    assert answer.json()["rivals"]
    door = {"content": "The door code of the shed is 471133.\n\nThe door code of the cellar is 471144.\n"}
    assert api.put("/v1/file", params={"path": "user/door.md"}, **door).is_success


def share_a_project(site: Site) -> None:
    """Make a project whose members have hostile names."""
    api = site.api("admin")
    assert api.put("/v1/admin/projects/apollo").is_success
    for user in HOSTILE_USERS:
        path = f"/v1/admin/projects/apollo/members/{quote(user, safe='')}"
        assert api.put(path).is_success, user
        written = site.api(bound_to=user).put("/v1/file", params={"path": "user/a.md"}, content="a")
        assert written.is_success, written.text


@pytest.mark.slow
def test_a_key_is_made_shown_once_and_revoked(site: Site, in_browser: Callable[..., Any]) -> None:
    """The key works at once, its secret is on no page after the first, and revoked it is refused."""

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, role="admin", bound_to=None, confirms="Revoke key") as page:
            page.get_by_role("link", name="People").click()
            page.get_by_role("link", name="Keys").click()
            page.fill("#user", "alice")
            page.fill("#label", "<b>bot</b>")
            page.get_by_role("button", name="Make a key").click()
            page.get_by_text("It is shown this once").wait_for()
            secret = page.locator("code.secret").inner_text()
            assert secret not in page.url
            assert files_status(site, secret) == 200
            page.goto("/ui/people/keys")
            assert secret not in page.content()
            row = page.get_by_role("row").filter(has_text="<b>bot</b>")
            row.get_by_role("button", name="Revoke").click()
            page.get_by_text("The key was revoked.").wait_for()
            assert files_status(site, secret) == 401
            page.get_by_text("Revoked keys (1)").click()
            page.get_by_text("<b>bot</b>").wait_for()

    in_browser(journey)


def show_a_text(page: Page) -> None:
    """Look at what a text would write, of which a part is left out, and a part is a secret."""
    page.goto("/ui/ask/remember")
    page.fill(
        "#text", "I live in Lisbon, in a house by the harbour. Thanks! The door code of the shed is 471133."
    )
    page.get_by_role("button", name="Show what would be written").click()
    page.get_by_role("button", name="Write it").wait_for()


def ask_to_undo_all(page: Page) -> None:
    """Look at what undoing all that the writer did would change."""
    page.goto("/ui/calls")
    page.get_by_text("Undo all that one actor did").click()
    page.get_by_label("Actor").fill("writer")
    page.get_by_label("Since (UTC)").fill("2026-01-01T00:00")
    page.get_by_role("button", name="Show what would change back").click()
    page.get_by_role("button", name="Undo 1 change").wait_for()


@pytest.mark.slow
def test_all_that_an_actor_did_is_undone_in_the_browser(site: Site, in_browser: Callable[..., Any]) -> None:
    """With the lines on a page of their own first, and a button that undoes the undoing; without scripts too."""
    plant(site)

    def journey(browser: Browser) -> None:
        for script in (True, False):
            with signed_in(browser, site, script=script) as page:
                ask_to_undo_all(page)
                assert "sencha" in page.locator("table.diff").inner_text()
                page.get_by_role("button", name="Undo 1 change").click()
                page.get_by_text("What these calls wrote was undone.").wait_for()
                page.get_by_role("button", name="Undo", exact=True).click()
                page.get_by_text("What the call wrote was undone.").wait_for()

    in_browser(journey)


def files_status(site: Site, secret: str) -> int:
    """Return the status of a request with a key."""
    headers = {"Authorization": f"Bearer {secret}"}
    return httpx2.get(f"{site.served.url}/v1/files", headers=headers).status_code


@pytest.mark.slow
def test_files_are_found_while_a_question_is_typed(site: Site, in_browser: Callable[..., Any]) -> None:
    """Words that match are marked, a filter stands in the address, and the past is searched as it was."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.get_by_role("link", name="Search").click()
            page.fill("#query", "Which kettles are of iron?")
            hit = page.locator(".hit").first
            hit.get_by_role("link", name="Kettle", exact=True).wait_for()
            assert "Kettle" in hit.locator("mark").all_inner_texts()
            page.get_by_text("Filters", exact=True).click()
            page.get_by_label("Tags").fill("bells")
            page.get_by_role("button", name="Search").click()
            page.wait_for_url("**tags=bells**")
            page.locator("#results").get_by_text("No file matches.").wait_for()
            page.goto("/ui/search?query=oolong&as_of=2020-01-01T00:00")
            page.locator("#results").get_by_text("No file matches.").wait_for()
        with signed_in(browser, site, script=False) as page:
            page.goto("/ui/search")
            page.fill("#query", "sencha")
            page.get_by_role("button", name="Search").click()
            assert page.locator(".hit mark").all_inner_texts() == ["sencha"]

    in_browser(journey)


@pytest.mark.slow
def test_a_question_shows_what_an_agent_would_get(site: Site, in_browser: Callable[..., Any]) -> None:
    """The chosen passages are marked in their files, with why; a smaller budget chooses anew at once."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.get_by_role("link", name="Ask").click()
            page.fill("#question", "Which oolong or sencha does she like?")
            page.get_by_role("button", name="Ask").click()
            tea = page.locator(".asked-file").filter(has_text="user/tea.md")
            assert "Likes sencha" in tea.locator("mark").first.inner_text()
            page.get_by_text("shares a word with the question").first.wait_for()
            assert "Likes sencha" in page.locator("#context").input_value()
            page.locator("#budget").fill("200")
            page.locator("#answer").get_by_text("of 200 characters").wait_for()

    in_browser(journey)


@pytest.mark.slow
def test_a_file_that_is_no_hit_is_explained(site: Site, in_browser: Callable[..., Any]) -> None:
    """From a link beside a hit, or by its path: its rank, the words that it has and lacks, and the filter."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/search?query=sencha+quetzalcoatl")
            assert (
                page.locator(".hit meter").first.get_attribute("aria-label")
                == "Words, as a share of the best hit"
            )
            page.get_by_role("link", name="Why? user/tea.md").click()
            page.get_by_text("it is number 1 of the files found").wait_for()
            rows = page.locator(".explained tbody tr").all_inner_texts()
            assert "in the passage that counts" in rows[0]
            assert "in no file that is searched" in rows[1]
            page.fill("#why", "user/kettle.md")
            page.get_by_role("button", name="Explain").click()
            page.get_by_text("The file holds no word of the query that counts.").wait_for()
            page.goto("/ui/search?query=sencha&why=user/tea.md&prefix=user/kettle")
            page.get_by_text("its path does not begin so").wait_for()
            page.goto("/ui/search")
            page.fill("#query", "sencha")
            page.locator("#said").get_by_text("1 file, the best first").wait_for()

    in_browser(journey)


@pytest.mark.slow
def test_a_slider_searches_the_past(site: Site, in_browser: Callable[..., Any]) -> None:
    """To the left through the newest changes, at the right end memory as it is; without JavaScript a list."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/search?query=oolong")
            page.locator("#results").get_by_text("No file matches.").wait_for()
            page.get_by_text("Filters", exact=True).click()
            slider = page.locator("[data-slides]")
            slider.fill("2")
            assert page.locator("#change").input_value() != ""
            page.locator(".hit").get_by_role("link", name="Tea", exact=True).wait_for()
            slider.fill(slider.get_attribute("max") or "")
            page.locator("#results").get_by_text("No file matches.").wait_for()
            assert page.locator("#change").input_value() == ""
        with signed_in(browser, site, script=False) as page:
            page.goto("/ui/search?query=oolong")
            page.get_by_text("Filters", exact=True).click()
            page.locator("#change").select_option(index=2)
            page.get_by_role("button", name="Search").click()
            page.locator(".hit").get_by_role("link", name="Tea", exact=True).wait_for()
            assert page.locator("#change option:checked").inner_text().endswith("user/tea.md")

    in_browser(journey)


@pytest.mark.slow
def test_a_search_leads_to_a_question_and_to_the_file(site: Site, in_browser: Callable[..., Any]) -> None:
    """What is found is asked for, the context is copied as an agent gets it, and its source is opened."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.context.grant_permissions(["clipboard-read", "clipboard-write"])
            page.goto("/ui/search?query=sencha")
            page.locator(".hit").first.wait_for()
            page.get_by_role("link", name="Ask", exact=True).click()
            page.get_by_text("because the service has no model").wait_for()
            page.fill("#question", "Does she like sencha?")
            page.get_by_role("button", name="Ask").click()
            page.get_by_role("button", name="Copy").click()
            page.get_by_role("button", name="Copied.").wait_for()
            copied = page.evaluate("navigator.clipboard.readText()")
            assert copied == page.locator("#context").input_value() != ""
            page.locator(".asked-file").get_by_role("link", name="Tea").first.click()
            page.get_by_role("heading", name="Tea").wait_for()

    in_browser(journey)


@pytest.mark.slow
def test_a_text_is_shown_before_it_is_remembered(site: Site, in_browser: Callable[..., Any]) -> None:
    """With places, what is left out and a difference; a change in between is noticed, and then it is written."""
    api = site.api(bound_to="alice")

    def remember(text: str) -> None:
        answer = api.post("/v1/tools/memory_remember/execute", json={"arguments": {"text": text}})
        assert answer.is_success, answer.text

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, script=False) as page:
            page.goto("/ui/ask/remember")
            token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
            page.fill("#text", f"I live in Lisbon. Thanks! The token of the boiler is {token}.")
            page.get_by_role("button", name="Show what would be written").click()
            page.get_by_role("heading", name="What would be written").wait_for()
            assert token not in page.content()
            row = page.get_by_role("row").filter(has_text="I live in Lisbon.").first
            assert "is added" in row.inner_text()
            page.get_by_text("small talk").wait_for()
            assert "I live in Lisbon." in "".join(page.locator(".shown-file .diff-added").all_inner_texts())
            remember("I live in Graz.")
            page.get_by_role("button", name="Write it").click()
            page.get_by_text("Memory has changed since, and nothing was written.").wait_for()
            row = page.get_by_role("row").filter(has_text="I live in Lisbon.").first
            assert "takes the place of I live in Graz." in row.inner_text()
            page.get_by_role("button", name="Write it").click()
            page.get_by_text("The text was remembered.").wait_for()
            assert "I live in Lisbon." in page.locator("main").inner_text()
            page.get_by_role("button", name="Undo").click()
            page.get_by_text("What the call wrote was undone.").wait_for()

    in_browser(journey)


@pytest.mark.slow
def test_hostile_names_of_users_stay_text(site: Site, in_browser: Callable[..., Any]) -> None:
    """In lists, on the page of the user, and as members: no script runs, and each link leads to its user."""
    share_a_project(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, role="admin", bound_to=None) as page:
            for user in HOSTILE_USERS:
                page.goto("/ui/people")
                page.get_by_role("link", name=user, exact=True).click()
                page.get_by_role("heading", name=user, exact=True).wait_for()
            page.goto("/ui/people/projects")
            page.get_by_role("button", name=f"Remove {HOSTILE_USERS[0]} from apollo").click()
            page.get_by_text("The member was removed.").wait_for()
            assert page.get_by_role("link", name=HOSTILE_USERS[0], exact=True).count() == 0

    in_browser(journey)


@pytest.mark.slow
def test_a_rival_is_settled_by_keyboard_and_undone(site: Site, in_browser: Callable[..., Any]) -> None:
    """Both being true is offered first; one key takes the older one out, never for all that are ticked."""
    leave_to_a_person(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.keyboard.press("g")
            page.keyboard.press("r")
            page.get_by_role("heading", name="Two statements that may not both be true").wait_for()
            assert "471133" not in page.content()
            page.keyboard.press("j")
            item = page.locator(".review-item:focus")
            assert ROOM in item.inner_text()
            offered = item.get_by_role("button").all_inner_texts()
            assert offered == ["Both are true", "Take the older one out"]
            page.keyboard.press("a")
            page.get_by_text("1 item was decided.").wait_for()
            assert page.get_by_text(ROOM).count() == 0
            page.keyboard.press("u")
            page.get_by_text("The decision was undone.").wait_for()
            page.get_by_text(ROOM).first.wait_for()
            page.get_by_label("Tick all 2 of this kind").check()
            page.keyboard.press("A")
            page.get_by_text("2 items were decided.").wait_for()
            page.get_by_role("checkbox").check()
            page.keyboard.press("A")
            page.get_by_text("No statement was taken out, and nothing else is ticked.").wait_for()
            page.go_back()
            page.get_by_role("button", name="Both are true").click()
            page.get_by_text("Nothing waits for you.").wait_for()
            assert "[secret: pin]" in page.goto("/ui/memory/file?path=user/door.md").text()  # type: ignore[union-attr]

    in_browser(journey)


@pytest.mark.slow
def test_ticked_items_are_decided_without_javascript(site: Site, in_browser: Callable[..., Any]) -> None:
    """Several items at once by a plain form; both kinds of decisions are undone by one button."""
    leave_to_a_person(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, script=False) as page:
            page.goto("/ui/review")
            for box in page.get_by_role("checkbox").all():
                box.check()
            page.get_by_role("button", name="Leave as they are").click()
            page.get_by_text("3 items were decided.").wait_for()
            page.get_by_text("Nothing waits for you.").wait_for()
            page.get_by_role("button", name="Undo").click()
            page.get_by_text("The decision was undone.").wait_for()
            assert page.get_by_role("checkbox").count() == 3

    in_browser(journey)


@pytest.mark.slow
def test_the_first_minute_ends_with_a_fact_that_is_seen(site: Site, in_browser: Callable[..., Any]) -> None:
    """The demo comes and goes by one click each; a key fills the calls, and what it remembers is in the list."""

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, role="admin", bound_to=None) as page:
            page.locator("details.account summary").click()
            page.fill("#as-user-name", "alice")
            page.locator(".account-menu").get_by_role("button", name="Show").click()
            page.get_by_text("There is nothing here yet.").wait_for()
            page.get_by_role("button", name="Load the demo").click()
            page.get_by_role("link", name="Plan for Heron").wait_for()
            page.get_by_role("button", name="Remove the demo").click()
            page.get_by_text("The demo was removed.").wait_for()
            page.get_by_role("button", name="Make a key and fill it in").click()
            secret = page.locator("code.secret").inner_text()
            assert f"Bearer {secret}" in page.locator("pre").inner_text()
            said = {"arguments": {"text": "I prefer oolong tea."}}
            headers = {"Authorization": f"Bearer {secret}"}
            url = f"{site.served.url}/v1/tools/memory_remember/execute"
            assert httpx2.post(url, json=said, headers=headers).is_success
            page.goto("/ui/memory")
            page.locator("table.files a").first.click()
            assert "oolong" in page.locator(".prose").inner_text()
            page.keyboard.press("?")
            page.get_by_role("heading", name="Keys").wait_for()
            page.keyboard.press("Escape")
            page.goto("/ui/memory?tag=none")
            page.get_by_text("No file passes these filters").wait_for()
            assert secret not in page.content()

    in_browser(journey)


@pytest.mark.slow
def test_a_wrong_fact_is_found_corrected_and_undone(site: Site, in_browser: Callable[..., Any]) -> None:
    """From the list to the file, to its editor with a preview, and back by one button."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.get_by_role("link", name="Tea").click()
            page.get_by_role("link", name="Edit").click()
            page.fill("#content", TEA.replace("oolong", "nothing but rooibos"))
            page.get_by_role("button", name="Preview").click()
            page.locator("#preview").get_by_text("nothing but rooibos").wait_for()
            page.get_by_role("button", name="Save").click()
            page.get_by_text("Saved.").wait_for()
            assert "nothing but rooibos" in page.locator(".prose").inner_text()
            page.get_by_role("button", name="Undo").click()
            page.get_by_text("What the call wrote was undone.").wait_for()
            page.goto("/ui/memory/file?path=user/tea.md")
            assert "Likes sencha" in page.locator(".prose").inner_text()

    in_browser(journey)


@pytest.mark.slow
def test_a_slider_shows_an_earlier_version(site: Site, in_browser: Callable[..., Any]) -> None:
    """By keyboard, with an address of its own, from which the version is restored."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/memory/file?path=user/tea.md")
            page.get_by_label("Other versions").press("ArrowLeft")
            page.wait_for_url("**version=1")
            page.get_by_role("button", name="Restore this version").click()
            page.get_by_text("The version was restored").wait_for()
            assert "Likes oolong" in page.locator(".prose").inner_text()

    in_browser(journey)


def test_two_editors_lose_nothing(site: Site, in_browser: Callable[..., Any]) -> None:
    """Who saves second sees both texts, and saves over the newer version knowingly."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/memory/edit?path=user/kettle.md")
            site.api(bound_to="alice").put(
                "/v1/file",
                params={"path": "user/kettle.md"},
                content="# Kettle\n\nOf copper.\n",
                headers={"If-Match": "*"},
            )
            page.fill("#content", "# Kettle\n\nOf glass.\n")
            page.get_by_role("button", name="Save").click()
            page.get_by_text("Somebody else saved first").wait_for()
            assert "Of copper." in page.locator("table.diff").inner_text()
            assert "Of glass." in page.input_value("#content")
            page.get_by_role("button", name="Save over version 2").click()
            page.get_by_text("Saved.").wait_for()
            assert "Of glass." in page.locator(".prose").inner_text()

    in_browser(journey)


@pytest.mark.slow
def test_an_older_version_is_restored_without_javascript(site: Site, in_browser: Callable[..., Any]) -> None:
    """Reading and changing need no script; times are then shown in UTC."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, script=False) as page:
            page.goto("/ui/memory/versions?path=user/tea.md")
            assert "UTC" in page.locator("time").first.inner_text()
            page.get_by_role("button", name="Restore version 1").click()
            page.get_by_text("The version was restored").wait_for()
            assert "Likes oolong" in page.locator(".prose").inner_text()

    in_browser(journey)


def test_a_call_is_replayed_and_compared(site: Site, in_browser: Callable[..., Any]) -> None:
    """From the live list to the call: the same bytes, the text that it saw, and what a small budget loses."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site) as page:
            page.goto("/ui/calls")
            site.api(bound_to="alice").get("/v1/file", params={"path": "user/kettle.md"})
            page.get_by_text("user/kettle.md", exact=True).first.wait_for()
            page.get_by_role("link", name="context").click()
            page.get_by_role("link", name="Replay").click()
            page.get_by_text("The same bytes.").wait_for()
            page.locator(".chosen summary").first.click()
            page.locator(".chosen .logged-text").first.wait_for()
            page.fill("input[name=budget]", "200")
            page.get_by_role("button", name="Compare").click()
            page.get_by_role("heading", name="Comparison").wait_for()
            assert page.locator(".is-lost").count() > 0
            lost = page.locator(".is-lost summary").first
            lost.click()
            page.locator(".is-lost .logged-text").first.wait_for()
            page.get_by_role("link", name="The call").click()
            assert "No model is set up here" in page.locator("aside").inner_text()
            site.api(bound_to="alice").delete(
                "/v1/file", params={"path": "user/kettle.md"}, headers={"If-Match": "*"}
            )
            page.locator("select[name=moment]").select_option("now")
            page.get_by_role("button", name="Compare").click()
            page.get_by_text("as it is now").wait_for()
            assert "user/kettle.md" in page.locator(".is-lost").inner_text()
            page.get_by_role("link", name="The call").click()
            page.locator("select[name=moment]").select_option("state")
            page.fill("input[name=state]", '{"user": 1}')  # the kettle alone
            page.get_by_role("button", name="Compare").click()
            page.get_by_text('as of {"user": 1}').wait_for()
            assert "user/tea.md" in page.locator(".is-lost").first.inner_text()

    in_browser(journey)


@pytest.mark.slow
def test_a_poisoned_call_is_undone(site: Site, in_browser: Callable[..., Any]) -> None:
    """The person sees exactly which lines are undone, confirms it, and reads the old text, without a script."""
    plant(site)

    def journey(browser: Browser) -> None:
        with signed_in(browser, site, script=False) as page:
            page.goto("/ui/calls?text=tea.md%402")
            page.get_by_role("link", name="write", exact=True).click()
            page.get_by_role("link", name="Undo what it wrote").click()
            assert "sencha" in page.locator("table.diff").inner_text()
            page.get_by_role("button", name="Undo 1 change").click()
            page.get_by_text("What the call wrote was undone.").wait_for()
            page.goto("/ui/memory/file?path=user/tea.md")
            assert "Likes oolong" in page.locator(".prose").inner_text()

    in_browser(journey)


@pytest.mark.slow
def test_no_page_has_a_violation_of_wcag(site: Site, in_browser: Callable[..., Any]) -> None:
    """In both themes, and wide as a telephone: each page keeps its width."""
    plant(site)
    push_documents(site.api(bound_to="alice"), {"a.md": "# A\n\nOf the kettle.\n"}, "b.env")
    leave_to_a_person(site)
    share_a_project(site)

    def check(page: Page, where: str) -> dict[str, Any]:
        found = violations_in_both_themes(page, where)
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        width = page.evaluate("document.documentElement.scrollWidth")
        page.set_viewport_size(WIDE)  # type: ignore[arg-type]
        return found if width <= NARROW["width"] else found | {f"width of {where}": width}

    def look(browser: Browser) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with signed_in(browser, site, role="admin", bound_to=None) as page:
            page.locator("details.account summary").click()
            page.fill("#as-user-name", "alice")
            page.locator(".account-menu").get_by_role("button", name="Show").click()
            page.locator(".as-user").wait_for()
            for address in (*ADDRESSES, *ADMIN_ADDRESSES):
                page.goto(address)
                found |= check(page, address)
            show_a_text(page)
            found |= check(page, "a text that would be remembered")
            ask_to_undo_all(page)
            found |= check(page, "calls that would be undone")
        return found

    assert in_browser(look) == {}
