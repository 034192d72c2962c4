"""Bad input of every kind: a 2xx, or a problem body with a known code and a hint; never a 500."""

import asyncio
import base64
import json
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client
from tests.kit.property_budget import sampled

from memex.call_context import CallContext
from memex.errors import MemexError
from memex.routes import ROUTES

FIND = "/v1/tools/memory_find/execute"
CONCURRENT = 8

LISTS = os.environ.get("MEMEX_EVAL_DATA")
needs_lists = pytest.mark.skipif(
    LISTS is None, reason="MEMEX_EVAL_DATA is unset: no lists of hostile strings"
)


def hostile_lines() -> list[str]:
    """Return every line of the lists of hostile paths and odd strings, each once."""
    assert LISTS is not None
    folder = Path(LISTS) / "paths"
    lines: list[str] = json.loads((folder / "blns.json").read_text("utf-8"))
    for file in sorted(folder.glob("*.txt")):
        lines += file.read_text("utf-8").split("\n")
    return list(dict.fromkeys(lines))


@needs_lists
@pytest.mark.slow
def test_hostile_strings_are_paths_queries_and_link_targets_like_any_other(served: Any, key_of: Any) -> None:
    """Each line as a path, below user/ to write, as a query, and linked to: done, or refused with a hint."""
    service, lines = served.service, sampled(hostile_lines(), 20)
    principal = served.run(service.identities.authenticate(key_of(bound_to="alice")))
    caller = served.run(service.caller(principal, CallContext(), makes_user=True))
    gate = asyncio.Semaphore(CONCURRENT)
    codes: set[str] = set()

    async def attempt(tool: str, **arguments: Any) -> None:
        async with gate:
            try:
                await service.execute(caller, tool, arguments)
            except MemexError as refused:
                codes.add(refused.code)

    async def attempt_all() -> None:
        linking = [
            f"[[{line}]] and [[a|{line}]] and ![[{line}#x]] and [x]({line}) and [y](<{line}>)\n"
            for line in lines
        ]
        pages = ["\n".join(linking[start : start + 100]) for start in range(0, len(linking), 100)]
        for n, page in enumerate(pages):
            await service.execute(caller, "memory_write", {"path": f"user/links-{n}.md", "content": page})
            await service.execute(caller, "memory_links", {"path": f"user/links-{n}.md", "depth": 2})
        await asyncio.gather(
            *(attempt("memory_read", path=line) for line in lines),
            *(attempt("memory_write", path=f"user/{line}", content="x") for line in lines),
            *(attempt("memory_find", query=line, limit=1) for line in lines),
        )

    served.run(attempt_all())

    known = {"FILE_NOT_FOUND", "FILE_EXISTS", "PROJECT_NOT_FOUND", "VALIDATION_ERROR"}
    assert codes <= known | {"INVALID_PATH", "UNKNOWN_MOUNT", "PHYSICAL_PATH_FORBIDDEN"}


@needs_lists
def test_hostile_strings_over_http_are_answered(alice: Client, root: Client) -> None:
    """A sample of the lines, wherever a request can carry one."""
    for line in sampled(hostile_lines()[::25], 8):
        for response in (
            alice.get("/v1/file", params={"path": line}),
            alice.get("/v1/files", params={"prefix": f"user/{line}", "cursor": line}),
            alice.put("/v1/file", params={"path": f"user/{line}", "reason": line}, content=line.encode()),
            alice.post(FIND, json={"arguments": {"query": line, "prefix": line, "tags": [line]}}),
            alice.post(
                FIND, json={"context": {"actor": line, "toolCallId": line}, "arguments": {line: line}}
            ),
            alice.get("/v1/diff", params={"path": line, "from_version": line}),
            root.post(
                "/v1/admin/tools/memory_list/execute",
                json={"context": {"userId": line, "project": line}, "arguments": {}},
            ),
        ):
            assert response.status_code < 500


