"""The log over HTTP: a caller's own calls, and undoing one."""

from collections.abc import Callable
from typing import Any

from httpx2 import Client

ClientOf = Callable[..., Client]
PATH = {"path": "user/a.md"}


def put(client: Client, content: str, call_id: str, path: str = "user/a.md", **headers: str) -> None:
    """Write a file under a tool call id."""
    named = {"Memex-Tool-Call-Id": call_id.encode(), **{k.replace("_", "-"): v for k, v in headers.items()}}
    assert client.put("/v1/file", params={"path": path}, content=content, headers=named).is_success


def test_a_call_is_shown_as_it_was_asked_and_answered(alice: Client) -> None:
    """Texts are references to the revisions that hold them; the rest stands as it came."""
    put(alice, "likes tea", "call-1", Memex_Actor="support-bot")

    [attempt] = alice.get("/v1/operations/call-1").json()["attempts"]

    assert (attempt["tool"], attempt["status"], attempt["attempt"]) == ("memory_write", "committed", 1)
    assert attempt["request"] == {"path": "user/a.md", "content": {"$text": "user/a.md@1:0-9"}}
    assert attempt["response"]["version"] == 1
    assert attempt["writes"] == ["user/a.md@1"]
    assert (attempt["principal"]["user"], attempt["principal"]["actor"]) == ("alice", "support-bot")
    assert attempt["state"] == {"user": 0}
    assert attempt["engine"]
    assert attempt["error_code"] is None
    assert attempt["duration_ms"] > 0


def test_refused_calls_are_logged_with_their_code(alice: Client) -> None:
    """Failed and denied calls have a row, found under the id that was sent."""
    headers = {"Memex-Tool-Call-Id": "call-1"}
    alice.get("/v1/file", params={"path": "user/none.md"}, headers=headers)
    alice.put("/v1/file", params={"path": "shared/a.md"}, content="tea", headers=headers)
    alice.get("/v1/file", params={"path": "users/bob/a.md"}, headers=headers)

    attempts = alice.get("/v1/operations/call-1").json()["attempts"]

    assert [(one["status"], one["error_code"]) for one in attempts] == [
        ("denied", "PHYSICAL_PATH_FORBIDDEN"),
        ("denied", "READ_ONLY_MOUNT"),
        ("failed", "FILE_NOT_FOUND"),
    ]


def test_calls_are_listed_newest_first_in_pages(alice: Client) -> None:
    """Every call once, whatever the size of a page."""
    for n in range(12):
        put(alice, f"text {n}", f"call-{n}", f"user/{n}.md")

    listed: list[str] = []
    cursor: str | None = None
    while True:
        params: dict[str, Any] = {"limit": 5, **({"cursor": cursor} if cursor else {})}
        page = alice.get("/v1/operations", params=params).json()
        listed += [operation["tool_call_id"] for operation in page["operations"]]
        if (cursor := page["next_cursor"]) is None:
            break

    assert listed == [f"call-{n}" for n in reversed(range(12))]


def test_a_call_id_of_any_characters_can_be_shown_and_reverted(alice: Client) -> None:
    """Slashes, percent signs, `revert` and emoji in an id are data in the URL as in the header."""
    for n, call_id in enumerate(("a/b", "a%2Fb", "..", "revert", "x/revert", "?#&=", "🦊", "é'\"\\")):
        put(alice, "tea", call_id, f"user/{n}.md")
        quoted = "".join(f"%{byte:02X}" for byte in call_id.encode())

        shown = alice.get(f"/v1/operations/{quoted}").json()
        reverted = alice.post(f"/v1/operations/{quoted}/revert").json()

        assert shown["attempts"][0]["writes"] == [f"user/{n}.md@1"]
        assert reverted["reverted"] == call_id
        assert [(write["path"], write["deleted"]) for write in reverted["writes"]] == [(f"user/{n}.md", True)]


def test_a_revert_undoes_a_call_as_new_versions(alice: Client) -> None:
    """The text before stands again; the revert is a call of its own, with its reason."""
    put(alice, "one\n", "call-1")
    put(alice, "two\n", "call-2", If_Match='"1"')

    answered = alice.post(
        "/v1/operations/call-2/revert", json={"reason": "wrong"}, headers={"Memex-Tool-Call-Id": "undo-2"}
    ).json()

    assert answered["reverted"] == "call-2"
    assert answered["tool_call_id"] == "undo-2"
    [write] = answered["writes"]
    assert (write["path"], write["version"], write["deleted"]) == ("user/a.md", 3, False)
    assert "-two\n+one\n" in write["diff"]
    assert alice.get("/v1/file", params=PATH).json()["content"] == "one\n"
    newest = alice.get("/v1/revisions", params=PATH).json()["revisions"][0]
    assert (newest["operation"], newest["reason"], newest["tool_call_id"]) == ("revert", "wrong", "undo-2")


