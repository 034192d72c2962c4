"""The answer at the address of the service: the web UI for a browser, a description in JSON for a program."""

import re
from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel

from memex import distribution

router = APIRouter(tags=["health"])


class Greeting(BaseModel):
    """The name and version of the service, and the addresses to go on from here, relative to this one."""

    name: str = "Memex"
    version: str
    ui: str = "ui"
    docs: str = "docs"
    openapi: str = "openapi.json"
    health: str = "health/ready"


@router.get(
    "/",
    summary="What answers here?",
    response_model=Greeting,
    responses={303: {"description": "The request accepts text/html: the web UI is there."}},
)
async def greet(accept: Annotated[str, Header()] = "") -> Response:
    """Lead to the web UI if the request accepts text/html, and return JSON otherwise."""
    headers = {"Vary": "Accept", "Cache-Control": "no-store"}
    if _prefers_html(accept):
        return RedirectResponse("ui", status_code=303, headers=headers)
    return JSONResponse(Greeting(version=distribution.version()).model_dump(), headers=headers)


def _prefers_html(accept: str) -> bool:
    """Return whether a header Accept names text/html, and no JSON before it."""
    html = _quality(accept, "text/html")
    return html > 0 and html >= _quality(accept, "application/json")


def _quality(accept: str, media_type: str) -> float:
    """Return the weight from 0 to 1 that a header Accept gives to a media type by its name (RFC 9110, 12.5.1)."""
    named = re.search(
        rf"(?:^|,)\s*{re.escape(media_type)}\s*(?:;\s*q=([01](?:\.\d{{0,3}})?))?\s*(?:,|$)", accept
    )
    return float(named[1] or 1) if named else 0.0