BODIES: dict[str, bytes] = {
    "empty": b"",
    "null": b"null",
    "array": b"[]",
    "string": b'"memory"',
    "number": b"1e999",
    "cut off": b'{"arguments": {"query": "x"',
    "two values": b'{"arguments": {"query": "x"}} {}',
    "invalid UTF-8": b'{"arguments": {"query": "\xff"}}',
    "UTF-16": '{"arguments": {"query": "x", "a": 1}}'.encode("utf-16"),
    "10,000 arrays": b'{"arguments": {"query": ' + b"[" * 10_000 + b"]" * 10_000 + b"}}",
    "10,000 objects": b'{"arguments": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}",
    "100 arrays": b'{"arguments": {"query": ' + b"[" * 100 + b"]" * 100 + b"}}",
    "500 objects": b'{"arguments": {"query": ' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}}",
    "960 arrays in the context": b'{"context": {"userId": ' + b"[" * 960 + b"]" * 960 + b"}}",
    "NaN": b'{"arguments": {"query": "x", "limit": NaN}}',
    "infinity": b'{"arguments": {"query": "x", "limit": -Infinity}}',
    "infinity in an unknown argument": b'{"arguments": {"query": "x", "deep": [{"a": Infinity}]}}',
    "overflow": b'{"arguments": {"query": "x", "limit": 1e400}}',
    "int of 4,000 digits": b'{"arguments": {"query": "x", "limit": 1' + b"0" * 4_000 + b"}}",
    "int of 5,000 digits": b'{"arguments": {"query": "x", "limit": 1' + b"0" * 5_000 + b"}}",
    "int of 20 digits": b'{"arguments": {"query": "x", "limit": 12345678901234567890}}',
    "negative": b'{"arguments": {"query": "x", "limit": -1}}',
    "float for int": b'{"arguments": {"query": "x", "limit": 1.0}}',
    "string for int": b'{"arguments": {"query": "x", "limit": "1"}}',
    "bool for int": b'{"arguments": {"query": "x", "limit": true}}',
    "int for string": b'{"arguments": {"query": 1}}',
    "object for string": b'{"arguments": {"query": {"$ne": ""}}}',
    "array for object": b'{"arguments": ["query"]}',
    "string for array": b'{"arguments": {"query": "x", "tags": "a"}}',
    "array for context": b'{"context": [], "arguments": {"query": "x"}}',
    "int for user": b'{"context": {"userId": 1}, "arguments": {"query": "x"}}',
    "unknown field": b'{"args": {"query": "x"}}',
    "unknown context": b'{"context": {"tenant": "x"}, "arguments": {"query": "x"}}',
    "unknown argument": b'{"arguments": {"query": "x", "user_id": "bob"}}',
    "surrogate argument": b'{"arguments": {"query": "x", "\\ud800": 1}}',
    "surrogate tag": b'{"arguments": {"query": "x", "tags": ["\\udfff"]}}',
    "surrogate user": b'{"context": {"userId": "\\ud800"}, "arguments": {"query": "x"}}',
    "NUL argument": b'{"arguments": {"query": "x", "\\u0000": "\\u0000"}}',
    "NUL tag": b'{"arguments": {"query": "x", "tags": ["\\u0000"]}}',
    "NUL prefix": b'{"arguments": {"query": "x", "prefix": "user/\\u0000"}}',
    "NUL project": b'{"arguments": {"query": "x", "project": "\\u0000"}}',
    "query with a NUL": b'{"arguments": {"query": "a\\u0000b"}}',
    "query with a surrogate": b'{"arguments": {"query": "\\ud83e x"}}',
    "query of 10,001": b'{"arguments": {"query": "' + b"x" * 10_001 + b'"}}',
    "query of spaces": b'{"arguments": {"query": "   "}}',
    "call id with a space": b'{"context": {"toolCallId": "a b"}, "arguments": {"query": "x"}}',
    "call id of 201": b'{"context": {"toolCallId": "' + b"x" * 201 + b'"}, "arguments": {"query": "x"}}',
    "call id with a NUL": b'{"context": {"toolCallId": "\\u0000"}, "arguments": {"query": "x"}}',
    "empty call id": b'{"context": {"toolCallId": ""}, "arguments": {"query": "x"}}',
}


def test_a_bad_body_is_refused(alice: Client) -> None:
    """What is no call of memory_find, in any way, is refused as such, and named."""
    for what, body in BODIES.items():
        refused = alice.post(FIND, content=body, headers={"Content-Type": "application/json"})

        assert refused.status_code in {400, 404, 422}, what
        assert refused.json()["code"] in {"VALIDATION_ERROR", "INVALID_PATH", "PROJECT_NOT_FOUND"}, what


GOOD_BODIES: dict[str, bytes] = {
    "null is absent": b'{"arguments": {"query": "x", "limit": null, "tags": null, "project": null}}',
    "query of 10,000": b'{"arguments": {"query": "' + b"word " * 2_000 + b'"}}',
    "query of one long word": b'{"arguments": {"query": "' + b"x" * 10_000 + b'"}}',
    "call id beyond ASCII": '{"context": {"toolCallId": "é🦊"}, "arguments": {"query": "x"}}'.encode(),
    "call id of 200": b'{"context": {"toolCallId": "' + b"x" * 200 + b'"}, "arguments": {"query": "x"}}',
}


