"""Numbers for Prometheus, over all tenants of this process: for admins alone."""

from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import PlainTextResponse

from memex.http.callers import KeyedRoute, KeyHolder, ServiceDependency
from memex.service import exposition
from memex.service.service import check_role

router = APIRouter(tags=["metrics"], route_class=KeyedRoute)

OPEN_METRICS = "application/openmetrics-text"


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    response_class=PlainTextResponse,
    responses={200: {"content": {OPEN_METRICS: {"schema": {"type": "string"}}}}},
)
async def metrics(
    service: ServiceDependency, holder: KeyHolder, accept: Annotated[str, Header()] = ""
) -> Response:
    """Return what this process has counted since its start, as text for Prometheus or as OpenMetrics."""
    check_role(holder, "admin")
    content, media_type = await exposition.render_metrics(service, accept)
    return Response(content, media_type=media_type)
