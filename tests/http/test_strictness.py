"""What a request may say only once and only where it is read, and what every answer tells browsers and caches."""

import base64
import hashlib
import json
import re
import socket
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from memex.http.app import create_app
from memex.settings import Settings

FIND = "/v1/tools/memory_find/execute"
JSON = {"Content-Type": "application/json"}
METRICS_KEY = "a key for numbers alone"

TWICE: dict[str, tuple[str, str, bytes]] = {
    "a tool": ("POST", FIND, b'{"arguments": {"query": "a"}, "arguments": {"query": "b"}}'),
    "a context": ("POST", FIND, b'{"context": {"userId": "alice", "userId": "bob"}}'),
    "an argument": ("POST", FIND, b'{"arguments": {"query": "a", "query": "a"}}'),
    "an escaped key": ("POST", FIND, b'{"arguments": {"query": "a", "quer\\u0079": "b"}}'),
    "an edit": ("POST", "/v1/files:batch", b'{"edits": [{"kind": "delete", "path": "a", "path": "b"}]}'),
    "a body": ("PATCH", "/v1/file?path=user/a.md", b'{"operation": "append", "text": "a", "text": "b"}'),
}


def test_a_key_that_stands_twice_is_refused(alice: httpx2.Client) -> None:
    """At any depth, and whether the values differ or not: a proxy might have looked at the other one."""
    for method, url, body in TWICE.values():
        refused = alice.request(method, url, content=body, headers=JSON)

        assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")
        assert "twice" in refused.json()["detail"]


def test_a_key_in_two_objects_is_no_repetition(alice: httpx2.Client) -> None:
    """Edits have the same keys each."""
    edits = [{"kind": "write", "path": f"user/{name}.md", "content": name} for name in "ab"]

    assert alice.post("/v1/files:batch", json={"edits": edits}).is_success


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}', "null"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "method": "tools/call"}', "twice"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"a": {"b": 1, "b": 2}}}', "twice"),
    ],
)
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_mcp_refuses_a_null_id_and_a_key_twice(
    alice: httpx2.Client, message: bytes, found: str, version: str
) -> None:
    """With an error of JSON-RPC; the SDK would take such a request for a notification, and answer nothing."""
    headers = JSON | {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}

    with httpx2.Client(base_url=alice.base_url, headers=alice.headers, timeout=60) as unchecked:
        refused = unchecked.post("/mcp", content=message, headers=headers)

    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == -32600
    assert found in refused.json()["error"]["message"]
    assert refused.json()["id"] is None


def test_mcp_says_what_is_no_json(alice: httpx2.Client) -> None:
    """With a code and what to do next."""
    headers = JSON | {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}

    with httpx2.Client(base_url=alice.base_url, headers=alice.headers, timeout=60) as unchecked:
        refused = unchecked.post("/mcp", content=b'{"jsonrpc": "2.0", "id": 1,}', headers=headers)

    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == -32700
    assert refused.json()["error"]["message"].startswith("The message is no JSON: ")
    assert refused.json()["error"]["data"] == {
        "code": "VALIDATION_ERROR",
        "hint": "Send one well-formed JSON object in UTF-8.",
    }


def test_header_and_body_name_one_user(client_of: Callable[..., httpx2.Client]) -> None:
    """A header Memex-User beside a context for somebody else is refused; the same user in both is one user."""
    backend, bound = client_of(), client_of(bound_to="alice")
    body = {"context": {"userId": "alice"}, "arguments": {"query": "tea"}}

    assert backend.post(FIND, json=body, headers={"Memex-User": "alice"}).is_success
    assert bound.post(FIND, json={"arguments": {"query": "tea"}}, headers={"Memex-User": "alice"}).is_success
    for client, sent in ((backend, body), (bound, body), (bound, {"arguments": {"query": "tea"}})):
        refused = client.post(FIND, json=sent, headers={"Memex-User": "bob"})
        assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")


def test_headers_of_the_context_come_once(
    alice: httpx2.Client, client_of: Callable[..., httpx2.Client]
) -> None:
    """On each kind of route, also where nobody reads them: a proxy might have looked at the other one."""
    admin = client_of("admin")
    tool = {"json": {"arguments": {"query": "tea"}}}
    for client, method, url, body in (
        (alice, "GET", "/v1/me", {}),
        (alice, "GET", "/v1/files", {}),
        (alice, "POST", FIND, tool),
        (admin, "GET", "/v1/admin/keys", {}),
    ):
        for name in ("Memex-User", "Memex-Actor", "Memex-Project"):
            twice = httpx2.Headers([(name, "alice"), (name, "bob")])
            refused = client.request(method, url, headers=twice, **body)

            assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR"), (url, name)
            assert "came 2 times" in refused.json()["detail"]
            assert refused.json()["hint"] == "Send it once."


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("/v1/files?path=user/", "It takes as_of, cursor, limit, prefix."),
        (
            "/v1/operations?limit=5&user=bob",
            "It takes actor, cursor, everyone, limit, since, status, text, tool, until.",
        ),
        ("/v1/me?x", "It takes none."),
        ("/v1/file?path=user/a.md&path=user/b.md", "Send it once."),
    ],
)
def test_a_query_parameter_that_nobody_reads_is_refused(alice: httpx2.Client, url: str, hint: str) -> None:
    """Unknown, or sent twice: who sent it meant something by it."""
    refused = alice.get(url)

    assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")
    assert refused.json()["hint"] == hint


def test_strangers_learn_no_parameters(client_of: Callable[..., httpx2.Client]) -> None:
    """The key is looked at first."""
    assert client_of(keyless=True).get("/v1/files?x=1").status_code == 401


