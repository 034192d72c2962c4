"""Spans: one for each call and each operation in it, by the conventions, and no word of memory unless asked for."""

import asyncio
import importlib.util
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.conftest import CallerOf

from memex import telemetry
from memex.errors import FileNotFound, MemexError, ReadOnlyMount, UnknownTool, ValidationFailed
from memex.http.app import create_app
from memex.service.log.call_list import read_attempts
from memex.service.planners import Planners
from memex.service.service import Caller, Service
from memex.settings import Settings
from memex.store.database import Database
from memex.store.identity import tenants
from memex.store.search.analyzer import Analyzer
from memex.subagent.builtin import BuiltinPlanner
from memex.subagent.model.chat import ChatModel
from memex.subagent.model.planner import ModelPlanner
from memex.telemetry import Tracing

# One server is enough: spans know nothing of it.
pytestmark = pytest.mark.embedded_only

SECRET = "quetzalcoatl"
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Collected:
    """What was exported."""

    def __init__(self, exporter: InMemorySpanExporter, tracing: Tracing) -> None:
        self.tracing = tracing
        self._exporter = exporter

    @property
    def spans(self) -> list[ReadableSpan]:
        """All spans that ended, in the order of their ends."""
        assert self.tracing.provider is not None
        self.tracing.provider.force_flush()  # type: ignore[attr-defined]  # the SDK's
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of a name."""
        return [span for span in self.spans if span.name == name]

    def text(self) -> str:
        """Everything that is in them."""
        return "".join(span.to_json() for span in self.spans)


@pytest.fixture(params=[False])
def collected(request: pytest.FixtureRequest) -> Iterator[Collected]:
    """Spans that go to this process's memory; with content where a test asks for that."""
    exporter = InMemorySpanExporter()
    with telemetry.send_spans(exporter, with_content=request.param) as tracing:
        yield Collected(exporter, tracing)


@pytest.fixture
def traced(database: Database, collected: Collected) -> Service:
    """A service whose spans are collected."""
    return Service(database, max_files=100, tracing=collected.tracing)


WITH_CONTENT = pytest.mark.parametrize("collected", [True], indirect=True)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """Return the attributes of a span."""
    return dict(span.attributes or {})


async def run(service: Service, caller: Caller, tool: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    """Run a tool."""
    return await service.execute(caller, tool, arguments, tool_call_id=call_id)


async def test_a_call_is_a_span_with_one_for_each_operation_below(
    traced: Service, alice: Caller, collected: Collected
) -> None:
    """By the names of the conventions for generative AI, with counts and without texts."""
    await run(traced, alice, "memory_write", "w", path="user/tea.md", content=f"# Tea\n\n{SECRET} tea.\n")
    await run(traced, alice, "memory_context", "c", query=f"Which {SECRET}?")
    [written], [recalled] = (collected.named(f"execute_tool memory_{tool}") for tool in ("write", "context"))
    below = [span for span in collected.spans if span.parent == recalled.context]

    assert attributes(written) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "memory_write",
        "gen_ai.tool.type": "datastore",
        "gen_ai.tool.call.id": "w",
        "memex.status": "committed",
    }
    assert attributes(recalled)["memex.status"] == "answered"
    assert below[0].name == "search_memory"
    assert attributes(below[0]) == {
        "gen_ai.operation.name": "search_memory",
        "memex.operation": "memory_find",
        "gen_ai.memory.record.count": 1,
    }
    [attempt] = await read_attempts(traced, alice, "c")
    assert [attributes(span)["memex.operation"] for span in below] == [one.tool for one in attempt.inner]
    assert {span.status.status_code for span in collected.spans} == {StatusCode.UNSET}
    assert SECRET not in collected.text()
    assert "user/" not in collected.text()


async def test_what_a_text_changed_is_a_span(traced: Service, alice: Caller, collected: Collected) -> None:
    """The one commit of memory_remember, with the number of files: two pages, and the entry of the journal."""
    await run(traced, alice, "memory_remember", "r", text=f"I like {SECRET}. We decided to use Postgres.")
    [commit] = collected.named("upsert_memory")
    [call] = collected.named("execute_tool memory_remember")

    assert commit.parent == call.context
    assert attributes(commit)["gen_ai.memory.record.count"] == 3
    assert SECRET not in collected.text()


async def test_an_error_is_named_by_its_code_alone(
    traced: Service, alice: Caller, collected: Collected
) -> None:
    """Failed and denied calls, without the message, which names the path; what a caller makes up is `other`."""
    for kind, tool, arguments in (
        (FileNotFound, "memory_read", {"path": f"user/{SECRET}.md"}),
        (ReadOnlyMount, "memory_write", {"path": f"shared/{SECRET}.md", "content": "x"}),
        (UnknownTool, f"memory_{SECRET}", {}),
    ):
        with pytest.raises(kind):
            await run(traced, alice, tool, "e", **arguments)
    read, write, unknown = collected.spans

    seen = [
        (span.name, attributes(span)["error.type"], attributes(span)["memex.status"])
        for span in (read, write, unknown)
    ]
    assert seen == [
        ("execute_tool memory_read", "FILE_NOT_FOUND", "failed"),
        ("execute_tool memory_write", "READ_ONLY_MOUNT", "denied"),
        ("execute_tool other", "UNKNOWN_TOOL", "failed"),
    ]
    assert all(span.status.status_code is StatusCode.ERROR and not span.events for span in collected.spans)
    assert SECRET not in collected.text()


