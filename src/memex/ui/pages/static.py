"""The files that pages load, and the answer for addresses that there are not."""

from fastapi import APIRouter, Request, Response

from memex.errors import FileNotFound
from memex.ui.assets import BASE, asset
from memex.ui.page import HOME, UiRoute, redirect

router = APIRouter(route_class=UiRoute, include_in_schema=False)
FOR_EVER = "public, max-age=31536000, immutable"


@router.get(BASE + "/{digest}/{name:path}")
async def static_file(request: Request, digest: str, name: str) -> Response:
    """Return a file that pages load. Its address changes with its content, so browsers keep it."""
    found = asset(name)
    headers = {"Vary": "Accept-Encoding", "Cache-Control": FOR_EVER if digest == found.digest else "no-cache"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(found.gzipped, media_type=found.media_type, headers=headers)
    return Response(found.content, media_type=found.media_type, headers=headers)


@router.get("/ui")
async def home(request: Request) -> Response:
    """Lead to the first page."""
    return redirect(request, HOME)


@router.get("/ui/{rest:path}")
async def unknown() -> Response:
    """Answer for an address without a page."""
    raise FileNotFound("There is no such page.", hint="Go to the first page, and look from there.")
