"""The pages of calls over HTTP: filters, whose calls they show, and the live stream."""

import re
import threading
from collections.abc import Callable
from html import unescape

import httpx2
import pytest
from tests.ui.conftest import Site, Visitor

from memex.service.chunk_embedding import backfill
from memex.subagent.embedders.hashed import HashEmbedder
from memex.ui import live_calls

OPENED = "retry: 1000"


def write(
    api: httpx2.Client, call_id: str, text: str = "# Oars\n\nRed ones.\n", path: str = "user/oars.md"
) -> None:
    """Write a file under a tool call id."""
    headers = {"If-Match": "*", "Memex-Tool-Call-Id": call_id}
    written = api.put("/v1/file", params={"path": path}, content=text, headers=headers)
    assert written.is_success, written.text


def test_the_list_shows_ones_own_calls_and_an_admin_everybodys(site: Site) -> None:
    """Filters are in the address; an administrator opens the calls of each user, and a bound user only its own."""
    for user in ("alice", "bob"):
        write(site.api(bound_to=user), f"call-of-{user}")
        site.api(bound_to=user).get("/v1/file", params={"path": f"user/none-of-{user}.md"})
    alice, admin = site.visitor(bound_to="alice"), site.visitor("admin")

    own = alice.get("/ui/calls").text
    assert "call-of-alice" in own
    assert "bob" not in own
    assert "bob" not in alice.get("/ui/calls", params={"user": "bob"}).text
    everybodys = admin.get("/ui/calls").text
    assert "call-of-alice" in everybodys
    assert "call-of-bob" in everybodys
    of_bob = admin.get("/ui/calls", params={"user": "bob", "status": "failed"}).text
    assert "user/none-of-bob.md" in of_bob
    assert "alice" not in of_bob
    assert "call-of-bob" in admin.get("/ui/calls/call", params={"id": "call-of-bob", "user": "bob"}).text
    failed = alice.get("/ui/calls", params={"text": "NONE-of"}).text
    assert "FILE_NOT_FOUND" in failed
    assert "call-of-alice" not in failed
    assert alice.get("/ui/calls", params={"since": "tomorrow"}).status_code == 422
    assert alice.get("/ui/calls", params={"cursor": "WyIyMDI2IiwxXQ"}).status_code == 422
    assert "No call matches." in alice.get("/ui/calls", params={"until": "2001-01-01T00:00"}).text


def test_the_list_shows_what_was_embedded(site: Site) -> None:
    """Nobody asked for it, so its row names neither an actor nor a key."""
    assert (
        site.api(bound_to="alice").put("/v1/file", params={"path": "user/tea.md"}, content="Tea.").is_success
    )
    assert site.served.service is not None
    site.served.run(backfill(site.served.service.database, HashEmbedder(16)))
    visitor = site.visitor(bound_to="alice")

    listed = visitor.get("/ui/calls")
    address = re.search(r'href="(/ui/calls/call[^"]*id=embed_[^"]*)"', listed.text)

    assert listed.status_code == 200
    assert address is not None
    shown = visitor.get(unescape(address[1]))
    assert shown.status_code == 200
    assert "<dt>By</dt><dd><bdi>system</bdi></dd>" in shown.text


def test_a_stream_tells_of_new_calls_and_ends_with_its_session(site: Site) -> None:
    """Of the calls of its user alone; a session that ends takes its stream with it."""
    api, visitor = site.api(bound_to="alice"), site.visitor(bound_to="alice")
    write(api, "call-1")
    with visitor.client.stream("GET", "/ui/calls/live", timeout=10) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        assert next(lines) == OPENED
        wrote = threading.Event()

        def write_until_told() -> None:
            for number in range(2, 60):
                write(api, f"call-{number}")
                if wrote.wait(0.2):
                    return

        writer = threading.Thread(target=write_until_told)
        writer.start()
        assert next(line for line in lines if line) == "event: calls"
        wrote.set()
        writer.join()
        other = Visitor(visitor.client)
        other.get("/ui/sessions")
        assert other.post("/ui/sign-out").status_code == 303
        rest = list(lines)  # ends, though the stream would live for a minute
    assert OPENED not in rest
    assert visitor.get("/ui/calls/live").status_code == 303