@WITH_CONTENT
async def test_content_is_recorded_where_it_is_asked_for(
    traced: Service, alice: Caller, collected: Collected
) -> None:
    """Arguments, results and queries, by the conventions' opt-in attributes."""
    await run(traced, alice, "memory_write", "w", path="user/tea.md", content="# Tea\n\nOolong.\n")
    answer = await run(traced, alice, "memory_context", "c", query="Which tea?")
    [recalled], [search] = collected.named("execute_tool memory_context"), collected.named("search_memory")

    assert json.loads(attributes(recalled)["gen_ai.tool.call.arguments"]) == {"query": "Which tea?"}
    assert json.loads(attributes(recalled)["gen_ai.tool.call.result"]) == answer
    assert attributes(search)["gen_ai.memory.query.text"] == "Which tea?"


@WITH_CONTENT
async def test_a_text_that_is_no_unicode_holds_no_span_back(
    traced: Service, alice: Caller, collected: Collected
) -> None:
    """A lone surrogate could not be sent, and would take all spans of its batch with it."""
    with pytest.raises(ValidationFailed):
        await run(traced, alice, "memory_find", "s", query="tea \ud800")

    [span] = collected.named("execute_tool memory_find")
    attributes(span)["gen_ai.tool.call.arguments"].encode()


class TestModel:
    """Spans of a model and its agent, which pydantic-ai makes."""

    @staticmethod
    def service(database: Database, collected: Collected) -> Service:
        """A service whose model asks for what is not there, by a tool too, and chooses what it was not shown."""

        async def play(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if len(messages) == 1:
                asked = ToolCallPart("links", {"place": f"user/{SECRET}.md"})
                return ModelResponse(parts=[asked, ToolCallPart(f"tell_{SECRET}", {})])
            lines = {"lines": [9 if len(messages) == 3 else 1]}
            return ModelResponse(parts=[TextPart(f"It says {SECRET}."), ToolCallPart("answer", lines)])

        chat = ChatModel("function:test", lambda: (FunctionModel(play), None))
        planner = ModelPlanner(
            chat, BuiltinPlanner(Analyzer()), capabilities=collected.tracing.capabilities()
        )
        return Service(
            database,
            max_files=100,
            planning=Planners(planner, planner),
            tracing=collected.tracing,
        )

    async def asked(self, service: Service, caller: Caller) -> None:
        """Write a file and ask for it."""
        await run(service, caller, "memory_write", "w", path="user/tea.md", content=f"{SECRET} tea.\n")
        await run(service, caller, "memory_context", "c", query=f"Which {SECRET}?")

    async def test_they_stand_below_the_call_and_above_what_the_model_did(
        self, database: Database, alice: Caller, collected: Collected
    ) -> None:
        """Call, agent, tool of the model, operation on memory: each within the other; and nothing that was said."""
        await self.asked(self.service(database, collected), alice)
        by_id = {span.context.span_id: span for span in collected.spans if span.context}

        def above(span: ReadableSpan) -> list[str]:
            names = [span.name]
            while span.parent is not None:
                span = by_id[span.parent.span_id]
                names.append(span.name)
            return names

        [links] = [span for span in collected.named("memory_links") if _failed(span)]
        chats = [span for span in collected.spans if span.name.startswith("chat ")]
        assert above(links) == [
            "memory_links",
            "execute_tool links",
            "invoke_agent memory_context",
            "execute_tool memory_context",
        ]
        assert len(chats) == 3
        assert {above(span)[1] for span in chats} == {"invoke_agent memory_context"}
        assert SECRET not in collected.text()

    @WITH_CONTENT
    async def test_they_have_what_was_said_where_it_is_asked_for(
        self, database: Database, alice: Caller, collected: Collected
    ) -> None:
        """The model's prompt and answer."""
        await self.asked(self.service(database, collected), alice)
        chats = [span for span in collected.spans if span.name.startswith("chat ")]

        assert SECRET in attributes(chats[0])["gen_ai.input.messages"]
        assert SECRET in attributes(chats[-1])["gen_ai.output.messages"]

    async def test_without_a_provider_an_agent_records_nothing(self) -> None:
        """And nothing is loaded for that."""
        assert Tracing().capabilities() == ()


def _failed(span: ReadableSpan) -> bool:
    return span.status.status_code is StatusCode.ERROR


async def test_messages_of_errors_are_taken_out_of_spans_that_others_make(collected: Collected) -> None:
    """Class and code stay: a library's message can quote what it could not work with."""
    assert collected.tracing.provider is not None
    tracer = collected.tracing.provider.get_tracer("another")
    with pytest.raises(ValueError, match=SECRET), tracer.start_as_current_span("work"):
        raise ValueError(f"cannot read {SECRET}")
    [span] = collected.spans

    assert [dict(event.attributes or {})["exception.type"] for event in span.events] == ["ValueError"]
    assert span.status.status_code is StatusCode.ERROR
    assert SECRET not in collected.text()


async def test_calls_at_once_have_their_own_spans(
    traced: Service, caller_of: CallerOf, collected: Collected
) -> None:
    """Each operation stands below its own call."""
    callers = [await caller_of(f"user-{n}") for n in range(5)]
    for caller in callers:
        await run(traced, caller, "memory_write", "w", path="user/tea.md", content="tea")
    await asyncio.gather(
        *(run(traced, caller, "memory_context", f"c{n}", query="tea") for n, caller in enumerate(callers))
    )
    calls = {span.context.span_id for span in collected.named("execute_tool memory_context") if span.context}

    assert len(calls) == 5
    assert {span.parent.span_id for span in collected.named("search_memory") if span.parent} == calls


async def test_a_request_goes_on_with_the_trace_of_its_caller(traced: Service, collected: Collected) -> None:
    """By the header `traceparent`; without one, or with one that is none, a trace begins here."""
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

    secret, _ = await tenants.create_key(traced.database, "default", "agent", user_id="alice")
    app = create_app(lambda: nullcontext(traced))
    app.state.service = traced
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app),
        base_url="http://memex",
        headers={"Authorization": f"Bearer {secret}"},
    ) as client:
        for given in (f"00-{trace}-{parent}-01", None, f"00-{SECRET}"):
            headers = {"traceparent": given} if given else {}
            answered = await client.get("/v1/files", params={"prefix": f"user/{SECRET}"}, headers=headers)
            assert answered.is_success
    followed, alone, broken = collected.named("execute_tool memory_list")

    assert followed.context is not None
    assert followed.parent is not None
    assert f"{followed.context.trace_id:032x}" == trace
    assert f"{followed.parent.span_id:016x}" == parent
    assert alone.parent is None
    assert broken.parent is None
    assert SECRET not in collected.text()


