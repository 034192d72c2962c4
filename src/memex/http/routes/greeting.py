"""What stands at the address of the service: a page for a browser, and the same in JSON for a program."""

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel

from memex import distribution

router = APIRouter(tags=["health"])

# The address is that of the request, so it can hold anything; this is what an address needs.
ADDRESS = re.compile(r"https?://[A-Za-z0-9.\-:\[\]]+(?:/[A-Za-z0-9._~/-]*)?")


class Greeting(BaseModel):
    """What answers here, and where to go on: addresses are relative to this one."""

    name: str = "Memex"
    version: str
    docs: str = "docs"
    openapi: str = "openapi.json"
    health: str = "health/ready"


@router.get(
    "/",
    summary="What answers here?",
    response_model=Greeting,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
)
async def greet(request: Request, accept: Annotated[str, Header()] = "") -> Response:
    """Return a page for people if the request accepts text/html, and JSON otherwise."""
    headers = {"Vary": "Accept", "Cache-Control": "no-store"}
    if not _prefers_html(accept):
        return JSONResponse(Greeting(version=distribution.version()).model_dump(), headers=headers)
    return HTMLResponse(_page(str(request.base_url)), headers=headers | _protection())


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


def _page(url: str) -> str:
    shown = url.rstrip("/") if ADDRESS.fullmatch(url) else "http://127.0.0.1:8630"
    template = Template(_resource("greeting.html"))
    return template.substitute(
        style=_resource("greeting.css"), version=escape(distribution.version()), url=escape(shown)
    )


@cache
def _protection() -> dict[str, str]:
    """Return the headers that let the page load nothing, and run nothing but its own style."""
    digest = base64.b64encode(hashlib.sha256(_resource("greeting.css").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
    policy += "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }


@cache
def _resource(name: str) -> str:
    return (files("memex.http.routes") / name).read_text(encoding="utf-8")
