"""Deleting conversations: what would go is shown first, and then a receipt."""

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
    assert "memex ingest FILE" in shown(alice, FIND, query="kafka")
