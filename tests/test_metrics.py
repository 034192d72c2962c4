"""What is counted, and that no caller can make it grow."""

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage
from tests.kit.postgres_servers import Server

from memex.call_context import CallContext
from memex.errors import ModelUnavailable
from memex.metrics import BUCKETS_S, COUNTERS, GAUGES, HISTOGRAMS, MAX_MODELS, Metrics
from memex.service import exposition
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.settings import Settings
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.identity.authentication import Principal
from memex.store.log.call import CallOutcome, InnerOperation
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.embedders.hashed import HashEmbedder
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner
from memex.wiring import running_service

# One server is enough: what is counted knows nothing of it.
pytestmark = pytest.mark.embedded_only

ANSWERED = CallOutcome("answered")


def samples(metrics: Metrics, **gauges: Any) -> dict[tuple[str, ...], float]:
    """Return the samples of the text format, by name and label values in the order of their names."""
    text, media_type = metrics.exposition(gauges)
    assert media_type.startswith("text/plain")
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def request(
    model: str | None = "openai:m", *, failed: bool = False, usd: float | None = 0.5
) -> InnerOperation:
    """A request to a model, as the log has it."""
    return InnerOperation(
        kind="model_request",
        request={},
        response=None,
        state=None,
        error_code="MODEL_UNAVAILABLE" if failed else None,
        started_at=datetime.now(UTC),
        duration_ms=1_500,
        model=model,
        usage={"input_tokens": 0 if failed else 100, "output_tokens": 0 if failed else 7, "usd": usd},
    )


def test_calls_are_counted_by_tool_and_ending() -> None:
    """Each once, with its time; one whose caller went away as cancelled."""
    metrics = Metrics(["memory_find"])
    metrics.add_call("memory_find", ANSWERED, 0.02, [])
    metrics.add_call("memory_find", CallOutcome("denied", "FORBIDDEN"), 0.3, [])
    metrics.add_call("memory_find", None, 100.0, [])

    found = samples(metrics)

    for status in ("answered", "denied", "cancelled"):
        assert found["memex_operations_total", status, "memory_find"] == 1
    assert found["memex_operation_seconds_count", "memory_find"] == 3
    assert found["memex_operation_seconds_sum", "memory_find"] == pytest.approx(100.32)
    by_bound = [found["memex_operation_seconds_bucket", str(bound), "memory_find"] for bound in BUCKETS_S]
    assert by_bound == [float((bound >= 0.02) + (bound >= 0.3)) for bound in BUCKETS_S]
    assert found["memex_operation_seconds_bucket", "+Inf", "memory_find"] == 3


def test_what_callers_make_up_is_one_series() -> None:
    """Ten thousand tools that do not exist, and as many models, are a handful of series."""
    metrics = Metrics(["memory_find"])
    for number in range(10_000):
        metrics.add_call(
            f"tool_{number}", CallOutcome("failed", "UNKNOWN_TOOL"), 0.001, [request(f"m{number}")]
        )

    found = samples(metrics)

    assert found["memex_operations_total", "failed", "other"] == 10_000
    assert found["memex_model_requests_total", "other", "answered"] == 10_000 - MAX_MODELS
    assert len(found) < 20 * (MAX_MODELS + 2)


def test_degraded_answers_are_counted() -> None:
    """By their tool; an answer as it should be is none of them."""
    metrics = Metrics(["memory_context"])
    metrics.add_call("memory_context", CallOutcome("answered", degraded="MODEL_UNAVAILABLE"), 0.1, [])
    metrics.add_call("memory_context", ANSWERED, 0.1, [])

    assert samples(metrics)["memex_degraded_total", "memory_context"] == 1


def test_requests_to_models_are_counted_with_what_they_used() -> None:
    """Answered and failed ones, tokens, time, and dollars where a price is known."""
    metrics = Metrics()
    metrics.add_call("x", ANSWERED, 2.0, [request(), request(failed=True, usd=None)])
    metrics.add_call("x", ANSWERED, 2.0, [request("ollama:n", usd=None), request()])

    found = samples(metrics)

    assert found["memex_model_requests_total", "openai:m", "answered"] == 2
    assert found["memex_model_requests_total", "openai:m", "failed"] == 1
    assert found["memex_model_tokens_total", "input", "openai:m"] == 200
    assert found["memex_model_tokens_total", "output", "openai:m"] == 14
    assert found["memex_model_cost_usd_total", "openai:m"] == 1
    assert ("memex_model_cost_usd_total", "ollama:n") not in found
    assert found["memex_model_request_seconds_sum", "openai:m"] == 4.5


def test_other_operations_inside_a_call_are_no_requests() -> None:
    """A search inside a call is no request to a model."""
    metrics = Metrics()
    metrics.add_call(
        "x",
        ANSWERED,
        1.0,
        [InnerOperation("memory_find", {}, {}, None, None, datetime.now(UTC), duration_ms=1)],
    )

    assert not [name for name, *_ in samples(metrics) if name.startswith("memex_model")]


