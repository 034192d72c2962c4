"""Measurements of calls: their wall time, and the CPU time of the service and of its backends of Postgres."""

import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memex.evals.bench.felt.http_client import HttpRequest, RawHttpClient
from memex.evals.bench.felt.operations import MakeRequest, MeasuredCall
from memex.evals.bench.felt.processes import Backends, ServiceProcess


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """Figures of the calls of one round, each in milliseconds; CPU is the mean of a call."""

    p50: float
    p95: float
    cpu: float
    backend: float


@dataclass(slots=True)
class Figures:
    """The figures of one operation, a sample a round."""

    rounds: list[RoundFigures] = field(default_factory=list)

    def median(self, name: str) -> float:
        """Return the median over the rounds of the figure with this name."""
        return float(statistics.median(getattr(figures, name) for figures in self.rounds))


@dataclass(slots=True)
class MeasuredService:
    """A service that is called, and its backends, if it has some."""

    process: ServiceProcess
    backends: Backends | None = None

    async def send(self, requests: Iterable[HttpRequest]) -> list[float]:
        """Send requests one after the other over one connection, and return the milliseconds of each."""
        walls = []
        async with await RawHttpClient.open(self.process.url) as client:
            for request in requests:
                started = time.perf_counter()
                await client.send(request)
                walls.append((time.perf_counter() - started) * 1000)
        return walls

    async def measure(self, requests: Sequence[HttpRequest]) -> RoundFigures:
        """Send requests one after the other, and return what they took."""
        backend_before, cpu_before = self._backends_s(), self.process.cpu_s
        walls = await self.send(requests)
        cpu, backend = self.process.cpu_s - cpu_before, _passed(backend_before, self._backends_s())
        p50, p95 = quantiles(walls)
        return RoundFigures(p50, p95, cpu * 1000 / len(walls), backend * 1000 / len(walls))

    def _backends_s(self) -> dict[int, float]:
        return self.backends.cpu_s() if self.backends else {}


@dataclass(slots=True)
class OperationFigures:
    """The figures of an operation in Memex, and in the plain service if it has such a call."""

    memex: Figures = field(default_factory=Figures)
    plain: Figures = field(default_factory=Figures)


async def compare(
    operations: Sequence[MeasuredCall], memex: MeasuredService, plain: MeasuredService, *, rounds: int
) -> dict[str, OperationFigures]:
    """Measure operations in both services, in turn, and return the figures by the operations' names.

    A first round, which is not counted, lets both prepare their statements.
    """
    compared = {operation.name: OperationFigures() for operation in operations}
    for number in range(rounds + 1):
        for operation in operations:
            figures = await memex.measure(_take(operation.memex, operation.calls))
            others = operation.plain and await plain.measure(_take(operation.plain, operation.calls))
            if number:
                compared[operation.name].memex.rounds.append(figures)
                if others:
                    compared[operation.name].plain.rounds.append(others)
    return compared


def quantiles(samples: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    if len(samples) < 2:
        return samples[0], samples[0]
    cuts = statistics.quantiles(samples, n=20, method="inclusive")
    return cuts[9], cuts[18]


def _take(make: MakeRequest, calls: int) -> list[HttpRequest]:
    return [make() for _ in range(calls)]


def _passed(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    return sum(spent - before.get(pid, 0.0) for pid, spent in after.items())
