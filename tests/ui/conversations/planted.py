"""Conversations for the tests of their pages, and how the tests read a page."""

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
from tests.kit.http_service import Served
from tests.ui.conftest import Site, Visitor
from tests.ui.test_hostile_notes import BY_HAND

from memex.api.uploads.lanes import LANES

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


def shown(visitor: Visitor, path: str, /, **query: Any) -> str:
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


def deletion(visitor: Visitor, **asked: str) -> tuple[str, dict[str, str]]:
    """Return the page that says what would go, and the fields of its form."""
    page = shown(visitor, "/ui/conversations/delete", **asked)
    fields = re.findall(r'name="(id|source|before|counted)" value="([^"]*)"', page)
    return page, dict(fields)


IMPORT = "/ui/conversations/import"
CHAT_EXPORT = [
    {
        "uuid": f"c{number}",
        "name": f"Chat {number}",
        "created_at": "2026-01-02T03:04:05Z",
        "updated_at": "2026-01-02T03:05:05Z",
        "account": {"uuid": "a1"},
        "chat_messages": [
            {
                "uuid": f"{number}-1",
                "sender": "human",
                "text": f"What about topic {number}?",
                "created_at": "2026-01-02T03:04:05Z",
            },
            {
                "uuid": f"{number}-2",
                "sender": "assistant",
                "text": "Zeppelins.",
                "created_at": "2026-01-02T03:04:09Z",
            },
        ],
    }
    for number in range(40)
]


def send(
    visitor: Visitor,
    content: bytes,
    form: dict[str, str] | None = None,
    *,
    name: str = "export.zip",
    **headers: str,
) -> httpx2.Response:
    """Send the form of the import."""
    visitor.get(IMPORT)
    return visitor.post(IMPORT, form, file=("export", content), file_name=name, **headers)


def ended(visitor: Visitor, location: str, wait_s: float = 60) -> str:
    """Return the page of an import when it has ended."""
    until_s = time.monotonic() + wait_s
    while "hx-trigger" in (page := visitor.get(location).text):
        assert time.monotonic() < until_s, page
        time.sleep(0.05)
    return page


def report_of(
    visitor: Visitor, content: bytes, form: dict[str, str] | None = None, *, name: str = "export.zip"
) -> str:
    """Send an export, and return its report."""
    done = send(visitor, content, form, name=name)
    assert done.status_code == 303, done.text
    return ended(visitor, done.headers["location"])


def figures(page: str) -> dict[str, int]:
    """Return the figures of a report."""
    return {
        name: int(count.replace(",", ""))
        for name, count in re.findall(r"<dt>([^<]*)</dt><dd>([\d,]+)</dd>", page)
    }


@contextmanager
def lanes_held(served: Served) -> Iterator[None]:
    """Let all uploads of a service wait, as if others were read."""
    folder = served.app.state.imports.folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lanes = [os.open(folder / f"lane-{number}", os.O_RDWR | os.O_CREAT, 0o600) for number in range(LANES)]
    try:
        for lane in lanes:
            fcntl.flock(lane, fcntl.LOCK_EX)
        yield
    finally:
        for lane in lanes:
            os.close(lane)