def test_a_process_has_a_bounded_number_of_streams(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it, the page is told to ask by itself; when a client goes, another one gets its place."""
    monkeypatch.setattr(live_calls, "MAX_STREAMS", 1)
    visitor = site.visitor(bound_to="alice")
    with visitor.client.stream("GET", "/ui/calls/live", timeout=10) as stream:
        lines = stream.iter_lines()
        assert next(lines) == OPENED
        assert visitor.get("/ui/calls/live").status_code == 503
    for _ in range(200):
        with visitor.client.stream("GET", "/ui/calls/live", timeout=10) as again:
            if again.status_code == 200:
                break
    assert again.status_code == 200


def test_only_what_a_person_confirms_is_undone(site: Site, new_site: Callable[[], Site]) -> None:
    """The page of the question shows the lines; nothing is undone before the form is sent, nor for another user."""
    write(site.api(bound_to="alice"), "call-1", "# Oars\n\nRed ones.\n")
    write(site.api(bound_to="alice"), "call-2", "# Oars\n\nPoisoned ones.\n")
    alice = site.visitor(bound_to="alice")
    asked = alice.get("/ui/calls/revert", params={"id": "call-2"}).text
    assert "Poisoned" in asked
    assert "Undo 1 change" in asked
    assert alice.post("/ui/calls/revert", {"call_id": "call-2"}).status_code == 303
    read = site.api(bound_to="alice").get("/v1/file", params={"path": "user/oars.md"})
    assert "Red ones." in read.json()["content"]
    assert (
        new_site().visitor(bound_to="alice").get("/ui/calls/call", params={"id": "call-2"}).status_code == 404
    )


def test_all_that_an_actor_did_is_undone_after_its_page(site: Site) -> None:
    """The page shows lines, and files that stay; a form that is outdated shows the page anew; the call is shown."""
    api = site.api(bound_to="alice")
    write(api, "call-1", "# Oars\n\nRed ones.\n")
    api.headers["Memex-Actor"] = "wild"
    write(api, "call-2", "# Oars\n\nPoisoned ones.\n")
    write(api, "call-3", "# Gone\n", path="user/gone.md")
    api.headers.pop("Memex-Actor")
    write(api, "call-4", "# True\n", path="user/gone.md")
    alice, asked = site.visitor(bound_to="alice"), {"actor": "wild", "since": "2026-01-01T00:00"}

    form = alice.get("/ui/calls").text
    page = alice.post("/ui/calls/revert-all", asked).text
    outdated = alice.post("/ui/calls/revert-all", asked | {"confirm": "0" * 32})
    confirm = re.search(r'name="confirm" value="([0-9a-f]+)"', outdated.text)
    assert confirm is not None
    done = alice.post("/ui/calls/revert-all", asked | {"confirm": confirm[1]})

    assert "Undo all that one actor did" in form
    assert "Poisoned" in page
    assert "VERSION_CONFLICT" in page
    assert "call-4" in page
    assert (outdated.status_code, "Nothing was undone." in outdated.text) == (409, True)
    assert done.status_code == 303
    assert "What these calls wrote was undone." in alice.get(done.headers["location"]).text
    assert "Red ones." in api.get("/v1/file", params={"path": "user/oars.md"}).json()["content"]
    assert "There is nothing to undo." in alice.post("/ui/calls/revert-all", asked).text
    for wrong in ({"actor": ""}, {"since": ""}, {"since": "soon"}):
        assert alice.post("/ui/calls/revert-all", asked | wrong).status_code == 422
    assert alice.post("/ui/calls/revert-all", asked | {"actor": "a" * 300}).status_code == 200
