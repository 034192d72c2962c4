"""The health of the service, for admins; what a load balancer asks is in `routes/state/health.py`."""

from memex.http.routers import admin_router, operation
from memex.service.health.health import HealthResult

router = admin_router("")


@operation(router, "health_show", summary="Show the health")
def show_health() -> HealthResult:
    """Return what `memex doctor` finds in a running service, with what to do, and the figures of the tenant.

    These are the queue and its jobs, how far index and vectors are, calls and errors of the last day by hour and by
    tool, what models cost, and what the database takes on disk.
    """
