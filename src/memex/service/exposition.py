"""The numbers of `/metrics`: those counted since the start, and those measured now."""

from datetime import UTC, datetime

from memex import distribution
from memex.metrics import Gauges, Metrics
from memex.service.call import Caller
from memex.service.service import Service
from memex.store.log import queue, spend
from memex.subagent.engine import ENGINE


async def render_metrics(service: Service, accept: str = "") -> tuple[bytes, str]:
    """Return the numbers of a service in the form that an Accept header asks for, and the media type of that.

    Raises:
        StoreUnavailable: the database does not say how long the queue is.
    """
    gauges = await _gauges(service)
    record_load(service)
    return service.metrics.exposition(gauges, accept)


async def render_tenant_metrics(service: Service, caller: Caller, accept: str = "") -> tuple[bytes, str]:
    """Return the numbers of the tenant of an admin, from the database: its queue, and what its models used today.

    What the process counts has no tenant, so nothing of it is shown.

    Raises:
        StoreUnavailable: the database does not answer.
    """
    today = datetime.now(UTC).date()
    async with service.database.transaction(caller.access) as connection:
        calls = await queue.count_of_tenant(connection, caller.access)
        spent = await spend.list_days(connection, caller.access, today)
    gauges: Gauges = {
        "memex_queue_calls": {(status,): number for status, number in calls.items()},
        "memex_tenant_model_requests_today": {(day.model,): day.requests for day in spent},
        "memex_tenant_model_cost_usd_today": {(day.model,): float(day.usd) for day in spent},
        **_build_info(),
    }
    return Metrics().exposition(gauges, accept)


def record_load(service: Service) -> None:
    """Store how many connections of this process are in use, which the sums of `/metrics` include."""
    load = service.database.load
    service.metrics.set_load(used=load.used, idle=load.idle, waiting=load.waiting)


async def _gauges(service: Service) -> Gauges:
    async with service.database.maintenance() as connection:
        calls = await queue.count(connection)
    space = service.database.space.report()
    measured = {"memex_disk_free_bytes": space.free_bytes, "memex_database_bytes": space.database_bytes}
    return {
        **{name: {(): value} for name, value in measured.items() if value is not None},
        "memex_disk_low": {(): space.level != "ample"},
        "memex_queue_calls": {(status,): number for status, number in calls.items()},
        **_build_info(),
    }


def _build_info() -> Gauges:
    return {"memex_build_info": {(distribution.version(), ENGINE): 1}}
