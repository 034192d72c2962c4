"""The pages of conversations: finding what was said, reading a thread, time, sources, and deleting."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.ui.browser import NARROW, signed_in
from tests.ui.conftest import Site, Visitor
from tests.ui.test_hostile_notes import BY_HAND, IS_WHOLE

FIND = "/ui/conversations"
THREAD = "/ui/conversations/thread"
SOURCE = {
    "kind": "chatgpt",
    "label": "Work",
    "account": "nora@example.org",
    "skipped": {"hidden": 3, "odd": 1},
}


def message(number: int, text: str, **more: Any) -> dict[str, Any]:
    """Return a message; people and assistants take turns."""
    said = {"said_at": f"2026-03-02T09:{number % 60:02}:00+00:00"} if number < 60 else {}
    return (
        {"id": f"m{number}", "role": "assistant" if number % 2 == 0 else "user", "text": text} | said | more
    )


def conversation(name: str, title: str, texts: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return a conversation of some texts."""
    return {
        "id": name,
        "title": title,
        "messages": [message(number, text) for number, text in enumerate(texts, start=1)],
    } | more


QUEUE = conversation(
    "queue",
    "Choosing a queue",
    [
        "Kafka or Postgres for a small job queue?",
        "Postgres, with **skip locked**:\n\n```sql\nselect 1\n```\n\n[docs](https://other.example/x) [[note]]",
        "And retries?",
        "Use exponential backoff.",
    ],
    project="Billing",
)
BRANCHED = {
    "id": "tea",
    "title": "Tea",
    "messages": [
        message(1, "How hot for oolong?"),
        message(2, "Seventy degrees, says the gyokuro table.", parent="m1", on_path=False),
        message(3, "Ninety degrees.", parent="m1", role="assistant"),
    ],
}
LONG = conversation("long", "A long one", [f"Line {number} of the marathon." for number in range(1, 101)])


def put(
    site: Site, *conversations: Mapping[str, Any], source: Mapping[str, Any] = SOURCE, user: str = "alice"
) -> list[str]:
    """Store conversations of a user; return their ids."""
    lines = "".join(f"{json.dumps(one)}\n" for one in (source, *conversations))
    stored = site.api(bound_to=user).post("/v1/conversations", content=lines.encode())
    assert stored.is_success, stored.text
    return [one["id"] for one in stored.json()["conversations"]]


def shown(visitor: Visitor, path: str, **query: Any) -> str:
    """Return the page at an address."""
    answer = visitor.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.text


def numbers(page: str) -> list[int]:
    """Return the numbers of the messages of a thread."""
    return [int(number) for number in re.findall(r'<article class="said[^"]*" id="m(\d+)"', page)]


def link(page: str, words: str) -> str:
    """Return where the link with some words leads."""
    found = re.search(rf'href="([^"]*)"[^>]*>(?:<svg.*?</svg>)? ?{words}', page)
    assert found is not None, words
    return found[1].replace("&amp;", "&")


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
        assert "memex ingest FILE" in shown(alice, path), path
        assert "Name the user in the menu" in shown(admin, path), path


def deletion(visitor: Visitor, **asked: str) -> tuple[str, dict[str, str]]:
    """Return the page that says what would go, and the fields of its form."""
    page = shown(visitor, "/ui/conversations/delete", **asked)
    fields = re.findall(r'name="(id|source|before|counted)" value="([^"]*)"', page)
    return page, dict(fields)


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


HOSTILE_SOURCE = {"kind": "messages", "label": BY_HAND[0], "account": BY_HAND[1], "skipped": {BY_HAND[2]: 1}}


def put_hostile(site: Site) -> list[str]:
    """Store conversations whose texts, titles, projects, authors, models and sources are hostile."""
    everything = [
        conversation(
            f"hostile-{number}",
            text[:900],
            [text[:200_000]],
            project=text[:200],
        )
        for number, text in enumerate(BY_HAND)
    ]
    for one in everything:
        one["messages"][0] |= {"author": one["project"], "model": one["project"], "origin": one["title"]}
    return put(site, *everything, source=HOSTILE_SOURCE)


@pytest.mark.slow
def test_hostile_texts_run_nothing(site: Site, in_browser: Callable[..., Any]) -> None:
    """On each page that shows a text, a title or a source: no script runs, and the frame stays whole at 360 px."""
    ids = put_hostile(site)

    def look(browser: Browser) -> list[str]:
        broken = []
        with signed_in(browser, site, size=NARROW) as page:
            for address in (
                FIND,
                f"{FIND}?query=alert+script+evil+style+svg+javascript&limit=100",
                "/ui/conversations/timeline",
                "/ui/conversations/sources",
                "/ui/conversations/delete?before=2027-01-01",
            ):
                page.goto(address)
                if not page.evaluate(IS_WHOLE):
                    broken.append(address)
            for number, one in enumerate(ids):
                for more in ("", "&message=1&alone=true"):
                    page.goto(f"{THREAD}?id={one}{more}")
                    if page.locator("article.said").count() != 1 or not page.evaluate(IS_WHOLE):
                        broken.append(f"{BY_HAND[number][:80]} {more}")
        return broken

    assert in_browser(look) == []
