"""Two services over one database: what is changed at the one holds with the next call at the other."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from tests.http.conftest import check_problem
from tests.kit.http_service import Served, serving_http

from memex.store.identity import tenants

FILE = "projects/apollo/a.md"


@dataclass(frozen=True)
class Replicas:
    """Two services, each of which keeps what it looked up: `changed` where admins act, `asked` by agents."""

    changed: Served
    asked: Served

    def key(self, role: str, user_id: str | None = None) -> tuple[str, int]:
        """Make a key, and return its secret and its number."""
        assert self.changed.service is not None
        made = tenants.create_key(self.changed.service.database, "home", role, user_id=user_id)  # type: ignore[arg-type]
        secret, key = self.changed.run(made)
        return secret, key.key_id

    @contextmanager
    def client(self, served: Served, secret: str) -> Iterator[httpx2.Client]:
        """A client of one of them."""
        headers = {"Authorization": f"Bearer {secret}"}
        with httpx2.Client(base_url=served.url, headers=headers, timeout=60) as client:
            yield client


@pytest.fixture(scope="module")
def replicas(embedded_server: Any) -> Iterator[Replicas]:
    """The services, and a project with a member and a file."""
    name = f"memex_replicas_{uuid.uuid4().hex[:12]}"
    conninfo = embedded_server.create(name)
    with serving_http(conninfo) as changed, serving_http(conninfo) as asked:
        replicas = Replicas(changed, asked)
        yield replicas
    embedded_server.drop(name)


@pytest.fixture
def root(replicas: Replicas) -> Iterator[httpx2.Client]:
    """An admin at the one, and a project with alice as its member and a file in it."""
    secret, _ = replicas.key("admin")
    with replicas.client(replicas.changed, secret) as root:
        for url in ("/v1/admin/projects/apollo", "/v1/admin/projects/apollo/members/alice"):
            assert root.put(url).is_success
        made = {"arguments": {"path": FILE, "content": "text", "overwrite": True}}
        assert root.post("/v1/admin/tools/memory_write/execute", json=made).is_success
        yield root


def outcome(response: httpx2.Response) -> str:
    """Return the code of a refusal, or `ok`."""
    check_problem(response)
    return "ok" if response.is_success else str(response.json()["code"])


Calls = dict[str, Callable[[httpx2.Client], httpx2.Response]]

READS: Calls = {
    "read": lambda agent: agent.get("/v1/file", params={"path": FILE}),
    "write": lambda agent: agent.put(
        "/v1/file", params={"path": FILE}, content="text", headers={"If-Match": "*"}
    ),
    "batch": lambda agent: agent.post(
        "/v1/files:batch",
        json={"edits": [{"kind": "patch", "path": FILE, "operation": "append", "text": "more"}]},
    ),
    "tool": lambda agent: agent.post(
        "/v1/tools/memory_find/execute", json={"arguments": {"query": "text", "project": "apollo"}}
    ),
    "context": lambda agent: agent.post(
        "/v1/tools/memory_context/execute",
        json={"context": {"project": "apollo"}, "arguments": {"query": "text"}},
    ),
    "list": lambda agent: agent.get("/v1/files", params={"prefix": "projects/apollo/"}),
}
BEYOND_TOOLS: Calls = {
    "not valid": lambda agent: agent.get("/v1/file"),
    "not JSON": lambda agent: agent.post("/v1/tools/memory_find/execute", content="{"),
    "no such file": lambda agent: agent.get("/v1/file", params={"path": "user/none.md"}),
    "no such tool": lambda agent: agent.post("/v1/tools/memory_none/execute", json={}),
    "another user": lambda agent: agent.get("/v1/files", headers={"Memex-User": "bob"}),
    "nested too deeply": lambda agent: agent.post(
        "/v1/tools/memory_find/execute", content='{"arguments": {"a":' + "[" * 20 + "]" * 20 + "}}"
    ),
    "bad call id": lambda agent: agent.get("/v1/files", headers={"Memex-Tool-Call-Id": "a b"}),
    "tools": lambda agent: agent.get("/v1/tools"),
    "catalogue": lambda agent: agent.get("/v1/catalogue"),
    "who": lambda agent: agent.get("/v1/me"),
    "log": lambda agent: agent.get("/v1/operations"),
    "an admin's": lambda agent: agent.get("/v1/admin/users"),
    "mcp": lambda agent: agent.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
}


def change_member(root: httpx2.Client, method: str) -> None:
    """Make alice a member, or end that."""
    assert root.request(method, "/v1/admin/projects/apollo/members/alice").is_success


def test_a_revoked_key_is_refused_by_the_next_call_of_each_kind(
    replicas: Replicas, root: httpx2.Client
) -> None:
    """Also where the call would have been refused for something else, or reads nothing."""
    for name, call in (READS | BEYOND_TOOLS).items():
        secret, number = replicas.key("agent", "alice")
        with replicas.client(replicas.asked, secret) as agent:
            for warm in READS.values():
                assert outcome(warm(agent)) == "ok"
            assert root.delete(f"/v1/admin/keys/{number}").is_success

            assert outcome(call(agent)) == "UNAUTHENTICATED", name
            assert outcome(call(agent)) == "UNAUTHENTICATED", name


def test_an_admins_revoked_key_is_refused(replicas: Replicas, root: httpx2.Client) -> None:
    """On the routes of tools, which keep it, and on the others."""
    tool = "/v1/admin/tools/memory_list/execute"
    for url in (tool, "/v1/admin/users", "/metrics"):
        secret, number = replicas.key("admin")
        with replicas.client(replicas.asked, secret) as admin:
            assert outcome(admin.post(tool, json={})) == "ok"
            assert root.delete(f"/v1/admin/keys/{number}").is_success

            response = admin.post(url, json={}) if url == tool else admin.get(url)
            assert outcome(response) == "UNAUTHENTICATED", url


def test_what_members_may_do_changes_with_the_next_call(replicas: Replicas, root: httpx2.Client) -> None:
    """A member who goes or comes, and a project that is closed or opened."""
    secret, _ = replicas.key("agent", "alice")
    with replicas.client(replicas.asked, secret) as agent:
        for name, call in READS.items():
            assert outcome(call(agent)) == "ok", name
            change_member(root, "DELETE")
            assert outcome(call(agent)) == "PROJECT_NOT_FOUND", name
            change_member(root, "PUT")
            assert outcome(call(agent)) == "ok", name
            assert root.delete("/v1/admin/projects/apollo").is_success
            assert outcome(call(agent)) == "PROJECT_NOT_FOUND", name
            assert root.put("/v1/admin/projects/apollo").is_success
            assert outcome(call(agent)) == "PROJECT_NOT_FOUND", name
            change_member(root, "PUT")
            assert outcome(call(agent)) == "ok", name


def test_an_admin_writes_to_a_project_that_was_opened_elsewhere(
    replicas: Replicas, root: httpx2.Client
) -> None:
    """The replica keeps what the admin could do before."""
    secret, _ = replicas.key("admin")
    with replicas.client(replicas.asked, secret) as admin:
        url = "/v1/admin/tools/memory_write/execute"
        for slug in ("gemini", "mercury"):
            call = {"arguments": {"path": f"projects/{slug}/a.md", "content": "text"}}
            assert outcome(admin.post(url, json=call)) == "PROJECT_NOT_FOUND"
            assert root.put(f"/v1/admin/projects/{slug}").is_success
            assert outcome(admin.post(url, json=call)) == "ok"
            assert root.delete(f"/v1/admin/projects/{slug}").is_success
            assert outcome(admin.post(url, json=call)) == "PROJECT_NOT_FOUND"
