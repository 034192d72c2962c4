"""`memex service health`: what is wrong and what to do, and the figures."""

import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.cli.conftest import PATIENCE_S, Memex
from tests.kit.model_server import ModelServer, hangs, says

CALLERS = 20
CHOSEN = says({"lines": [1]})


@pytest.mark.slow
def test_health_shows_checks_calls_and_sizes(memex: Memex) -> None:
    """A memory that works: the exit code is 0, the checks have marks, and the document has the figures."""
    tenant = ("--tenant", "healthy")
    memex.plain("keys", "create", "--role", "admin", *tenant)
    memex.plain("write", "user/tea.md", "--content", "Oolong.", "--user", "ann", *tenant)

    document = memex.json("health", *tenant)
    plain = memex.plain("health", *tenant)

    assert document["ok"]
    assert document["index"]["memories"] == 1
    assert {"queue", "calls", "spending", "disk"} <= {check["name"] for check in document["checks"]}
    assert "✓ disk" in plain
    assert "search index" in plain
    assert "The oldest call in the log is from" in plain


@pytest.mark.slow
def test_a_model_that_hangs_costs_many_callers_one_deadline(memex: Memex, model_server: ModelServer) -> None:
    """By default a context waits 8 s; then nobody waits, and health, doctor and `/metrics` say who answers."""
    environment = {
        "MEMEX_CONTEXT_MODEL": "openai:m",
        "MEMEX_MODEL_MODE": "single",
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": model_server.url,
        "MEMEX_WORKERS": "1",
    }
    model_server.play(CHOSEN, CHOSEN, hangs(), endless=True)
    served = memex.elsewhere(memex.data_dir, **environment)
    with served.serve() as serving, ThreadPoolExecutor(CALLERS) as pool:

        def ask(_: int) -> tuple[str, float]:
            started_s = time.monotonic()
            while time.monotonic() - started_s < PATIENCE_S:
                try:
                    answer = serving.call("memory_context", query="Which tea do I like?")
                except urllib.error.HTTPError as error:  # a busy machine takes some callers later
                    assert error.code == 503  # noqa: PT017
                else:
                    return answer["planner"], time.monotonic() - started_s
            raise TimeoutError

        serving.call("memory_write", path="user/tea.md", content="# Tea\n\nI like oolong tea.\n")
        well = [ask(0), ask(1)]
        first = list(pool.map(ask, range(CALLERS)))
        next_one = ask(0)
        remote = {"MEMEX_URL": serving.ready["url"], "MEMEX_API_KEY": serving.ready["admin_key"]}
        client = memex.elsewhere(memex.data_dir, **remote)
        health, doctor = client.run("health"), client.run("doctor")
        with urllib.request.urlopen(f"{serving.ready['url']}/metrics") as response:  # noqa: S310  # http
            numbers = response.read().decode()
    local = served.run("doctor")

    assert [planner for planner, _ in well] == ["openai:m"] * 2
    assert {planner for planner, _ in (*first, next_one)} == {"builtin"}
    assert max(seconds for _, seconds in first) < 40, "60 s was the deadline before"
    assert len(model_server.requests) <= 2 + CALLERS + 2
    share = "21 of 23 answers of memory_context (91%), of the newest of the last hour"
    assert share in health.out
    assert share in doctor.out
    assert share in local.out
    assert "openai:m did not answer and is left alone" in health.out
    assert "openai:m did not answer and is left alone" in doctor.out
    assert (health.code, doctor.code, local.code) == (1, 1, 1)
    assert 'memex_breaker_open{model="openai:m",use="context"} 1.0' in numbers
    assert 'memex_degraded_total{tool="memory_context"} 21.0' in numbers