async def test_an_embedder_is_counted_and_stays_what_it_is() -> None:
    """Requests by kind and outcome, and the texts that got vectors."""

    class Failing(HashEmbedder):
        async def embed(self, texts: Any, kind: Any = "document") -> Any:
            raise RuntimeError("down")

    metrics = Metrics()
    embedder, failing = metrics.counting(HashEmbedder(8)), metrics.counting(Failing(8))
    made = await embedder.embed(["a", "b"])
    await embedder.embed(["c"], "query")
    with pytest.raises(RuntimeError, match="down"):
        await failing.embed(["d"], "query")
    await embedder.close()

    name = HashEmbedder(8).name
    assert (embedder.name, embedder.dimensions, embedder.gives_states, len(made)) == (name, 8, False, 2)
    found = samples(metrics)
    assert found["memex_embedder_requests_total", "document", name, "answered"] == 1
    assert found["memex_embedder_requests_total", "query", name, "answered"] == 1
    assert found["memex_embedder_requests_total", "query", name, "failed"] == 1
    assert found["memex_texts_embedded_total", name] == 3


def test_gauges_show_what_is_measured_now() -> None:
    """With labels and without."""
    found = samples(
        Metrics(), memex_db_connections={("used",): 2, ("idle",): 1}, memex_db_requests_waiting={(): 4}
    )

    assert found["memex_db_connections", "used"] == 2
    assert found["memex_db_requests_waiting",] == 4


def test_every_name_is_as_prometheus_wants_it() -> None:
    """Counters end with _total, times are seconds; no label could hold who or what it was about."""
    families = COUNTERS | HISTOGRAMS | GAUGES
    labels = {label for _, names in families.values() for label in names}

    assert all(name.startswith("memex_") and name.endswith("_total") for name in COUNTERS)
    assert all(name.endswith("_seconds") for name in HISTOGRAMS)
    assert labels == {
        *("tool", "status", "model", "outcome", "direction", "kind", "state", "version", "engine", "code"),
        "worker",
        "use",
        "reason",
        "limit",
    }


def test_open_metrics_are_given_to_who_asks() -> None:
    """By the Accept header, as Prometheus sends it."""
    _, media_type = Metrics().exposition({}, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")

    assert media_type.startswith("application/openmetrics-text; version=1.0.0")


async def test_a_running_service_counts_its_embedder(embedded_server: Server) -> None:
    """The embedder that the settings name, on its way into the service."""
    name = f"memex_counted_{uuid.uuid4().hex[:12]}"
    settings = Settings(database_url=embedded_server.create(name), embedder="hash")
    try:
        async with running_service(settings) as service:
            caller = await service.caller(
                Principal(await tenants.ensure_tenant(service.database, "default"), "agent"),
                CallContext("alice"),
                makes_user=True,
            )
            await service.execute(caller, "memory_find", {"query": "tea"})
            text, _ = await exposition.render_metrics(service)
    finally:
        embedded_server.drop(name)

    labels = f'kind="query",model="{HashEmbedder().name}",outcome="answered"'
    assert f"memex_embedder_requests_total{{{labels}}} 1.0" in text.decode()


class Away(HashEmbedder):
    """An embedder whose provider is away."""

    async def embed(self, texts: Any, kind: Any = "document") -> Any:
        """Fail."""
        raise ModelUnavailable("The embedder did not answer.", reason="timeout")


async def test_a_service_counts_what_its_model_did(database: Database, alice: Caller) -> None:
    """From the log of each call: the model's requests and tokens, and answers that lacked a part."""

    async def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(asked) == 1:
            raise ModelHTTPError(500, "m")
        asked.append(info)
        usage = RequestUsage(input_tokens=900, output_tokens=20)
        return ModelResponse(parts=[ToolCallPart("answer", {"lines": [1]})], usage=usage)

    asked: list[AgentInfo] = []
    chat = ChatModel("function:test", lambda: (FunctionModel(play), None))
    planner = ModelPlanner(chat, BuiltinPlanner(Analyzer()))
    service = Service(database, max_files=9, planning=Planners(planner, planner), embedder=Away())
    await service.execute(alice, "memory_write", {"path": "user/tea.md", "content": "# Tea\n\nOolong.\n"})
    for _ in range(2):
        await service.execute(alice, "memory_context", {"query": "Which tea?"})
    found = samples(service.metrics)

    assert found["memex_model_requests_total", "function:test", "answered"] == 1
    assert found["memex_model_requests_total", "function:test", "failed"] == 1
    assert found["memex_model_tokens_total", "input", "function:test"] == 900
    assert found["memex_operations_total", "answered", "memory_context"] == 2
    assert found["memex_degraded_total", "memory_context"] == 2
