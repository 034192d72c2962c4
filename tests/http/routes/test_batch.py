"""Many edits in one request: `POST /v1/files:batch`, and what goes wrong with it."""

import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from httpx2 import Client, Response

ClientOf = Callable[..., Client]
BATCH = "/v1/files:batch"


def send(client: Client, *edits: Any, call: str | None = None) -> Response:
    """Send a batch."""
    headers = {} if call is None else {"Memex-Tool-Call-Id": call}
    return client.post(BATCH, json={"edits": list(edits)}, headers=headers)


def write(path: str, content: str = "text", **more: Any) -> dict[str, Any]:
    """Return an edit that writes a file."""
    return {"kind": "write", "path": path, "content": content, **more}


def paths(client: Client) -> list[str]:
    """Return the paths of all files."""
    return [file["path"] for file in client.get("/v1/files").json()["files"]]


def test_a_batch_of_every_kind_is_one_commit(alice: Client) -> None:
    """Its results come in order, its revisions have its id, and one revert takes all of it back."""
    send(alice, write("user/a.md"), write("user/b.md"), write("user/c.md"))
    done = send(
        alice,
        write("user/a.md", "other", base_version=1),
        {"kind": "patch", "path": "user/b.md", "operation": "append", "text": "more"},
        {"kind": "move", "path": "user/c.md", "to": "user/d.md", "reason": "tidy"},
        {"kind": "delete", "path": "user/a.md"},
        call="batch-1",
    )

    assert done.status_code == 200
    assert done.json()["tool_call_id"] == "batch-1"
    assert [(one["kind"], one["path"], one["version"], one["deleted"]) for one in done.json()["results"]] == [
        ("write", "user/a.md", 2, True),
        ("patch", "user/b.md", 2, False),
        ("move", "user/d.md", 2, False),
        ("delete", "user/a.md", 2, True),
    ]
    assert paths(alice) == ["user/b.md", "user/d.md"]
    [newest, *_] = alice.get("/v1/revisions", params={"path": "user/d.md"}).json()["revisions"]
    assert (newest["tool_call_id"], newest["reason"]) == ("batch-1", "tidy")
    assert alice.post("/v1/operations/batch-1/revert").status_code == 200
    assert paths(alice) == ["user/a.md", "user/b.md", "user/c.md"]


BAD: dict[str, tuple[Any, int, str]] = {
    "no object": ("write", 422, "VALIDATION_ERROR"),
    "no kind": ({"path": "user/x.md"}, 422, "VALIDATION_ERROR"),
    "another kind": ({"kind": "restore", "path": "user/x.md"}, 422, "VALIDATION_ERROR"),
    "a kind that is a list": ({"kind": ["write"], "path": "user/x.md"}, 422, "VALIDATION_ERROR"),
    "an argument of another kind": (write("user/x.md", to="user/y.md"), 422, "VALIDATION_ERROR"),
    "no content": ({"kind": "write", "path": "user/x.md"}, 422, "VALIDATION_ERROR"),
    "two ways to replace": (write("user/a.md", base_version=1, overwrite=True), 422, "VALIDATION_ERROR"),
    "a NUL": (write("user/x.md", "a\0b"), 422, "VALIDATION_ERROR"),
    "a file of 1 MiB and a byte": (write("user/x.md", "x" * ((1 << 20) + 1)), 413, "FILE_TOO_LARGE"),
    "a bad path": (write("user/../x.md"), 400, "INVALID_PATH"),
    "no mount": (write("mine/x.md"), 400, "UNKNOWN_MOUNT"),
    "a tenant in the path": (write("tenants/x/user/y.md"), 403, "PHYSICAL_PATH_FORBIDDEN"),
    "shared/, which agents read": (write("shared/x.md"), 403, "READ_ONLY_MOUNT"),
    "a project of others": (write("projects/zeus/x.md"), 404, "PROJECT_NOT_FOUND"),
    "a move into a project of others": (
        {"kind": "move", "path": "user/a.md", "to": "projects/zeus/x.md"},
        404,
        "PROJECT_NOT_FOUND",
    ),
    "no file": ({"kind": "delete", "path": "user/none.md"}, 404, "FILE_NOT_FOUND"),
    "a taken path": (write("user/a.md"), 409, "FILE_EXISTS"),
    "a move to a taken path": (
        {"kind": "move", "path": "user/moved.md", "to": "user/a.md"},
        409,
        "FILE_EXISTS",
    ),
    "an old version": ({"kind": "delete", "path": "user/a.md", "base_version": 7}, 409, "VERSION_CONFLICT"),
    "a text that is not there": (
        {"kind": "patch", "path": "user/a.md", "operation": "replace", "match": "none", "text": ""},
        422,
        "PATCH_NOT_FOUND",
    ),
    "a text that is there twice": (
        {"kind": "patch", "path": "user/a.md", "operation": "replace", "match": "t", "text": ""},
        422,
        "PATCH_AMBIGUOUS",
    ),
    "a path that the batch has written": (write("user/good.md"), 409, "FILE_EXISTS"),
    "a file that the batch has moved": (
        {"kind": "patch", "path": "user/b.md", "operation": "append", "text": "x"},
        404,
        "FILE_NOT_FOUND",
    ),
}


