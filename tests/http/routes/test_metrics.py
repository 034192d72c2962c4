"""`/metrics`: what Prometheus reads, and nobody else's business in it."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from memex.metrics import OTHER
from memex.store.identity import tenants

SECRET = "quetzalcoatl"


class Scraped:
    """A Memex of its own, whose calls nobody else makes, and what it shows."""

    def __init__(self, served: Any) -> None:
        self.served = served
        self._keys = {
            role: served.run(tenants.create_key(served.service.database, SECRET, role))[0]
            for role in ("agent", "admin")
        }

    def client(self, role: str = "agent") -> httpx2.Client:
        """Return a client with a key of this role, which acts for a user."""
        headers = {"Authorization": f"Bearer {self._keys[role]}", "Memex-User": SECRET}
        return httpx2.Client(base_url=self.served.url, headers=headers)

    def samples(self) -> dict[tuple[str, ...], float]:
        """Return what is shown, by name and label values in the order of the labels' names."""
        text = httpx2.get(f"{self.served.url}/metrics").text
        assert SECRET not in text
        return {
            (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def calls(self) -> dict[tuple[str, str], float]:
        """Return how many calls there were, by tool and status."""
        return {
            (tool, status): count
            for (name, *labels), count in self.samples().items()
            if name == "memex_operations_total"
            for status, tool in [labels]
        }


@pytest.fixture
def scraped(embedded_server: Any, serving: Callable[..., Any]) -> Iterator[Scraped]:
    """A Memex whose calls are all the test's own."""
    name = f"memex_metrics_{uuid.uuid4().hex[:12]}"
    try:
        with serving(embedded_server.create(name)) as served:
            yield Scraped(served)
    finally:
        embedded_server.drop(name)


def test_every_call_is_counted_once(scraped: Scraped) -> None:
    """Reads, writes, repeats, dry runs, failed and denied calls, by whatever route, and refused callers."""
    with scraped.client() as agent, scraped.client("admin") as admin:

        def run(tool: str, call_id: str | None = None, **arguments: Any) -> None:
            context = {"userId": SECRET, "toolCallId": call_id}
            agent.post(f"/v1/tools/{tool}/execute", json={"context": context, "arguments": arguments})

        run("memory_remember", "call-1", text=f"I like {SECRET}.")
        run("memory_remember", "call-1", text=f"I like {SECRET}.")
        run("memory_remember", text="I like tea.", dry_run=True)
        run("memory_context", query=SECRET)
        run("memory_write", path=f"user/{SECRET}.md", content=SECRET)
        run("memory_write", path="shared/x.md", content=SECRET)
        run("memory_read", path=f"user/{SECRET}2.md")
        run(SECRET)
        run(f"{SECRET}-2")
        agent.get("/v1/file", params={"path": f"user/{SECRET}.md"})
        agent.get("/v1/export")
        agent.post("/v1/operations/call-1/revert")
        admin.put("/v1/admin/projects/apollo")
        admin.get("/v1/admin/users")
        admin.get("/v1/tools")  # not an agent's key
        admin.post("/v1/tools/memory_list/execute", json={"arguments": {}})

    assert scraped.calls() == {
        ("memory_remember", "committed"): 1,
        ("memory_remember", "repeated"): 1,
        ("memory_remember", "dry_run"): 1,
        ("memory_context", "answered"): 1,
        ("memory_write", "committed"): 1,
        ("memory_write", "denied"): 1,
        ("memory_read", "failed"): 1,
        ("memory_read", "answered"): 1,
        (OTHER, "failed"): 2,
        ("memory_export", "answered"): 1,
        ("memory_revert", "committed"): 1,
        ("project_open", "committed"): 1,
        ("user_list", "committed"): 1,
        ("memory_list", "denied"): 1,
    }


def test_requests_without_a_valid_key_are_counted(scraped: Scraped) -> None:
    """They are in no log: with no key, and with one that nobody has."""
    with httpx2.Client(base_url=scraped.served.url) as stranger:
        stranger.get("/v1/files")
        stranger.get("/v1/files", headers={"Authorization": f"Bearer mx_{SECRET}"})
        stranger.get("/health/live")

    assert scraped.samples()["memex_unauthenticated_total",] == 2
    assert scraped.calls() == {}


def test_the_state_of_the_process_is_measured(scraped: Scraped) -> None:
    """Connections, the queue, the version; a scrape is no call."""
    found = scraped.samples()

    assert found["memex_db_connections", "used"] + found["memex_db_connections", "idle"] >= 1
    assert found["memex_db_requests_waiting",] == 0
    assert found["memex_queue_calls", "queued"] == found["memex_queue_calls", "quarantined"] == 0
    assert [value for (name, *_), value in found.items() if name == "memex_build_info"] == [1]
    assert scraped.calls() == {}


def test_open_metrics_are_given_to_who_asks(served: Any) -> None:
    """Prometheus asks for them before the plain format."""
    answered = httpx2.get(
        f"{served.url}/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0"}
    )

    assert answered.headers["content-type"].startswith("application/openmetrics-text")
    assert answered.text.endswith("# EOF\n")


def test_only_admins_read_the_numbers(alice: httpx2.Client, client_of: Callable[..., httpx2.Client]) -> None:
    """An agent has no business with them, and a key that nobody has shows nothing."""
    assert alice.get("/metrics").json()["code"] == "FORBIDDEN"
    unknown = client_of(keyless=True).get("/metrics", headers={"Authorization": "Bearer mx_unknown"})
    assert unknown.json()["code"] == "UNAUTHENTICATED"
