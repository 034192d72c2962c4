"""The page /docs, which shows the OpenAPI document, with a policy that lets it load nothing but its own parts."""

import base64
import hashlib
import re

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import HTMLResponse

router = APIRouter(include_in_schema=False)

STATIC = "/docs/static"  # where `FastAPIOffline` serves the parts of the page
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@router.get("/docs")
async def docs_page(request: Request) -> HTMLResponse:
    """Return the page."""
    app: FastAPI = request.app
    page = get_swagger_ui_html(
        openapi_url=app.openapi_url or "",
        title=f"{app.title}: API",
        swagger_js_url=f"{STATIC}/swagger-ui-bundle.js",
        swagger_css_url=f"{STATIC}/swagger-ui.css",
        swagger_favicon_url=f"{STATIC}/favicon.png",
    )
    page.headers["Content-Security-Policy"] = _policy(bytes(page.body).decode())
    return page


def _policy(page: str) -> str:
    """Return the policy of a page: its inline scripts run by their digests, and styles may be inline."""
    digests = [hashlib.sha256(script.encode()).digest() for script in _INLINE_SCRIPT.findall(page)]
    scripts = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
