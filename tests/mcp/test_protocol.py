"""The wire: versions of the protocol, hosts, origins, keys, and what OAuth clients ask."""

import itertools
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from tests.http.conftest import KeyOf, check_problem
from tests.kit.http_service import Served

from memex.errors import ValidationFailed
from memex.http.app import create_app
from memex.http.routes.mcp import PATHS, McpServers
from memex.service.service import Service
from memex.settings import Settings
from memex.subagent.context.assembly import NOTHING_SENTENCE

BOTH = "application/json, text/event-stream"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
MODERN = "2026-07-28"
WELL_KNOWN = "/.well-known/oauth-protected-resource"


@pytest.fixture
def http(served: Served, key_of: KeyOf) -> Iterator[httpx2.Client]:
    """A client without MCP in it, whose key is bound to alice."""
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice')}", "Accept": BOTH}
    with httpx2.Client(base_url=served.url, headers=headers, timeout=30) as client:
        yield client


def modern(method: str, **params: Any) -> dict[str, Any]:
    """Return a request of 2026-07-28: what a handshake said before stands in each of them."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": meta}}


def headers_of(method: str, name: str | None = None) -> dict[str, str]:
    """Return the headers that go with a request of 2026-07-28."""
    return {"MCP-Protocol-Version": MODERN, "Mcp-Method": method} | ({"Mcp-Name": name} if name else {})


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_clients_with_a_handshake_are_served(http: httpx2.Client, version: str) -> None:
    """Without a session: any request may reach any replica. Answers are JSON, also where events were asked for."""
    client = {"name": "by-hand", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    known = {"MCP-Protocol-Version": version}

    opened = http.post("/mcp", json={**LIST, "method": "initialize", "params": params})
    ready = http.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=known)
    call = {"name": "memory_context", "arguments": {"query": "tea"}}
    called = http.post("/mcp", json={**LIST, "method": "tools/call", "params": call}, headers=known)

    assert opened.json()["result"]["protocolVersion"] == version
    assert opened.json()["result"]["serverInfo"]["name"] == "memex"
    assert opened.headers["content-type"] == "application/json"
    assert "mcp-session-id" not in opened.headers
    assert (ready.status_code, ready.content) == (202, b"")
    [content] = called.json()["result"]["content"]
    assert content["type"] == "text"
    assert NOTHING_SENTENCE in content["text"]


def test_clients_without_a_handshake_are_served(http: httpx2.Client) -> None:
    """Each request of 2026-07-28 says all that there is to know, so that no other goes before it."""
    found = http.post("/mcp", json=modern("server/discover"), headers=headers_of("server/discover"))
    params = {"name": "memory_context", "arguments": {"query": "tea"}}
    called = http.post(
        "/mcp", json=modern("tools/call", **params), headers=headers_of("tools/call", "memory_context")
    )
    other = {**headers_of("tools/list"), "MCP-Protocol-Version": "2030-01-01"}
    unknown = http.post("/mcp", json=modern("tools/list"), headers=other)

    assert MODERN in found.json()["result"]["supportedVersions"]
    assert called.json()["id"] == 7
    assert NOTHING_SENTENCE in called.json()["result"]["content"][0]["text"]
    assert unknown.status_code == 400


def test_each_path_answers_itself_and_posts_alone(http: httpx2.Client) -> None:
    """Nothing is redirected, and there is no stream to open or session to delete."""
    for path in ("/mcp", "/mcp/files"):
        assert http.post(path, json=LIST).status_code == 200
        for method in ("GET", "DELETE"):
            refused = http.request(method, path)
            check_problem(refused)
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_faults_of_the_protocol_are_its_errors(http: httpx2.Client) -> None:
    """No JSON, no message, no such method, more than one message at once; and what is too large."""
    as_json = {"Content-Type": "application/json"}

    broken = http.post("/mcp", content=b"{", headers=as_json)
    empty = http.post("/mcp", json={})
    unknown = http.post("/mcp", json={**LIST, "method": "tools/none"})
    batch = http.post("/mcp", json=[LIST, LIST])
    nameless = http.post("/mcp", json={**LIST, "method": "tools/call", "params": {}})
    large = http.post("/mcp", content=b" " * (9 << 20), headers=as_json)

    assert [answer.status_code for answer in (broken, empty, batch)] == [400, 400, 400]
    assert broken.json()["error"]["code"] == -32700
    assert unknown.json()["error"]["code"] == -32601
    assert nameless.json()["error"]["code"] == -32602
    check_problem(large)
    assert large.status_code == 413


def test_without_a_valid_key_a_client_learns_where_to_ask(
    http: httpx2.Client, served: Served, key_of: KeyOf
) -> None:
    """401 names the document of RFC 9728, which says what the key protects and how it is sent."""
    revoked = key_of(bound_to="alice", revoked=True)
    del http.headers["Authorization"]
    keyless: tuple[dict[str, str], ...] = (
        {},
        {"Authorization": "Bearer mx_unknown"},
        {"Authorization": f"Bearer {revoked}"},
    )

    for path, headers in itertools.product(PATHS, keyless):
        refused = http.post(path, json=LIST, headers=headers)
        known_at = f"{served.url}{WELL_KNOWN}{path}"
        known = http.get(known_at)
        check_problem(refused)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{known_at}"'
        assert known.json() == {
            "resource": served.url + path,
            "resource_name": "Memex",
            "bearer_methods_supported": ["header"],
        }
    assert http.get(WELL_KNOWN).json()["resource"] == served.url


def test_a_key_is_for_the_paths_of_its_role(http: httpx2.Client, key_of: KeyOf) -> None:
    """An agent's key opens nothing of admins, and an admin's nothing of agents."""
    codes = {}
    for role in ("agent", "admin"):
        headers = {"Authorization": f"Bearer {key_of(role, bound_to='alice')}"}
        for path in PATHS:
            answered = http.post(path, json=LIST, headers=headers)
            check_problem(answered)
            codes[role, path] = 200 if answered.is_success else answered.json()["code"]

    assert codes == {
        ("agent", "/mcp"): 200,
        ("agent", "/mcp/files"): 200,
        ("agent", "/mcp/conversations"): 200,
        ("agent", "/mcp/work"): 200,
        ("agent", "/mcp/project"): 200,
        ("agent", "/mcp/admin"): "FORBIDDEN",
        ("admin", "/mcp"): "FORBIDDEN",
        ("admin", "/mcp/conversations"): "FORBIDDEN",
        ("admin", "/mcp/work"): "FORBIDDEN",
        ("admin", "/mcp/project"): "FORBIDDEN",
        ("admin", "/mcp/files"): "FORBIDDEN",
        ("admin", "/mcp/admin"): 200,
    }


def test_pages_of_other_sites_are_refused(http: httpx2.Client) -> None:
    """A name that leads here is not enough (DNS rebinding), nor is a browser that comes from elsewhere."""
    for headers, status in (
        ({"Host": "memex.example"}, 403),
        ({"Host": "127.0.0.1.example:80"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "http://localhost:5173"}, 200),
        ({"Host": "LOCALHOST:1"}, 200),
        ({"Host": "[::1]:8630"}, 200),
    ):
        answered = http.post("/mcp", json=LIST, headers=headers)

        check_problem(answered)
        assert answered.status_code == status


def asked(served: Served, settings: Settings, method: str, path: str, **options: Any) -> httpx2.Response:
    """Return what a Memex of these settings answers, over the shared service, when it is called memex.example."""
    app = create_app(lambda: nullcontext(served.service), settings)  # type: ignore[arg-type]

    async def ask() -> httpx2.Response:
        through = httpx2.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=through, base_url="http://memex.example") as client,
        ):
            return await client.request(method, path, **options)

    return served.run(ask())


def test_an_operator_names_hosts_and_the_issuer(served: Served, key_of: KeyOf) -> None:
    """MEMEX_ALLOWED_HOSTS lets names in, a star all of them; MEMEX_OAUTH_ISSUER stands in the metadata."""
    headers = {"Authorization": f"Bearer {key_of(bound_to='alice')}", "Origin": "https://memex.example"}
    statuses = {
        hosts: asked(
            served, Settings(allowed_hosts=hosts), "POST", "/mcp", json=LIST, headers=headers
        ).status_code
        for hosts in (None, "other.example", "other.example, MEMEX.example:443", "*")
    }
    bound = asked(served, Settings(host="memex.example"), "POST", "/mcp", json=LIST, headers=headers)
    issued = Settings(allowed_hosts="*", oauth_issuer="https://login.example")
    known = asked(served, issued, "GET", f"{WELL_KNOWN}/mcp")

    assert list(statuses.values()) == [403, 403, 200, 200]
    assert bound.status_code == 200
    assert known.json()["authorization_servers"] == ["https://login.example"]


def test_a_client_that_goes_is_no_fault(
    served: Served, key_of: KeyOf, caplog: pytest.LogCaptureFixture
) -> None:
    """In the middle of its message: nothing is answered, and neither log nor numbers tell of an error."""
    app = create_app(lambda: nullcontext(served.service), Settings())  # type: ignore[arg-type]
    headers = {"host": "localhost", "authorization": f"Bearer {key_of(bound_to='alice')}"}
    scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b""} | {
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()]
    }
    came = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return came.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    async def cut() -> None:
        async with app.router.lifespan_context(app):
            await app(scope, receive, send)

    served.run(cut())

    assert not sent
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_servers_that_did_not_load_are_tried_again(service: Service, tmp_path: Path) -> None:
    """An operator mends the prompt that was malformed; nothing has to be started anew."""
    prompt = tmp_path / "block.md"
    prompt.write_text("malformed")
    service.prompts_dir = tmp_path
    async with McpServers(service, Settings()) as mounted:
        with pytest.raises(ValidationFailed, match="block"):
            await mounted.manager("agent")
        prompt.unlink()

        assert await mounted.manager("agent")


def test_a_request_is_logged_by_its_route(served: Served, key_of: KeyOf) -> None:
    """One line with the id, as of every other route, and nothing of what was asked."""
    key = {"Authorization": f"Bearer {key_of(bound_to='alice')}"}
    call = {"name": "memory_context", "arguments": {"query": "quetzalcoatl"}}
    legacy = {**LIST, "method": "tools/call", "params": call}
    requests = {
        "legacy": (legacy, {}),
        "modern": (modern("tools/call", **call), headers_of("tools/call", "memory_context")),
    }
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as lines:
        for name, (body, headers) in requests.items():
            settings = Settings(allowed_hosts="*")
            sent = {**key, **headers, "X-Request-ID": name}
            assert asked(served, settings, "POST", "/mcp", json=body, headers=sent).is_success

    told = [
        (line["request_id"], line["route"], line["status"]) for line in lines if line["event"] == "request"
    ]
    assert told == [("legacy", "/mcp", 200), ("modern", "/mcp", 200)]
    assert "quetzalcoatl" not in str(lines)