def test_all_that_an_actor_did_is_undone_after_a_preview(alice: Client, client_of: ClientOf) -> None:
    """Of the user's calls alone; what came since the preview makes it outdated, with the one that fits."""
    bob = client_of("agent", bound_to="bob")
    put(alice, "one\n", "call-1")
    put(alice, "two\n", "call-2", Memex_Actor="wild", If_Match='"1"')
    put(bob, "bob's\n", "call-3", Memex_Actor="wild")
    asked = {"actor": "wild", "since": "2026-01-01T00:00:00Z"}

    shown = alice.post("/v1/operations/revert", json=asked).json()
    put(alice, "more\n", "call-4", "user/b.md", Memex_Actor="wild")
    outdated = alice.post("/v1/operations/revert", json=asked | {"confirm": shown["confirm"]})
    confirm = outdated.json()["confirm"]
    headers = {"Memex-Tool-Call-Id": "undo"}
    done = alice.post("/v1/operations/revert", json=asked | {"confirm": confirm}, headers=headers).json()

    assert (shown["status"], [call["tool_call_id"] for call in shown["calls"]]) == ("preview", ["call-2"])
    assert "-two\n+one\n" in shown["writes"][0]["diff"]
    assert (outdated.status_code, outdated.json()["code"]) == (409, "PREVIEW_OUTDATED")
    assert (done["status"], done["tool_call_id"], len(done["calls"])) == ("reverted", "undo", 2)
    assert alice.get("/v1/file", params=PATH).json()["content"] == "one\n"
    assert alice.get("/v1/file", params={"path": "user/b.md"}).status_code == 404
    assert bob.get("/v1/file", params=PATH).json()["content"] == "bob's\n"
    for wrong in ({"since": "soon"}, {"since": "2026-01-01T00:00:00"}, {"actor": ""}, {"actor": None}):
        assert alice.post("/v1/operations/revert", json=asked | wrong).json()["code"] == "VALIDATION_ERROR"


def test_a_revert_sent_again_is_answered_as_at_first(alice: Client) -> None:
    """Undoing is idempotent under its own id."""
    put(alice, "one", "call-1")
    undo = {"headers": {"Memex-Tool-Call-Id": "undo-1"}}

    first = alice.post("/v1/operations/call-1/revert", **undo)
    again = alice.post("/v1/operations/call-1/revert", **undo)

    assert first.is_success
    assert first.json() == again.json()
    assert len(alice.get("/v1/revisions", params=PATH).json()["revisions"]) == 2


def test_a_revert_that_no_longer_fits_names_the_later_calls(alice: Client) -> None:
    """What was written since is not lost: nothing is committed."""
    put(alice, "one", "call-1")
    put(alice, "two", "call-2", If_Match='"1"')
    put(alice, "three", "call-3", If_Match='"2"')

    refused = alice.post("/v1/operations/call-2/revert")

    assert (refused.status_code, refused.json()["code"]) == (409, "VERSION_CONFLICT")
    assert refused.json()["later_calls"] == ["call-3"]
    assert alice.get("/v1/file", params=PATH).json()["content"] == "three"


def test_a_call_is_undone_once_the_later_ones_are(alice: Client) -> None:
    """Also one that made a file: the undoing of a later call is no write that would be lost."""
    put(alice, "one", "call-1")
    put(alice, "two", "call-2", If_Match='"1"')

    assert alice.post("/v1/operations/call-1/revert").json()["later_calls"] == ["call-2"]
    assert alice.post("/v1/operations/call-2/revert").is_success
    assert alice.post("/v1/operations/call-1/revert").is_success
    assert alice.get("/v1/file", params=PATH).status_code == 404


def test_a_call_that_wrote_nothing_cannot_be_reverted(alice: Client) -> None:
    """Unknown calls, reads and failures alike."""
    alice.get("/v1/files", headers={"Memex-Tool-Call-Id": "read-1"})

    for call_id in ("unknown", "read-1"):
        refused = alice.post(f"/v1/operations/{call_id}/revert")
        assert (refused.status_code, refused.json()["code"]) == (404, "OPERATION_NOT_FOUND")
    assert alice.get("/v1/operations/unknown").json()["code"] == "OPERATION_NOT_FOUND"


def test_the_body_of_a_revert_is_optional_and_strict(alice: Client) -> None:
    """No body, an empty one, a reason; nothing else."""
    for n, body in enumerate(({}, {"reason": None}, {"reason": "because"})):
        put(alice, "tea", f"call-{n}", f"user/{n}.md")
        assert alice.post(f"/v1/operations/call-{n}/revert", json=body).is_success

    for bad in ({"why": "x"}, {"reason": 1}, {"reason": "x" * 501}, [], "x"):
        refused = alice.post("/v1/operations/call-0/revert", json=bad)
        assert refused.json()["code"] == "VALIDATION_ERROR"


def test_an_admin_sees_the_calls_made_for_a_user_and_those_of_admins(
    client_of: ClientOf, alice: Client
) -> None:
    """With Memex-User that user's, without one those that name nobody."""
    admin, for_alice = client_of("admin"), client_of("admin", user="alice")
    put(alice, "tea", "by-alice")
    admin.put("/v1/admin/projects/apollo")
    call = {
        "arguments": {"path": "user/b.md", "content": "milk"},
        "context": {"userId": "alice", "toolCallId": "by-us"},
    }
    assert admin.post("/v1/admin/tools/memory_write/execute", json=call).is_success

    of_alice = for_alice.get("/v1/admin/operations").json()["operations"]
    of_admins = admin.get("/v1/admin/operations").json()["operations"]
    seen_by_alice = alice.get("/v1/operations").json()["operations"]

    assert [(one["tool_call_id"], one["principal"]["role"]) for one in of_alice] == [
        ("by-us", "admin"),
        ("by-alice", "agent"),
    ]
    assert [one["tool"] for one in of_admins] == ["project_open"]
    assert [one["tool_call_id"] for one in seen_by_alice] == ["by-alice"]


def test_every_answer_bears_a_request_id(alice: Client) -> None:
    """The caller's when it is clean, else one of ours; in the header, and in a problem's body."""
    named = alice.get("/v1/file", params=PATH, headers={"X-Request-ID": "trace-7"})
    unnamed = [alice.get("/health/live").headers["x-request-id"] for _ in range(3)]

    assert named.headers["x-request-id"] == named.json()["request_id"] == "trace-7"
    assert len(set(unnamed)) == 3
