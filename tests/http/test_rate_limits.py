"""Rate limits over HTTP, MCP, batches, the queue and imports; what is refused is told when to come back."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import Any

import httpx2
import pytest
from tests.kit.zips import zipped

from memex.errors import ValidationFailed
from memex.evals.bench.felt.proxy import counting_proxy
from memex.service.identity.rate_limits import Buckets, Rate, parse_rates
from memex.settings import Settings

FIND = "/v1/tools/memory_find/execute"
WRITE = "/v1/tools/memory_write/execute"
REMEMBER = "/v1/tools/memory_remember/execute"


@pytest.fixture
def limited(
    http_conninfo: str, serving: Callable[..., Any], served: Any, key_of: Callable[..., str]
) -> Iterator[Callable[..., Any]]:
    """Makes clients of a service with limits, for users of the test's own tenant."""
    open_services = []

    def make(**limits: str) -> Callable[[str], httpx2.Client]:
        settings = Settings.model_construct(**{f"rate_{name}": text for name, text in limits.items()})
        service = serving(http_conninfo, settings=settings)
        one = service.__enter__()
        open_services.append(service)

        def client(user: str) -> httpx2.Client:
            headers = {"Authorization": f"Bearer {key_of(bound_to=user)}"}
            return httpx2.Client(base_url=one.url, headers=headers, timeout=30)

        return client

    yield make
    for service in open_services:
        service.__exit__(None, None, None)


