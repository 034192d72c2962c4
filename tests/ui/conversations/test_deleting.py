"""Deleting conversations: what would go is shown first, and then a receipt."""

import re
from html import unescape

from tests.ui.conftest import Site
from tests.ui.conversations.planted import (
    BRANCHED,
    FIND,
    LONG,
    QUEUE,
    THREAD,
    conversation,
    deletion,
    put,
    shown,
)

DELETION_FIELD = re.compile(r'name="(id|source|before|counted)" value="([^"]*)"')


def test_deleting_says_first_what_goes_and_then_gives_a_receipt(site: Site) -> None:
    """A conversation, all of a source, or what is older than a day; the receipt has an address."""
    put(site, QUEUE, BRANCHED, LONG)
    put(site, conversation("c", "Of codex", ["x"]), source={"kind": "codex"})
    alice, api = site.visitor(bound_to="alice"), site.api(bound_to="alice")

    def left() -> set[str]:
        return {one["title"] for one in api.get("/v1/conversations").json()["conversations"]}

    page, form = deletion(alice, source="codex")
    assert "This cannot be undone." in page
    assert "Of codex" in page
    assert left() == {"Choosing a queue", "Tea", "A long one", "Of codex"}
    done = alice.post("/ui/conversations/delete", form)
    receipt = alice.get(done.headers["location"]).text
    assert left() == {"Choosing a queue", "Tea", "A long one"}
    assert "<dt>Conversations</dt><dd>1</dd>" in receipt
    assert "Of codex" not in receipt
    [tea] = [
        one["id"] for one in api.get("/v1/conversations").json()["conversations"] if one["title"] == "Tea"
    ]
    alice.post("/ui/conversations/delete", deletion(alice, id=tea)[1])
    assert left() == {"Choosing a queue", "A long one"}
    assert alice.get(THREAD, params={"id": tea}).status_code == 404
    page, form = deletion(alice, before="2026-03-03")
    assert "<dt>Messages</dt><dd>104</dd>" in page
    put(site, conversation("more", "Came meanwhile", ["x"]))
    refused = alice.post("/ui/conversations/delete", form)
    assert refused.status_code == 409
    assert "Nothing was deleted." in refused.text
    assert left() == {"Choosing a queue", "A long one", "Came meanwhile"}
    alice.post("/ui/conversations/delete", deletion(alice, before="2026-03-03")[1])
    assert left() == set()
    assert "memex conversations ingest FILE" in shown(alice, FIND, query="kafka")


ODD_LABELS = ("a/b", "a?b=c&d", "a#b", "100%", "%2F", "..", "../..", "a b+c", "<b>&amp;")


def test_a_source_of_any_name_is_deleted_and_no_other(site: Site) -> None:
    """From the list of sources to the receipt: the link of each leads to that source alone."""
    for number, label in enumerate(ODD_LABELS):
        source = {"kind": "codex", "label": label}
        put(site, conversation(f"c{number}", f"Chat {number}", ["x"]), source=source)
    alice, api = site.visitor(bound_to="alice"), site.api(bound_to="alice")

    for number in range(len(ODD_LABELS)):
        page = shown(alice, "/ui/conversations/sources")
        links = re.findall(r'href="(/ui/conversations/delete\?[^"]*)"', page)
        assert len(links) == len(ODD_LABELS) - number
        asked = alice.get(unescape(links[0])).text
        [title] = re.findall(r"Chat \d", asked)
        fields = {name: unescape(value) for name, value in DELETION_FIELD.findall(asked)}
        done = alice.post("/ui/conversations/delete", fields)
        assert done.status_code == 303, done.text
        left = [one["title"] for one in api.get("/v1/conversations").json()["conversations"]]
        assert len(left) == len(ODD_LABELS) - number - 1
        assert title not in left


def test_a_user_page_says_how_much_of_conversations_is_stored(site: Site) -> None:
    """Beside the quota of files: messages, how many there may be, and the bytes of their texts."""
    put(site, conversation("a", "Tea", ["How hot?", "90 °C"]))

    page = shown(site.visitor("admin"), "/ui/people/user", user="alice")

    assert "Imported conversations: 2 of at most 2,000,000 messages, 14 bytes of text." in page
    assert 'name="files"' in page
