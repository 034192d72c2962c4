"""Numbers for Prometheus: of the whole service for who runs it, and of one tenant for its admins."""

import ipaddress
import secrets
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import SecretStr

from memex.call_context import CallContext
from memex.http.callers import BEARER, ServiceDependency, key_of
from memex.service import exposition
from memex.service.service import Service

router = APIRouter(tags=["metrics"])

OPEN_METRICS = "application/openmetrics-text"
LOOPBACK_NAME = "localhost"
# A request that has one of these was sent on by a proxy, so its peer says nothing of who sent it.
FORWARDING = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    response_class=PlainTextResponse,
    responses={200: {"content": {OPEN_METRICS: {"schema": {"type": "string"}}}}},
)
async def metrics(
    request: Request,
    service: ServiceDependency,
    _: Annotated[Any, Depends(BEARER)],
    accept: Annotated[str, Header()] = "",
) -> Response:
    """Return numbers, as text for Prometheus or as OpenMetrics.

    They are of the whole service with the key of MEMEX_METRICS_KEY or, where that is not set, without a key from
    the same machine. An admin's key gets those of its tenant.
    """
    if await _is_operator(request, service):
        content, media_type = await exposition.render_metrics(service, accept)
    else:
        holder = await service.identities.authenticate(await key_of(request, service))
        caller = await service.caller(holder, CallContext(), role="admin", action="GET /metrics")
        content, media_type = await exposition.render_tenant_metrics(service, caller, accept)
    return Response(content, media_type=media_type)


async def _is_operator(request: Request, service: Service) -> bool:
    """Return whether a request has the key for metrics, or needs none because none is set and it is local."""
    wanted: SecretStr | None = request.app.state.metrics_key
    if "authorization" not in request.headers:
        return wanted is None and _is_local(request)
    if wanted is None:
        return False
    given = await key_of(request, service)
    return secrets.compare_digest(given.encode(), wanted.get_secret_value().encode())


def _is_local(request: Request) -> bool:
    """Return whether a request comes from this machine, for an address of it, and was not sent on by a proxy.

    The Host is looked at because a page of another site can make a browser on this machine send requests here.
    """
    if request.client is None or any(name in request.headers for name in FORWARDING):
        return False
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname
    return _is_loopback(request.client.host) and (host == LOOPBACK_NAME or _is_loopback(host or ""))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