def test_one_bad_member_leaves_everything_as_it_was(alice: Client, root: Client) -> None:
    """It is named by its index, with the code that it has as a call of its own; nothing of the batch is written."""
    root.put("/v1/admin/projects/zeus")
    send(alice, write("user/a.md"), write("user/b.md"))
    good = [write("user/good.md"), {"kind": "move", "path": "user/b.md", "to": "user/moved.md"}]
    for what, (bad, status, code) in BAD.items():
        refused = send(alice, *good, bad, write("user/after.md"))

        problem = refused.json()
        assert (refused.status_code, problem["code"]) == (status, code), what
        if what != "no object":  # the body is refused before anybody looks at its edits
            assert problem["member"] == 2, what
            assert problem["detail"].startswith("Member 2: "), what
        assert paths(alice) == ["user/a.md", "user/b.md"], what
    assert not [one for one in alice.get("/v1/operations").json()["operations"] if one["status"] == "running"]


def test_a_batch_has_1_to_500_members(alice: Client) -> None:
    """One without members, and one of 501, are refused; one of 500 is written."""
    many = [write(f"user/{number:03}.md", f"note {number}") for number in range(501)]

    empty, over, full = send(alice), send(alice, *many), send(alice, *many[:500])

    assert (empty.status_code, empty.json()["detail"]) == (422, "memory_write_many: edits is empty.")
    assert (over.status_code, over.json()["code"]) == (422, "VALIDATION_ERROR")
    assert "at most 500 items" in over.json()["detail"]
    assert [one["version"] for one in full.json()["results"]] == [1] * 500
    assert len(alice.get("/v1/files", params={"limit": 1_000}).json()["files"]) == 500


@pytest.mark.slow
def test_a_batch_of_8_mib_is_refused(alice: Client) -> None:
    """By its bytes before it is read, and by its characters after that; what fits into both is written."""
    mebibyte = [write(f"user/{number}.md", "x" * (1 << 20)) for number in range(8)]

    too_many_bytes, too_many_chars, fits = (
        send(alice, *mebibyte),
        send(alice, *mebibyte[:5]),
        send(alice, *mebibyte[:4]),
    )

    assert (too_many_bytes.status_code, too_many_bytes.json()["code"]) == (413, "FILE_TOO_LARGE")
    assert (too_many_chars.status_code, too_many_chars.json()["code"]) == (422, "LIMIT_EXCEEDED")
    assert fits.status_code == 200
    assert paths(alice) == [f"user/{number}.md" for number in range(4)]


def test_a_body_that_is_no_batch_is_refused(alice: Client) -> None:
    """With a problem body, and nothing is written."""
    for body in (
        b"[]",
        b"{}",
        b'{"edits": {}}',
        b'{"edits": [null]}',
        b'{"edits": [[]]}',
        b'{"edits": [], "more": 1}',
        b'{"edits": [{"kind": NaN}]}',
        b'{"edits": [{"kind": "write", "path": "user/a.md", "content": "\\ud800"}]}',
        b'{"edits": [{"kind": "write", "path": "user/a.md", "content": "a", "\\ud800": 1}]}',
        b'{"edits": ' + b"[" * 100 + b"]" * 100 + b"}",
    ):
        refused = alice.post(BATCH, content=body, headers={"Content-Type": "application/json"})

        assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")
        assert paths(alice) == []


def test_a_retry_gets_the_first_answer(alice: Client) -> None:
    """Under its id a batch is done once; other edits under the id, or the same in another order, are a conflict."""
    edits = [write("user/a.md"), write("user/b.md")]
    first = send(alice, *edits, call="once")
    alice.delete("/v1/file", params={"path": "user/a.md"})

    again, other, turned = (
        send(alice, *edits, call="once"),
        send(alice, *edits[:1], call="once"),
        send(alice, *reversed(edits), call="once"),
    )

    assert (first.status_code, again.json()) == (200, first.json())
    assert [(one.status_code, one.json()["code"]) for one in (other, turned)] == [
        (409, "TOOL_CALL_CONFLICT")
    ] * 2
    assert paths(alice) == ["user/b.md"]


