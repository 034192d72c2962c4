"""Conversations over HTTP: lines that are wrong store nothing, and hostile ones break no list."""

import json
from typing import Any
from urllib.parse import quote

from httpx2 import Client

SOURCE = {"kind": "chatgpt"}
ROUTE = "/v1/conversations"


def conversation(name: str = "c1", **message: Any) -> dict[str, Any]:
    """Return a conversation of one message."""
    return {"id": name, "messages": [{"id": "m1", "role": "user", "text": "Tea at four."} | message]}


def lines(*documents: dict[str, Any] | str) -> bytes:
    """Return JSON lines; a text is a line as it stands."""
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in documents).encode()


WRONG: dict[str, tuple[bytes, str]] = {
    "a NUL in a reason": (lines({"kind": "chatgpt", "skipped": {"a\0b": 1}}, conversation()), "Line 1: "),
    "a reason of many letters": (lines(SOURCE | {"skipped": {"a" * 101: 1}}, conversation()), "Line 1: "),
    "a huge count": (lines(SOURCE | {"skipped": {"a": 10**400}}, conversation()), "Line 1: "),
    "a count below 0": (lines(SOURCE | {"skipped": {"a": -1}}, conversation()), "Line 1: "),
    "a time before year 1 in UTC": (
        lines(SOURCE, conversation(said_at="0001-01-01T00:00:00+14:00")),
        "years 2",
    ),
    "a time after 9999 in UTC": (lines(SOURCE, conversation(said_at="9999-12-31T23:59:59-14:00")), "years 2"),
    "a start before year 1": (
        lines(SOURCE, conversation() | {"started_at": "0001-01-01T00:00:00+14:00"}),
        "Line 2: started_at",
    ),
    "a key twice": (lines('{"kind": "chatgpt", "kind": "codex"}', conversation()), "Line 1: "),
    "a key of a message twice": (
        lines(SOURCE, '{"id": "c", "messages": [{"id": "m", "role": "user", "text": "a", "text": "b"}]}'),
        "Line 2: The body has the key 'text' twice",
    ),
    "no object": (lines("[1]"), "Line 1: must be an object."),
}


def test_a_wrong_line_is_named_and_nothing_is_stored(alice: Client) -> None:
    """What the database could not hold or give back is refused before it is stored."""
    for body, named in WRONG.values():
        refused = alice.post(ROUTE, content=body)

        assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")
        assert named in refused.json()["detail"]
        assert alice.get(ROUTE).json()["conversations"] == []


def test_the_ends_of_the_calendar_are_read_again(alice: Client) -> None:
    """The earliest and the latest time that are taken can be listed, read and found, whatever their zone."""
    times = ("0002-01-01T14:00:00+14:00", "9998-12-31T09:59:59-14:00")
    stored = alice.post(ROUTE, content=lines(SOURCE, *(conversation(at, said_at=at) for at in times)))

    assert stored.is_success
    assert len(alice.get(ROUTE).json()["conversations"]) == len(times)
    assert len(alice.post(f"{ROUTE}/find", json={"query": "tea"}).json()["hits"]) == len(times)
    for one in stored.json()["conversations"]:
        assert alice.get(f"{ROUTE}/{one['id']}").json()["messages"][0]["text"] == "Tea at four."


FILE = {"sha256": "a" * 64, "lineage": "b" * 64}


def bookmark_of(alice: Client) -> Any:
    """Return what is stored of where the reader of the file has stopped."""
    asked = {"source": SOURCE | {"files": [FILE]}}
    return alice.post(f"{ROUTE}/wanted", json=asked).json()["bookmarks"].get(FILE["lineage"])


def test_a_bookmark_holds_no_secret(alice: Client) -> None:
    """Words of a transcript stand in it: with a secret among them it is not kept, and the file is read again."""
    words = {"first_words": "Tea 😀", "seen": [1, None]}
    alice.post(ROUTE, content=lines(SOURCE | {"files": [FILE | {"bookmark": words}]}))
    assert bookmark_of(alice) == words

    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    put = alice.post(ROUTE, content=lines(SOURCE | {"files": [FILE | {"bookmark": {"a": [{secret: 1}]}}]}))

    assert put.is_success
    assert bookmark_of(alice) is None


def test_a_bookmark_goes_with_a_conversation(alice: Client) -> None:
    """It may hold words of what was deleted."""
    source = SOURCE | {"files": [FILE | {"bookmark": {"first_words": "Tea"}}]}
    put = alice.post(ROUTE, content=lines(source, conversation())).json()
    assert bookmark_of(alice) == {"first_words": "Tea"}

    assert alice.delete(f"{ROUTE}/{put['conversations'][0]['id']}").is_success

    assert bookmark_of(alice) is None


def test_a_source_is_deleted_whatever_its_label(alice: Client) -> None:
    """Encoded in the address; a label of dots, which no address can hold, in the body."""
    labels = ["a/b", "a?b#c%", "%2F", "über/../x", "delete", " "]
    for number, label in enumerate([*labels, ".."]):
        alice.post(ROUTE, content=lines(SOURCE | {"label": label}, conversation(f"c{number}")))

    for label in labels:
        assert alice.delete(f"/v1/sources/{quote(label, safe='')}").json()["conversations"] == 1, label
    assert alice.post(f"{ROUTE}/delete", json={"source": ".."}).json()["conversations"] == 1
    assert alice.get("/v1/sources").json()["sources"] == []