def test_an_odd_body_is_answered(alice: Client) -> None:
    """What is odd but means something is answered."""
    for what, body in GOOD_BODIES.items():
        answered = alice.post(FIND, content=body, headers={"Content-Type": "application/json"})

        assert answered.json()["hits"] == [], what


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_body_that_is_not_called_json_is_refused_with_the_way_out(
    alice: Client, content_type: str | None
) -> None:
    """The hint says what to send."""
    headers = {} if content_type is None else {"Content-Type": content_type}

    refused = alice.post(FIND, content=b'{"arguments": {"query": "x"}}', headers=headers)

    assert refused.json()["code"] == "VALIDATION_ERROR"
    assert "Content-Type: application/json" in refused.json()["hint"]


def test_fields_of_the_file_routes_are_as_strict_as_a_tools(alice: Client) -> None:
    """No number is read out of a string, a float or a bool, and no unknown field is let through."""
    alice.put("/v1/file", params={"path": "user/a.md"}, content="one")

    for version in ("1", 1.0, True, None, [1], 10**30, 0, -1):
        refused = alice.post("/v1/file/restore", params={"path": "user/a.md"}, json={"version": version})
        assert refused.json()["code"] == "VALIDATION_ERROR", version
    unknown = alice.post(
        "/v1/file/move", params={"path": "user/a.md"}, json={"to": "user/b.md", "user": "bob"}
    )
    assert unknown.json()["code"] == "VALIDATION_ERROR"


URLS: dict[str, tuple[str, str]] = {
    "invalid UTF-8 in a path": ("/v1/file?path=user/%ff.md", "VALIDATION_ERROR"),
    "half a character in a path": ("/v1/file?path=user/%c3", "VALIDATION_ERROR"),
    "an encoded surrogate": ("/v1/file?path=user/%ed%a0%80", "VALIDATION_ERROR"),
    "an overlong slash": ("/v1/file?path=user%c0%afx", "VALIDATION_ERROR"),
    "invalid UTF-8 in a name": ("/v1/file?%ff=1&path=user/a.md", "VALIDATION_ERROR"),
    "invalid UTF-8 in the URL's path": ("/v1/operations/%ff", "VALIDATION_ERROR"),
    "a NUL in a path": ("/v1/file?path=user/a%00.md", "INVALID_PATH"),
    "a NUL in a heading": ("/v1/file?path=user/a.md&heading=%00", "FILE_NOT_FOUND"),
    "a NUL in the name of a tool": ("/v1/operations?tool=a%00b", "VALIDATION_ERROR"),
    "a NUL in an actor": ("/v1/operations?actor=a%00b", "VALIDATION_ERROR"),
    "a NUL in an operation": ("/v1/operations/a%00b", "VALIDATION_ERROR"),
    "no path": ("/v1/file", "VALIDATION_ERROR"),
    "an empty path": ("/v1/file?path=", "INVALID_PATH"),
    "a long path": ("/v1/file?path=user/" + "x" * 20_000, "INVALID_PATH"),
    "dots in a path": ("/v1/file?path=user/../../etc/passwd", "INVALID_PATH"),
    "encoded dots in a path": ("/v1/file?path=user/%2e%2e/x", "INVALID_PATH"),
    "dots encoded twice are a name": ("/v1/file?path=user/%252e%252e/x", "FILE_NOT_FOUND"),
    "a backslash": ("/v1/file?path=user%5c..%5cx", "INVALID_PATH"),
    "another user": ("/v1/file?path=users/bob/a.md", "PHYSICAL_PATH_FORBIDDEN"),
    "no mount": ("/v1/file?path=/etc/passwd", "INVALID_PATH"),
    "a version in words": ("/v1/file?path=user/a.md&version=one", "VALIDATION_ERROR"),
    "a version of 30 digits": ("/v1/file?path=user/a.md&version=" + "9" * 30, "VALIDATION_ERROR"),
    "a version of 5,000 digits": ("/v1/file?path=user/a.md&version=" + "9" * 5_000, "VALIDATION_ERROR"),
    "a version of 0": ("/v1/file?path=user/a.md&version=0", "VALIDATION_ERROR"),
    "a limit of 0": ("/v1/files?limit=0", "VALIDATION_ERROR"),
    "a limit over the greatest": ("/v1/files?limit=1001", "VALIDATION_ERROR"),
    "an unknown direction": ("/v1/links?path=user/a.md&direction=up", "VALIDATION_ERROR"),
    "an unknown format": ("/v1/tools?format=xml", "VALIDATION_ERROR"),
    "dots in the URL": ("/v1/tools/../../../etc/passwd", "UNKNOWN_ROUTE"),
    "encoded dots in the URL": ("/v1/%2e%2e/%2e%2e/etc/passwd", "UNKNOWN_ROUTE"),
    "a slash too many": ("/v1/files/", "UNKNOWN_ROUTE"),
    "two slashes": ("//v1/files", "UNKNOWN_ROUTE"),
    "an absolute URL": ("http://elsewhere.example/v1/nothing", "UNKNOWN_ROUTE"),
}