def test_equal_batches_at_the_same_moment_are_one(alice: Client) -> None:
    """Ten under one id write once, and get one answer; ten with ids of their own and one base version, one wins."""
    edits = [write(f"user/{number}.md", "x" * 2_000) for number in range(20)]
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: send(alice, *edits, call="same").json(), range(10)))
        raced = list(
            pool.map(
                lambda number: send(
                    alice,
                    write("user/new.md", f"{number}", overwrite=True),
                    write("user/0.md", f"{number}", base_version=1),
                ),
                range(10),
            )
        )

    assert [len(one["results"]) for one in answers] == [20] * 10
    assert answers == [answers[0]] * 10
    assert sorted(one.status_code for one in raced) == [200] + [409] * 9
    assert {one.json()["member"] for one in raced if one.status_code == 409} == {1}
    assert alice.get("/v1/file", params={"path": "user/new.md"}).json()["version"] == 1


def test_nobody_writes_into_the_memory_of_others(
    client_of: ClientOf, alice: Client, bob: Client, root: Client
) -> None:
    """A batch is of whom the key and the headers name; an admin's batch comes by the route of the tools."""
    root.put("/v1/admin/projects/apollo")
    root.put("/v1/admin/projects/apollo/members/alice")
    mine = send(alice, write("user/a.md", "of alice"), write("projects/apollo/plan.md", "for members"))
    foreign = send(bob, write("user/b.md"), write("projects/apollo/plan.md", overwrite=True))
    shared = {"arguments": {"edits": [write("shared/a.md"), write("projects/apollo/b.md")]}}
    by_admin = root.post("/v1/admin/tools/memory_write_many/execute", json=shared)
    as_other = client_of("agent", bound_to="bob", user="alice")

    assert mine.status_code == by_admin.status_code == 200
    assert (foreign.status_code, foreign.json()["code"], foreign.json()["member"]) == (
        404,
        "PROJECT_NOT_FOUND",
        1,
    )
    assert send(as_other, write("user/c.md")).json()["code"] == "FORBIDDEN"
    assert root.post(BATCH, json={"edits": [write("shared/c.md")]}).json()["code"] == "FORBIDDEN"
    assert paths(bob) == ["shared/a.md"]
    assert paths(alice) == [
        "projects/apollo/b.md",
        "projects/apollo/plan.md",
        "shared/a.md",
        "user/a.md",
    ]


def test_a_client_that_goes_away_in_the_middle_of_its_batch_writes_nothing(alice: Client) -> None:
    """Half of a body is no batch, and the service goes on."""
    body = json.dumps({"edits": [write(f"user/{number}.md", "x" * 1_000) for number in range(100)]}).encode()

    _send_raw(alice, body[: len(body) // 2], said_bytes=len(body))

    assert paths(alice) == []
    assert send(alice, write("user/a.md")).status_code == 200


def test_a_client_that_does_not_wait_learns_by_its_id_what_became_of_the_batch(alice: Client) -> None:
    """The batch is written as a whole or not at all, whenever its client goes; sent again, it is there once."""
    for left in range(5):
        edits = [write(f"user/{left}/{number:02}.md", f"note {number}\n" * 50) for number in range(20)]
        body = json.dumps({"edits": edits}).encode()

        _send_raw(alice, body, said_bytes=len(body), call=f"left-{left}", polls=left)
        again = send(alice, *edits, call=f"left-{left}")

        assert [one["version"] for one in again.json()["results"]] == [1] * 20
        attempts = alice.get(f"/v1/operations/left-{left}").json()["attempts"]
        assert [one["status"] for one in attempts].count("committed") == 1
        assert len(alice.get("/v1/files", params={"prefix": f"user/{left}/"}).json()["files"]) == 20


def _send_raw(client: Client, body: bytes, *, said_bytes: int, call: str = "raw", polls: int = 0) -> None:
    """Send a request, make some others, and close the connection without a look at the answer."""
    address = urlsplit(str(client.base_url))
    head = (
        f"POST {BATCH} HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Authorization: {client.headers['authorization']}\r\nContent-Type: application/json\r\n"
        f"Memex-Tool-Call-Id: {call}\r\nContent-Length: {said_bytes}\r\n\r\n"
    )
    with socket.create_connection((str(address.hostname), address.port or 80)) as connection:
        connection.sendall(head.encode() + body)
        for _ in range(polls):
            client.get("/health/live")
