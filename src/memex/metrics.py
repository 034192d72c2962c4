"""The numbers that a service counts. They become Prometheus' format when somebody asks for them.

No label holds a tenant, a user, a path or a text. Each label comes from a closed set, so that no caller can make
the series grow. The Prometheus library is loaded at the first request for the numbers, because loading it takes as
long as some commands.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from memex.counts import SharedCounts
from memex.errors import DiskLow, QuotaExceeded
from memex.store.log.call import CallOutcome, InnerOperation
from memex.store.log.operations import MODEL_REQUEST
from memex.subagent.embedders.interface import EmbeddedText, Embedder, InputType

if TYPE_CHECKING:
    from prometheus_client.core import Metric

Labels = tuple[str, ...]
Gauges = Mapping[str, Mapping[Labels, float]]  # by name and labels

OTHER = "other"
SUM = "sum"
CANCELLED = "cancelled"  # the caller went away before the call ended, so the log has no row
MAX_MODELS = 20  # models that have series of their own; settings name two or three
GROWTH_CODES = (DiskLow.code, QuotaExceeded.code)
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

COUNTERS: dict[str, tuple[str, Labels]] = {
    "memex_operations_total": ("Calls, by how they ended.", ("tool", "status")),
    "memex_unauthenticated_total": ("Requests without a valid key, which no log has.", ()),
    "memex_refused_total": ("Calls that did not get the database in time, by the wait.", ("reason",)),
    "memex_rate_limited_total": ("Requests that a rate limit refused, by its name.", ("limit",)),
    "memex_degraded_total": ("Answers that a model or an embedder should have had a part in.", ("tool",)),
    "memex_unlogged_total": ("Answers without a row in the log, because the disk is full.", ("tool",)),
    "memex_refused_growth_total": ("Calls that were refused because memory may not grow.", ("code",)),
    "memex_model_requests_total": ("Requests to chat models.", ("model", "outcome")),
    "memex_model_tokens_total": ("Tokens that chat models read and wrote.", ("model", "direction")),
    "memex_model_cost_usd_total": ("What they cost, where a price is known.", ("model",)),
    "memex_embedder_requests_total": ("Requests to the embedder.", ("model", "kind", "outcome")),
    "memex_texts_embedded_total": ("Texts that it made vectors of.", ("model",)),
    "memex_loop_stalls_total": ("Times of over 0.1 s for which no caller of a worker was answered.", ()),
    "memex_loop_stalled_seconds_total": ("How long these times were together.", ()),
}
HISTOGRAMS: dict[str, tuple[str, Labels]] = {
    "memex_operation_seconds": ("How long calls took.", ("tool",)),
    "memex_model_request_seconds": ("How long requests to chat models took.", ("model",)),
}
GAUGES: dict[str, tuple[str, Labels]] = {
    "memex_db_connections": ("Connections to the database.", ("state",)),
    "memex_db_requests_waiting": ("Transactions that wait for a connection.", ()),
    "memex_disk_free_bytes": ("Free space on the disk of the embedded Postgres.", ()),
    "memex_database_bytes": ("The size of the database, if MEMEX_MAX_DATABASE_BYTES limits it.", ()),
    "memex_disk_low": ("Whether nothing may be stored because of the disk: 0 or 1.", ()),
    "memex_queue_calls": ("Calls that wait to be worked on, or were given up.", ("status",)),
    "memex_breaker_open": (
        "Processes that leave a model alone because it did not answer; 0 while all ask it.",
        ("model", "use"),
    ),
    "memex_loop_longest_stall_seconds": ("The longest time for which no caller was answered.", ("worker",)),
    "memex_tenant_model_requests_today": (
        "Requests of the tenant to chat models on this day (UTC).",
        ("model",),
    ),
    "memex_tenant_model_cost_usd_today": ("What they cost, where a price is known.", ("model",)),
    "memex_build_info": ("What runs here; always 1.", ("version", "engine")),
}


class Metrics:
    """The numbers of one service since it started.

    Args:
        tools: the kinds of calls that have series of their own; all other kinds count as `other`.
        counts: holds the numbers; by default those of this process alone.
    """

    def __init__(self, tools: Collection[str] = (), counts: SharedCounts | None = None) -> None:
        self._tools = frozenset(tools)
        self._models: set[str] = set()
        self._longest_stall_s = 0.0
        self._counts = counts or SharedCounts()

    def tool(self, name: str) -> str:
        """Return the label for a kind of call, which a caller may have invented."""
        return name if name in self._tools else OTHER

    def add_call(
        self, name: str, ended: CallOutcome | None, seconds: float, inner: Sequence[InnerOperation]
    ) -> None:
        """Count a call that ended, and the requests to models inside it.

        Args:
            name: the name of the tool.
            ended: how the call ended; None when its caller went away.
            seconds: how long the call took.
            inner: the operations inside the call.
        """
        tool = self.tool(name)
        self._counts.add("memex_operations_total", (tool, ended.status if ended else CANCELLED))
        self._add_time("memex_operation_seconds", tool, seconds)
        if ended is not None and ended.degraded is not None:
            self._counts.add("memex_degraded_total", (tool,))
        if ended is not None and ended.error_code in GROWTH_CODES:
            self._counts.add("memex_refused_growth_total", (ended.error_code,))
        for operation in inner:
            if operation.kind == MODEL_REQUEST:
                self._add_request(operation)

    def add_unlogged(self, tool: str) -> None:
        """Count an answer that has no row in the log; `tool` is a label."""
        self._counts.add("memex_unlogged_total", (tool,))

    def add_unauthenticated(self) -> None:
        """Count a request without a valid key."""
        self._counts.add("memex_unauthenticated_total")

    def add_refused(self, reason: str) -> None:
        """Count a call that did not get the database in time, or whose statement the database gave up."""
        self._counts.add("memex_refused_total", (reason,))

    def add_rate_limited(self, limit: str) -> None:
        """Count a request that a rate limit refused."""
        self._counts.add("memex_rate_limited_total", (limit,))

    def counting(self, embedder: Embedder) -> Embedder:
        """Return the embedder, wrapped so that its requests are counted here."""
        return _CountingEmbedder(embedder, self)

    def add_embedding(self, model: str, kind: InputType, texts: int, *, is_answered: bool) -> None:
        """Count a request to an embedder."""
        model = self._model(model)
        outcome = "answered" if is_answered else "failed"
        self._counts.add("memex_embedder_requests_total", (model, kind, outcome))
        if is_answered:
            self._counts.add("memex_texts_embedded_total", (model,), texts)

    def set_breaker(self, model: str, use: str, is_open: bool) -> None:
        """Note whether this process leaves a model alone."""
        self._counts.set("memex_breaker_open", (self._model(model), use), float(is_open))

    def is_left_alone(self, model: str, use: str) -> bool:
        """Return whether any process leaves a model alone."""
        return self._counts.totals().get(("memex_breaker_open", (self._model(model), use)), 0) > 0

    def set_load(self, *, used: int, idle: int, waiting: int) -> None:
        """Replace the numbers of this process's connections, and of its transactions that wait for one."""
        self._counts.set("memex_db_connections", ("used",), used)
        self._counts.set("memex_db_connections", ("idle",), idle)
        self._counts.set("memex_db_requests_waiting", (), waiting)

    def add_stall(self, seconds: float) -> None:
        """Count a time in which the event loop of this process answered nobody."""
        self._counts.add("memex_loop_stalls_total")
        self._counts.add("memex_loop_stalled_seconds_total", (), seconds)
        if seconds > self._longest_stall_s:
            self._longest_stall_s = seconds
            labels = (str(self._counts.region),)
            self._counts.set("memex_loop_longest_stall_seconds", labels, round(seconds, 6))

    def exposition(self, gauges: Gauges, accept: str = "") -> tuple[bytes, str]:
        """Return all numbers in the format that an Accept header asks for, and the media type of that format.

        Args:
            gauges: values of `GAUGES` that belong to no process, as measured now.
            accept: the header; the plain text format is the default.
        """
        from prometheus_client import CollectorRegistry  # noqa: PLC0415  # 30 ms, see above
        from prometheus_client.exposition import choose_encoder  # noqa: PLC0415

        registry = CollectorRegistry()
        registry.register(_Snapshot(list(self._families(gauges))))
        encode, media_type = choose_encoder(accept)
        return encode(registry), media_type

    def _add_request(self, request: InnerOperation) -> None:
        model = self._model(request.model or OTHER)
        outcome = "failed" if request.error_code else "answered"
        self._counts.add("memex_model_requests_total", (model, outcome))
        self._add_time("memex_model_request_seconds", model, request.duration_ms / 1000)
        usage = request.usage or {}
        for direction in ("input", "output"):
            tokens = usage.get(f"{direction}_tokens") or 0
            self._counts.add("memex_model_tokens_total", (model, direction), tokens)
        if usage.get("usd") is not None:
            self._counts.add("memex_model_cost_usd_total", (model,), float(usage["usd"]))

    def _add_time(self, name: str, label: str, seconds: float) -> None:
        """Count an event of a histogram: in its bucket, and its time in the sum, which is a series of its own."""
        self._counts.add(name, (label, str(bisect_left(BUCKETS_S, seconds))))
        self._counts.add(name, (label, SUM), seconds)

    def _model(self, name: str) -> str:
        if name not in self._models and len(self._models) >= MAX_MODELS:
            return OTHER
        self._models.add(name)
        return name

    def _families(self, gauges: Gauges) -> "Iterator[Metric]":
        from prometheus_client.core import (  # noqa: PLC0415
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        totals: defaultdict[str, dict[Labels, float]] = defaultdict(dict)
        for (name, given), value in sorted(self._counts.totals().items()):
            totals[name][given] = value
        for name, (text, labels) in COUNTERS.items():
            counter = CounterMetricFamily(name, text, labels=labels)
            for given, value in totals[name].items():
                counter.add_metric(given, value)
            yield counter
        for name, (text, labels) in HISTOGRAMS.items():
            histogram = HistogramMetricFamily(name, text, labels=labels)
            for label in dict.fromkeys(label for label, _ in totals[name]):
                buckets = _cumulated(totals[name], label)
                histogram.add_metric((label,), buckets, totals[name].get((label, SUM), 0))
            yield histogram
        for name, (text, labels) in GAUGES.items():
            gauge = GaugeMetricFamily(name, text, labels=labels)
            for given, value in sorted({**totals[name], **gauges.get(name, {})}.items()):
                gauge.add_metric(given, value)
            yield gauge


def _cumulated(counts: Mapping[Labels, float], label: str) -> list[tuple[str, float]]:
    """Return for each bound of `BUCKETS_S` how many events of a label took no longer."""
    found = [counts.get((label, str(place)), 0) for place in range(len(BUCKETS_S) + 1)]
    return list(zip([*map(str, BUCKETS_S), "+Inf"], accumulate(found), strict=True))


@dataclass(frozen=True, eq=False)
class _Snapshot:
    """A collector, in the form that the Prometheus library calls, of families that are already measured."""

    families: "Sequence[Metric]"

    def collect(self) -> "Iterator[Metric]":
        """Yield every family."""
        return iter(self.families)


class _CountingEmbedder:
    """An embedder whose requests are counted."""

    def __init__(self, embedder: Embedder, metrics: Metrics) -> None:
        self._embedder = embedder
        self._metrics = metrics

    @property
    def name(self) -> str:
        """The name under which the vectors of the embedder are stored."""
        return self._embedder.name

    @property
    def dimensions(self) -> int | None:
        """The number of dimensions of each vector."""
        return self._embedder.dimensions

    @property
    def gives_states(self) -> bool:
        """Whether the embedder gives the states of word pieces."""
        return self._embedder.gives_states

    async def embed(self, texts: Sequence[str], kind: InputType = "document") -> list[EmbeddedText]:
        """Return the same texts as `Embedder.embed`."""
        is_answered = False
        try:
            made = await self._embedder.embed(texts, kind)
            is_answered = True
        finally:
            self._metrics.add_embedding(self.name, kind, len(texts), is_answered=is_answered)
        return made

    async def close(self) -> None:
        """Close the embedder."""
        await self._embedder.close()