def test_a_bad_url_is_refused(served: Any, key_of: Callable[..., str]) -> None:
    """The URL as bytes, so that no client mends it: refused with the code that fits."""
    key = key_of(bound_to="alice")
    for what, (target, code) in URLS.items():
        status, body = _raw(served, f"GET {target} HTTP/1.1", f"Authorization: Bearer {key}")

        assert json.loads(body)["code"] == code, what
        assert json.loads(body)["hint"]
        assert status == json.loads(body)["status"]


def test_a_nul_in_any_path_is_refused(root: Client, alice: Client) -> None:
    """In each argument of a path of each route, as the routes are declared."""
    tried = set()
    for name, route in ROUTES.items():
        client, prefix = (root, "/v1/admin") if route.role == "admin" else (alice, "/v1")
        parts = re.split(r"{\w+(?::path)?}", route.path)
        for place in range(1, len(parts)):
            path = "a".join(parts[:place]) + "a%00b" + "a".join(parts[place:])
            answer = client.request(route.method, prefix + path, json={} if route.method != "GET" else None)
            tried.add(name)
            assert 400 <= answer.status_code < 500, (name, answer.text)
            assert answer.json()["hint"], name
    assert {"project_close", "project_member_add", "user_read"} <= tried


def test_an_unknown_tool_is_refused(served: Any, key_of: Callable[..., str]) -> None:
    """Also one whose name the log could not hold as it is."""
    for tool in (
        "",
        "a%00b",
        "memory_find%2f",
        "..",
        "%2e%2e",
        "memory_revert",
        "MEMORY_FIND",
        "x" * 5_000,
    ):
        status, body = _raw(
            served,
            f"POST /v1/tools/{tool}/execute HTTP/1.1",
            f"Authorization: Bearer {key_of(bound_to='alice')}",
            "Content-Type: application/json",
            content="{}",
        )

        assert status == 404
        assert json.loads(body)["code"] in {"UNKNOWN_TOOL", "UNKNOWN_ROUTE"}


POSITIONS: list[Any] = [
    *(
        "\0",
        "\ud800",
        "user/\0",
        "users/a",
        "x" * 600,
        "../x",
        "",
        1,
        -1,
        2**31,
        2**70,
        1.5,
        True,
        None,
        [],
        {},
    ),
    *([2**62, 2**62], ["2020-01-01", 1], ["9999-12-31T23:59:59-14:00", 1], ["", 2**62]),
    *(["user/a.md", "user/a.md"], ["a", 1], [1, "a"], [[1], 1], [1, 2, 3], [2**31, 1], [None], [True, False]),
]


def test_a_malformed_cursor_is_refused_or_means_a_place(alice: Client, root: Client) -> None:
    """A cursor is ours or it is an error; one that was made by hand opens nothing and breaks nothing."""
    line = '{"id": "c", "messages": [{"id": "m", "role": "user", "text": "Tea."}]}'
    put = alice.post("/v1/conversations", content=f'{{"kind": "chatgpt"}}\n{line}')
    talk = put.json()["conversations"][0]["id"]
    cursors = ["x", "=", "====", "AA", "[]", "🦊", "W10", "bnVsbA", "a" * 10_000, "-_-_", " ", "%00", "\r\n"]
    for position in POSITIONS:
        as_list = position if isinstance(position, list) else [position]
        cursors.append(base64.urlsafe_b64encode(json.dumps(as_list).encode()).decode())
    lists: list[tuple[Client, str, dict[str, str]]] = [
        (alice, "/v1/files", {}),
        (alice, "/v1/operations", {}),
        (alice, "/v1/revisions", {"path": "user/a.md"}),
        (alice, "/v1/conversations", {}),
        (alice, f"/v1/conversations/{talk}", {}),
        (root, "/v1/admin/users", {}),
        (root, "/v1/admin/operations", {}),
    ]
    for number, cursor in enumerate(cursors):
        for client, url, params in sampled(lists[number % 3 :] + lists[: number % 3], 3):
            response = client.get(url, params={"cursor": cursor, **params})
            assert response.is_success or response.json()["code"] in {
                *("VALIDATION_ERROR", "INVALID_PATH", "UNKNOWN_MOUNT", "PHYSICAL_PATH_FORBIDDEN"),
                "FILE_NOT_FOUND",
            }, cursor


