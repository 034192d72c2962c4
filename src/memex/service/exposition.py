"""What `/metrics` shows: what was counted since the start, and what is measured now."""

from memex import distribution
from memex.metrics import Gauges
from memex.service.service import Service
from memex.store.log import queue
from memex.subagent.engine import ENGINE


async def render_metrics(service: Service, accept: str = "") -> tuple[bytes, str]:
    """Return the numbers of a service in the form that an Accept header asks for, and the media type of that.

    Raises:
        StoreUnavailable: the database does not say how long the queue is.
    """
    gauges = await _gauges(service)
    record_load(service)
    return service.metrics.exposition(gauges, accept)


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
        "memex_build_info": {(distribution.version(), ENGINE): 1},
    }