def test_the_web_framework_sends_no_spans_of_its_own() -> None:
    """They would have URLs in them, and so paths and queries, whatever the settings of Memex say."""
    app = create_app(nullcontext)  # type: ignore[arg-type]  # never started

    assert not app._native_telemetry.enabled()
    assert not app._telemetry["logs"]


class TestExporting:
    """Where spans go."""

    def test_nowhere_by_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the variables there is no provider."""
        monkeypatch.delenv(ENDPOINT, raising=False)
        with telemetry.export_spans(Settings()) as tracing:
            assert tracing.provider is None

    def test_to_the_collector_that_the_variable_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """All of them are there when the block ends, by the name of the service."""
        received: list[tuple[str, bytes]] = []

        class Collector(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                received.append((self.path, body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector:
            threading.Thread(target=collector.serve_forever, daemon=True).start()
            monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{collector.server_port}")
            with telemetry.export_spans(Settings()) as tracing, tracing.call("memory_find", "call-1", {}):
                pass
            collector.shutdown()
        [(path, body)] = received

        assert path == "/v1/traces"
        assert b"execute_tool memory_find" in body
        assert b"service.name" in body
        assert b"unknown_service" not in body

    def test_a_collector_that_takes_nothing_does_not_hold_the_end_up(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The last spans are given up soon."""
        released = threading.Event()

        class Stuck(SpanExporter):
            def export(self, spans: Any) -> SpanExportResult:
                assert released.wait(20), "nobody gave up"
                return SpanExportResult.FAILURE

            def shutdown(self) -> None:
                released.set()

        monkeypatch.setattr(telemetry, "FLUSH_TIMEOUT_S", 0.01)
        with telemetry.send_spans(Stuck()) as tracing, tracing.call("memory_find", "call-1", {}):
            pass

        assert released.is_set()

    def test_without_the_packages_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rather than leaving the spans out without a word."""
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
        monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)

        with (
            pytest.raises(ValidationFailed, match=ENDPOINT) as refused,
            telemetry.export_spans(Settings()),
        ):
            pass

        assert 'pip install "memex-memory[otel]"' in refused.value.hint

    @pytest.mark.parametrize(
        ("module", "unneeded"),
        [
            ("memex.wiring", ("opentelemetry", "prometheus_client")),  # of every command
            ("memex.http.app", ("opentelemetry.sdk", "opentelemetry.exporter", "prometheus_client")),
        ],
    )
    @pytest.mark.slow
    def test_nothing_of_it_is_loaded_without_need(self, module: str, unneeded: tuple[str, ...]) -> None:
        """A process that sends no spans does not wait for what sends them."""
        code = f"import sys, {module}; print([name for name in sys.modules if name.startswith({unneeded})])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

        assert done.stdout.strip() == "[]"
        assert importlib.util.find_spec("opentelemetry.sdk") is not None


def test_every_error_code_can_be_an_error_type() -> None:
    """Codes are few and fixed, as the conventions want it."""
    assert all(kind.code.isupper() for kind in [MemexError, *MemexError.__subclasses__()])