HEADERS: dict[str, tuple[str, bytes]] = {
    "a user that is not UTF-8": ("Memex-User", b"\xff"),
    "an empty user": ("Memex-User", b""),
    "a user of 201 characters": ("Memex-User", b"x" * 201),
    "a call id with a space": ("Memex-Tool-Call-Id", b"a b"),
    "a call id of 201 characters": ("Memex-Tool-Call-Id", b"x" * 201),
    "an empty project": ("Memex-Project", b""),
    "a project with a slash": ("Memex-Project", b"a/b"),
    "an actor that is not UTF-8": ("Memex-Actor", b"\xc3"),
    "an actor with a C1 control": ("Memex-Actor", b"\xc2\x85"),
}


def test_a_bad_header_is_refused(client_of: Callable[..., Client]) -> None:
    """A context header is checked as the context is."""
    client = client_of()
    for what, (name, value) in HEADERS.items():
        refused = client.get("/v1/files", headers={"Memex-User": b"alice", name: value})

        assert refused.json()["code"] == "VALIDATION_ERROR", what


def test_a_bad_key_is_refused(served: Any) -> None:
    """Whatever stands in Authorization is a key or none."""
    for authorization in (
        b"",
        b"Bearer",
        b"Bearer ",
        b"Basic YTpi",
        b"Bearer \xff\xfe",
        b"Bearer " + b"x" * 9_000,
    ):
        status, body = _raw(
            served, "GET /v1/files HTTP/1.1", f"Authorization: {authorization.decode('latin-1')}"
        )

        assert status == 401
        assert json.loads(body)["code"] == "UNAUTHENTICATED"


def test_what_is_no_http_gets_a_400_and_harms_nobody(served: Any, alice: Client) -> None:
    """Below our routes the server itself refuses: without a problem body, and it goes on serving."""
    for request in (
        b"\x16\x03\x01 TLS here\r\n\r\n",
        b"GET /v1/files HTTP/1.1\r\n\r\n",
        b"GET /v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /v1/files HTTP/1.1\r\nHost: x\r\nMemex-User: a\rb\r\n\r\n",
        b"PUT /v1/file HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 5\r\n\r\nabcde",
        b"PUT /v1/file HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\nabcde",
    ):
        with socket.create_connection(("127.0.0.1", _port(served)), timeout=10) as connection:
            connection.sendall(request)
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")

    assert alice.get("/v1/files").is_success


def test_a_header_cannot_be_injected(alice: Client) -> None:
    """The request id comes back in a header: only a clean one does."""
    for request_id in ("x" * 201, "a\tb", "é", ""):
        echoed = alice.get("/health/live", headers={"X-Request-ID": request_id.encode()})
        assert echoed.headers["x-request-id"].startswith("req_")

    assert alice.get("/health/live", headers={"X-Request-ID": "mine-1"}).headers["x-request-id"] == "mine-1"


def _port(served: Any) -> int:
    return int(served.url.rpartition(":")[2])


def _raw(served: Any, *head: str, content: str = "") -> tuple[int, str]:
    """Send a request as it stands, and return the status and the body of the answer."""
    lines = [*head, "Host: localhost", "Connection: close", f"Content-Length: {len(content)}", "", content]
    with socket.create_connection(("127.0.0.1", _port(served)), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode("latin-1"))
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    head_of_answer, _, body = answer.decode().partition("\r\n\r\n")
    return int(head_of_answer.split(" ")[1]), body


def test_a_strangers_body_is_not_read(served: Any) -> None:
    """Without a valid key a malformed body of megabytes is answered 401 before anybody parses it."""
    body = b'{"arguments": {"query": ' + b"[" * (7 << 20)
    headers = {"Content-Type": "application/json"}

    with Client(base_url=served.url) as stranger:
        nobody = stranger.post(FIND, content=body, headers=headers)
        unknown = stranger.post(FIND, content=body, headers=headers | {"Authorization": "Bearer mx_unknown"})

    for refused in (nobody, unknown):
        assert (refused.status_code, refused.json()["code"]) == (401, "UNAUTHENTICATED")


def test_a_nul_in_the_search_for_users_is_refused(root: Client) -> None:
    """No user id holds one."""
    refused = root.get("/v1/admin/users", params={"query": "a\0b"})

    assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")
