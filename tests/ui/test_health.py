"""The page Health: whether the service works, for administrators."""

import uuid
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from tests.kit.http_service import serving_http
from tests.kit.model_server import ModelServer, fails
from tests.kit.postgres_servers import Server
from tests.ui.conftest import Site

from memex.service.service import Service
from memex.settings import Settings
from memex.store.log.hours import sum_hours
from memex.wiring import chat_models, planners_of


def test_health_says_what_works(site: Site) -> None:
    """With nothing queued and no model, each part says so; htmx gets the parts without the frame."""
    admin = site.visitor("admin")

    whole = admin.get("/ui/health")
    part = admin.get("/ui/health", headers={"HX-Request": "true"})

    for shown in (whole, part):
        assert "The database answers, and takes writes." in shown.text
        assert "<h2>Checks</h2>" in shown.text
        assert "Tables of" in shown.text
        assert "No text waits to be stored." in shown.text
        assert "No model was asked in the last 14 days." in shown.text
    assert 'hx-trigger="every 30s"' in whole.text
    assert "<html" not in part.text
    assert 'href="/ui/health"' not in site.visitor(bound_to="alice").get("/ui/memory").text


@pytest.mark.slow
def test_the_calls_of_the_day_are_a_table_without_javascript(site: Site) -> None:
    """Calls, failures and times by tool and by hour; a problem stands above all, with what to do."""
    alice, admin = site.api(bound_to="alice"), site.visitor("admin")
    for _ in range(25):
        assert alice.get("/v1/file", params={"path": "user/none.md"}).status_code == 404
    assert site.served.service is not None
    database = site.served.service.database
    site.served.run(sum_hours(database, datetime.now(UTC) - timedelta(hours=1)))

    shown = admin.get("/ui/health").text
    told = site.api("admin").get("/v1/admin/health").json()

    assert "1 thing is wrong" in shown
    assert "<code>memex log --status failed --everyone --as-admin</code>" in shown
    assert '<td class="amount">25</td><td class="amount">25</td>' in shown
    assert not told["ok"]
    assert ("memory_read", 25) in [(tool["tool"], tool["failed"]) for tool in told["calls"]["tools"]]


def test_a_model_that_does_not_answer_is_named(embedded_server: Server, model_server: ModelServer) -> None:
    """The page has who plans, who answers meanwhile, and the share of degraded answers; so has `/metrics`."""
    settings = Settings(model="openai:m", openai_base_url=model_server.url, openai_api_key="k")
    chats = chat_models(settings)
    model_server.play(fails(503, retry_after=60), endless=True)

    def with_model(service: Service) -> Service:
        told = service.metrics.set_breaker
        planning = planners_of(settings, chats, on_breaker=told)
        return Service(service.database, max_files=100, planning=planning, metrics=service.metrics)

    name = f"memex_ui_{uuid.uuid4().hex[:12]}"
    with serving_http(embedded_server.create(name), wrap=with_model) as served, ExitStack() as stack:
        site = Site(served, stack, "t")
        ann = site.api(bound_to="ann")
        run = "/v1/tools/{}/execute"
        arguments = {"path": "user/tea.md", "content": "I like oolong tea."}
        ann.post(run.format("memory_write"), json={"arguments": arguments})
        asked = {"arguments": {"query": "Which tea?"}}
        answers = [ann.post(run.format("memory_context"), json=asked).json() for _ in range(4)]

        shown = site.visitor("admin").get("/ui/health").text
        told = site.api("admin").get("/v1/admin/health").json()
        assert chats[0] is not None
        served.run(chats[0].close())
        numbers = httpx2.get(f"{served.url}/metrics").text
    embedded_server.drop(name)

    assert [one["degraded"] for one in answers] == ["MODEL_UNAVAILABLE"] * 4
    assert len(model_server.requests) == 3
    assert "openai:m did not answer and is left alone for a moment" in shown
    assert '<bdi>builtin</bdi> <span class="badge warn">does not answer</span>' in shown
    assert '<td class="amount">4</td><td class="amount">4</td><td class="amount">100 %</td>' in shown
    assert told["answers"][0] == {
        "tool": "memory_context",
        "model": "openai:m",
        "in_use": "builtin",
        "answers": 4,
        "degraded": 4,
    }
    assert 'memex_breaker_open{model="openai:m",use="context"} 1.0' in numbers
