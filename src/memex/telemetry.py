"""Spans for OpenTelemetry, by its conventions for generative AI.

Each tool call has a span, and each operation on memory inside the call has a span below it. Queries, stored texts
and results are recorded only if the settings ask for content.

The spans go to the collector that the OTEL_… variables name, or else to the tracer provider that the surrounding
program has set up. Without either, this module loads nothing of OpenTelemetry.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from threading import Timer
from typing import TYPE_CHECKING, Any

from memex import distribution
from memex.errors import MemexError, ValidationFailed
from memex.settings import Settings
from memex.store.log.call import CallOutcome

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer, TracerProvider

NAME = "memex"
ENDPOINTS = "OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
COMMIT = "memory_commit"  # everything that one memory_remember writes
# The conventions' names for operations on memory. Other operations have the names of Memex.
# Source: github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-spans.md, "Memory".
OPERATION_NAMES = {"memory_find": "search_memory", COMMIT: "upsert_memory"}
FLUSH_TIMEOUT_S = 2.0  # the wait for a collector that does not accept the last spans
MESSAGES = frozenset({"exception.message", "exception.stacktrace"})


@dataclass(frozen=True, slots=True)
class ActiveSpan:
    """A span that is under way. Without a span, its methods record nothing."""

    span: "Span | None" = None
    with_content: bool = False

    def call_ended(self, ended: CallOutcome | None) -> None:
        """Record how a tool call ended; None means that the caller went away."""
        if self.span is None:
            return
        self._note("memex.status", ended.status if ended else "cancelled")
        self._note("memex.degraded", ended.degraded if ended else None)
        self._failed(ended.error_code if ended else "CANCELLED")

    def result(self, result: Mapping[str, Any]) -> None:
        """Record what a tool call returned, if content is recorded."""
        if self.with_content:
            self._note("gen_ai.tool.call.result", _json(result))

    def operation_ended(self, response: Mapping[str, Any], error_code: str | None) -> None:
        """Record how many files, links or texts an operation returned, or the code of its failure."""
        if self.span is None:
            return
        counts = [len(value) for value in response.values() if isinstance(value, list)]
        self._note("gen_ai.memory.record.count", counts[0] if counts and not error_code else None)
        self._failed(error_code)

    def _note(self, name: str, value: str | int | None) -> None:
        if self.span is not None and value is not None:
            self.span.set_attribute(name, value)

    def _failed(self, code: str | None) -> None:
        if self.span is None or code is None:
            return
        from opentelemetry.trace import StatusCode  # noqa: PLC0415  # already loaded by the maker of the span

        self.span.set_attribute("error.type", code)
        self.span.set_status(StatusCode.ERROR)


@dataclass(frozen=True, slots=True)
class Tracing:
    """The destination of spans, and the choice whether they hold content.

    Attributes:
        provider: the tracer provider of Memex; None for the provider of the surrounding program, if it has one.
        with_content: whether spans hold queries, texts and results.
    """

    provider: "TracerProvider | None" = None
    with_content: bool = False

    @contextmanager
    def call(self, tool: str, tool_call_id: str, arguments: Mapping[str, Any]) -> Iterator[ActiveSpan]:
        """Open a span around a tool call. The spans of the operations inside the call are below it.

        Args:
            tool: a name of Memex's own, not one that a caller made up.
            tool_call_id: the id of the call.
            arguments: the arguments as the caller sent them.
        """
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.type": "datastore",
            "gen_ai.tool.call.id": tool_call_id,
        }
        if self.with_content:
            attributes["gen_ai.tool.call.arguments"] = _json(arguments)
        token = _tracing.set(self)
        try:
            with self.span(f"execute_tool {tool}", attributes) as recorded:
                yield recorded
        finally:
            _tracing.reset(token)

    @contextmanager
    def span(self, name: str, attributes: Mapping[str, str]) -> Iterator[ActiveSpan]:
        """Open a span of this name. The message of an error is not recorded, because it can quote memory."""
        provider = self.provider or _provider_around()
        if provider is None:
            yield ActiveSpan()
            return
        with _tracer(provider).start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            yield ActiveSpan(span, self.with_content)

    def capabilities(self) -> Sequence[Any]:
        """Return the capabilities that make a pydantic-ai agent record spans; none if the spans go nowhere."""
        provider = self.provider or _provider_around()
        if provider is None:
            return ()
        from pydantic_ai.capabilities import Instrumentation  # noqa: PLC0415  # a second of loading
        from pydantic_ai.models.instrumented import InstrumentationSettings  # noqa: PLC0415

        settings = InstrumentationSettings(tracer_provider=provider, include_content=self.with_content)
        return (Instrumentation(settings),)


_tracing: ContextVar[Tracing | None] = ContextVar("tracing", default=None)


@contextmanager
def operation(kind: str, request: Mapping[str, Any]) -> Iterator[ActiveSpan]:
    """Open a span around an operation on memory, inside the span of its tool call if that is recorded."""
    tracing = _tracing.get()
    if tracing is None:
        yield ActiveSpan()
        return
    attributes = {"gen_ai.operation.name": OPERATION_NAMES.get(kind, kind), "memex.operation": kind}
    query = request.get("query")
    if tracing.with_content and isinstance(query, str):
        attributes["gen_ai.memory.query.text"] = _text(query)
    with tracing.span(attributes["gen_ai.operation.name"], attributes) as recorded:
        try:
            yield recorded
        except MemexError as error:
            recorded.operation_ended({}, error.code)
            raise


@contextmanager
def parent(headers: Mapping[str, str]) -> Iterator[None]:
    """Place the spans of the block below the span that the headers of a request name, such as `traceparent`."""
    if "opentelemetry.trace" not in sys.modules or "traceparent" not in headers:
        yield
        return
    from opentelemetry import context, propagate  # noqa: PLC0415

    token = context.attach(propagate.extract(headers))
    try:
        yield
    finally:
        context.detach(token)


@contextmanager
def export_spans(settings: Settings) -> Iterator[Tracing]:
    """Open tracing to the collector that the settings name, if they name one. The end of the block sends all spans.

    Raises:
        ValidationFailed: the settings name a collector, and the packages for it are not installed.
    """
    is_wanted = settings.otel_endpoint or settings.otel_traces_endpoint
    if not is_wanted or _provider_around() is not None:
        yield Tracing(with_content=settings.trace_content)
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    except ImportError:
        raise ValidationFailed(
            f"{ENDPOINTS} ask for spans, and the packages that send them are not installed.",
            hint=f"Install them, {distribution.install_command('otel')}, or unset the variable.",
        ) from None
    with send_spans(OTLPSpanExporter(), with_content=settings.trace_content) as tracing:
        yield tracing


@contextmanager
def send_spans(exporter: "SpanExporter", *, with_content: bool = False) -> Iterator[Tracing]:
    """Open tracing to an exporter, in batches, until the end of the block."""
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource  # noqa: PLC0415  # of the extra `otel`
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    resource = Resource.create({"service.version": distribution.version()})
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):  # OTEL_SERVICE_NAME is not set
        resource = resource.merge(Resource({SERVICE_NAME: NAME}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(
        BatchSpanProcessor(exporter if with_content else _redacting_exporter(exporter))
    )
    try:
        yield Tracing(provider, with_content)
    finally:
        giving_up = Timer(FLUSH_TIMEOUT_S, exporter.shutdown)
        giving_up.daemon = True
        giving_up.start()
        provider.shutdown()
        giving_up.cancel()


@lru_cache(maxsize=8)
def _tracer(provider: "TracerProvider") -> "Tracer":
    return provider.get_tracer(NAME, distribution.version())


def _provider_around() -> "TracerProvider | None":
    """Return the tracer provider of the surrounding program, which has then loaded the API; None without one."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    provider: TracerProvider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider


def _redacting_exporter(exporter: "SpanExporter") -> "SpanExporter":
    """Return an exporter that removes error messages, which other libraries record and which can quote memory."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult  # noqa: PLC0415

    class Quiet(SpanExporter):
        def export(self, spans: "Sequence[ReadableSpan]") -> SpanExportResult:
            return exporter.export([_without_messages(span) for span in spans])

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return exporter.force_flush(timeout_millis)

    return Quiet()


def _without_messages(span: "ReadableSpan") -> "ReadableSpan":
    from opentelemetry.sdk.trace import Event, ReadableSpan  # noqa: PLC0415
    from opentelemetry.trace import Status  # noqa: PLC0415

    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=span.attributes,
        events=[
            Event(
                event.name,
                {name: value for name, value in (event.attributes or {}).items() if name not in MESSAGES},
                event.timestamp,
            )
            for event in span.events
        ],
        links=span.links,
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _json(value: Mapping[str, Any]) -> str:
    return _text(json.dumps(value, ensure_ascii=False, default=str))


def _text(text: str) -> str:
    """Return the text without lone surrogates, one of which would keep a whole batch from being sent."""
    return text.encode("utf-8", "replace").decode()
