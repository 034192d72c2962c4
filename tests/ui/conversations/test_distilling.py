"""From a conversation to memory on pages: shown first, written exactly so, and each statement with its evidence."""

import re

from tests.ui.conftest import Site, Visitor
from tests.ui.conversations.planted import THREAD, conversation, put, shown

TEA = conversation(
    "tea",
    "Tea <b>and</b> plans",
    ["I prefer oolong tea.", "You should prefer coffee, I think.", "I live in Lisbon.", "Lovely."],
)
DISTIL = "/ui/conversations/distil"


def asked(visitor: Visitor, chat: str, **form: str) -> str:
    """Return the page that shows what a conversation would write."""
    shown(visitor, THREAD, id=chat)
    page = visitor.post(DISTIL, {"id": chat} | form)
    assert page.status_code == 200, page.text
    return page.text


def dry_run_of(page: str) -> str:
    """Return the dry run that a page shows."""
    found = re.search(r'name="dry_run_id" value="([^"]*)"', page)
    assert found is not None
    return found[1]


def texts(site: Site) -> str:
    """Return what memory says."""
    api = site.api(bound_to="alice")
    files = api.get("/v1/files").json()["files"]
    return "\n".join(api.get("/v1/file", params={"path": one["path"]}).text for one in files)


def test_what_was_shown_is_written_and_each_statement_shows_its_evidence(site: Site) -> None:
    """Nothing is written before; afterwards statement and message lead to each other, and undoing takes it back."""
    [chat] = put(site, TEA)
    alice = site.visitor(bound_to="alice")

    page = asked(alice, chat)
    before = texts(site)
    written = alice.post(f"{DISTIL}/write", {"dry_run_id": dry_run_of(page)})
    twice = alice.post(f"{DISTIL}/write", {"dry_run_id": dry_run_of(page)})
    path = next(path for path in re.findall(r'<span class="path"><bdi>(user/[^<]*)</bdi>', page))
    file = shown(alice, "/ui/memory/file", path=path)
    evidence = shown(alice, "/ui/memory/evidence", path=path)
    thread = shown(alice, THREAD, id=chat)

    assert before == ""
    assert "I prefer oolong tea." in page
    assert "coffee" not in page
    assert written.status_code == twice.status_code == 303
    assert written.headers["location"] == twice.headers["location"]
    assert (
        f'class="citation" href="/ui/memory/evidence?path={path.replace("/", "%2F")}#said-{chat}-1"' in file
    )
    assert "1 citation of messages" in file
    assert "leads to no file yet" not in file
    assert f'id="said-{chat}-1"' in evidence
    assert "<bdi>I prefer oolong tea.</bdi>" in evidence
    assert "Said by you" in evidence
    assert "Tea &lt;b&gt;and&lt;/b&gt; plans" in evidence
    assert "1 statement in memory rests on this message" in thread
    assert "nothing new to distil" in asked(alice, chat)
    assert "is known" in asked(alice, chat, again="true")
