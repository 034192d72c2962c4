"""The number of statements and round trips of a call: a pass of its own, through a proxy before Postgres."""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from memex.evals.bench.felt.http_client import RawHttpClient
from memex.evals.bench.felt.operations import MakeRequest, MeasuredCall
from memex.evals.bench.felt.processes import ServiceProcess, memex_service, plain_service
from memex.evals.bench.felt.proxy import CountingProxy, Traffic, counting_proxy
from memex.evals.bench.felt.scene import PLAIN_DATABASE, UNLIMITED, Scene

WARM_CALLS = 8  # until psycopg has prepared every statement
COUNTED_CALLS = 9


@dataclass(frozen=True, slots=True)
class CountedService:
    """A service behind a proxy."""

    process: ServiceProcess
    proxy: CountingProxy
    application_name: str

    async def count(self, make: MakeRequest, *, calls: int) -> Traffic:
        """Return the medians of the statements and of the round trips of a call, all over one connection.

        As many calls again, at most WARM_CALLS, go before those that count.
        """
        warm, counted = min(calls, WARM_CALLS), []
        async with await RawHttpClient.open(self.process.url) as client:
            for _ in range(warm + min(calls, COUNTED_CALLS)):
                before = self.proxy.traffic(self.application_name)
                await client.send(make())
                counted.append(self.proxy.traffic(self.application_name) - before)
        return Traffic(
            statements=statistics.median_low(traffic.statements for traffic in counted[warm:]),
            round_trips=statistics.median_low(traffic.round_trips for traffic in counted[warm:]),
        )


@dataclass(frozen=True, slots=True)
class OperationTraffic:
    """The traffic that one call of an operation sends to Postgres, from each of the services."""

    memex: Traffic
    plain: Traffic | None


@contextmanager
def behind_proxies(scene: Scene) -> Iterator[tuple[CountedService, CountedService]]:
    """Run both services of a scene a second time, each behind a proxy."""
    key = scene.memex.process.key
    with (
        counting_proxy(scene.lease.conninfo) as ours,
        counting_proxy(scene.plain_conninfo) as theirs,
        memex_service(scene.lease.data_dir, key, DATABASE_URL=ours.conninfo, **UNLIMITED) as served,
        plain_service(theirs.conninfo, key) as plain,
    ):
        yield (
            CountedService(served, ours, "memex"),
            CountedService(plain, theirs, PLAIN_DATABASE),
        )


async def count_traffic(scene: Scene, operations: Sequence[MeasuredCall]) -> dict[str, OperationTraffic]:
    """Return what one call of each operation sends to Postgres, by the operations' names."""
    counted = {}
    with behind_proxies(scene) as (memex, plain):
        for operation in operations:
            counted[operation.name] = OperationTraffic(
                await memex.count(operation.memex, calls=operation.calls),
                await plain.count(operation.plain, calls=operation.calls) if operation.plain else None,
            )
    return counted
