"""Rate limits over HTTP, MCP, batches, the queue and imports; what is refused is told when to come back."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from tests.kit.zips import zipped

from memex.errors import ValidationFailed
from memex.service.identity.rate_limits import Buckets, Rate, parse_rates
from memex.settings import Settings

FIND = "/v1/tools/memory_find/execute"
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


def test_the_bytes_of_a_tenant_are_limited(limited: Callable[..., Any]) -> None:
    """Over all of its users; what they read is not counted."""
    client = limited(bytes="tenant:1k/day")
    with client("alice") as alice, client("bob") as bob:
        assert alice.put("/v1/file?path=user/a.md", content="ä" * 400).is_success
        assert _refused(bob.put("/v1/file?path=user/a.md", content="x" * 400), "bytes-tenant")
        assert alice.get("/v1/file?path=user/a.md").is_success


def test_nothing_is_limited_or_said_by_default(alice: httpx2.Client) -> None:
    """No header tells of limits that there are not."""
    assert not {"ratelimit", "ratelimit-policy"} & set(alice.get("/v1/files").headers)


@pytest.mark.parametrize(
    "text", ["600", "user:0/min", "host:1/s", "user:1/year", "user:1/s,user:2/s", "user:-1/s"]
)
def test_a_malformed_rate_stops_the_start(text: str) -> None:
    """With the name of the setting."""
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