def test_a_replay_changes_no_planner_where_there_is_none(alice: httpx2.Client) -> None:
    """A call of memory_find has none."""
    found = alice.post(FIND, json={"context": {"toolCallId": "f-1"}, "arguments": {"query": "tea"}})
    assert found.is_success

    refused = alice.post("/v1/operations/f-1/replay", json={"planner": "builtin"})

    assert (refused.status_code, refused.json()["code"]) == (422, "VALIDATION_ERROR")


def test_answers_are_kept_by_no_cache_and_guessed_by_no_browser(alice: httpx2.Client) -> None:
    """Of each kind: results, texts, problems, pages and zips. What /docs needs may be kept."""
    assert alice.put("/v1/file?path=user/a.md", content="<script>").is_success
    for url in (
        "/v1/files",
        "/v1/file?path=user/a.md",
        "/v1/export",
        "/nowhere",
        "/docs",
        "/",
        "/openapi.json",
    ):
        for accept in ("*/*", "text/markdown", "text/html"):
            answer = alice.get(url, headers={"Accept": accept})
            assert answer.headers.get_list("cache-control") == ["no-store"], url
            assert answer.headers.get_list("x-content-type-options") == ["nosniff"], url

    kept = alice.get("/docs/static/swagger-ui.css")
    assert kept.headers["x-content-type-options"] == "nosniff"
    assert "cache-control" not in kept.headers


def test_the_page_of_the_docs_runs_only_its_own_scripts(alice: httpx2.Client) -> None:
    """Its policy names the digest of the one inline script, and no other source."""
    answer = alice.get("/docs")
    [script] = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))

    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == f"'self' 'sha256-{digest}'"
    assert policy["frame-ancestors"] == "'none'"
    assert not re.search(r"\son\w+=", answer.text)


async def _metrics(app: Any, headers: dict[str, str], *, peer: str = "127.0.0.1") -> httpx2.Response:
    """Ask an app in this process for its numbers, as a client of this address."""
    transport = httpx2.ASGITransport(app, client=(peer, 1))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8630") as client:
        return await client.get("/metrics", headers=headers)


@pytest.fixture
def app(served: Any) -> Callable[..., Any]:
    """Makes apps over the shared service, with a key for metrics or without."""

    def make(key: str | None = None) -> Any:
        made = create_app(lambda: None, Settings.model_construct())  # type: ignore[arg-type,return-value]  # never started
        made.state.service = served.service
        made.state.metrics_key = Settings(metrics_key=key).metrics_key if key else None
        return made

    return make


def test_the_numbers_of_the_service_are_for_who_runs_it(served: Any, app: Callable[..., Any]) -> None:
    """With the key for metrics; without one only from this machine, not through a proxy, for an address of it."""
    key = {"Authorization": f"Bearer {METRICS_KEY}"}
    tried: list[tuple[str | None, dict[str, str], str, bool]] = [
        (None, {}, "127.0.0.1", True),
        (None, {}, "::1", True),
        (None, {"Host": "localhost"}, "127.0.0.1", True),
        (None, {}, "10.0.0.1", False),
        (None, {"X-Forwarded-For": "127.0.0.1"}, "127.0.0.1", False),
        (None, {"Forwarded": "for=127.0.0.1"}, "127.0.0.1", False),
        (None, {"Host": "memex.example.com"}, "127.0.0.1", False),
        (None, key, "127.0.0.1", False),
        (METRICS_KEY, {}, "127.0.0.1", False),
        (METRICS_KEY, key, "127.0.0.1", True),
        (METRICS_KEY, key, "10.0.0.1", True),
        (METRICS_KEY, {"Authorization": "Bearer mx_other"}, "127.0.0.1", False),
    ]

    for wanted, headers, peer, is_shown in tried:
        answer = served.run(_metrics(app(wanted), headers, peer=peer))
        assert answer.status_code == (200 if is_shown else 401), (wanted, headers, peer)
        assert ("memex_operations_total" in answer.text) is is_shown


def test_an_admin_reads_the_numbers_of_its_tenant(
    served: Any, client_of: Callable[..., httpx2.Client]
) -> None:
    """Its queue and its spending; nothing that the process counts, which is of all tenants."""
    for tenant, queued in (("home", 1), ("acme", 0)):
        root = client_of("admin", tenant=tenant)
        if queued:
            body = {"context": {"userId": "alice"}, "arguments": {"text": "I like tea.", "wait": False}}
            answer = client_of("agent", tenant=tenant).post("/v1/tools/memory_remember/execute", json=body)
            assert answer.json()["status"] == "queued"
        text = root.get("/metrics").text
        assert f'memex_queue_calls{{status="queued"}} {queued}.0' in text
        assert "memex_build_info" in text
        samples = {line.partition("{")[0].partition(" ")[0] for line in text.splitlines() if line[0] != "#"}
        assert samples <= {
            *("memex_queue_calls", "memex_build_info"),
            *("memex_tenant_model_requests_today", "memex_tenant_model_cost_usd_today"),
        }


def test_json_over_a_raw_socket_is_read_once(served: Any, key_of: Callable[..., str]) -> None:
    """A body that is announced as JSON and is none is refused as before."""
    body = b'{"arguments": {"query": "x"'
    head = f"POST {FIND} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {key_of(bound_to='alice')}\r\nContent-Length: {len(body)}\r\n\r\n"
    port = int(served.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(head.encode() + body)
        answer = b""
        while part := connection.recv(65_536):
            answer += part

    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "VALIDATION_ERROR"
