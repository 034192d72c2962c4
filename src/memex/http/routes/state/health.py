"""Probes of the service: whether it lives, and whether it can answer."""

from fastapi import APIRouter
from pydantic import BaseModel

from memex.http.callers import ServiceDependency

router = APIRouter(prefix="/health", tags=["health"])


class Health(BaseModel):
    """`ok`; anything else comes as a problem body."""

    status: str


@router.get("/live", summary="Is the process alive?")
async def live() -> Health:
    """Answer without touching anything."""
    return Health(status="ok")


@router.get("/ready", summary="Can it answer?")
async def ready(service: ServiceDependency) -> Health:
    """Touch the database; 503 with STORE_UNAVAILABLE when it does not answer."""
    await service.check_ready()
    return Health(status="ok")
