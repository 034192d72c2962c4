"""Removed lines over HTTP: what is listed, and how a line is put back, by its user and by an administrator."""

from collections.abc import Callable
from typing import Any

from httpx2 import Client

ClientOf = Callable[..., Client]

OLDER, NEWER = "I live in Lisbon.", "I live in Porto now."


def remember(client: Client, text: str) -> None:
    """Have a text remembered."""
    answer = client.post("/v1/tools/memory_remember/execute", json={"arguments": {"text": text}})
    assert answer.is_success, answer.text


def removed(client: Client, base: str = "/v1", **query: Any) -> list[dict[str, Any]]:
    """Return the lines that are taken out."""
    answer = client.get(f"{base}/removed", params=query)
    assert answer.is_success, answer.text
    return list(answer.json()["lines"])


def test_a_line_is_listed_put_back_and_taken_out_again(alice: Client) -> None:
    """The list says what took its place; the call that puts it back is reverted like any other."""
    remember(alice, OLDER)
    remember(alice, NEWER)

    [line] = removed(alice)
    done = alice.post("/v1/removed", json={"id": line["id"]}, headers={"Memex-Tool-Call-Id": "back"})
    content = alice.get("/v1/file", params={"path": line["path"]}, headers={"Accept": "text/markdown"}).text
    after = removed(alice)
    again = alice.post("/v1/removed", json={"id": line["id"]})
    undone = alice.post("/v1/operations/back/revert", json={})

    assert (line["state"], line["text"], line["newer"]) == ("replaced", OLDER, NEWER)
    assert line["held_in"].startswith(f"{line['path']}@1:")
    assert (done.json()["status"], done.json()["tool_call_id"]) == ("put_back", "back")
    assert OLDER in content
    assert NEWER in content
    assert after == []
    assert (again.status_code, again.json()["code"]) == (404, "LINE_NOT_FOUND")
    assert undone.is_success
    assert [one["state"] for one in removed(alice)] == ["replaced"]


def test_filters_and_pages(alice: Client) -> None:
    """By state and path, and what people took out by hand only on request; a bad filter is refused."""
    remember(alice, OLDER)
    remember(alice, NEWER)
    alice.delete("/v1/file", params={"path": "user/profile.md"})

    by_remembering, by_hand, everything = (
        removed(alice),
        removed(alice, state="removed"),
        removed(alice, all=True),
    )
    first = alice.get("/v1/removed", params={"all": True, "limit": 1}).json()
    rest = alice.get("/v1/removed", params={"all": True, "cursor": first["next_cursor"]}).json()
    bad = [
        alice.get("/v1/removed", params=query).json()["code"]
        for query in ({"state": "lost"}, {"prefix": "elsewhere/"}, {"cursor": "none"}, {"limit": 0})
    ]

    assert [one["text"] for one in by_remembering] == [OLDER]
    assert [(one["text"], one["file_stands"]) for one in by_hand] == [(NEWER, False)]
    assert {one["text"] for one in everything} == {OLDER, NEWER}
    assert first["lines"] + rest["lines"] == everything
    assert removed(alice, prefix="user/pro", all=True) == everything
    assert removed(alice, prefix="user/notes") == removed(alice, prefix="projects") == []
    assert bad[0] == bad[2] == bad[3] == "VALIDATION_ERROR"
    assert bad[1] != "INTERNAL"


def test_an_administrator_puts_a_line_of_a_user_back(alice: Client, client_of: ClientOf) -> None:
    """The list of the user in Memex-User, and no line for an administrator who names none."""
    remember(alice, OLDER)
    remember(alice, NEWER)
    admin, nobody = client_of("admin", user="alice"), client_of("admin")

    [line] = removed(admin, "/v1/admin")
    done = admin.post("/v1/admin/removed", json={"id": line["id"]})

    assert removed(nobody, "/v1/admin") == []
    assert done.json()["status"] == "put_back"
    assert removed(alice) == []
