"""Finding what was said, reading a thread, conversations by time, and their sources."""

import json
import re

import pytest
from tests.ui.conftest import Site
from tests.ui.conversations.planted import (
    BRANCHED,
    FIND,
    LONG,
    QUEUE,
    THREAD,
    conversation,
    link,
    numbers,
    put,
    shown,
)


def test_a_hit_shows_its_words_and_why_it_is_there(site: Site) -> None:
    """Words are marked, borrowed ones are named, and the title leads to the message in its thread."""
    [queue, _] = put(site, QUEUE, BRANCHED)
    alice = site.visitor(bound_to="alice")

    found = shown(alice, FIND, query="backoff for retries of the queue")

    assert "<mark>backoff</mark>" in found
    assert "Messages beside it" in found
    assert f'href="{THREAD}?id={queue}&amp;message=4#m4"' in found
    thread = shown(alice, THREAD, id=queue, message=4)
    assert numbers(thread) == [1, 2, 3, 4]
    assert re.search(r'<article class="said is-marked" id="m4"[^>]*aria-current="true"', thread)
    assert "<strong>skip locked</strong>" in thread
    assert 'class="external" href="https://other.example/x"' in thread
    assert "[[note]]" in thread
    assert (
        alice.get(FIND, params={"query": f"conversations/{queue}#2"}).headers["location"]
        == f"{THREAD}?id={queue}&message=2"
    )


def test_filters_narrow_a_search_and_stand_in_its_address(site: Site) -> None:
    """Source, project, role, days, conversation, what a person typed, and branches."""
    [queue, tea] = put(site, QUEUE, BRANCHED)
    put(
        site,
        conversation("other", "Elsewhere", ["A postgres queue, said elsewhere."]),
        source={"kind": "codex"},
    )
    alice = site.visitor(bound_to="alice")
    narrowed: list[tuple[dict[str, str], int]] = [
        ({}, 3),
        ({"source": "Work"}, 2),
        ({"source": "codex"}, 1),
        ({"project": "Billing"}, 2),
        ({"role": "assistant"}, 1),
        ({"human": "true"}, 2),
        ({"since": "2026-03-03"}, 0),
        ({"until": "2026-03-02"}, 3),
        ({"conversation": queue}, 2),
        ({"conversation": tea}, 0),
    ]

    hits = {
        json.dumps(filters): shown(alice, FIND, query="postgres", **filters).count('class="hit"')
        for filters, _ in narrowed
    }
    hidden = shown(alice, FIND, query="gyokuro")
    opened = alice.get(link(hidden, "Search also the branches")).text

    assert hits == {json.dumps(filters): count for filters, count in narrowed}
    assert "Nobody said this." in hidden
    assert "branch that was given up" in opened
    assert "Clear the filters" in shown(alice, FIND, query="postgres", since="2026-03-03")
    assert alice.get(FIND, params={"query": "x", "since": "nonsense"}).status_code == 422


def test_no_hit_says_what_to_try(site: Site) -> None:
    """How much was searched, which words stand nowhere, and what is spelled like them."""
    put(site, QUEUE)
    alice = site.visitor(bound_to="alice")

    nothing = shown(alice, FIND, query="exponental zeppelin")

    assert "4 passages of conversations were searched" in nothing
    assert '<span class="badge"><bdi>zeppelin</bdi></span>' in nothing
    assert "Spelled like <bdi>exponental</bdi>" in nothing


def test_a_long_thread_is_read_by_links(site: Site) -> None:
    """Earlier and later messages are one link away, none is missed, and the marked one stays marked."""
    [long] = put(site, LONG)
    alice = site.visitor(bound_to="alice")

    around = shown(alice, THREAD, id=long, message=50)
    seen = set(numbers(around))
    page = around
    while "Later messages" in page:
        page = alice.get(link(page, "Later messages")).text
        seen |= set(numbers(page))
    assert seen == set(range(42, 101))
    page = around
    while "Earlier messages" in page:
        page = alice.get(link(page, "Earlier messages")).text
        seen |= set(numbers(page))
        if 50 in numbers(page):
            assert 'is-marked" id="m50"' in page

    assert seen == set(range(1, 101))
    assert numbers(shown(alice, THREAD, id=long)) == list(range(1, 41))


def test_branches_are_shown_when_they_are_asked_for(site: Site) -> None:
    """By default the thread is what the person saw; a hit on a branch is shown in any case."""
    [tea] = put(site, BRANCHED)
    alice = site.visitor(bound_to="alice")

    usual = shown(alice, THREAD, id=tea)
    every = alice.get(link(usual, "Also branches")).text

    assert numbers(usual) == [1, 3]
    assert numbers(every) == [1, 2, 3]
    assert "branch that was given up, after #1" in every
    assert numbers(shown(alice, THREAD, id=tea, message=2)) == [1, 2, 3]