class _Line:
    """A connection on which requests are sent in parts."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, part: bytes) -> None:
        """Send a part of a request."""
        self._connection.sendall(part)

    def answer(self) -> tuple[int, Any]:
        """Return the status of the next answer, and its JSON."""
        answer = HTTPResponse(self._connection)
        answer.begin()
        return answer.status, json.loads(answer.read())

    def is_closed(self) -> bool:
        """Whether the service has closed the connection."""
        return self._connection.recv(1) == b""


@contextmanager
def _connection(client: httpx2.Client) -> Iterator[_Line]:
    address = (client.base_url.host, int(client.base_url.port or 0))
    with socket.create_connection(address, timeout=20) as connection:
        yield _Line(connection)


def _head(
    client: httpx2.Client, path: str, body_bytes: int, *, method: str = "POST", expect: bool = False
) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {client.base_url.host}",
        f"Authorization: {client.headers['authorization']}",
        "Content-Type: application/json",
        f"Content-Length: {body_bytes}",
        *(["Expect: 100-continue"] if expect else []),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _refused(answer: httpx2.Response, limit: str) -> bool:
    if answer.status_code != 429:
        return False
    assert answer.json()["code"] == "RATE_LIMITED"
    assert answer.json()["limit"] == limit
    assert limit in answer.json()["detail"]
    assert int(answer.headers["retry-after"]) == answer.json()["retry_after_s"] >= 1
    return True


def test_requests_of_a_user_are_limited_on_every_surface(limited: Callable[..., Any]) -> None:
    """Tools, files, lists and MCP count together; another user, and what needs no key, are not touched."""
    client = limited(requests="user:4/day")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    called = message | {"params": {"name": "memory_context", "arguments": {"query": "tea"}}}
    with client("alice") as alice, client("bob") as bob:
        first = alice.post(FIND, json={"arguments": {"query": "tea"}})
        assert first.headers["ratelimit-policy"] == '"requests-user";q=4;qu="requests";w=86400'
        assert first.headers["ratelimit"] == '"requests-user";r=3;t=21600'
        assert alice.get("/v1/files").is_success
        assert alice.get("/v1/operations").is_success
        mcp = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        assert "error" not in alice.post("/mcp", json=called, headers=mcp).json()
        for answer in (alice.get("/v1/files"), alice.post(FIND, json={"arguments": {"query": "tea"}})):
            assert _refused(answer, "requests-user")
        assert "RATE_LIMITED" in alice.post("/mcp", json=called, headers=mcp).text
        assert alice.get("/health/live").is_success
        assert bob.get("/v1/files").is_success
        counted = httpx2.get(f"{str(alice.base_url).rstrip('/')}/metrics").text
    assert 'memex_rate_limited_total{limit="requests-user"} 3.0' in counted


def test_writes_count_members_and_files(limited: Callable[..., Any]) -> None:
    """A batch counts its edits, an import its files, a queued text once; reads are free."""
    client = limited(writes="user:5/day")
    edits = [{"kind": "write", "path": f"user/{name}.md", "content": name} for name in "abc"]
    with client("alice") as alice, client("bob") as bob, client("carol") as carol:
        assert alice.post("/v1/files:batch", json={"edits": edits}).is_success
        assert _refused(alice.post("/v1/files:batch", json={"edits": edits}), "writes-user")
        queued = {"arguments": {"text": "I like tea.", "wait": False}}
        assert alice.post(REMEMBER, json=queued).is_success
        assert alice.put("/v1/file?path=user/d.md", content="d").is_success
        assert _refused(alice.put("/v1/file?path=user/e.md", content="e"), "writes-user")
        assert alice.get("/v1/file?path=user/a.md").is_success
        vault = zipped({f"{name}.md": b"x" for name in "abcd"})
        assert bob.post("/v1/import", content=vault).is_success
        assert _refused(bob.post("/v1/import", content=vault), "writes-user")
        large = [edit | {"path": f"user/{n}.md"} for n, edit in enumerate(edits * 3)]
        assert carol.post("/v1/files:batch", json={"edits": large}).is_success  # a full bucket lets it in


def test_what_a_coding_agent_sends_counts(limited: Callable[..., Any]) -> None:
    """Hooks and events are writes too, and their texts are bytes; a hook that stores nothing is none."""
    client = limited(writes="user:1/day", bytes="user:1k/day")
    said = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s1",
        "cwd": "/src/shop",
        "prompt": "Which oars?",
    }
    with client("alice") as alice, client("bob") as bob:
        for _ in range(2):
            assert alice.post(
                "/v1/hooks/claude-code", json=said | {"hook_event_name": "PreToolUse"}
            ).is_success
        assert alice.post("/v1/hooks/claude-code", json=said).is_success
        assert _refused(alice.post("/v1/hooks/claude-code", json=said | {"session_id": "s2"}), "writes-user")
        assert bob.post("/v1/hooks/claude-code", json=said | {"prompt": "x" * 1_001}).is_success
        assert bob.post("/v1/hooks/claude-code", json=said).status_code == 429


def test_conversations_and_events_count(limited: Callable[..., Any]) -> None:
    """What is put in counts with all of its texts, and so does taking a conversation out."""
    client = limited(writes="user:1/day", bytes="user:5k/day")
    lines = b'{"kind": "chatgpt"}\n{"id": "c", "messages": [{"id": "m", "role": "user", "text": "Tea."}]}\n'
    event = {"event": "e", "runtime": "codex", "session": "s", "kind": "tool", "time": "2026-11-01T10:00:00Z"}
    with client("alice") as alice, client("bob") as bob, client("carol") as carol:
        assert alice.post("/v1/conversations", content=lines).is_success
        assert _refused(alice.post("/v1/conversations", content=lines), "writes-user")
        assert _refused(alice.delete("/v1/conversations/9k2m4q7wtx3d"), "writes-user")
        assert bob.post("/v1/conversations", content=lines.replace(b"Tea.", b"x" * 6_000)).is_success
        assert bob.post("/v1/conversations", content=lines).status_code == 429
        large = event | {"metadata": {f"note {n}": "x" * 2_000 for n in range(3)}}
        assert carol.post("/v1/events", json={"events": [large]}).is_success
        assert carol.post("/v1/events", json={"events": [event]}).status_code == 429


def test_the_bytes_of_a_tenant_are_limited(limited: Callable[..., Any]) -> None:
    """Over all of its users; what they read is not counted."""
    client = limited(bytes="tenant:1k/day")
    with client("alice") as alice, client("bob") as bob:
        assert alice.put("/v1/file?path=user/a.md", content="ä" * 400).is_success
        assert _refused(bob.put("/v1/file?path=user/a.md", content="x" * 400), "bytes-tenant")
        assert alice.get("/v1/file?path=user/a.md").is_success


def test_a_refusal_does_not_wait_for_the_body(limited: Callable[..., Any]) -> None:
    """The head of a request is enough, also for writes and for bytes; then the connection takes the next one."""
    cases = {"requests": "user:1/day", "writes": "user:1/day", "bytes": "user:100/day"}
    body = json.dumps({"arguments": {"path": "user/a.md", "content": "x" * 1_000_000}}).encode()
    for counted, rate in cases.items():
        with limited(**{counted: rate})("alice") as alice, _connection(alice) as line:
            first = {"arguments": {"path": f"user/{counted}.md", "content": "x" * 200}}
            assert alice.post(WRITE, json=first).is_success

            line.send(_head(alice, WRITE, len(body)))
            early = line.answer()
            line.send(body)
            line.send(_head(alice, WRITE, 2) + b"{}")
            late = line.answer()

            for status, problem in (early, late):
                assert (status, problem["code"], problem["limit"]) == (429, "RATE_LIMITED", f"{counted}-user")
            line.send(f"GET /health/live HTTP/1.1\r\nHost: {alice.base_url.host}\r\n\r\n".encode())
            assert line.answer()[0] == 200


def test_a_body_as_large_as_one_that_was_refused_is_not_read(limited: Callable[..., Any]) -> None:
    """How much of a body is text is known only when it was read. That is remembered."""
    with limited(bytes="user:1k/day")("alice") as alice, _connection(alice) as line:
        assert alice.put("/v1/file?path=user/a.md", content="x" * 600).is_success
        assert _refused(alice.put("/v1/file?path=user/b.md", content="x" * 500), "bytes-user")

        line.send(_head(alice, "/v1/file?path=user/c.md", 500, method="PUT"))
        assert line.answer()[0] == 429
        line.send(b"x" * 500)
        assert alice.put("/v1/file?path=user/d.md", content="x" * 300).is_success  # smaller: it fits


def test_a_client_that_waits_for_continue_is_told_that_the_connection_ends(
    limited: Callable[..., Any],
) -> None:
    """It may send the body or not, so what comes next could be anything."""
    with limited(requests="user:1/day")("alice") as alice, _connection(alice) as line:
        assert alice.get("/v1/files").is_success

        line.send(_head(alice, WRITE, 1_000_000, expect=True))

        assert line.answer()[0] == 429
        assert line.is_closed()


def test_a_refused_call_of_mcp_keeps_its_form(limited: Callable[..., Any]) -> None:
    """An error of a limit is a result of the call, under the ids of the message; other messages are answered."""
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    arguments = {"name": "memory_remember", "arguments": {"text": "I like tea."}}
    call = {"jsonrpc": "2.0", "id": "m-1", "method": "tools/call", "params": arguments}
    for counted in ("requests", "writes"):
        with limited(**{counted: "user:1/day"})("alice") as alice:
            assert "error" not in alice.post("/mcp", json=call, headers=headers).json()
            named = call | {"params": arguments | {"_meta": {"memex/toolCallId": "call_7"}}}
            answer = alice.post("/mcp", json=named, headers=headers)
            listed = alice.post("/mcp", json=call | {"method": "tools/list", "params": {}}, headers=headers)

        assert answer.status_code == 200
        assert answer.json()["id"] == "m-1"
        result = answer.json()["result"]
        assert result["isError"]
        assert result["_meta"]["memex/toolCallId"] == "call_7"
        assert result["_meta"]["memex/error"]["code"] == "RATE_LIMITED"
        assert result["_meta"]["memex/error"]["details"]["limit"] == f"{counted}-user"
        assert "RATE_LIMITED" in result["content"][0]["text"]
        assert listed.json()["result"]["tools"]


def test_a_refused_request_asks_the_database_nothing(
    http_conninfo: str, serving: Callable[..., Any], key_of: Callable[..., str]
) -> None:
    """Neither a tool, nor a route whose key is looked up for each request."""
    settings = Settings.model_construct(rate_requests="user:1/day")
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice')}"}
    with (
        counting_proxy(http_conninfo) as proxy,
        serving(proxy.conninfo, settings=settings) as one,
        httpx2.Client(base_url=one.url, headers=headers, timeout=30) as alice,
    ):
        assert alice.get("/v1/me").is_success
        before = proxy.traffic("memex")

        refused = [alice.get("/v1/me"), alice.post(FIND, json={"arguments": {"query": "tea"}})]

        assert {answer.status_code for answer in refused} == {429}
        assert (proxy.traffic("memex") - before).round_trips == 0


def test_an_overloaded_service_refuses_before_the_body(
    http_conninfo: str, serving: Callable[..., Any], key_of: Callable[..., str]
) -> None:
    """A call that would wait too long for the database is told so by its head."""
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice')}"}
    with (
        serving(http_conninfo) as one,
        httpx2.Client(base_url=one.url, headers=headers, timeout=30) as alice,
        _connection(alice) as line,
    ):
        assert alice.post(FIND, json={"arguments": {"query": "tea"}}).is_success
        queue = one.service.database._queue  # the turns of the database
        free, queue._free, queue._waiting, queue._hold_s = queue._free, 0, 1_000, 60.0

        line.send(_head(alice, WRITE, 1_000_000))
        status, problem = line.answer()

        queue._free, queue._waiting = free, 0
        assert (status, problem["code"]) == (503, "OVERLOADED")
        line.send(b"x" * 1_000_000 + _head(alice, FIND, 2) + b"{}")
        assert line.answer()[0] == 422


def test_nothing_is_limited_or_said_by_default(alice: httpx2.Client) -> None:
    """No header tells of limits that there are not."""
    assert not {"ratelimit", "ratelimit-policy"} & set(alice.get("/v1/files").headers)


def test_a_malformed_rate_stops_the_start() -> None:
    """With the name of the setting."""
    for text in (
        "600",
        "user:0/min",
        "host:1/s",
        "user:1/year",
        "user:1/s,user:2/s",
        "user:-1/s",
    ):
        with pytest.raises(ValidationFailed, match="MEMEX_RATE_WRITES"):
            parse_rates("writes", text)


def test_rates_are_read_with_suffixes() -> None:
    """In the order in which they are written."""
    assert parse_rates("bytes", "user:10M/h, tenant:2G/day") == [
        Rate("bytes", "user", 10_000_000, 3_600),
        Rate("bytes", "tenant", 2_000_000_000, 86_400),
    ]
    assert parse_rates("bytes", None) == []


def test_forked_processes_count_together() -> None:
    """What one of them set is what the others read."""
    buckets = Buckets()
    child = os.fork()
    if child == 0:
        buckets.set(buckets.place(("a",), 0.0), 7.0)
        os._exit(0)
    os.waitpid(child, 0)

    assert buckets.full_at_s(buckets.place(("a",), 0.0)) == 7.0
    assert buckets.full_at_s(buckets.place(("b",), 0.0)) == 0.0