@pytest.mark.slow
def test_a_very_long_message_is_shown_whole_alone(site: Site) -> None:
    """In the thread it is cut, and a link shows all of it; a still longer one is shown as it is stored."""
    [long] = put(site, conversation("one", "", ["word " * 8_000 + "theend", "x" * 250_000]))
    alice = site.visitor(bound_to="alice")

    thread = shown(alice, THREAD, id=long)
    whole = alice.get(link(thread, "Show the whole message")).text
    stored = shown(alice, THREAD, id=long, message=2, alone="true")

    assert "Conversation without a title" in thread
    assert "theend" not in thread
    assert "theend" in whole
    assert numbers(whole) == [1]
    assert "too long to be laid out" in stored


def test_time_and_sources(site: Site) -> None:
    """The newest conversation comes first; sources say how much they hold, and what was left out and why."""
    put(site, QUEUE, BRANCHED, conversation("new", "Newest", ["Hello."], last_at="2026-10-01T00:00:00Z"))
    put(
        site,
        *(conversation(f"c{number}", f"Old {number}", ["x"]) for number in range(60)),
        source={"kind": "codex"},
    )
    alice = site.visitor(bound_to="alice")

    timeline = shown(alice, "/ui/conversations/timeline")
    older = alice.get(link(timeline, "Older conversations")).text
    titles = re.findall(r'<div class="hit-head"><a [^>]*><bdi>(.*?)</bdi>', timeline + older)
    sources = shown(alice, "/ui/conversations/sources")

    assert titles[0] == "Newest"
    assert len(titles) == len(set(titles)) == 63
    assert shown(alice, "/ui/conversations/timeline", project="Billing").count('class="hit"') == 1
    assert shown(alice, FIND).count('class="hit"') == 5
    assert "messages that the provider hides" in sources
    assert "<dt>Conversations</dt><dd>63</dd>" in sources
    assert "nora@example.org" in sources
    assert "takeout.google.com" in sources


def test_nothing_imported_yet_says_how(site: Site) -> None:
    """Each list names the command and the page that import; an administrator who named nobody is told to."""
    alice, admin = site.visitor(bound_to="alice"), site.visitor("admin")

    for path in (FIND, f"{FIND}?query=tea", "/ui/conversations/timeline", "/ui/conversations/sources"):
        assert "memex conversations ingest FILE" in shown(alice, path), path
        assert "Name the user in the menu" in shown(admin, path), path


def test_what_names_nothing_has_a_page(site: Site) -> None:
    """Ids of others, ids that are none, days that are none, and forms without conditions: an error each."""
    [of_bob] = put(site, QUEUE, user="bob")
    alice = site.visitor(bound_to="alice")
    alice.get(FIND)

    answers = {
        f"{path} {query}": alice.get(path, params=query).status_code
        for path, query in (
            (THREAD, {"id": of_bob}),
            (THREAD, {"id": "x"}),
            (THREAD, {"id": "\u202e<script>"}),
            (THREAD, {"id": of_bob, "cursor": "nonsense"}),
            (THREAD, {"id": of_bob, "message": "9"}),
            ("/ui/conversations/delete", {"id": of_bob}),
            ("/ui/conversations/delete", {"before": "nonsense"}),
            ("/ui/conversations/delete", {}),
            ("/ui/conversations/deleted", {"id": "none"}),
            ("/ui/conversations/timeline", {"cursor": "nonsense"}),
        )
    }
    posted = alice.post("/ui/conversations/delete", {"counted": "1-4-100"})

    assert set(answers.values()) <= {404, 422}, answers
    assert answers[f"{THREAD} {{'id': '{of_bob}'}}"] == 404
    assert posted.status_code == 422
    assert len(site.api(bound_to="bob").get("/v1/conversations").json()["conversations"]) == 1


def test_an_administrator_who_looks_is_told_so_and_logged(site: Site) -> None:
    """The page says whose conversations it shows, and the log of the user names who looked at them."""
    [queue] = put(site, QUEUE)
    admin = site.visitor("admin")
    admin.get("/ui/memory")
    assert admin.post("/ui/as-user", {"user": "alice"}).status_code == 303

    page = shown(admin, THREAD, id=queue)
    shown(admin, FIND, query="kafka")
    shown(admin, "/ui/conversations/sources")

    assert 'class="as-user"' in page
    assert "Kafka or Postgres" in page
    calls = site.api("admin").get(
        "/v1/admin/operations", headers={"Memex-User": "alice"}, params={"limit": 20}
    )
    looked = {one["tool"] for one in calls.json()["operations"] if one["principal"]["role"] == "admin"}
    assert {"conversation_read", "conversation_find", "conversation_sources"} <= looked, calls.text
